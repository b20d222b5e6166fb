/* bump.c - what is done with a CONNECT on a port with ssl-bump: the lines of ssl_bump, step by step.
 *
 *   step 1   where the client wants to go          all actions
 *   step 2   and the name in its hello             all actions
 *   step 3   and who the origin is                 after a peek: splice, terminate
 *                                                  after a stare: bump, terminate
 *
 * One list; at each step those of its lines count that can be done then. No line holds: in step 1 and
 * after a peek it is a tunnel, after a stare the connection is bumped. Old words stand for new ones;
 * server-first is a stare, and a bump with what was seen, without asking again.
 *
 * A line that cannot be told (a pattern that takes too long, a helper that is gone) ends the
 * connection, since nobody knows what its writer would have wanted.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "tls.h"

#include "counts.h"

/* The words of ssl_bump, in the order in which bump_rows.h has them. */
enum word {
    WORD_SPLICE,
    WORD_PEEK,
    WORD_STARE,
    WORD_BUMP,
    WORD_TERMINATE,
    WORD_NONE,
    WORD_CLIENT_FIRST,
    WORD_SERVER_FIRST,
    WORD_PEEK_AND_SPLICE,
    WORD_ALLOW, /* the two of Squid 3.1 */
    WORD_DENY,
    WORDS
};

struct meaning {
    const char *mode;
    enum tls_action action;
};
static const struct meaning meaning[WORDS] = {
    [WORD_SPLICE] = {"splice", TLS_SPLICE},
    [WORD_PEEK] = {"peek", TLS_PEEK},
    [WORD_STARE] = {"stare", TLS_STARE},
    [WORD_BUMP] = {"bump", TLS_BUMP},
    [WORD_TERMINATE] = {"terminate", TLS_TERMINATE},
    [WORD_NONE] = {"none", TLS_SPLICE},
    [WORD_CLIENT_FIRST] = {"client-first", TLS_BUMP},
    [WORD_SERVER_FIRST] = {"server-first", TLS_STARE},
    [WORD_PEEK_AND_SPLICE] = {"peek", TLS_PEEK},
    [WORD_ALLOW] = {"bump", TLS_BUMP},
    [WORD_DENY] = {"none", TLS_SPLICE},
};

#define BIT(word) (UINT32_C(1) << (word))
#define ANY_WORD (BIT(WORDS) - 1)
#define SPLICES (BIT(WORD_SPLICE) | BIT(WORD_NONE) | BIT(WORD_DENY))
#define BUMPS (BIT(WORD_BUMP) | BIT(WORD_CLIENT_FIRST) | BIT(WORD_SERVER_FIRST) | BIT(WORD_ALLOW))

/* What can be done now. In step 2 server-first has seen no server and bumps, which looks at it; who
 * wrote peek-and-splice has peeked. */
static uint32_t possible(const struct tls_client *client, int step)
{
    if (step == 1)
        return ANY_WORD;
    if (step == 2)
        return ANY_WORD & ~BIT(WORD_PEEK_AND_SPLICE);
    return BIT(WORD_TERMINATE) | (client->mode == TLS_PEEK ? SPLICES : BUMPS);
}

static enum word by_default(const struct tls_client *client, int step)
{
    return step > 1 && client->decided && client->mode == TLS_STARE ? WORD_BUMP : WORD_SPLICE;
}

static enum bt_bump done(struct tls_client *client, enum word word, enum tls_action action)
{
    static const enum bt_bump bump[] = {
        [TLS_SPLICE] = BT_BUMP_SPLICE,       [TLS_PEEK] = BT_BUMP_PEEK,
        [TLS_STARE] = BT_BUMP_STARE,         [TLS_BUMP] = BT_BUMP_BUMP,
        [TLS_TERMINATE] = BT_BUMP_TERMINATE,
    };
    static const unsigned counter[] = {
        [TLS_SPLICE] = N_bump_splice,       [TLS_PEEK] = N_bump_peek,
        [TLS_STARE] = N_bump_stare,         [TLS_BUMP] = N_bump_bump,
        [TLS_TERMINATE] = N_bump_terminate,
    };

