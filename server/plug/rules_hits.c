/* rules_hits.c - how often each rule has decided.
 *
 * The counters lie in some rows, so that workers do not fight for the line of a rule that all of them
 * use. A worker takes the next row when it first counts; when there are more workers than rows, or
 * some were started again, two share one: the counts are atomic. Rows are only there where they were
 * written to, so a hundred thousand rules that never match cost nothing.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "plug/rules_hits.h"

#include <stdatomic.h>
#include <sys/mman.h>

enum { ROWS = 16 };

struct shared {
    _Atomic uint32_t rows; /* that were taken */
    uint32_t unused[15];   /* to the end of the line */
    _Atomic uint64_t count[];
};
struct rules_hits {
    struct shared *shared;
    size_t size, stride; /* bytes; counters from row to row */
};

static void hits_unmap(void *what)
{
    struct rules_hits *hits = what;

    munmap(hits->shared, hits->size);
}

struct rules_hits *rules_hits_new(struct bt_arena *arena, uint32_t n)
{
    struct rules_hits *hits = bt_alloc(arena, sizeof *hits);

    hits->stride = ((size_t)n + 7) / 8 * 8;
    hits->size = sizeof *hits->shared + ROWS * hits->stride * sizeof(uint64_t);
    hits->shared = mmap(NULL, hits->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                        0);
    if (hits->shared == MAP_FAILED)
        return NULL;
    bt_defer(arena, hits_unmap, hits);
    return hits;
}

void rules_hit(struct rules_hits *hits, uint32_t number)
{
    static uint32_t row; /* + 1; 0: none yet */

    if (__builtin_expect(row == 0, 0))
        row = atomic_fetch_add(&hits->shared->rows, 1) % ROWS + 1;
    atomic_fetch_add_explicit(&hits->shared->count[(row - 1) * hits->stride + number], 1,
                              memory_order_relaxed);
}

uint64_t rules_hits_of(const struct rules_hits *hits, uint32_t number)
{
    uint64_t sum = 0;

    for (size_t row = 0; row < ROWS; row++)
        sum += atomic_load_explicit(&hits->shared->count[row * hits->stride + number],
                                    memory_order_relaxed);
    return sum;
}
