/* auth.h - logins: what the files of this folder share.
 *
 *   auth.c       auth_param lines, the login of an exchange, challenges, brute force
 *   basic.c      name and password: by helper, or by a password file in a thread
 *   digest.c     RFC 7616: nonces, counts, responses
 *   negotiate.c  Negotiate and NTLM: a dialogue bound to the client's connection
 *   notes.c      what helpers say of users beside the verdict
 *   users.c      ACL types: proxy_auth, proxy_auth_regex, max_user_ip
 *   passwd.c     password files
 *   hash.c       MD5, SHA-1, SHA-256, base64
 *
 *   shared.c     what all workers know together: credentials, nonces, addresses, failures
 *
 * The login of an exchange is asked for by ACLs, and settled once.
 *
 * No password stands in shared memory, nor what could be used in place of one: credentials are found
 * by a hash that is keyed with a secret of this generation, and what Digest needs to know of a
 * password (HA1) is masked with it. So a reload asks all helpers anew. Nonces and how often they were
 * used are kept across reloads.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef AUTH_H
#define AUTH_H

#include <string.h>

#include "bt.h"
#include "hash.h"
#include "passwd.h"

#define COUNTERS(X)                                                                                \
    X(checks, "auth.checks", BT_COUNT, "logins", "Credentials looked at.")                         \
    X(cached, "auth.cached", BT_COUNT, "logins", "Credentials that were good a moment ago.")       \
    X(good, "auth.good", BT_COUNT, "logins", "Credentials found good by a helper or a file.")      \
    X(bad, "auth.bad", BT_COUNT, "logins", "Credentials that were wrong.")                         \
    X(broken, "auth.broken", BT_COUNT, "logins", "Credentials that nobody could check.")           \
    X(malformed, "auth.malformed", BT_COUNT, "logins", "Proxy-Authorization that is none.")        \
    X(stale, "auth.stale", BT_COUNT, "logins", "Digest logins with a nonce that is too old.")      \
    X(slowed, "auth.slowed", BT_COUNT, "logins", "Refusals held back, after several from there.")  \
    X(challenges, "auth.challenges", BT_COUNT, "answers", "Clients asked to log in.")
enum { COUNTERS(BT_ID_) N_end_ };

enum scheme_kind { SCHEME_BASIC, SCHEME_DIGEST, SCHEME_NEGOTIATE, SCHEME_NTLM, SCHEMES };

struct children {
    int64_t startup, idle, concurrency, queue, overload, reservation;
};

struct scheme {
    enum scheme_kind kind;
    const char *name;  /* as in headers */
    unsigned order;    /* of its first line, from 1; 0: no line names it */
    struct bt_word at; /* its name there */
    struct bt_args program;
    int64_t max; /* processes */
    struct children children;
    int64_t concurrency; /* the old line of that name; -1: none */
    bt_str realm;
    struct bt_format *extras;
    bool utf8, casesensitive, blank_password, keep_alive;
    int64_t credentials_ms;
    int64_t nonce_ms, nonce_uses;
    bool strict, check_count, sha256;
    const char *file;       /* basic: of passwords, read by us; NULL: a helper is asked */
    struct bt_helper *pool; /* NULL: none */
    /* worker */
    struct passwd *passwd;
    struct bt_lru *asking; /* struct check by key: what is being asked */
};

struct auth_conf {
    bt_duration ip_ttl; /* filled from the row */
    struct scheme scheme[SCHEMES];
    unsigned orders;
    uint8_t secret[32];       /* of this generation */
    uint8_t nonce_secret[32]; /* of all of them, as long as the server runs */
    int64_t addresses;        /* the most that an ACL lets a user have */
    /* In all workers; NULL: nobody needs it. */
    struct bt_dict *known;    /* what was found good: user, or HA1, by auth_key() */
    struct bt_dict *nonces;   /* struct nonce by nonce */
    struct bt_dict *users;    /* users.c: addresses by user */
    struct bt_dict *failures; /* struct failure by address */
};
#define auth ((struct auth_conf *)bt_self.conf)

enum login_state { LOGIN_NEW, LOGIN_WAITS, LOGIN_GOOD, LOGIN_BAD };

/* Of one exchange. */
struct login {
    enum login_state state;
    struct bt_txn *txn;
    struct scheme *scheme; /* of the credentials; NULL: there are none */
    bool stale;            /* Digest: only the nonce is too old */
    bt_str token;          /* Negotiate, NTLM: the next word of the dialogue */
    bool told;             /* Negotiate: the last word is on its way to the client */
    void *data;            /* of the scheme */
    struct bt_timer *timer;
    struct login *next,
        **waits_at; /* among those that wait for a check; waits_at NULL: it does not */
};

/* A question under way, with those that wait for its answer. */
struct check {
    struct bt_helper_ask ask;
    struct scheme *scheme;
    struct login *waiters;
    bt_str key;
    void (*each)(struct check *, struct login *, const struct bt_helper_reply *);
};

bool scheme_offered(const struct scheme *);
bool auth_offered(void);

/* The credentials of the exchange: words after the scheme's name. Each settles the login, or has it
 * wait. */
void basic_login(struct login *, bt_str credentials);
void digest_login(struct login *, bt_str credentials);
void negotiate_login(struct login *, bt_str credentials);
/* Without credentials: the connection may have been logged in before. false: it was not. */
bool negotiate_again(struct login *);

/* The field that a challenge stands in. */
bt_str auth_challenge_field(struct bt_txn *);
/* What follows the name of the scheme in a challenge. */
bt_str digest_challenge(const struct scheme *, struct bt_txn *, bool stale);
/* A text between quotes of a header. */
bt_str auth_quoted(struct bt_arena *, bt_str);

/* Outcomes. They resume the exchange when it waits. */
void login_good(struct login *, bt_str user);
void login_bad(struct login *, bt_str message);
/* Not bad, but not yet good: challenge (again) without counting a failure. */
void login_not_yet(struct login *);

/* Wait for the check of that key; *is_new: nobody asked yet, and the caller must. */
struct check *check_join(struct login *, bt_str key, bool *is_new);
/* Tell all that wait, and forget it. */
void check_done(struct check *, const struct bt_helper_reply *);
void check_answered(struct bt_helper_ask *, const struct bt_helper_reply *);

/* " EXTRAS" of key_extras, which are part of who asks: what is remembered is found by them, too.
 * Empty when there are none. */
bt_str auth_extras(const struct scheme *, struct bt_txn *);
/* Latin 1 as UTF-8, when it is not UTF-8 already. */
bt_str auth_utf8(struct bt_arena *, bt_str);
bt_str auth_lower(struct bt_arena *, bt_str);

/* shared.c */
BT_MUST bool shared_make(struct bt_error *);
/* A hash of a few texts that nobody outside of this generation can make. */
void auth_key(uint8_t key[HASH_MAX], char kind, bt_str a, bt_str b, bt_str c);

/* notes.c */
void notes_set(struct login *, const struct bt_helper_reply *);
/* The same, to be remembered behind `head`. */
bt_str notes_packed(struct bt_arena *, bt_str head, const struct bt_helper_reply *);
/* A text as it is packed, to `at`, when that is not NULL; the number of bytes. */
size_t notes_put(char *at, bt_str text);
/* The next text off the front; BT_STR_NONE: there is none. */
bt_str notes_take(bt_str *packed);
void notes_recall(struct login *, bt_str packed);

/* users.c */
extern const struct bt_acl_type users_types[3];
void users_seen(struct bt_txn *, bt_str user);
size_t users_room(void); /* bytes of the addresses of one user */

#endif
