/* shape.h - what the files of module shape share: its configuration, and what each says of an exchange.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SHAPE_SHAPE_H
#define SHAPE_SHAPE_H

#include "bt.h"

/* ---- pools ---- */

/* RESTORE/MAXIMUM; rate 0: no limit. */
struct limit {
    int64_t rate, most;
};

/* What a pool divides its clients by; a class has some of them, in the order of delay_parameters. */
enum part { PART_ALL, PART_NETWORK, PART_HOST, PART_USER, PART_TAG, PARTS };

/* Of delay_pools, by number. */
struct pool {
    int64_t class; /* 0: no line has said */
    struct limit limit[PARTS];
    bool has_limits;
    struct bt_rules *access;
    const struct bt_word *at; /* of delay_parameters */
};
/* Of client_delay_pools, by number. */
struct client_pool {
    struct limit limit;
    struct bt_rules *access;
};
/* Of response_delay_pool, by name. */
struct response_options {
    int64_t host_rate, host_most, all_rate, all_most, level;
};
struct response_pool {
    struct response_pool *next;
    bt_str name;
    struct response_options options;
    struct bt_rules *access;
};

/* ---- request_rate_limit ---- */

enum per { PER_CLIENT, PER_NETWORK, PER_USER, PER_ALL };
enum action { ACTION_DENY, ACTION_DELAY };
struct rate_options {
    int64_t burst, per, action, most_wait;
};
struct rate_line {
    struct rate_line *next;
    const struct bt_acls *acls;
    const struct rate_options *options;
    struct bt_pace pace;
    unsigned number;
};

enum { POOLS_MAX = 4096 };
struct shape_conf {
    int64_t n_pools, n_client_pools, level, client_level;
    struct pool *pool; /* by number, from 1; POOLS_MAX at most, made when a line needs it */
    struct client_pool *client_pool;
    struct response_pool *responses;
    struct rate_line *rates;
    bool indirect;
};
#define CONF ((const struct shape_conf *)bt_self.conf)

typedef bool shape_set(void *conf, const struct bt_line *, struct bt_error *);

/* ---- pools.c ---- */

shape_set pools_class, pools_parameters, pools_access, pools_client_parameters, pools_client_access,
    pools_response, pools_response_access;
bool pools_setup(struct shape_conf *, struct bt_error *);
/* Give the exchange the buckets of its pools. `answer`: its head is there. The number of the pool of
 * delay_pools that it is in, or 0. */
unsigned pools_choose(struct bt_txn *, bool answer);

/* ---- rate.c ---- */

/* Of an exchange. */
struct rate_visit {
    struct bt_txn *txn;
    const struct rate_line *next; /* not asked yet */
    struct bt_timer *timer;       /* it waits */
    bool begun;
};
enum rate_said { RATE_PASS, RATE_WAIT, RATE_TOO_MANY };
enum { RATE_OPTIONS = 4 };
extern const struct bt_option rate_options[RATE_OPTIONS];
shape_set rate_set;
/* Lines about users are asked once it is known who they are, others before. */
enum rate_said rate_ask(struct rate_visit *, struct bt_txn *, bool users);

/* ---- key.c ---- */

/* A key of buckets: what it is about, and whom. */
struct key {
    char text[512];
    size_t len;
};
struct key key_of(const char *kind, uint64_t number);
void key_text(struct key *, bt_str);
/* The first `bits` of an address: of IPv4 of its 32, of IPv6 of its 128. */
void key_addr(struct key *, const struct sockaddr *, unsigned v4_bits, unsigned v6_bits);
struct bt_bucket key_bucket(const struct key *, const struct bt_pace *);

#endif
