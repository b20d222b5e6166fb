/* test_regexset.c - many patterns at once: both ways of matching say what each pattern says alone.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/arena.h"
#include "base/literals.h"
#include "base/regexset.h"
#include "unit.h"

enum { PATTERNS = 24, WORDS = 1, SETS = 60, TEXTS = 40 };

static uint32_t seed = 20240301;

static uint32_t dice(uint32_t sides)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 16) % sides;
}

/* ---- random patterns and texts, of few bytes, so that they meet ---- */

static void random_atom(struct str_builder *out, int depth);

static void random_branch(struct str_builder *out, int depth)
{
    static const char *const after[] = {"*", "+", "?", "{2}", "{1,3}", "{0,1}", "{2,}", "*?"};

    for (uint32_t n = 1 + dice(5); n > 0; n--) {
        random_atom(out, depth);
        if (dice(4) == 0)
            str_add(out, str_from(after[dice(sizeof after / sizeof *after)]));
    }
}

static void random_pattern(struct str_builder *out, int depth)
{
    if (dice(6) == 0)
        str_add_char(out, '^');
    random_branch(out, depth);
    while (dice(4) == 0) {
        str_add_char(out, '|');
        random_branch(out, depth);
    }
    if (dice(6) == 0)
        str_add_char(out, '$');
}

static void random_atom(struct str_builder *out, int depth)
{
    static const char *const atoms[] = {"a",
                                        "b",
                                        "A",
                                        "B",
                                        "c",
                                        ".",
                                        "[ab]",
                                        "[^a]",
                                        "ab",
                                        "abc",
                                        "\\.",
                                        "[[:upper:]]",
                                        "[[:digit:]c]",
                                        "\\b",
                                        "\\w",
                                        "\\W",
                                        "\\s",
                                        "/",
                                        "a.c/",
                                        "[a-c]",
                                        "\\B",
                                        "cab",
                                        "bb",
                                        "[[:space:]]",
                                        "\\<",
                                        "\\>",
                                        "\\S",
                                        "[]x]",
                                        "[^]a-]",
                                        "[[:alpha:]]"};

    if (depth > 0 && dice(5) == 0) {
        str_add_char(out, '(');
        random_pattern(out, depth - 1);
        str_add_char(out, ')');
        if (dice(12) == 0)
            str_add_literal(out, "\\1");
        return;
    }
    str_add(out, str_from(atoms[dice(sizeof atoms / sizeof *atoms)]));
}

static bt_str random_text(char *buf, size_t cap)
{
    static const char bytes[] = "aaabbbcccABC./ x1]-\n\t\0\v";
    size_t n = dice((uint32_t)cap);

    for (size_t i = 0; i < n; i++)
        buf[i] = bytes[dice(sizeof bytes - 1)];
    return (bt_str){buf, n};
}

/* ---- the comparison ---- */

struct trial {
    struct bt_arena *arena;
    struct regexset *fast, *plain, *automaton;
    struct regex *alone[PATTERNS];
    uint32_t owner[PATTERNS];
    bt_str text[PATTERNS];
};

static void trial_init(struct trial *trial, uint32_t owners)
{
    trial->arena = arena_new(4096);
    trial->fast = regexset_new(trial->arena);
    trial->plain = regexset_new(trial->arena);
    trial->automaton = regexset_new(trial->arena);
    for (int i = 0; i < PATTERNS;) {
        struct regex_error err;
        struct str_builder text;
        unsigned flags = dice(3) == 0 ? REGEX_NOCASE : 0;
        str_builder_arena(&text, trial->arena, 64);
        random_pattern(&text, 2);
        trial->text[i] = str_built(&text);
        trial->alone[i] = regex_new(trial->arena, trial->text[i], flags, &err);
        if (trial->alone[i] == NULL)
            continue;
        trial->owner[i] = dice(owners);
        assert_true(regexset_add(trial->fast, trial->text[i], flags, trial->owner[i], &err));
        assert_true(regexset_add(trial->plain, trial->text[i], flags, trial->owner[i], &err));
        assert_true(regexset_add(trial->automaton, trial->text[i], flags, trial->owner[i], &err));
        i++;
    }
    regexset_seal(trial->fast, 0);
    regexset_seal(trial->plain, REGEXSET_PLAIN);
    regexset_seal(trial->automaton, REGEXSET_AUTOMATON);
}

static void trial_ask(const struct trial *trial, bt_str text)
{
    uint64_t want[WORDS] = {0}, fast[WORDS] = {0}, plain[WORDS] = {0}, automaton[WORDS] = {0};

    for (int i = 0; i < PATTERNS; i++) {
        enum bt_match said = regex_match(trial->alone[i], text);
        assert_int_not_equal(said, BT_BROKEN); /* of so short a text */
        if (said == BT_YES)
            bt_bit_set(want, trial->owner[i]);
    }
    assert_int_equal(regexset_find(trial->fast, text, fast), BT_YES);
    assert_int_equal(regexset_find(trial->plain, text, plain), BT_YES);
    assert_int_equal(regexset_find(trial->automaton, text, automaton), BT_YES);
    if (want[0] == fast[0] && want[0] == plain[0] && want[0] == automaton[0])
        return;
    for (int i = 0; i < PATTERNS; i++)
        print_message("# %u /%s/ %d\n", trial->owner[i], trial->text[i].at,
                      (int)regex_match(trial->alone[i], text));
    fail_msg("'%.*s': each alone %lx, automaton %lx, filters %lx, both %lx", (int)text.len, text.at,
             (unsigned long)want[0], (unsigned long)automaton[0], (unsigned long)plain[0],
             (unsigned long)fast[0]);
}

