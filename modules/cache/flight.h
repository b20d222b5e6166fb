/* flight.h - fetches under way, known to all workers: who asks for the same waits for the one.
 *
 * A table in the zone, one entry a key that is being fetched. The leader fetches; followers (other
 * exchanges, of any worker) are told when its head is known and read its body while it grows. A
 * leader that died, or whose answer is not for others, releases them: one of them becomes the next
 * leader for what may still be shared, the others wait for that one; after an answer that is not for
 * others all of them go alone, and for a while (`flight_alone`) nobody waits for that key.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CACHE_FLIGHT_H
#define CACHE_FLIGHT_H

#include "store.h"

enum flight_role {
    FLIGHT_LEAD,   /* fetch it, and say how it went */
    FLIGHT_FOLLOW, /* wait for wake() */
    FLIGHT_ALONE   /* fetch it without saying anything: nobody may share it, or the table is full */
};
enum flight_state {
    FLIGHT_WAITING, /* its head is not known yet */
    FLIGHT_GROWING, /* flight_ref() pins what is there */
    FLIGHT_WHOLE,   /* likewise, and it is all of it: committed */
    FLIGHT_PRIVATE, /* it is not for others: go alone */
    FLIGHT_FAILED   /* the leader failed or died: flight_join() again */
};

/* One exchange's part in a flight. In its memory (bt_txn_ctx), zeroed; nothing of it may move. */
struct flight {
    uint64_t at[2]; /* the table's own */
    uint32_t role;
    void (*wake)(void *arg); /* something changed: state, or bytes to read */
    void *arg;
    struct flight *next, **link; /* of this worker's, by entry */
    struct store_ref whole;      /* a pin of its own on what is whole: the leader may go */
};

enum flight_role flight_join(struct flight *, bt_str key, void (*wake)(void *), void *arg);
enum flight_state flight_state(const struct flight *);
/* A follower: pin what has been written (GROWING, WHOLE). store_ref.length is what is there by now. */
bool flight_ref(const struct flight *, struct store_ref *);
/* How much more is there by now, and is that all? *length -1: its whole length is not known yet. */
enum flight_state flight_progress(const struct flight *, int64_t *written, int64_t *length);
/* Leave, in any role; a leader that never said how it went has failed. Does nothing when not joined. */
void flight_leave(struct flight *);
/* How many others follow this leader (for quick_abort: their fetch goes on); of other workers, each
 * counts as one. */
unsigned flight_followers(const struct flight *);
/* Fetches under way, of all workers. */
unsigned flight_open(void);

/* The leader. */
void flight_growing(struct flight *, struct store_writer *); /* head is known, body follows */
void flight_grown(struct flight *); /* more bytes were written; after each write() */
/* All was written, and commit() was true: say so right after it. Or, committed false: it is whole, but will not be
 * kept: say so before cancel(). */
void flight_whole(struct flight *, bool committed);
void flight_private(struct flight *, int64_t for_ms);
void flight_failed(struct flight *);

#endif
