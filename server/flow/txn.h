/* txn.h - one exchange: a request, its answer, and everything between.
 *
 * An exchange walks through named steps, one file each. A step does what can be done now, sets
 * txn->step and returns GO_ON; or it has to wait for a socket, a name, a helper, and returns
 * GO_WAIT: whatever it waits for calls txn_run() again, and the same step looks again. Steps are
 * therefore written so that being called once too often does no harm. GO_OVER ends the exchange.
 *
 *   read      session.c   wait for a whole request head
 *   admit     admit.c     is it sane, may it pass? phases ACCEPT to REQUEST, http_access
 *   adapt     adapt.c     may be changed: phase ADAPT, adapted_http_access
 *   bump      bump.c      a CONNECT on a port with ssl-bump: splice, bump, terminate
 *   answer    answer.c    can it be answered from here? phase LOOKUP
 *   upstream  upstream.c  find the address, take or dial a connection, send; phase UPSTREAM
 *   tunnel    tunnel.c    CONNECT: two streams, no HTTP
 *   receive   receive.c   wait for the response's head; phase RESPONSE; or try again
 *   deliver   deliver.c   head and body to the client
 *   serve     serve.c     an answer out of memory, by bt_answer_from()
 *   refuse    answer.c    an answer of our own making: errors, denials, bt_answer()
 *   finish    finish.c    phase FINISH; count, log
 *
 * While receive and deliver run, the body of the request may still be on its way up: upload.c,
 * called whenever either side can move. While deliver runs, a sink may get a copy of the body; when
 * the client is too slow for it, serve gives the client what the sink has, and fill.c beside it takes
 * what the origin has.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FLOW_TXN_H
#define FLOW_TXN_H

#include "base/arena.h"
#include "bt_txn.h"
#include "flow/client.h"
#include "http/body.h"
#include "http/head.h"
#include "http/url.h"
#include "net/dial.h"
#include "net/idle.h"
#include "net/loop.h"
#include "net/marks.h"
#include "net/resolve.h"
#include "http/write.h"
#include "plug/acl.h"
#include "plug/slots.h"

#define STEPS(X)                                                                                   \
    X(read, "wait for a whole request head")                                                       \
    X(admit, "is it sane, may it pass? phase REQUEST and http_access")                             \
    X(adapt, "admitted: may be changed now; phase ADAPT and adapted_http_access")                  \
    X(bump, "a CONNECT that may be looked into: which way, and the handshakes")                    \
    X(answer, "can it be answered from here? phase LOOKUP")                                        \
    X(upstream, "find the address, take or dial a connection, send; phase UPSTREAM")               \
    X(tunnel, "CONNECT: two streams, no HTTP")                                                     \
    X(receive, "wait for the response's head; phase RESPONSE; or try again")                       \
    X(deliver, "head and body to the client")                                                      \
    X(serve, "an answer out of memory; the origin's body beside it, into a sink")                  \
    X(refuse, "an answer of our own making")                                                       \
    X(finish, "phase FINISH; count, log")
#define STEP_ID_(name, doc) STEP_##name,
enum step { STEPS(STEP_ID_) STEP_end };

enum go {
    GO_ON,   /* txn->step says where */
    GO_WAIT, /* somebody will call txn_run() */
    GO_OVER  /* the exchange is over; the driver frees it */
};

/* Bytes received and not yet used. They lie in a buffer shared by the worker while an event is
 * handled; whatever is left at its end is moved to the heap by input_settle(). */
struct input {
    const char *at, *end;
    char *heap;
    uint32_t cap;
};

/* Moments of an exchange, in microseconds of clock_us(); 0: has not happened. */
struct txn_times {
    int64_t start;    /* first byte of the request */
    int64_t head;     /* its head was complete */
    int64_t resolve;  /* asked for addresses */
    int64_t resolved; /* had them */
    int64_t dial;     /* began to connect */
    int64_t sent;     /* the head left for the origin (or the parent) */
    int64_t reply;    /* the response's head was complete */
    int64_t end;
};

struct txn_bytes {
    int64_t request; /* received from the client: head and body with its framing */
    int64_t request_head;
    int64_t reply; /* sent to the client: head and body with its framing */
    int64_t reply_head;
    int64_t upstream_in;  /* received from the origin, all of it */
    int64_t upstream_out; /* sent to the origin */
    int64_t body_in;      /* payload received from the origin */
};

/* Why an exchange ended other than by its answer. */
enum txn_end { END_WHOLE, END_CLIENT_GONE, END_ORIGIN_CUT, END_TIMEOUT };

struct own_ask;
struct session;
struct serve;
struct pace;
struct tap;
struct upgrade;
struct bump;
struct bt_fetch;
struct route;

