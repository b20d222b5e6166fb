/* test_tls_bump.c - what ssl_bump does at each step, after each step before; hellos that come in pieces.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/arena.h"
#include "unit.h"

#include "tls/bump.c"
#include "tls/hello.c"

#define COUNT(rows) (sizeof(rows) / sizeof *(rows))

static struct bt_arena *arena;
static _Atomic int64_t row[N_end_];
struct bt_self bt_self = {.row = row};
static struct tls_client client;
static struct bt_tls_side *origin;
static struct tls_conf conf;
struct tls_conf *tls_conf = &conf;

/* ---- what the server would have ---- */

struct tls_client *tls_client(struct bt_txn *txn)
{
    (void)txn;
    return &client;
}
struct bt_tls_side *bt_tls_origin(struct bt_txn *txn)
{
    (void)txn;
    return origin;
}
struct tls_peer *tls_peer_hold(struct tls_peer *peer)
{
    peer->uses++;
    return peer;
}

static enum bt_tls_state forged;
enum bt_tls_state leaf_forge(struct bt_txn *txn, bt_str host, struct bt_tls_side *side)
{
    (void)txn, (void)host, (void)side;
    return forged;
}
bool verify_host(X509 *cert, bt_str host)
{
    return cert != NULL && bt_str_eq(host, BT_STR("also.example"));
}

/* A list: lines with an action, and what their ACLs say. */
struct bt_rules {
    struct {
        int action;
        enum bt_match says;
    } line[8];
    size_t n;
};

static int times;

struct bt_ruling bt_rules_run_some(const struct bt_rules *rules, struct bt_txn *txn,
                                   uint32_t actions)
{
    (void)txn;
    times++;
    for (size_t i = 0; rules != NULL && i < rules->n; i++)
        if (rules->line[i].says != BT_NO && (actions >> rules->line[i].action & 1) != 0)
            return (struct bt_ruling){
                rules->line[i].says,
                rules->line[i].says == BT_BROKEN ? BT_DENY : rules->line[i].action, NULL};
    return (struct bt_ruling){BT_NO, 0, NULL};
}
struct bt_ruling bt_rules_run(const struct bt_rules *rules, struct bt_txn *txn)
{
    return bt_rules_run_some(rules, txn, UINT32_MAX);
}

static int fresh(void **state)
{
    (void)state;
    arena = arena_new(4096);
    client = (struct tls_client){.arena = arena};
    conf = (struct tls_conf){0};
    origin = NULL;
    return 0;
}
static int gone(void **state)
{
    (void)state;
    arena_free(arena);
    return 0;
}

/* ---- steps ---- */

enum { ST1 = 1, ST3 = 3 };
#define NO_MORE -1

/* Lines that hold for everybody, in order. */
static void list_of(struct bt_rules *rules, const int *words)
{
    rules->n = 0;
    for (; *words != NO_MORE; words++) {
        rules->line[rules->n].action = *words;
        rules->line[rules->n++].says = BT_YES;
    }
    conf.bump = rules;
}

static void every_action_alone(void **state)
{
    static const struct {
        int word;
        enum bt_bump step[4]; /* 1; 2 after it in step 1, or after a stare; 3 after step 2 */
        const char *mode[4];
    } rows[] = {
        {WORD_SPLICE, {0, BT_BUMP_SPLICE, BT_BUMP_SPLICE, BT_BUMP_SPLICE}, {"splice"}},
        {WORD_NONE, {0, BT_BUMP_SPLICE, BT_BUMP_SPLICE, BT_BUMP_SPLICE}, {"none"}},
        {WORD_BUMP, {0, BT_BUMP_BUMP, BT_BUMP_BUMP, BT_BUMP_BUMP}, {"bump"}},
        {WORD_CLIENT_FIRST, {0, BT_BUMP_BUMP, BT_BUMP_BUMP, BT_BUMP_BUMP}, {"client-first"}},
        {WORD_TERMINATE,
         {0, BT_BUMP_TERMINATE, BT_BUMP_TERMINATE, BT_BUMP_TERMINATE},
         {"terminate"}},
        {WORD_PEEK, {0, BT_BUMP_PEEK, BT_BUMP_PEEK, BT_BUMP_SPLICE}, {"peek", "peek", "splice"}},
        {WORD_STARE, {0, BT_BUMP_STARE, BT_BUMP_STARE, BT_BUMP_BUMP}, {"stare", "stare", "bump"}},
        {WORD_PEEK_AND_SPLICE,
         {0, BT_BUMP_PEEK, BT_BUMP_SPLICE, BT_BUMP_SPLICE},
         {"peek", "splice", "splice"}},
        {WORD_SERVER_FIRST, {0, BT_BUMP_STARE, BT_BUMP_BUMP, BT_BUMP_BUMP}, {"server-first"}},
    };
    struct bt_rules rules;

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        list_of(&rules, (const int[]){rows[i].word, NO_MORE});
        client.decided = false;
        assert_null(bump_mode(NULL));
        for (int step = ST1; step <= ST3; step++) {
            const char *mode = rows[i].mode[step - 1];
            enum tls_action before = client.mode;
            /* In step 3 only what was looked at comes so far. */
            if (step == ST3 && before != TLS_PEEK && before != TLS_STARE)
                client.mode = rows[i].step[3] == BT_BUMP_SPLICE ? TLS_PEEK : TLS_STARE;
            assert_int_equal(bump_decide(NULL, step), rows[i].step[step]);
            assert_int_equal(client.step, step);
            assert_string_equal(bump_mode(NULL), mode != NULL ? mode : rows[i].mode[0]);
        }
    }
}

