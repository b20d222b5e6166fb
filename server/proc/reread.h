/* reread.h - list files of ACLs read again while clients are served: bobtailctl reload-lists, and
 * acl_list_watch.
 *
 * A child reads them (plug/lists.h) and tells by a pipe what came of it. Then the workers are told, and
 * when all of them use the new lists whoever asked has the answer. The same for the master and for
 * the one process of -N.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROC_REREAD_H
#define PROC_REREAD_H

#include "proc/admin.h"

struct reread_owner {
    uint32_t (*tell)(void);          /* all workers: WORKER_LISTS; the stamp of that word */
    bool (*is_done)(uint32_t stamp); /* all of them have done it */
};

/* When the configuration stands. A descriptor that is readable when reread_turn() has something to do;
 * -1: there is nothing to be read again. With a hub it is waited for there. */
int reread_open(const struct reread_owner *, struct hub *);
void reread_turn(void);
/* A worker has done something. */
void reread_look(void);
/* Begin. `call` is answered, now or later. `why_not`: or tell it why that cannot be now. */
void reread_ask(struct admin_call *call, const char *why_not);
/* End what is under way, since another thing comes first. */
void reread_abandon(const char *why);
/* In a worker: nothing of it is its own. */
void reread_leave(void);

#endif