struct bt_txn {
    struct bt_arena *arena;
    struct session *session;
    const struct client_ops *client; /* how this exchange speaks with its client */
    enum step step;
    bool running, again; /* the driver is on the stack; somebody wants another look */

    /* The request. `req` and `url` are empty until its head was read. */
    struct head req;
    struct url url;
    const struct url *asked; /* what the client asked for; NULL: `url`, as nobody has changed it */
    bool keep_host;          /* and then the origin gets the client's Host all the same */
    struct body upload;      /* its body, from the client */
    int64_t fed;             /* bytes.request when the client's pace was last looked at */
    bool upload_over;        /* all of it was sent, or there is none */
    bool upload_begun;       /* some of the body was taken from the client: no second try */
    bool keep_client;        /* the connection may carry another request after this one */
    bool last_request;       /* its head had to be mended: nothing more is read from this client */
    bool chunked_out;        /* the answer's body goes out in chunks */
    uint64_t chunk_open;     /* bytes that the chunk under way still lacks, see frame_offer() */

    /* Deciding. */
    unsigned hook;                /* the next hook of the phase under way */
    bool asked_again, again_done; /* bt_again() was called; it is on its way */
    bool hooks_done;              /* of the step under way: do not ask them again */
    bool settled;                 /* phase REQUEST was decided by a hook: no http_access */
    bool paused;                  /* a hook or an ACL said that it will call bt_resume() */
    struct acl_memo *acls;        /* what ACLs have answered so far; NULL: none was asked */
    const struct bt_line *rule;   /* the line that decided about access; NULL: the default did */
    const struct bt_line *audit; /* what would have refused it, with `audited`; NULL: the default */
    bool audited;                /* http_access_audit let it pass */
    bool reply_asked;            /* http_reply_access has been asked about the answer */
    bool followed;               /* X-Forwarded-For was looked at */
    bool sketched;               /* nobody sent it (sketch.h) */
    bool implied;                /* a CONNECT that the client did not send: intercept.c */
    bool original;               /* it goes to where a redirected client went */
    bool forged;                 /* the host of its URL has no such address */
    struct bt_fetch *fetch;      /* a module is its client (fetch.c); NULL: none is */
    struct own_ask *own;         /* it is for this server itself (own.c); NULL: it is not */
    const struct sockaddr *source; /* what bt_client_addr() says; NULL: the session's peer */
    const struct sockaddr *behind; /* whom X-Forwarded-For has led to; NULL: nobody */
    struct slots slots;            /* memory of modules */
    struct deferred resume;        /* bt_resume() was called */
    struct upgrade *upgrade;       /* NULL: the client asks for no other protocol */
    struct overlay *overlay;       /* what the origin gets instead (heads.c); NULL: the request */
    size_t overlay_bytes;          /* room for it, at most */
    struct bt_cache_wish *cache_wish; /* NULL: there is none */
    struct overlay *reply_hidden;     /* what the client does not get of the response's head */
    bool req_marked;                  /* its hop-by-hop fields are dropped */

    /* The way up. */
    struct resolve *resolve; /* NULL: the host is an address, or nobody asked yet */
    struct resolve *reverse; /* likewise, for bt_reverse() */
    struct resolve *naming;  /* likewise, for bt_client_name() */
    bool resolving, reversing, naming_now;
    const struct sockaddr *const *addrs; /* the addresses that may be dialled; nothing else is */
    size_t n_addrs;
    const struct sockaddr *lone_addr;
    struct dial *dial; /* NULL: nothing was dialled */
    bool dialling;
    struct origin *origin;                    /* the connection under way; NULL: none */
    const struct sockaddr *from_v4, *from_v6; /* tcp_outgoing_address; NULL: the kernel chooses */
    bool from_known;                          /* it was asked */
    bool spoofs;                              /* it is the client's */
    struct marks marks;                       /* of the connection; none where nobody says any */
    bool marks_known, mark_said;              /* it was asked; bt_mark_set() has said it */
    bool pin;                                 /* a login is bound to the connection */
    struct txn_server {
        union {
            struct sockaddr any;
            struct sockaddr_in v4;
            struct sockaddr_in6 v6;
        } addr, local; /* of the last connection, for logs; family 0: there was none */
    } server;          /* `local` only where a log asks for it (fields.h) */
    bool reused;       /* it came from the pool: it may have gone stale */
    bool securing;     /* its TLS handshake is under way */
    bool unproven;     /* bt_rep_proven() */
    bool logs_in;      /* bt_req_logs_in() */
    bt_str secure_key; /* of secure_key(); .at NULL: not asked yet */
    struct bump *bump; /* STEP_bump was here; NULL: it was not */
    unsigned tries;
    struct route *route;        /* the ways to go; NULL: nobody has chosen, and it goes directly */
    bt_str peer_wish;           /* bt_peer_set() */
    bool no_direct, no_parents; /* what it is forbids it, before any rule */
    struct bt_probe *probe;     /* it is one of our own (probe.c); NULL: it is not */
    struct input from_origin;
    struct timeout timeout;  /* of the origin's side */
    struct timeout lifetime; /* client_lifetime */