/* A line whose action is impossible is not there, and the next one counts. */
static void impossible_actions(void **state)
{
    static const struct {
        int before, first, second; /* words: done in step 2; the list in step 3 */
        enum bt_bump then;
    } rows[] = {
        {WORD_PEEK, WORD_BUMP, WORD_TERMINATE, BT_BUMP_TERMINATE},
        {WORD_PEEK, WORD_BUMP, WORD_SPLICE, BT_BUMP_SPLICE},
        {WORD_PEEK, WORD_BUMP, WORD_NONE, BT_BUMP_SPLICE},
        {WORD_PEEK, WORD_STARE, WORD_PEEK, BT_BUMP_SPLICE},
        {WORD_PEEK, WORD_CLIENT_FIRST, WORD_SERVER_FIRST, BT_BUMP_SPLICE},
        {WORD_PEEK, WORD_TERMINATE, WORD_SPLICE, BT_BUMP_TERMINATE},
        {WORD_STARE, WORD_SPLICE, WORD_TERMINATE, BT_BUMP_TERMINATE},
        {WORD_STARE, WORD_SPLICE, WORD_BUMP, BT_BUMP_BUMP},
        {WORD_STARE, WORD_NONE, WORD_PEEK_AND_SPLICE, BT_BUMP_BUMP},
        {WORD_STARE, WORD_STARE, WORD_PEEK, BT_BUMP_BUMP},
        {WORD_STARE, WORD_SPLICE, WORD_CLIENT_FIRST, BT_BUMP_BUMP},
        {WORD_STARE, WORD_SPLICE, WORD_SERVER_FIRST, BT_BUMP_BUMP},
    };
    struct bt_rules rules;

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        list_of(&rules, (const int[]){rows[i].before, NO_MORE});
        (void)bump_decide(NULL, 1);
        (void)bump_decide(NULL, 2);
        list_of(&rules, (const int[]){rows[i].first, rows[i].second, NO_MORE});
        assert_int_equal(bump_decide(NULL, 3), rows[i].then);
    }
}

/* Every way from step 1 to step 2: all is possible still, and the defaults go by what was done last. */
static void second_step(void **state)
{
    struct bt_rules rules, empty = {.n = 0};
    const int looks[] = {WORD_PEEK, WORD_STARE};

    (void)state;
    for (size_t i = 0; i < COUNT(looks); i++) {
        for (int word = WORD_SPLICE; word <= WORD_TERMINATE; word++) {
            list_of(&rules, (const int[]){looks[i], NO_MORE});
            (void)bump_decide(NULL, 1);
            list_of(&rules, (const int[]){word, NO_MORE});
            assert_int_equal(bump_decide(NULL, 2),
                             done(&client, (enum word)word, meaning[word].action));
        }
        list_of(&rules, (const int[]){looks[i], NO_MORE});
        (void)bump_decide(NULL, 1);
        conf.bump = &empty;
        assert_int_equal(bump_decide(NULL, 2),
                         looks[i] == WORD_PEEK ? BT_BUMP_SPLICE : BT_BUMP_BUMP);
        assert_string_equal(bump_mode(NULL), looks[i] == WORD_PEEK ? "splice" : "bump");
    }
    assert_int_equal(bump_decide(NULL, 1), BT_BUMP_SPLICE);
    assert_string_equal(bump_mode(NULL), "splice");
}

/* server-first has made up its mind in step 1. */
static void server_first(void **state)
{
    struct bt_rules rules;

    (void)state;
    list_of(&rules, (const int[]){WORD_SERVER_FIRST, NO_MORE});
    memset(row, 0, sizeof row);
    assert_int_equal(bump_decide(NULL, 1), BT_BUMP_STARE);
    list_of(&rules, (const int[]){WORD_SPLICE, NO_MORE});
    times = 0;
    assert_int_equal(bump_decide(NULL, 2), BT_BUMP_BUMP);
    assert_int_equal(times, 0);
    assert_string_equal(bump_mode(NULL), "server-first");
    assert_int_equal(row[N_bump_stare], 1);
    assert_int_equal(row[N_bump_bump], 1);
}

