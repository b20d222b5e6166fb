/* peer.h - what the files of the module share: its configuration, and what all workers know of a parent.
 *
 *   peer.c      the module: its tables, setup and start
 *   lines.c     cache_peer and cache_peer_access, as they are written (lines.h: the rows of options)
 *   choose.c    the ways of one exchange, best first
 *   hash.c      parents by hash: CARP, sourcehash, userhash
 *   login.c     what a parent gets to log in with
 *   state.c     who is up, how often was it asked, how many connections are open: in a zone
 *   watch.c     what goes on beside exchanges: revival, health checks, connections in advance
 *   commands.c  bobtailctl peers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PEER_PEER_H
#define PEER_PEER_H

#include <string.h>

#include "bt.h"

#include "hash.h"

enum peer_type { PEER_PARENT, PEER_SIBLING, PEER_MULTICAST };
enum peer_login {
    LOGIN_NONE,
    LOGIN_FIXED,     /* user:password */
    LOGIN_PASS,      /* the client's, or that of an external ACL */
    LOGIN_PASSTHRU,  /* the client's, whatever it is */
    LOGIN_PROXYPASS, /* the client's login with us is one with the web server */
    LOGIN_USER       /* *:password: the user's name, and one password */
};

struct peer {
    struct bt_parent parent;  /* first, so that (struct peer *)parent works */
    const struct bt_word *at; /* its line, for complaints */
    unsigned number;          /* in peer_conf->peer[] */
    unsigned idle;            /* connections that wait in this worker */
    enum peer_type type;
    bool by_default, round_robin, weighted, carp, sourcehash, userhash;
    unsigned carp_key; /* HASH_KEY_ bits; 0: the whole URL */
    int64_t weight, basetime_ms, max_conn, fail_limit, standby;
    enum peer_login login;
    bt_str login_line;     /* LOGIN_FIXED: the whole header line */
    bt_str login_password; /* LOGIN_USER: ":password" */
    bt_str health_url;     /* NONE: it is not asked how it is */
    bt_duration health_interval;
    struct bt_rules *access; /* cache_peer_access; NULL: for everything */
    /* This worker's: */
    bool usable;  /* for the exchange whose ways are chosen */
    double turns; /* of round-robin, by weight */
    struct bt_probe revival, health, advance;
};

struct peer_access {
    struct peer_access *next;
    const struct bt_word *name;
    struct bt_rules *rules;
};

struct peer_conf {
    struct bt_rules *always_direct, *never_direct;
    bool prefer_direct, nonhierarchical_direct;
    bt_duration connect_timeout; /* peer_connect_timeout */
    bt_duration dead_timeout;    /* dead_peer_timeout */
    struct peer **peer;          /* in the order of their lines */
    unsigned n, room;
    struct peer_access *access;
    struct hash_group carp, source, user;
    bool told_icp, told_sibling;
};
extern struct peer_conf *peers; /* from .setup on */

/* The parent of that name; NULL: there is none. */
struct peer *peer_find(const struct peer_conf *, bt_str name);

/* lines.c: .set of rows */
bool lines_peer(void *conf, const struct bt_line *, struct bt_error *);
bool lines_access(void *conf, const struct bt_line *, struct bt_error *);
BT_MUST bool lines_setup(struct peer_conf *, struct bt_error *);

/* choose.c */
enum bt_match choose_ways(struct bt_txn *, unsigned may, struct bt_ways *);

/* login.c: at setup, the line of user:password; and for a request */
bt_str login_line(struct bt_arena *, bool origin, bt_str user_password);
bt_str login_lines(const struct bt_parent *, struct bt_txn *);

/* state.c */
BT_MUST bool state_setup(struct peer_conf *, struct bt_arena *, struct bt_error *);
bool state_up(const struct peer *);
/* Changes when anybody goes up or down. */
uint32_t state_changes(void);
int64_t state_rtt_us(const struct peer *);
void state_tell(const struct bt_parent *, enum bt_parent_event, int64_t us);
bool state_take(const struct bt_parent *);
void state_give(const struct bt_parent *);
/* It answered a probe, or did not. */
void state_revive(const struct peer *);
void state_health(const struct peer *, bool good, int status);
/* Is it time for the next probe of it? At most one worker is told yes. */
bool state_revival_due(const struct peer *);
bool state_health_due(const struct peer *);
struct state_report {
    bool dead, unwell;
    int64_t since_ms; /* it is so; 0: from the beginning */
    int status;       /* of the last health check; 0: none, or no answer */
    uint64_t answered, silent, refused, opened;
    int64_t open, rtt_us;
    uint32_t failures; /* in a row */
};
void state_report(const struct peer *, struct state_report *);

/* watch.c */
void watch_start(void);
void watch_stop(void);

/* commands.c */
void commands_peers(struct bt_call *, const bt_str *word, size_t n);

/* Names without `arena`: a slice of a text up to a byte. */
static inline bool peer_is(bt_str text, const char *literal)
{
    return bt_str_eq(text, (bt_str){literal, strlen(literal)});
}

#endif