    /* The response. `rep` is the origin's head, or our own answer's. */
    struct head rep;
    struct body download; /* its body */
    int64_t download_max; /* reply_body_max_size; -1: no limit */
    bool head_sent;       /* the client has (or is about to get) a final head */
    uint32_t scanned;     /* of the origin's head, see head_end() */
    unsigned interim;     /* 1xx heads passed on */
    bool keep_origin;     /* the connection may go back to the pool */
    struct pace *pace;    /* NULL: as fast as it goes */
    unsigned delay_pool;  /* bt_delay_pool_set(), plus 1; 0: nobody has said */
    struct relay *relay;  /* STEP_tunnel */
    struct tap *tap;      /* who gets a copy of its body; NULL: nobody */
    struct serve *serve;  /* what bt_answer_from() said, or STEP_serve; NULL: nothing */

    /* An answer of our own: what to say. */
    int deny_status;
    const char *deny_page;   /* "ERR_ACCESS_DENIED"; also when nothing was sent, for logs */
    const char *deny_detail; /* a phrase for people: what was wrong */
    bt_str answer_fields, answer_body;
    bool failing;    /* the way up failed, and hooks have not said yet what they think of it */
    bool fail_told;  /* they were asked */
    int fail_status; /* with which status; 0: it did not */
    const char *fail_page;
    bt_str reply_fields; /* bt_reply_add(): whole lines for any final head */

    /* For logs and counters. */
    uint64_t number; /* of this worker; makes a log line findable */
    struct txn_times time;
    struct txn_bytes bytes;
    enum txn_end ended;
    bool told;                 /* finish_tell() was called */
    bool background;           /* bt_background() has made it */
    int64_t told_in, told_out; /* of the origin's bytes: counted */
    const char *tag;           /* Squid's result: "TCP_MISS" */
    bool tagged;               /* a module has said it, see txn_tag() */
    const char *hierarchy;     /* Squid's way: "HIER_DIRECT" */
    int dial_errno;            /* of the last connection that failed; 0: none */
};

/* Let the exchange go on from where it is. Safe from anywhere, also from within a step. */
void txn_run(struct bt_txn *);

struct bt_txn *txn_new(struct session *, const struct client_ops *);

/* End it now, without another word to anybody; for connections that are gone. Frees txn. */
void txn_abort(struct bt_txn *, enum txn_end);

/* From within a step: go on with an answer of our own. Returns GO_ON. */
enum go txn_refuse(struct bt_txn *, int status, const char *page, const char *detail);

/* The same, for failures of the way up: hooks of phase RESPONSE are asked about them. */
enum go txn_fail(struct bt_txn *, int status, const char *page, const char *detail);

/* From within a step: the client's side is over. Returns GO_ON: with a sink that wants the rest the
 * exchange goes on without it, else to its end. */
enum go txn_leave(struct bt_txn *, enum txn_end);
/* The same from without, and run it. */
void txn_gone(struct bt_txn *, enum txn_end);

/* How it is answered, unless a module has its own word for it. Denials assign txn->tag. */
static inline void txn_tag(struct bt_txn *txn, const char *tag)
{
    if (!txn->tagged)
        txn->tag = tag;
}

/* Whether the same request may be sent a second time without harm (RFC 9110 9.2.2). */
bool txn_retriable(const struct bt_txn *);

/* Ask the hooks of a phase, once a step. GO_ON with *done set: they have nothing (more) to say. */
enum go txn_phase(struct bt_txn *, enum bt_phase, bool *done);

/* One step each. */
enum go step_read(struct bt_txn *);
enum go step_admit(struct bt_txn *);
enum go step_adapt(struct bt_txn *);
enum go step_bump(struct bt_txn *);
enum go step_answer(struct bt_txn *);
enum go step_upstream(struct bt_txn *);
enum go step_tunnel(struct bt_txn *);
enum go step_receive(struct bt_txn *);
enum go step_deliver(struct bt_txn *);
enum go step_serve(struct bt_txn *);
enum go step_refuse(struct bt_txn *);
enum go step_finish(struct bt_txn *);

/* heads.c: hop-by-hop fields of the request are dropped, once. */
void heads_mark(struct bt_txn *);
/* heads.c: what bt_upstream_set() said: hide those fields of the request, write the others, and show
 * them again. Between the two the request's fields are written. */