    bt_add(counter[action], 1);
    client->decided = true;
    client->word = (int)word;
    client->mode = action;
    return bump[action];
}

/* Who the origin is, when a handshake with it was made to look at it. */
static void origin_note(struct tls_client *client, const struct bt_tls_side *origin)
{
    if (client->peer == NULL && origin != NULL && origin->peer != NULL)
        client->peer = tls_peer_hold(origin->peer);
}

enum bt_bump bump_decide(struct bt_txn *txn, int step)
{
    struct tls_client *client = tls_client(txn);
    bool stared = client->decided && client->mode == TLS_STARE;

    client->step = step;
    if (step == 1) { /* what came of another CONNECT on the connection does not count */
        client->decided = stared = false;
        client->reader = NULL;
        client->hello = NULL;
        client->fed = 0;
    }
    if (step == 3)
        origin_note(client, bt_tls_origin(txn));
    if (step > 1 && stared && client->word == WORD_SERVER_FIRST)
        return done(client, WORD_SERVER_FIRST, TLS_BUMP);
    struct bt_ruling ruling = bt_rules_run_some(tls_conf->bump, txn, possible(client, step));
    enum word word;
    switch (ruling.match) {
    case BT_WAIT:
        return BT_BUMP_WAIT;
    case BT_YES:
        word = (enum word)ruling.action;
        break;
    case BT_NO:
        word = by_default(client, step);
        break;
    default:
        bt_log_limited(txn, BT_WARN, 60,
                       "whether a line of ssl_bump holds cannot be told: the connection is closed");
        word = WORD_TERMINATE;
    }
    /* By now that is all of it. */
    if (word == WORD_SERVER_FIRST && step > 1)
        return done(client, word, TLS_BUMP);
    return done(client, word, meaning[word].action);
}

bool bump_any(void)
{
    return tls_conf->bump != NULL;
}

const char *bump_mode(struct bt_txn *txn)
{
    const struct tls_client *client = tls_client(txn);

    return client->decided ? meaning[client->word].mode : NULL;
}

enum bt_tls_state bump_forge(struct bt_txn *txn, bt_str host, struct bt_tls_side *origin)
{
    struct tls_client *client = tls_client(txn);

    origin_note(client, origin);
    return leaf_forge(txn, host, origin);
}

enum bt_match bump_covers(struct bt_txn *txn, bt_str host)
{
    const struct tls_peer *peer = tls_client(txn)->peer;

    if (peer == NULL || peer->cert == NULL || peer->errors > 0)
        return BT_BROKEN;
    return verify_host(peer->cert, host) ? BT_YES : BT_NO;
}

/* ---- the hello ---- */

enum bt_tls_hello bump_hello(struct bt_txn *txn, bt_str bytes)
{
    struct tls_client *client = tls_client(txn);
    struct hello_reader *reader = client->reader;

    if (reader == NULL) {
        reader = client->reader = bt_alloc(client->arena, sizeof *reader);
        hello_init(reader, client->arena);
    }
    enum hello_verdict verdict = reader->verdict;
    if (bytes.len > client->fed) {
        verdict = hello_feed(reader, bytes.at + client->fed, bytes.len - client->fed);
        client->fed = bytes.len;
    }
    switch (verdict) {
    case HELLO_MORE:
        return BT_HELLO_MORE;
    case HELLO_WHOLE:
        if (client->hello == NULL && reader->hello.has_ech)
            bt_count(hello_ech);
        client->hello = &reader->hello;
        return BT_HELLO_WHOLE;
    case HELLO_NOT_TLS:
        bt_count(hello_none);
        return BT_HELLO_NONE;
    case HELLO_BAD:
    case HELLO_TOO_BIG:
        break;
    }
    bt_count(hello_bad);
    bt_log(txn, BT_DEBUG, "a hello is refused: %s", reader->why);
    return BT_HELLO_BAD;
}

bt_str bump_name(struct bt_txn *txn)
{
    const struct hello *hello = tls_client(txn)->hello;

    return hello != NULL && hello->name == HELLO_NAME_HOST ? hello->sni : BT_STR_NONE;
}
