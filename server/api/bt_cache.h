/* bt_cache.h - what a cache asks of an exchange: another answer, a copy of what passes, another try.
 *
 * The core knows nothing of freshness or keys. It can deliver an answer out of a *source* (memory of
 * the module, perhaps still growing), give what the origin sends to a *sink*, go on without its
 * client while the sink wants the rest, and run an exchange in the background. A sink that can be
 * read again frees the origin from the pace of a slow client.
 *
 * Hooks of phase RESPONSE meet each answer before its head is said: that of the origin, one out of a
 * source (also the module's own; it knows what it has answered), and once what the core is about to
 * say since no answer came (bt_failed()).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BT_CACHE_H
#define BT_CACHE_H

#include "bt_txn.h"

/* ---- heads ---- */

/* The i-th field of the request, of the response: those that are passed on (hop-by-hop fields, what
 * Connection names, and framing are skipped). false: there are not so many. */
BT_API bool bt_req_field(struct bt_txn *, size_t i, bt_str *name, bt_str *value);
BT_API bool bt_rep_field(struct bt_txn *, size_t i, bt_str *name, bt_str *value);
BT_API bt_str bt_rep_reason(struct bt_txn *);

/* For the origin: this field instead of the client's of that name; BT_STR_NONE: without it. The
 * request that rules and logs see stays the client's. Copied. Up to phase UPSTREAM; the last call
 * for a name stands, also for a retry. Not for hop-by-hop fields, framing, Host, Via and
 * X-Forwarded-For, which are the server's. */
BT_API void bt_upstream_set(struct bt_txn *, bt_str name, bt_str value);
/* The same beside those of that name. */
BT_API void bt_upstream_add(struct bt_txn *, bt_str name, bt_str value);
/* As bt_req_header(), of what the origin will get by these. */
BT_API bt_str bt_upstream_header(struct bt_txn *, bt_str name, size_t n);
/* One field more in the final head that the client gets, wherever that comes from. Copied; control
 * bytes become blanks. */
BT_API void bt_reply_add(struct bt_txn *, bt_str name, bt_str value);
/* The same instead of all of that name; BT_STR_NONE: without it. Rules, logs and caches see the head that
 * came. Not for framing and Connection. */
BT_API void bt_reply_set(struct bt_txn *, bt_str name, bt_str value);
/* As bt_rep_header(), of what the client will get by these. */
BT_API bt_str bt_reply_header(struct bt_txn *, bt_str name, size_t n);

/* Squid's word for how it was answered ("TCP_MEM_HIT"), a literal; stands against what the core
 * would say. A denial by a rule says its own; when the way up fails the core says TCP_MISS, and a hook
 * that is asked about it (bt_failed()) may say more; an abort adds _ABORTED. A hook of LOOKUP that
 * has said a tag and returns BT_REFUSE (504 ERR_ONLY_IF_CACHED_MISS) keeps it, and is not counted as
 * a denial. */
BT_API void bt_tag(struct bt_txn *, const char *tag);
BT_API const char *bt_tag_get(struct bt_txn *);

/* In a hook of RESPONSE, and later: the status that the core is about to say since the way up failed
 * (no address, no connection, no answer, a bad one, silence), with the name of its page (`page` may be
 * NULL); 0: it did not fail. bt_status() is then 0: no answer came. A hook may answer instead, and is asked
 * once. Denials and what else the core says of itself are no failures. */
BT_API int bt_failed(struct bt_txn *, const char **page);

/* Bytes of payload that the origin's response will have, by its head; -1: nobody knows. */
BT_API int64_t bt_rep_length(struct bt_txn *);
/* Wall clock, in milliseconds, of when the request went to the origin and when its head was whole; 0:
 * has not happened. For the age of a response (RFC 9111 4.2.3). */
BT_API int64_t bt_sent_ms(struct bt_txn *);
BT_API int64_t bt_received_ms(struct bt_txn *);
/* false: who answered has not proven to be the host of the URL (TLS), which was forgiven to this exchange
 * alone: not for others. */
BT_API bool bt_rep_proven(struct bt_txn *);
/* The origin was sent a login that no field of the request shows: out of the URL, or one of a parent's that
 * depends on the user. As with Authorization the answer is that user's. */
BT_API bool bt_req_logs_in(struct bt_txn *);
/* false: the client was redirected to the proxy and names a host that it did not go to, which it may have made
 * up: what is stored under that URL must neither answer it nor be changed by it. */
BT_API bool bt_req_proven(struct bt_txn *);

/* What policy wants of the cache, of this exchange; for the module that caches to obey. Up to LOOKUP, the
 * life up to RESPONSE (before the hook of that module). */
