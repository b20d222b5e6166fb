/* store.h - where responses are kept: a small vtable, and what goes through it.
 *
 * The policy (cache.c, fresh.c) decides what is kept under which key and for how long; a store
 * keeps bytes. RAM (ram*.c) is the first one. Looking up may wait, since others will read disks or ask
 * over a network.
 *
 * A record is immutable once it is committed. Readers hold a pin (store_ref); a record that was
 * removed or replaced meanwhile stays readable until the last pin is gone. Only whole bodies can be
 * found: while one is being written it is known to those alone who follow its flight (flight.h).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CACHE_STORE_H
#define CACHE_STORE_H

#include "bt.h"

/* What the policy wants to know before it looks into a head. Copied as it is, so: no pointers.
 * Times are wall clock, milliseconds. Kept small: it is part of an object's overhead. */
struct store_meta {
    int64_t stored;      /* when the response was received */
    int64_t corrected;   /* age it had then (RFC 9111 4.2.3 corrected_initial_age), milliseconds */
    int64_t expires;     /* no longer fresh from this moment on */
    uint32_t flags;      /* of the policy */
    uint32_t stale_ms_s; /* free for the policy */
    uint16_t status;
    uint16_t own[3]; /* the store's; whatever the policy writes there */
};

/* A pinned record. In the reader's memory; plain data. */
struct store_ref {
    const struct store *store;
    const struct store_meta *meta;
    bt_str key;
    bt_str head;    /* a response head, as bt_answer_from() wants it */
    int64_t length; /* of the body */
    uint64_t at[4]; /* the store's own */
};

enum store_found { STORE_MISS, STORE_HIT, STORE_WAIT };

/* A record being written. The store's own memory (heap of this worker). */
struct store_writer;

struct store {
    const char *name;
    /* HIT: pinned, counted as used; release() it. WAIT: wake(arg) is called, then ask again. */
    enum store_found (*find)(bt_str key, struct store_ref *, void (*wake)(void *arg), void *arg);
    void (*release)(struct store_ref *);
    /* A second pin on the same record. */
    void (*hold)(const struct store_ref *, struct store_ref *also);
    /* Pieces of the body from an offset on; they stand until the pin goes. Returns how many. */
    int (*read)(const struct store_ref *, int64_t from, bt_str *piece, int max);

    /* Begin a record: body of `length` bytes or -1. NULL: there is no room for it, counted. Nothing
     * can be found under the key until commit(). Room for a body that is large is made as it comes,
     * so that nobody is pushed out for what may never arrive, and no call takes long. */
    struct store_writer *(*begin)(bt_str key, const struct store_meta *, bt_str head,
                                  int64_t length);
    bool (*write)(struct store_writer *, const bt_str *piece, int n); /* false: no room; cancel() */
    /* Found from now on, instead of what was under the key. false: it was not possible, or there are
     * fewer bytes than begin() was told. The writer is gone. */
    bool (*commit)(struct store_writer *);
    void (*cancel)(struct store_writer *);
    /* A pin on what is being written (its length is what was written so far), for those who follow. */
    bool (*peek)(struct store_writer *, struct store_ref *);

    /* The same body under a new head (304): no byte of a large body is copied. false: there is no
     * room, or the record is no longer what is found under its key. */
    bool (*renew)(const struct store_ref *, const struct store_meta *, bt_str head);
    /* true: there was one. */
    bool (*remove)(bt_str key);
    /* Each record once, in no order, in slices of about a millisecond: for purging by prefix or pattern and
     * for listings. *place 0 at first, and again 0 at the end. visit() true: remove it. */
    void (*walk)(uint64_t *place, bool (*visit)(void *arg, const struct store_ref *), void *arg);
};
extern const struct store store_ram;

/* ---- the zone of the RAM store ---- */

/* Master, in setup: `bytes` of shared memory. policy: how to choose what goes. */
enum ram_policy { RAM_S3FIFO, RAM_LRU };
bool ram_setup(int64_t bytes, int64_t object_max, enum ram_policy, struct bt_error *);
bool ram_start(void); /* each worker */
void ram_stop(void);  /* each worker, drained: nothing of it is left in the zone */

/* What the store and the flights count. The policy lists these rows among its counters, in this
 * order and next to each other, and sets ram_counted to add to the row of that number. */
#define RAM_COUNTERS(X)                                                                            \
    X(ram_refused, "cache.ram_refused", BT_COUNT, "objects",                                       \
      "Not kept: too large, or no room could be made.")                                            \
    X(ram_evicted, "cache.ram_evicted", BT_COUNT, "objects", "Pushed out to make room.")           \
    X(ram_moved, "cache.ram_moved", BT_COUNT, "objects",                                           \
      "Copied within memory, since they had been used, when the room around them was freed.")      \
    X(ram_crowded, "cache.ram_crowded", BT_COUNT, "objects",                                       \
      "Pushed out of the index by others whose keys fall into the same place.")                    \
    X(ram_ghosts, "cache.ram_ghosts", BT_COUNT, "objects",                                         \
      "Came again soon after they were pushed out, and are kept longer.")                          \
    X(ram_corrupt, "cache.ram_corrupt", BT_COUNT, "objects",                                       \
      "Records that made no sense, and were taken for misses: this must not happen.")              \
    X(flights_full, "cache.flights_full", BT_COUNT, "requests",                                    \
      "Fetched alone, since too many fetches were under way.")                                     \
    X(flights_lost, "cache.flights_lost", BT_COUNT, "fetches",                                     \
      "Fetches whose worker died; those who waited began again.")
#define RAM_COUNT_(id, name, kind, unit, doc) COUNT_##id,
enum ram_count { RAM_COUNTERS(RAM_COUNT_) RAM_COUNTS };
extern void (*ram_counted)(enum ram_count what, int64_t by);

/* Of all workers together. */
struct ram_sums {
    int64_t size;    /* of the zone */
    int64_t used;    /* bytes in segments that are not free */
    int64_t live;    /* bytes of records that can be found, with their overhead */
    int64_t records; /* that can be found */
    int64_t bodies;  /* bytes of heads and bodies of those */
    int64_t pinned;  /* segments somebody reads from */
    int64_t oldest;  /* wall clock ms of the oldest record's storing; 0: none */
};
void ram_sums(struct ram_sums *);

#endif
