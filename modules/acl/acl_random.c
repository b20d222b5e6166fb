/* acl_random.c - the ACL type random: a die is cast each time that it is asked.
 *
 *   acl tenth random 1/10
 *   acl third random 1:2      once for each two times that it does not match
 *   acl some random 0.3
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>
#include <sys/random.h>

#include "bt.h"

/* xorshift64*: good enough for dice, and no system call. */
static uint64_t state;

static double cast(void)
{
    while (state == 0)
        if (getrandom(&state, sizeof state, 0) != (ssize_t)sizeof state)
            state = (uint64_t)bt_wall_ms();
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (double)((state * UINT64_C(2685821657736338717)) >> 11) / 9007199254740992.0;
}

/* A worker of its own dice: the master's state would be everybody's. */
static bool start(void *conf)
{
    (void)conf;
    state = 0;
    return true;
}

static bool number(bt_str text, double *out)
{
    double n = 0;

    if (text.len == 0 || text.len > 9)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        if (text.at[i] < '0' || text.at[i] > '9')
            return false;
        n = n * 10 + (text.at[i] - '0');
    }
    *out = n;
    return true;
}

/* 0.3, 1/3, 3:5 (three times to five the other way) */
static bool chance(bt_str text, double *out)
{
    size_t at = strcspn(text.at, "/:.");
    bt_str before = {text.at, at}, after;
    double a = 0, b = 0;

    if (at >= text.len)
        return false;
    after = (bt_str){text.at + at + 1, text.len - at - 1};
    if (text.at[at] == '.') {
        if ((before.len > 0 && (!number(before, &a) || a > 0)) || !number(after, &b))
            return false;
        for (size_t i = 0; i < after.len; i++)
            b /= 10;
        *out = b;
        return true;
    }
    if (!number(before, &a) || !number(after, &b) || a <= 0 || b <= 0)
        return false;
    *out = text.at[at] == '/' ? a / b : a / (a + b);
    return *out <= 1;
}

static void *random_compile(struct bt_args args, struct bt_arena *arena, struct bt_error *err)
{
    double *out = bt_alloc(arena, sizeof *out);
    bool good = chance(args.word[0].text, out) ||
                bt_complain(err, &args.word[0], "'%s' is no chance; write 0.3, 1/3 or 3:5",
                            args.word[0].text.at);

    return good ? out : NULL;
}

static enum bt_match random_match(const void *compiled, struct bt_txn *txn)
{
    const double *limit = compiled;

    (void)txn;
    return cast() < *limit ? BT_YES : BT_NO;
}

static const struct bt_acl_type types[] = {
    {.name = "random",
     .args = "word",
     .doc = "A die falls so, each time that it is cast: 0.3, 1/3, or 3:5 (odds).",
     .earliest = BT_AT_ACCEPT,
     .flags = BT_FRESH,
     .compile = random_compile,
     .match = random_match},
};

BT_MODULE(acl_random, "The ACL type random.", .acl_types = BT_ROWS(types), .start = start);
