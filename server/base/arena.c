/* arena.c - memory that dies together: bump allocation, recycled chunks, deferred calls.
 *
 * A chunk holds a power of two of bytes behind its header; those up to 64 KB go to a free list of
 * their size when their arena goes. The arena itself lies at the head of its first chunk.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/check.h"

struct arena_chunk {
    struct arena_chunk *next;
    size_t size; /* bytes behind this header */
};
_Static_assert(sizeof(struct arena_chunk) % ARENA_ALIGN == 0, "chunks keep alignment");

struct arena_deferred {
    struct arena_deferred *next;
    void (*run)(void *);
    void *what;
};

/* What is to be run in each process that uses a shared arena, in order. */
struct arena_shared {
    struct arena_shared *next, **last; /* of the first one: where the next one goes */
    void (*run)(void *);
    void *what;
};

enum {
    SMALLEST = 10, /* 2^10 .. 2^16 bytes recycle */
    LARGEST = 16,
    KEPT_BYTES = 1 << 20, /* the free lists never hold more */
    KEPT_SMALL = 4096,    /* arena_keep() copies what is not larger */
    LARGE_BLOCK = 128 * 1024,
    LARGE_PAGE = 2 * 1024 * 1024
};
static struct arena_chunk *kept[LARGEST - SMALLEST + 1];
static size_t kept_bytes;