static void waits_and_breaks(void **state)
{
    struct bt_rules rules;

    (void)state;
    list_of(&rules, (const int[]){WORD_STARE, NO_MORE});
    (void)bump_decide(NULL, 1);
    list_of(&rules, (const int[]){WORD_SPLICE, WORD_BUMP, NO_MORE});
    rules.line[0].says = BT_WAIT;
    assert_int_equal(bump_decide(NULL, 2), BT_BUMP_WAIT);
    assert_string_equal(bump_mode(NULL), "stare"); /* what was done stands */
    assert_int_equal(client.step, 2);
    rules.line[0].says = BT_BROKEN;
    assert_int_equal(bump_decide(NULL, 2), BT_BUMP_TERMINATE);
    assert_string_equal(bump_mode(NULL), "terminate");
    /* One that cannot be done needs no answer. */
    client.mode = TLS_STARE;
    assert_int_equal(bump_decide(NULL, 3), BT_BUMP_BUMP);
}

/* Who the origin is, is known in step 3 after a stare, and held. */
static void origin_is_noted(void **state)
{
    struct tls_peer peer = {.uses = 1};
    struct bt_tls_side side = {.peer = &peer};
    struct bt_rules rules;

    (void)state;
    list_of(&rules, (const int[]){WORD_STARE, NO_MORE});
    origin = &side;
    (void)bump_decide(NULL, 1);
    (void)bump_decide(NULL, 2);
    assert_null(client.peer);
    (void)bump_decide(NULL, 3);
    assert_ptr_equal(client.peer, &peer);
    assert_int_equal(peer.uses, 2);
}

/* A bump without a look before is the last chance to see it. What it may be asked for beside the name in the
 * hello is what its certificate is for, when nothing is wrong with it. */
static void forged_for(void **state)
{
    struct tls_peer peer = {.uses = 1, .cert = (X509 *)arena}; /* nobody looks into it */
    struct bt_tls_side side = {.peer = &peer};

    (void)state;
    assert_int_equal(bump_covers(NULL, BT_STR("also.example")), BT_BROKEN);
    forged = BT_TLS_WAIT;
    assert_int_equal(bump_forge(NULL, BT_STR("a.example"), NULL), BT_TLS_WAIT);
    assert_null(client.peer);
    forged = BT_TLS_READY;
    assert_int_equal(bump_forge(NULL, BT_STR("a.example"), &side), BT_TLS_READY);
    assert_int_equal(bump_forge(NULL, BT_STR("a.example"), &side), BT_TLS_READY);
    assert_ptr_equal(client.peer, &peer);
    assert_int_equal(peer.uses, 2);
    assert_int_equal(bump_covers(NULL, BT_STR("also.example")), BT_YES);
    assert_int_equal(bump_covers(NULL, BT_STR("other.example")), BT_NO);
    peer.errors = 1;
    assert_int_equal(bump_covers(NULL, BT_STR("also.example")), BT_BROKEN);
}

static void no_lines(void **state)
{
    struct bt_rules rules;

    (void)state;
    conf.bump = NULL;
    assert_false(bump_any());
    list_of(&rules, (const int[]){WORD_SPLICE, NO_MORE});
    assert_true(bump_any());
}

/* ---- hellos ---- */

static char raw[20000];

static size_t load(const char *name)
{
    char path[4096];

    snprintf(path, sizeof path, "%s/t/fuzz/corpus/hello/%s", SRCDIR, name);
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        fail_msg("%s cannot be opened", path);
    size_t n = fread(raw, 1, sizeof raw, file);
    fclose(file);
    return n;
}

static void hellos(void **state)
{
    static const size_t steps[] = {1, 5, 100, 20000};
    size_t size = load("curl");

    (void)state;
    for (size_t i = 0; i < COUNT(steps); i++) {
        enum bt_tls_hello said = BT_HELLO_MORE;
        (void)bump_decide(NULL, 1); /* another CONNECT */
        assert_null(client.hello);
        assert_null(bump_name(NULL).at);
        for (size_t n = steps[i]; said == BT_HELLO_MORE && n < size + steps[i]; n += steps[i]) {
            said = bump_hello(NULL, (bt_str){raw, n < size ? n : size});
            /* Asked again without anything new. */
            assert_int_equal(bump_hello(NULL, (bt_str){raw, n < size ? n : size}), said);
        }
        assert_int_equal(said, BT_HELLO_WHOLE);
        assert_true(bump_name(NULL).len > 0);
    }
}

static void no_hellos(void **state)
{
    (void)state;
    assert_int_equal(bump_hello(NULL, BT_STR("SSH-2.0-client\r\n")), BT_HELLO_NONE);
    (void)bump_decide(NULL, 1);
    assert_int_equal(bump_hello(NULL, BT_STR("GET / HTTP/1.1\r\n\r\n")), BT_HELLO_NONE);
    (void)bump_decide(NULL, 1);
    assert_int_equal(bump_hello(NULL, BT_STR("\x16\x03\x01\0\x04\x01\xff\xff\xff")), BT_HELLO_BAD);
    assert_null(bump_name(NULL).at);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fresh, gone)
    const struct CMUnitTest tests[] = {
        TEST(every_action_alone), TEST(impossible_actions), TEST(second_step),
        TEST(server_first),       TEST(waits_and_breaks),   TEST(origin_is_noted),
        TEST(no_lines),           TEST(forged_for),         TEST(hellos),
        TEST(no_hellos),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