void heads_hide(struct bt_txn *);
void heads_overlay(struct bt_txn *, struct writer *);
/* heads.c: likewise for bt_reply_set(), around the writing of the response's head. */
void heads_hide_reply(struct bt_txn *);
void heads_show_reply(struct bt_txn *);

/* finish.c: count it, log it, ask the hooks of phase FINISH: once an exchange. */
void finish_tell(struct bt_txn *);

/* local.c: is this the end of its way? GO_ON with txn->step changed: it is. */
enum go local_look(struct bt_txn *);

/* deliver.c: nobody wants the origin's answer. Its connection is kept when all of it is there. */
void deliver_discard(struct bt_txn *);

/* ---- upload.c: the request's body on its way up, beside receive and deliver ---- */

/* Move what can be moved. false: the origin cannot take it, or the client's bytes are wrong; the
 * exchange is on its way to an answer about that. `head` is sent in front, in the same write. */
BT_MUST bool upload_move(struct bt_txn *, bt_str head);

/* ---- upstream.c: the connection to the origin ---- */

/* Readiness of txn->origin comes here; also set when a pooled connection is taken. */
void origin_attach(struct bt_txn *, struct origin *);
/* Give it back to the pool when both sides are in order, else close it. */
void origin_release(struct bt_txn *);
/* A connection to the request's host, dialled or out of the pool; with TLS when its URL is https. GO_ON
 * with *done: txn->origin stands; else an answer about why not is on its way. */
enum go origin_open(struct bt_txn *, bool *done);
/* What was dialled goes to wait for a request in the pool, if anything is kept. */
void origin_hand_over(struct bt_txn *);
/* Addresses of the request's host; YES when txn->addrs stands. Used by ACLs and by the dialling. */
enum bt_match origin_addrs(struct bt_txn *);
/* Make the timeout classes of the origin's side. */
void upstream_start(void);
extern struct timeout_class origin_reading;  /* read_timeout */
extern struct timeout_class origin_securing; /* connect_timeout, for the handshake */
extern struct timeout_class txn_living;      /* client_lifetime */
extern struct timeout_class txn_pausing;     /* forward_timeout; in place of the origin's */
void tunnel_start(void);
/* Tell the client that its CONNECT stands, before a tunnel does. false: it is gone. */
BT_MUST bool tunnel_say(struct bt_txn *);
/* Let go of both streams, with what went through them counted. */
void tunnel_stop(struct bt_txn *);

/* ---- input.c ---- */

/* One read: into `shared` (of SHARED_BYTES) when nothing is unread, else behind what is unread.
 * Bytes, or BT_IO_AGAIN, BT_IO_EOF, BT_IO_ERROR. Not more than `limit` bytes are held. */
ssize_t input_read(struct input *, struct stream *, char *shared, size_t limit);
/* Up to `max` pieces of a body out of what is there. DATA: *n > 0 and perhaps more; END: *n pieces, and
 * that was all; MORE and BAD: none. */
enum body_result input_slices(struct input *, struct body *, bt_str *slice, int max, int *n);
void input_settle(struct input *, const char *shared);
void input_free(struct input *);
static inline size_t input_len(const struct input *in)
{
    return (size_t)(in->end - in->at);
}
enum { SHARED_BYTES = 64 * 1024 };
extern char shared_client[SHARED_BYTES]; /* read from clients */
extern char shared_origin[SHARED_BYTES]; /* read from origins */

/* ---- frame.c ---- */

enum { SLICES_MAX = 16 };
/* Write a head (may be empty) and pieces of a body in one go, as chunks when `chunked`; with `last` the
 * end of the chunks too. Adds what was written to *bytes. false: the connection is lost. */
struct framed {
    bt_str head;
    const bt_str *slice;
    int n; /* at most SLICES_MAX */
    bool chunked, last;
};
struct frame_state {
    int64_t *bytes; /* all that was taken, or is kept, is added */
    uint64_t *open; /* of a chunk; 0: none */
    size_t taken;
    bool full; /* the network takes no more now */
};
BT_MUST bool frame_write(struct stream *, const struct framed *, int64_t *bytes);
/* The same, but of the pieces only as much as the network takes now: *taken bytes, the rest is not
 * kept. All pieces make one chunk; *open is what is left of one that was begun, and then belongs to
 * its pieces. f->n and the last piece are made smaller where fewer can be offered, and f->last is
 * false after that, or when not all was taken. */
BT_MUST bool frame_offer(struct stream *, struct framed *, struct frame_state *);
/* Memory to build a head in, with `more` bytes than it needs by itself: the worker's buffer, or the
 * exchange's when that is too small. */
struct writer frame_writer(struct bt_txn *, const struct head *received, size_t more);

#endif