static void both_ways(void **state)
{
    size_t in_automaton = 0, filtered = 0;

    (void)state;
    for (int set = 0; set < SETS; set++) {
        struct trial trial;
        trial_init(&trial, set % 2 == 0 ? 64 : 5);
        in_automaton += regexset_about(trial.automaton).automaton;
        filtered += regexset_about(trial.plain).filtered;
        assert_int_equal(regexset_about(trial.plain).automaton, 0);
        for (int i = 0; i < TEXTS; i++) {
            char buf[48];
            trial_ask(&trial, random_text(buf, i % 4 == 0 ? 5 : sizeof buf));
        }
        arena_free(trial.arena);
    }
    print_message("# %zu of %d patterns in an automaton, %zu behind literals without it\n",
                  in_automaton, SETS * PATTERNS, filtered);
    assert_true(filtered > SETS);
#ifdef HAVE_HS
    assert_true(in_automaton > SETS * PATTERNS / 2);
#endif
}

/* ---- by hand ---- */

static uint64_t asked(const char *const *pattern, const char *text, unsigned how, bool *broken)
{
    struct bt_arena *arena = arena_new(4096);
    struct regexset *set = regexset_new(arena);
    uint64_t bits = 0;

    for (uint32_t i = 0; pattern[i] != NULL; i++) {
        struct regex_error err;
        bool nocase = pattern[i][0] == '~';
        assert_true(
            regexset_add(set, str_from(pattern[i] + nocase), nocase ? REGEX_NOCASE : 0, i, &err));
    }
    regexset_seal(set, how);
    *broken = regexset_find(set, str_from(text), &bits) == BT_BROKEN;
    arena_free(arena);
    return bits;
}

static void by_hand(void **state)
{
    static const char *const pattern[] = {"ads",  "~ADS", "Ads",    "^http://", "\\.swf$",
                                          "x|ad", "",     "(a)\\1", "d",        "~D",
                                          "zz|q", ".*",   NULL};
    bool broken;

    (void)state;
    for (unsigned how = 0; how <= REGEXSET_AUTOMATON; how++) {
        assert_int_equal(asked(pattern, "http://ads.example/", how, &broken), 0xb6b);
        assert_int_equal(asked(pattern, "http://ADS.example/x.swf", how, &broken), 0xa7a);
        assert_int_equal(asked(pattern, "caab", how, &broken), 0x8c0);
        assert_int_equal(asked(pattern, "", how, &broken), 0x840);
        assert_int_equal(asked(pattern, NULL, how, &broken), 0x840);
        assert_false(broken);
    }
    assert_int_equal(asked((const char *const[]){NULL}, "x", 0, &broken), 0);
}

/* What only PCRE2 can run has a limit; what others say stands all the same. */
static void has_an_end(void **state)
{
    static const char *const pattern[] = {"^((a|aa)*)\\1(a|aa)*b$", "!c$", "nothing", NULL};
    char text[4000];
    bool broken;

    (void)state;
    memset(text, 'a', sizeof text);
    memcpy(text + sizeof text - 4, "b!c", 4);
    for (unsigned how = 0; how <= REGEXSET_AUTOMATON; how++) {
        assert_int_equal(asked(pattern, text, how, &broken), 2);
        assert_true(broken);
    }
}

static void refusals(void **state)
{
    struct bt_arena *arena = arena_new(1024);
    struct regexset *set = regexset_new(arena);
    struct regex_error err;

    (void)state;
    assert_false(regexset_add(set, BT_STR("ab("), 0, 0, &err));
    assert_int_equal(err.offset, 3);
    assert_true(regexset_add(set, BT_STR("ab"), 0, 0, &err));
    arena_free(arena); /* not sealed: what was gathered goes, too */
}

/* ---- the filter by itself ---- */

static void note(void *arg, uint32_t id, const char *at)
{
    uint64_t *seen = arg;

    (void)at;
    *seen |= UINT64_C(1) << id;
}

static void literal_texts(void **state)
{
    static const char *const word[] = {"a",    "ab",   "abc", "abcd", "bcde",     "example.com",
                                       ".com", "http", "e",   "zz",   "http://x", "xyzzy"};
    enum { N = sizeof word / sizeof *word };
    struct literals *set = literals_new();
    char text[3000];

    (void)state;
    for (uint32_t i = 0; i < N; i++)
        literals_add(set, str_from(word[i]), i);
    literals_seal(set);
    for (int round = 0; round < 3000; round++) {
        uint64_t seen = 0, want = 0;
        size_t len = 0, most = round == 0 ? sizeof text : 30;
        while (len + 12 < most) {
            bt_str piece = str_from(word[dice(N)]);
            size_t some = dice((uint32_t)piece.len + 1);
            for (size_t i = 0; i < some; i++)
                text[len++] = dice(3) == 0 && piece.at[i] >= 'a' ? (char)(piece.at[i] - 32)
                                                                 : piece.at[i];
        }
        for (uint32_t i = 0; i < N; i++)
            if (str_find_nocase((bt_str){text, len}, str_from(word[i])) >= 0)
                want |= UINT64_C(1) << i;
        literals_find(set, (bt_str){text, len}, note, &seen);
        assert_int_equal(seen, want);
    }
    literals_free(set);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(both_ways), cmocka_unit_test(by_hand),
                                          cmocka_unit_test(has_an_end), cmocka_unit_test(refusals),
                                          cmocka_unit_test(literal_texts)};
UNIT_MAIN(tests)
