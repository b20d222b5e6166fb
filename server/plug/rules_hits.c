/* rules_hits.c - how often each rule has decided.
 *
 * The counters lie in rows. The first workers have one each, where a count is a plain add that nobody
 * waits for; a worker that is started again has that of the one that died. All others share the
 * first, with atomic counts. Rows are only there where they were written to, so a hundred thousand
 * rules that never match cost nothing.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "plug/rules_hits.h"

#include <stdatomic.h>
#include <sys/mman.h>

#include "base/check.h"

enum { ROWS = 17 };

struct rules_hits {
    _Atomic uint64_t *count;
    size_t size, stride; /* bytes; counters from row to row */
};

static void hits_unmap(void *what)
{
    struct rules_hits *hits = what;

    munmap(hits->count, hits->size);
}

struct rules_hits *rules_hits_new(struct bt_arena *arena, uint32_t n)
{
    struct rules_hits *hits = bt_alloc(arena, sizeof *hits);

    hits->stride = ((size_t)n + 7) / 8 * 8;
    hits->size = ROWS * hits->stride * sizeof(uint64_t);
    hits->count = mmap(NULL, hits->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (hits->count == MAP_FAILED)
        return NULL;
    bt_defer(arena, hits_unmap, hits);
    return hits;
}

void rules_hit(struct rules_hits *hits, uint32_t number)
{
    unsigned row = check_worker < ROWS ? check_worker : 0;
    _Atomic uint64_t *count = &hits->count[row * hits->stride + number];

    if (__builtin_expect(row == 0, 0))
        atomic_fetch_add_explicit(count, 1, memory_order_relaxed);
    else
        atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + 1,
                              memory_order_relaxed);
}

uint64_t rules_hits_of(const struct rules_hits *hits, uint32_t number)
{
    uint64_t sum = 0;

    for (size_t row = 0; row < ROWS; row++)
        sum += atomic_load_explicit(&hits->count[row * hits->stride + number],
                                    memory_order_relaxed);
    return sum;
}
