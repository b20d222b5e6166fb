/* bt_route.h - where an exchange goes: directly, or to a parent; as the one module that routes says it.
 *
 * The core asks the module once an exchange, when its request is about to leave (or a CONNECT that is
 * bumped is about to be connected), for a list of ways, best first. It tries one after the other, within
 * forward_timeout and forward_max_tries, and goes on to the next one when
 *
 *   nobody can be reached that way, or no TLS can be spoken with him, or he refuses our CONNECT;
 *   he answers nothing, garbage, 407 that the client could do nothing about, 502 or 504, and the
 *   request can be sent a second time without harm.
 *
 * How it went with a parent is told to the module. Resolving, dialling, TLS, CONNECT to a parent in front
 * of TLS with the origin, kept connections, and what parents may see of the request are the core's.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BT_ROUTE_H
#define BT_ROUTE_H

#include "bt_module.h"
#include "bt_txn.h"

struct bt_parent;

enum bt_parent_event {
    BT_PARENT_SILENT,  /* no connection, no TLS, no answer, or garbage */
    BT_PARENT_REFUSED, /* an answer that is none: 407, or no to a CONNECT of ours */
    BT_PARENT_ANSWERED /* a proper head came */
};

struct bt_parent_ops {
    /* What it gets to log in with: whole header lines, each ended by CRLF; NONE: nothing. */
    bt_str (*login)(const struct bt_parent *, struct bt_txn *);
    /* `us`: microseconds until its head came (ANSWERED), else 0. */
    void (*tell)(const struct bt_parent *, enum bt_parent_event, int64_t us);
    /* One more connection to it is about to be opened. false: it has as many as it may have; those that
     * are kept idle count. */
    bool (*take)(const struct bt_parent *);
    /* It was closed, or could not be opened after all. */
    void (*give)(const struct bt_parent *);
};

/* TLS towards a parent, by words as in tls_outgoing_options; a text that is not given has .at NULL. */
struct bt_parent_tls {
    const struct bt_word *at; /* for complaints */
    bt_str cert, key, cipher, options, min_version, cafile, capath, crlfile, flags, domain;
    int64_t version;
    bool default_ca;
    void *
        context; /* of the module that speaks TLS, from its .setup on; NULL: it does not speak it */
};

/* A parent, as the core needs it; lives as long as the configuration, and does not change. */
struct bt_parent {
    bt_str name; /* its own alone: for logs, rules, kept connections */
    bt_str host;
    unsigned port;
    bt_duration connect_timeout;
    struct bt_parent_tls *tls; /* NULL: it is spoken with in clear */
    bt_str domain;             /* what Host says instead of the URL's host; NONE: that */
    bool origin;               /* it is no proxy, but the web server itself */
    bool
        pass_login; /* it gets what the client sends to log in there, and its challenge comes back */
    bool login_by_user;  /* what .login says depends on the exchange */
    bool no_bound_login; /* NTLM and the like do not work through it */
    bool says_https;     /* it gets Front-End-Https: On, */
    bool says_if_https;  /* or when the URL is https */
    bool not_cached;     /* what it answers is not kept here */
    bool not_shaped;     /* nor does it count in delay pools */
    bool says_client;    /* a PROXY header (v2) comes first, that says who the client is */
    const struct bt_parent_ops *ops;
    unsigned *idle;  /* where the core counts the connections to it that wait in this worker */
    unsigned number; /* the core's */
};

/* From .set or .setup on: this is a parent. TLS with it, where it wants that, is set up by the module that
 * speaks TLS, whose complaints point at its words. */
BT_API void bt_parent_add(struct bt_parent *);
/* All of them, for that module. */
BT_API size_t bt_parents(const struct bt_parent *const **);

enum { BT_WAYS_MAX = 32 };
struct bt_way {
    const struct bt_parent *parent; /* NULL: directly */
    const char *code;               /* Squid's word for it ("FIRSTUP_PARENT"), a literal */
};
struct bt_ways {
    struct bt_way way[BT_WAYS_MAX];
    unsigned n;
};

/* What the kind of the exchange allows, before any rule. */
enum {
    BT_MAY_DIRECT = 1, /* not where the client took us for the web server itself */
    BT_MAY_PARENT = 2  /* not where nobody knows who is meant */
};

/* How a parent is, as all workers know it together. */
struct bt_parent_report {
    const struct bt_parent *parent;
    bool sibling; /* it is one, and never asked */
    bool up;
    int64_t answered, silent, refused; /* requests that went to it */
    int64_t opened, open;              /* connections */
    int64_t rtt_us;                    /* until its head comes; 0: it is not known */
};

/* The module's row: struct bt_module.route. */
struct bt_route {
    /* Add ways (the struct is not cleared, but n is 0). YES: they stand, there may be none; WAIT until
     * bt_resume(), and the question is asked again; BROKEN: it cannot be told, and nobody is asked. */
    enum bt_match (*choose)(struct bt_txn *, unsigned may, struct bt_ways *);
    /* The i-th of all parents, from 0 on; false: there are not so many. */
    bool (*report)(size_t i, struct bt_parent_report *out);
};
/* Worker: what that says; false also when no module knows ways. */
BT_API BT_MUST bool bt_parent_report(size_t i, struct bt_parent_report *out);

/* Close the connection to it that waits longest in this worker. false: none does. */
BT_API BT_MUST bool bt_parent_idle_close(const struct bt_parent *);

/* Whom the exchange goes, or went last, to; NULL: directly, or nowhere yet. */
BT_API const struct bt_parent *bt_parent(struct bt_txn *);
/* What bt_peer_set() (bt_txn.h) has said; BT_STR_NONE: nothing. */
BT_API bt_str bt_peer_wish(struct bt_txn *);

/* ---- probes: exchanges of our own with one parent ---- */

struct bt_probe {
    const struct bt_parent *parent;
    bt_str url;        /* GET this, in whole; NONE: connect only, and keep the connection idle */
    bt_duration limit; /* of all of it */
    void (*done)(struct bt_probe *);
    /* The result: */
    bool reached; /* it was connected to, and TLS spoken where it should be */
    int status;   /* of its answer; 0: none, or no URL */
    /* The core's: */
    struct bt_txn *txn; /* NULL: it is over */
};
/* Worker. Stands in the caller's memory until done() was called, which is once, from the loop. false: it
 * cannot begin (too many exchanges without a client, or the worker is about to end). */
BT_API BT_MUST bool bt_probe_start(struct bt_probe *);

#endif