struct bt_cache_wish {
    bt_str key;  /* instead of the URL, or of what store_id_program says; NONE: no wish. In the
                     exchange's arena */
    bool bypass; /* neither looked up nor kept */
    int64_t
        life; /* seconds that the answer is fresh, if it may be kept at all; 0: it is not kept; -1: no
                     wish */
};
/* NULL: there is none; with `make` never. */
BT_API struct bt_cache_wish *bt_cache_wish(struct bt_txn *, bool make);

/* ---- a source: a body that somebody has ---- */

enum bt_source_state {
    BT_SOURCE_MORE,  /* there will be more: bt_resume() comes when there is */
    BT_SOURCE_END,   /* that was all */
    BT_SOURCE_BROKEN /* there will never be more: the client is cut off */
};
struct bt_source {
    const struct bt_source_ops *ops;
};
struct bt_source_ops {
    /* Pieces of the body from offset `from` on (0: its first byte), at most `max` (16), none of them
     * empty. They stay where they are until close(). Returns how many; *state is about what follows
     * them. Offsets never go back. Fewer bytes than the length that was told are a broken source. */
    int (*read)(struct bt_source *, int64_t from, bt_str *piece, int max,
                enum bt_source_state *state);
    void (*close)(struct bt_source *); /* called once, also when the client goes early */
};

/* From a hook of LOOKUP or RESPONSE, which then returns BT_ANSWER: deliver this. `head` is a whole
 * response head in HTTP/1.1 ("HTTP/1.1 200 OK" CRLF fields CRLF CRLF) of end-to-end fields and without
 * Content-Length; it is copied when the step comes to it, and parsed as an origin's, so it must stand
 * as long as the source, or be in the exchange's arena. `length` of the body, -1: not known yet.
 * `source` NULL: there is no body, and `length` (if not -1) is only told, as for 304. A HEAD request
 * gets the head alone. The source is closed when the exchange is over, when another answer takes its
 * place, and when the hook returns something else after all.
 *
 * From RESPONSE, what the origin has sent is discarded (its connection is kept when all of it is there
 * already), unless a sink takes it: then both go on beside each other, and the exchange goes on without
 * its client when that has its answer first and the sink wants the rest. The hooks of RESPONSE are
 * asked about the new answer as well. */
BT_API void bt_answer_from(struct bt_txn *, bt_str head, int64_t length, struct bt_source *);

/* From a hook of RESPONSE, which then returns BT_ANSWER: forget what the origin has said, and ask it
 * once more with what bt_upstream_set() says by now. false: the request cannot be sent twice, or was
 * already. */
BT_API BT_MUST bool bt_again(struct bt_txn *);

/* ---- a sink: a copy of the origin's body ---- */

struct bt_sink {
    const struct bt_sink_ops *ops;
};
struct bt_sink_ops {
    /* The next pieces of payload: taken whole, or not at all (false). After false, and after end(),
     * nothing more is called; sources opened before still give all that was taken (what follows it
     * comes from the origin again, whatever *state the source says). */
    bool (*write)(struct bt_sink *, const bt_str *piece, int n);
    /* The body is over: it was whole, or it was cut (by origin, timeout, limit or client). */
    void (*end)(struct bt_sink *, bool whole);
    /* A source of all that was and will be taken, for this exchange's own client, when it is too
     * slow for the origin. NULL: no; the origin then waits for the client. */
    struct bt_source *(*source)(struct bt_sink *, struct bt_txn *); /* NULL: never */
    /* The client has left, or has its answer: shall the rest be fetched without it? (RFC 9111 has no
     * opinion; quick_abort_*.) `received` of `length` bytes (-1: unknown) are there. true: the
     * exchange is logged now, phase FINISH included, and goes on (bt_without_client()); false: end()
     * follows. NULL: never. */
    bool (*wanted)(struct bt_sink *, int64_t received, int64_t length);
};
/* From a hook of RESPONSE: give the body to this sink, too. One an exchange; another one ends it. */
BT_API void bt_tap(struct bt_txn *, struct bt_sink *);

/* ---- without a client ---- */

/* A second exchange with the same request, for its own sake: nobody gets its answer, a body goes to
 * its sink or is dropped at once. It starts with phase LOOKUP when the loop comes to it, so that the
 * caller may fill its bt_txn_memory() first; http_access is not asked again, and its FINISH is the only
 * other word of it: it is not logged. NULL: there are too many already (counted), the request has a
 * body or is a CONNECT, or the worker is about to end. */
BT_API struct bt_txn *bt_background(struct bt_txn *);
/* Is this one, or one whose client has left? Memory of the connection (bt_conn_memory()) is not that of
 * the client then. */
BT_API bool bt_without_client(struct bt_txn *);

#endif
