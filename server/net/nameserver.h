/* nameserver.h - one question to the name servers, by c-ares: the only file that knows it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NET_NAMESERVER_H
#define NET_NAMESERVER_H

#include "net/resolve.h"

enum nameserver_kind { NAMESERVER_AAAA, NAMESERVER_A, NAMESERVER_PTR };
enum { NAMESERVER_MOST = 128 }; /* addresses of one answer; what is more is left out */

struct nameserver_answer {
    enum nameserver_kind kind;
    enum resolve_why why; /* FINE: n > 0, or a name */
    int64_t ttl_s;        /* of the shortest-lived record; -1: unknown */
    size_t n;
    union address addr[NAMESERVER_MOST];
    bt_str name; /* PTR; as received, not checked */
};

BT_MUST bool nameserver_init(const struct resolve_opts *);
/* Questions under way are forgotten without a word. */
void nameserver_fini(void);
/* `name` ended by NUL, valid as a host name. answered() is called exactly once, perhaps before this
 * returns, perhaps long after; the answer is gone when it returns. */
void nameserver_ask(const char *name, enum nameserver_kind,
                    void (*answered)(void *arg, const struct nameserver_answer *), void *arg);

/* Give up all questions under way: each is answered with RESOLVE_BROKEN, before this returns. */
void nameserver_cancel(void);

#endif
