/* visit.h - one exchange's part in the cache: what it asked for, what was found, what it does.
 *
 *   lookup.c    phase LOOKUP, in stages: rules, key, what is there, who fetches it already
 *   key.c       keys: URL, store id, Vary
 *   serve.c     deliver a record, whole, in parts or as 304, also while it still grows
 *   respond.c   phase RESPONSE: what the origin said about it
 *   keep.c      store what passes
 *   purge.c     drop what is there: PURGE, and requests that change something
 *   commands.c  bobtailctl
 *   tell.c      tags, counters, fields, Cache-Status
 *
 * Below it are store.h and flight.h (bytes in shared memory), and the pure parts: control.h,
 * fresh.h, vary.h, conditional.h, ranges.h, headtext.h, location.h (what RFC 9111 says).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CACHE_VISIT_H
#define CACHE_VISIT_H

#include "conditional.h"
#include "config.h"
#include "counts.h"
#include "flight.h"
#include "fresh.h"
#include "headtext.h"
#include "ranges.h"
#include "store.h"
#include "vary.h"

#define STORE (&store_ram)

/* store_meta.flags, beside FRESH_FLAGS: this is no response but says how the URL varies. */
enum { META_MARKER = 1 << 16 };

enum { VISIT_NAMED = 4 }; /* bytes of a primary key before the store id */

enum visit_stage {
    VISIT_NEW,
    VISIT_RULES,    /* `cache` */
    VISIT_NAMING,   /* store_id_access, and the helper's answer */
    VISIT_FIND,     /* what is there? */
    VISIT_FOLLOW,   /* somebody fetches it */
    VISIT_PASS,     /* on to the origin */
    VISIT_PURGE,    /* method PURGE */
    VISIT_ANSWERED, /* done with it */
};

/* How it ended; the order is that of RESULTS. */
#define VISIT_RESULT_(id, name, kind, unit, doc) RESULT_##id,
enum visit_result { RESULT_NONE, RESULTS(VISIT_RESULT_) RESULT_END };

/* What goes to the store while it goes to the client. */
struct keep {
    struct bt_sink sink;
    struct store_writer *writer; /* NULL: nothing, or no longer */
    int64_t written, length;     /* length -1: not known */
    bool ended, whole;
};

/* A body that is delivered: pieces of text, and windows into a record. */
struct served_old {
    struct served_old *next;
    struct store_ref ref;
};
struct served {
    struct bt_source source;
    struct store_ref ref;
    struct served_old *old; /* pins on where it was */
    bool open;              /* the ref is pinned */
    bool growing;           /* more may come: of the flight, or of our own writer */
    struct visit *visit;
    const struct ranges_body *parts; /* NULL: the whole */
    const struct ranges *ranges;
};

struct visit {
    struct bt_txn *txn;
    enum visit_stage stage;
    enum visit_result result;
    bool head;       /* HEAD */
    bool background; /* nobody waits for it */
    bool post;       /* POST: its answer may be what a GET would get */
    bool purge;      /* PURGE */
    bool bypass;     /* neither looked up nor kept */
    bool sure;       /* deferred: visit_gone() will be called */
    bool alone;      /* it may not wait for others */
    bool waited;     /* it has waited for another's fetch */
    bool stored;
    bool named; /* its key is a store id */
    bool named_done;
    bool asks_if;    /* it has If-None-Match or If-Modified-Since */
    bool conditions; /* those, If-Match or If-Unmodified-Since */

    struct control asked;
    struct fields request, reply;
    bt_str primary; /* URL or store id */
    bt_str key;     /* of the record: the same, or that of a variant */
    uint64_t epoch; /* in which it was looked up */
    bt_str varies;  /* names by which the URL varies, as its marker says; NONE:
                     there is none */
    bt_str variant; /* id of its variants */
    uint32_t variants;
    const struct fresh_rule *rule; /* NULL: not looked for yet */
    const char *why;               /* a phrase: why it was, or was not, a hit, or kept */

    struct store_ref found; /* a copy, while `pinned` */
    bool pinned;
    struct fresh_life life; /* its life */
    bool validating;        /* the origin was asked with its validators */
    bool again;             /* without, after a 304 that was about another version */
    bool conditions_off;    /* the client's conditions were not passed on */
    bool range_off;         /* the client's Range was not passed on */

    struct flight flight;
    enum flight_role role;
    bool joined;
    struct keep keep;
    struct served served;
    struct bt_helper_ask ask; /* of store_id_program */
};

/* The exchange's; made at its first look. */
struct visit *visit_of(struct bt_txn *);
/* From now on something has to be given back when the exchange is over. */
void visit_sure(struct visit *);
void visit_unpin(struct visit *);
void visit_leave(struct visit *); /* the flight */
const struct fresh_rule *visit_rule(struct visit *);
void visit_asking(const struct visit *, struct fresh_asking *);

/* ---- key.c ---- */

/* Ask for what is under the visit's key, a marker's variant included. */
enum store_found key_find(struct visit *);
/* The key under which a response with these Vary names is kept; writes the marker when there is
 * none, or another. NONE: it cannot be kept. */
bt_str key_for(struct visit *, const struct vary *);
/* Is this a record for the visit's request, whatever key it was fetched under? / */
bool key_matches(struct visit *, bt_str record);
/* The helper's name for it. false: pause. */
bool key_name(struct visit *);
void key_meta_life(const struct store_meta *, struct fresh_life *);
void key_life_meta(const struct fresh_life *, int status, struct store_meta *);

#endif
