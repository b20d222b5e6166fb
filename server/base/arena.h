/* arena.h - make, reset and free an arena; the server's half of bt_mem.h.
 *
 * Bump allocation in chunks. Chunks go back to a small free list of the process, so that an
 * exchange costs no malloc once the worker is warm. Nothing is cleared but what bt_alloc() gives.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "bt_mem.h"

/* With AddressSanitizer nothing is recycled, so that it sees each use after the end. */
#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define ARENA_RECYCLES 0
#else
#define ARENA_RECYCLES 1
#endif

struct arena_chunk;
struct arena_deferred;

struct bt_arena {
    char *next, *end;           /* the free part of the newest chunk */
    struct arena_chunk *chunks; /* newest first */
    struct arena_deferred *deferred;
    size_t chunk;       /* bytes of an ordinary chunk, header included */
    size_t used;        /* bytes of all chunks, headers included */
    size_t limit;       /* 0: none */
    void (*full)(void); /* NULL: it grows; else it stands in given memory, and this is told */
    struct arena_shared *shared;  /* of one in given memory */
    bool large;                   /* pages for large blocks */
    char *large_next, *large_end; /* the free part of them */
};

enum { ARENA_ALIGN = 16 };

/* `chunk`: bytes taken at a time, rounded up to a power of two from 1 KB to 64 KB (those recycle).
 * The arena itself lives in its first chunk. */
struct bt_arena *arena_new(size_t chunk) __attribute__((malloc, returns_nonnull));
/* Run what was deferred, last first; give all chunks but the first back. The arena is as new, but
 * its limit stays. */
void arena_reset(struct bt_arena *);
/* Run what was deferred, last first; give all back. NULL is fine. */
void arena_free(struct bt_arena *);

/* How many bytes of chunks the arena may hold; 0: no limit. Allocation itself never fails: those
 * who take input ask arena_over() where they grow, and refuse. */
void arena_limit(struct bt_arena *, size_t bytes);
static inline bool arena_over(const struct bt_arena *arena)
{
    return arena->limit != 0 && arena->used > arena->limit;
}

/* The slow path of arena_take(). */
void *arena_grow(struct bt_arena *, size_t n) __attribute__((malloc, returns_nonnull));

/* bt_alloc_raw(), inlined. Aligned to ARENA_ALIGN. */
static inline void *arena_take(struct bt_arena *arena, size_t n)
{
    size_t room = (size_t)(arena->end - arena->next);

    /* `next` and `end` are multiples of ARENA_ALIGN, so rounding up n <= room stays within room. */
    if (__builtin_expect(n > room, 0))
        return arena_grow(arena, n);
    void *at = arena->next;
    arena->next += (n + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
    return at;
}

/* Grow the newest block of the arena in place when it can, else copy it. For builders. */
void *arena_more(struct bt_arena *, void *block, size_t was, size_t want)
    __attribute__((returns_nonnull));

/* For one that lives long and may hold much (a configuration's): its large blocks stand close together
 * on large pages, where the system has them, since what is looked at here and there finds its pages
 * quicker. */
void arena_use_large_pages(struct bt_arena *);
/* So many bytes of such pages all arenas hold. */
size_t arena_large_bytes(void);

/* ---- in given memory: what a process makes there, those with whom it shares the memory can use ---- */

/* Nothing that is made in it may lead out of it, but to what all of them have had since before they
 * were forked. It is never freed: the memory is. When it does not suffice full() is called, which
 * must not return. */
struct bt_arena *arena_in(void *memory, size_t bytes, void (*full)(void))
    __attribute__((returns_nonnull));
static inline bool arena_is_shared(const struct bt_arena *arena)
{
    return arena->full != NULL;
}
/* A block of malloc() of which the first `n` bytes are going to live as long as the arena, and belong to
 * it from here on; it may be elsewhere then. n > 0. */
void *arena_keep(struct bt_arena *, void *heap, size_t n) __attribute__((returns_nonnull));
/* In a shared one: call run(what) in each process that is about to use what was made there, for what
 * each must have of its own. */
void arena_on_adopt(struct bt_arena *, void (*run)(void *what), void *what);
void arena_adopt(const struct bt_arena *);

/* Free the chunks that the process keeps for reuse (leak checks, a worker's end). */
void arena_trim(void);

#endif