static size_t round_up(size_t n)
{
    CHECK(n <= SIZE_MAX / 2);
    return (n + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
}

/* The class of a chunk that holds n bytes; above LARGEST: none. */
static unsigned class_of(size_t n)
{
    unsigned class = SMALLEST;

    while (class <= LARGEST && (size_t)1 << class < n)
        class ++;
    return class;
}

static struct arena_chunk *chunk_take(size_t n)
{
    unsigned class = class_of(n);
    struct arena_chunk *chunk;

    if (class <= LARGEST) {
        n = (size_t)1 << class;
        chunk = kept[class - SMALLEST];
        if (chunk != NULL) {
            kept[class - SMALLEST] = chunk->next;
            kept_bytes -= n;
            return chunk;
        }
    } else {
        n = round_up(n);
    }
    chunk = malloc(sizeof(*chunk) + n);
    CHECK(chunk != NULL);
    chunk->size = n;
    return chunk;
}

static void chunk_give(struct arena_chunk *chunk)
{
    if (ARENA_RECYCLES && chunk->size <= (size_t)1 << LARGEST &&
        kept_bytes + chunk->size <= KEPT_BYTES) {
        unsigned class = class_of(chunk->size) - SMALLEST;

        chunk->next = kept[class];
        kept[class] = chunk;
        kept_bytes += chunk->size;
        return;
    }
    free(chunk);
}

static char *chunk_bytes(struct arena_chunk *chunk)
{
    return (char *)(chunk + 1);
}

static struct arena_chunk *first_chunk(struct bt_arena *arena)
{
    return (struct arena_chunk *)(void *)arena - 1;
}

/* As new, with only its first chunk. */
static void arena_begin(struct bt_arena *arena)
{
    struct arena_chunk *first = first_chunk(arena);

    first->next = NULL;
    arena->chunks = first;
    arena->next = chunk_bytes(first) + round_up(sizeof(*arena));
    arena->end = chunk_bytes(first) + first->size;
    arena->deferred = NULL;
    arena->used = first->size;
    arena->large_next = arena->large_end = NULL;
}

struct bt_arena *arena_new(size_t chunk)
{
    struct arena_chunk *first = chunk_take(chunk);
    struct bt_arena *arena = (struct bt_arena *)(void *)chunk_bytes(first);

    arena->chunk = first->size;
    arena->limit = 0;
    arena->full = NULL;
    arena->shared = NULL;
    arena->large = false;
    arena_begin(arena);
    return arena;
}

static void run_deferred(struct bt_arena *arena)
{
    /* One that defers again while it runs is run, too. */
    while (arena->deferred != NULL) {
        struct arena_deferred *deferred = arena->deferred;

        arena->deferred = deferred->next;
        deferred->run(deferred->what);
    }
}

static void give_chunks(struct bt_arena *arena)
{
    struct arena_chunk *first = first_chunk(arena);
    struct arena_chunk *next;

    for (struct arena_chunk *chunk = arena->chunks; chunk != NULL; chunk = next) {
        next = chunk->next;
        if (chunk != first)
            chunk_give(chunk);
    }
}

void arena_reset(struct bt_arena *arena)
{
    run_deferred(arena);
    give_chunks(arena);
    arena_begin(arena);
}

void arena_free(struct bt_arena *arena)
{
    if (arena == NULL)
        return;
    run_deferred(arena);
    give_chunks(arena);
    chunk_give(first_chunk(arena));
}

void arena_limit(struct bt_arena *arena, size_t bytes)
{
    arena->limit = bytes;
}

/* ---- large pages ---- */

struct large {
    void *at;
    size_t bytes;
};
static size_t large_bytes;

static void large_give(void *what)
{
    const struct large *large = what;

    large_bytes -= large->bytes;
    munmap(large->at, large->bytes);
}

static void *large_take(struct bt_arena *arena, size_t size)
{
    if (size > (size_t)(arena->large_end - arena->large_next)) {
        size_t bytes = (size + LARGE_PAGE - 1) & ~(size_t)(LARGE_PAGE - 1);
        char *at = mmap(NULL, bytes + LARGE_PAGE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(at != MAP_FAILED);
        /* Such a page begins at a multiple of its size; what is before and behind goes back. */
        size_t before = (LARGE_PAGE - (uintptr_t)at % LARGE_PAGE) % LARGE_PAGE;
        if (before > 0)
            munmap(at, before);
        munmap(at + before + bytes, LARGE_PAGE - before);
        at += before;
        (void)madvise(at, bytes, MADV_HUGEPAGE);
        struct large *large = arena_take(arena, sizeof *large);
        *large = (struct large){at, bytes};
        bt_defer(arena, large_give, large);
        large_bytes += bytes;
        if (bytes - size < (size_t)(arena->large_end - arena->large_next))
            return at;
        arena->large_next = at;
        arena->large_end = at + bytes;
    }
    void *at = arena->large_next;
    arena->large_next += size;
    return at;
}

void arena_use_large_pages(struct bt_arena *arena)
{
    arena->large = ARENA_RECYCLES; /* AddressSanitizer knows the ends of blocks of its own alone */
}

size_t arena_large_bytes(void)
{
    return large_bytes;
}

void *arena_grow(struct bt_arena *arena, size_t n)
{
    size_t size = round_up(n);

    if (arena_is_shared(arena)) {
        arena->full();
        NEVER();
    }
    if (arena->large && size >= LARGE_BLOCK)
        return large_take(arena, size);
    struct arena_chunk *chunk = chunk_take(size > arena->chunk ? size : arena->chunk);
    char *at = chunk_bytes(chunk);

    arena->used += chunk->size;
    if (chunk->size - size >= (size_t)(arena->end - arena->next)) {
        chunk->next = arena->chunks;
        arena->chunks = chunk;
        arena->next = at + size;
        arena->end = at + chunk->size;
    } else {
        /* A big block: go on filling the chunk that has more room. */
        chunk->next = arena->chunks->next;
        arena->chunks->next = chunk;
    }
    return at;
}

void *arena_more(struct bt_arena *arena, void *block, size_t was, size_t want)
{
    char *at = block;

    if (at != NULL && at + round_up(was) == arena->next &&
        round_up(want) <= (size_t)(arena->end - at)) {
        arena->next = at + round_up(want);
        return at;
    }
    void *copy = arena_take(arena, want);
    if (was > 0)
        memcpy(copy, block, was < want ? was : want);
    return copy;
}

/* ---- in given memory ---- */

struct bt_arena *arena_in(void *memory, size_t bytes, void (*full)(void))
{
    struct bt_arena *arena = memory;

    CHECK((uintptr_t)memory % ARENA_ALIGN == 0 && bytes % ARENA_ALIGN == 0 && full != NULL);
    *arena = (struct bt_arena){.next = (char *)memory + round_up(sizeof *arena),
                               .end = (char *)memory + bytes,
                               .full = full};
    return arena;
}

void *arena_keep(struct bt_arena *arena, void *heap, size_t n)
{
    bool copied = arena_is_shared(arena) || n <= KEPT_SMALL ||
                  (arena->large && round_up(n) >= LARGE_BLOCK);
    void *at = copied ? arena_take(arena, n) : realloc(heap, n);

    CHECK(at != NULL);
    if (copied) {
        memcpy(at, heap, n);
        free(heap);
    } else {
        bt_defer(arena, free, at);
    }
    return at;
}

void arena_on_adopt(struct bt_arena *arena, void (*run)(void *what), void *what)
{
    struct arena_shared *one = arena_take(arena, sizeof *one);

    *one = (struct arena_shared){.run = run, .what = what};
    if (arena->shared == NULL)
        arena->shared = one;
    else
        *arena->shared->last = one;
    arena->shared->last = &one->next;
}

void arena_adopt(const struct bt_arena *arena)
{
    for (const struct arena_shared *one = arena->shared; one != NULL; one = one->next)
        one->run(one->what);
}

void arena_trim(void)
{
    for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++) {
        while (kept[i] != NULL) {
            struct arena_chunk *chunk = kept[i];

            kept[i] = chunk->next;
            kept_bytes -= chunk->size;
            free(chunk);
        }
    }
}

/* ---- bt_mem.h ---- */

void *bt_alloc(struct bt_arena *arena, size_t n)
{
    void *at = arena_take(arena, n);

    memset(at, 0, n);
    return at;
}

void *bt_alloc_raw(struct bt_arena *arena, size_t n)
{
    return arena_take(arena, n);
}

void bt_defer(struct bt_arena *arena, void (*run)(void *what), void *what)
{
    struct arena_deferred *deferred = arena_take(arena, sizeof(*deferred));

    *deferred = (struct arena_deferred){arena->deferred, run, what};
    arena->deferred = deferred;
}

bt_str bt_str_copy(struct bt_arena *arena, bt_str s)
{
    char *at;

    if (s.at == NULL)
        return BT_STR_NONE;
    at = arena_take(arena, s.len + 1);
    memcpy(at, s.at, s.len);
    at[s.len] = '\0';
    return (bt_str){at, s.len};
}

bt_str bt_str_printf(struct bt_arena *arena, const char *format, ...)
{
    char small[256];
    va_list args;
    int len;
    char *at;

    va_start(args, format);
    len = vsnprintf(small, sizeof(small), format, args);
    va_end(args);
    CHECK(len >= 0);
    at = arena_take(arena, (size_t)len + 1);
    if ((size_t)len < sizeof(small)) {
        memcpy(at, small, (size_t)len + 1);
    } else {
        va_start(args, format);
        len = vsnprintf(at, (size_t)len + 1, format, args);
        va_end(args);
    }
    return (bt_str){at, (size_t)len};
}
