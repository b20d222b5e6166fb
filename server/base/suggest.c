/* suggest.c - the name that was probably meant, by optimal string alignment distance.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/suggest.h"

#include "base/str.h"

enum { LONGEST = 64 };

static unsigned least(unsigned a, unsigned b, unsigned c)
{
    unsigned ab = a < b ? a : b;

    return ab < c ? ab : c;
}

unsigned suggest_distance(bt_str a, bt_str b, unsigned limit)
{
    /* Three rows of the usual table: a swap looks two rows back. */
    unsigned rows[3][LONGEST + 1];
    size_t gap = a.len > b.len ? a.len - b.len : b.len - a.len;

    if (a.len > LONGEST || b.len > LONGEST || gap > limit)
        return limit + 1;
    for (size_t j = 0; j <= b.len; j++)
        rows[0][j] = (unsigned)j;
    for (size_t i = 1; i <= a.len; i++) {
        unsigned *row = rows[i % 3], *up = rows[(i + 2) % 3], *up2 = rows[(i + 1) % 3];
        unsigned best = row[0] = (unsigned)i;

        for (size_t j = 1; j <= b.len; j++) {
            char x = str_lower(a.at[i - 1]), y = str_lower(b.at[j - 1]);

            row[j] = least(up[j] + 1, row[j - 1] + 1, up[j - 1] + (x != y));
            if (i > 1 && j > 1 && x == str_lower(b.at[j - 2]) && str_lower(a.at[i - 2]) == y &&
                up2[j - 2] + 1 < row[j])
                row[j] = up2[j - 2] + 1;
            if (row[j] < best)
                best = row[j];
        }
        if (best > limit)
            return limit + 1;
    }
    unsigned distance = rows[a.len % 3][b.len];
    return distance <= limit ? distance : limit + 1;
}

void suggest_init(struct suggest *suggest, bt_str word)
{
    /* About one slip in three letters is a slip; more is another word. */
    unsigned tolerated = word.len <= 3 ? 1 : word.len <= 8 ? 2 : 3;

    *suggest = (struct suggest){.word = word, .distance = tolerated + 1};
}

void suggest_try(struct suggest *suggest, const char *name)
{
    unsigned distance;

    if (suggest->distance == 0)
        return;
    distance = suggest_distance(suggest->word, str_from(name), suggest->distance - 1);
    if (distance < suggest->distance) {
        suggest->distance = distance;
        suggest->best = name;
    }
}

const char *suggest_from(bt_str word, const char *const *names)
{
    struct suggest suggest;

    suggest_init(&suggest, word);
    for (; *names != NULL; names++)
        suggest_try(&suggest, *names);
    return suggest.best;
}
