/* ram_moments.h - the RAM store with several members in one process, which stop where they are told to.
 *
 * Each member has a stack of its own and its own idea of the zone. It stops before the access to shared
 * memory that it is told to stop before, and another one goes on, or buries it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RAM_MOMENTS_H
#define RAM_MOMENTS_H

#include <stdatomic.h>
#include <time.h>
#include <ucontext.h>

#include "unit.h"

/* Each access by name (those that C writes as plain ones are not met, and their neighbours are). */
static void moment(void);
#ifdef __clang__
#define __c11_atomic_load(...) (moment(), __c11_atomic_load(__VA_ARGS__))
#define __c11_atomic_store(...) (moment(), __c11_atomic_store(__VA_ARGS__))
#define __c11_atomic_exchange(...) (moment(), __c11_atomic_exchange(__VA_ARGS__))
#define __c11_atomic_compare_exchange_strong(...)                                                  \
    (moment(), __c11_atomic_compare_exchange_strong(__VA_ARGS__))
#define __c11_atomic_compare_exchange_weak(...)                                                    \
    (moment(), __c11_atomic_compare_exchange_weak(__VA_ARGS__))
#define __c11_atomic_fetch_add(...) (moment(), __c11_atomic_fetch_add(__VA_ARGS__))
#define __c11_atomic_fetch_or(...) (moment(), __c11_atomic_fetch_or(__VA_ARGS__))
#define __c11_atomic_fetch_and(...) (moment(), __c11_atomic_fetch_and(__VA_ARGS__))
#else
#define __atomic_load(...) (moment(), __atomic_load(__VA_ARGS__))
#define __atomic_store(...) (moment(), __atomic_store(__VA_ARGS__))
#define __atomic_exchange(...) (moment(), __atomic_exchange(__VA_ARGS__))
#define __atomic_compare_exchange(...) (moment(), __atomic_compare_exchange(__VA_ARGS__))
#define __atomic_fetch_add(...) (moment(), __atomic_fetch_add(__VA_ARGS__))
#define __atomic_fetch_or(...) (moment(), __atomic_fetch_or(__VA_ARGS__))
#define __atomic_fetch_and(...) (moment(), __atomic_fetch_and(__VA_ARGS__))
#endif

/* Whoever is killed leaves its memory behind. */
static void *writer_malloc(size_t size);
__attribute__((noinline)) static void writer_free(void *at);
#define malloc writer_malloc
#define free writer_free
#include "ram_kit.h"
#undef malloc
#undef free

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define UNPOISON(at, size) __asan_unpoison_memory_region(at, size)
#else
#define UNPOISON(at, size) (void)(at), (void)(size)
#endif

enum { MEMBERS = 4, OBSERVER = 9, STACK = 256 * 1024, LARGE = 30000, WRITERS = 64 };
enum { NEVER = INT32_MAX };

static const struct store *const store = &store_ram;

/* ---- memory of writers ---- */

static struct {
    _Alignas(16) char at[256];
    bool used;
} writers[WRITERS];

static inline void *writer_malloc(size_t size)
{
    for (int i = 0; size <= sizeof writers[i].at && i < WRITERS; i++)
        if (!writers[i].used) {
            writers[i].used = true;
            return writers[i].at;
        }
    return NULL;
}

static void writer_free(void *at)
{
    for (int i = 0; i < WRITERS; i++)
        if (at == (void *)writers[i].at) {
            writers[i].used = false;
            return;
        }
    free(at);
}

/* ---- members ---- */

struct member {
    ucontext_t at;
    char *stack;
    struct ram ram;
    struct node *nodes;
    uint32_t linked;
    void (*op)(void);
    int32_t left; /* accesses until it stops */
    bool runs;
    enum { LIVES, DEAD, DYING, BURIED } life;
    int burier;
    uint32_t key; /* that it is busy with */
    struct store_ref held;
    uint32_t held_key;
    uint8_t body[LARGE];
    struct flight flight;
};
static struct member members[MEMBERS + 1]; /* the last one is the observer */
static int now = -1;
static ucontext_t director;
static const char *wrong;

static inline void moment(void)
{
    if (now < 0 || members[now].left-- > 0)
        return;
    swapcontext(&members[now].at, &director);
}

static inline void be(int i)
{
    ram = members[i].ram;
    nodes = members[i].nodes;
    linked = members[i].linked;
    kit_member = ram.member;
}

static inline void been(int i)
{
    members[i].ram = ram;
    members[i].nodes = nodes;
    members[i].linked = linked;
}

static inline void begin(void)
{
    struct member *self = &members[now];

    self->op();
    self->runs = false;
    swapcontext(&self->at, &director);
}

static inline void set_to(int i, void (*op)(void))
{
    struct member *member = &members[i];

    UNPOISON(member->stack, STACK);
    getcontext(&member->at);
    member->at.uc_stack.ss_sp = member->stack;
    member->at.uc_stack.ss_size = STACK;
    member->at.uc_link = NULL;
    makecontext(&member->at, begin, 0);
    member->op = op;
    member->runs = true;
}

/* false: it has come to its end. */
static inline bool go_on(int i, int32_t accesses)
{
    if (!members[i].runs)
        return false;
    members[i].left = accesses;
    be(i);
    now = i;
    swapcontext(&director, &members[i].at);
    now = -1;
    been(i);
    return members[i].runs;
}

static inline void enter(int i, unsigned number)
{
    nodes = NULL;
    assert_true(kit_start(number));
    been(i);
    members[i].key = 7;
}

/* A new zone of 1 MB, of which so much is used, with all members in it. */
static inline void scene_make(enum ram_policy policy, uint32_t segments, uint32_t buckets)
{
    for (int i = 0; i <= MEMBERS; i++)
        free(members[i].nodes);
    for (int i = 0; i < MEMBERS; i++)
        if (members[i].stack == NULL)
            members[i].stack = malloc(STACK);
    kit_drop();
    memset(writers, 0, sizeof writers);
    wrong = NULL;
    assert_true(kit_setup(1 << 20, policy));
    ram.segments = segments;
    ram.buckets = buckets;
    ram.reserve = 3;
    for (int i = 0; i < MEMBERS; i++)
        enter(i, (unsigned)i);
    enter(MEMBERS, OBSERVER);
    for (int i = 0; i <= MEMBERS; i++) {
        members[i].runs = false;
        members[i].life = LIVES;
        members[i].held.store = NULL;
    }
}

/* ---- what they do, and whether it went right ---- */

static inline uint32_t hot(void)
{
    return members[now].key;
}

static inline void fault(const char *what)
{
    if (wrong == NULL)
        wrong = what;
}

static inline void nothing(void *arg)
{
    (void)arg;
}

static inline void check(const struct store_ref *ref, uint32_t key)
{
    char at[32];

    if (!bt_str_eq(ref->key, kit_key(at, key)) || !kit_head_right(ref, key))
        fault("a head of another");
    else if (!kit_body_right(ref, key, -1))
        fault("a wrong body");
}

static inline void put(uint32_t key, size_t size, bool known)
{
    uint8_t *body = members[now].body;
    size_t length = kit_body_make(body, key, size), at = 0;
    char name[32], head[40];
    struct store_meta meta = {.stored = 1000 + key};
    struct store_writer *w = store->begin(kit_key(name, key), &meta, kit_head(head, key, 0),
                                          known ? (int64_t)length : -1);
    if (w == NULL)
        return;
    while (at < length) {
        size_t part = length - at < 7000 ? length - at : 7000;
        bt_str piece = {(char *)body + at, part};
        if (!store->write(w, &piece, 1)) {
            store->cancel(w);
            return;
        }
        at += part;
    }
    (void)store->commit(w);
}

/* ---- death ---- */

static inline void die(int i)
{
    members[i].runs = false;
    members[i].life = DEAD;
    for (int k = 0; k < MEMBERS; k++) /* somebody else begins again */
        if (members[k].life == DYING && members[k].burier == i)
            members[k].life = DEAD;
}

static inline void bury(int by, int dead)
{
    be(by);
    ram_bury((unsigned)dead);
    been(by);
    members[dead].life = BURIED;
}

/* Its number is given again. */
static inline void come_again(int i)
{
    struct store_ref none = {.store = NULL};

    free(members[i].nodes);
    be(i);
    nodes = NULL;
    (void)kit_start((unsigned)i);
    been(i);
    members[i].held = none;
    members[i].life = LIVES;
}

static inline void assert_slots(void)
{
    for (uint64_t i = 0; i < (uint64_t)ram.buckets * BUCKET_SLOTS; i++) {
        uint64_t value = ram.index[i];
        struct store_ref ref;
        if (value == 0)
            continue;
        assert_true(ram_pin_slot(&ram.index[i], &value, BT_STR_NONE, &ref));
        uint32_t key = (uint32_t)strtoul(ref.key.at + strlen("http://h/"), NULL, 10);
        assert_true(kit_head_right(&ref, key));
        assert_true(kit_body_right(&ref, key, -1));
        uint64_t hash = ram_hash(ref.key);
        assert_ptr_equal(ram_index_slot(hash, ref.at[0]), &ram.index[i]);
        ram_release(&ref);
    }
}

/* All have come to the end of what they did. */
static inline void the_end(void)
{
    struct store_ref none = {.store = NULL};

    if (wrong != NULL)
        fail_msg("%s", wrong);
    for (int round = 0; round < 3; round++) /* who leads waits for those who follow */
        for (int i = 0; i < MEMBERS; i++)
            if (members[i].life == LIVES) {
                be(i);
                ram_release(&members[i].held);
                members[i].held = none;
                kit_on_wake(NULL);
                been(i);
            }
    be(MEMBERS);
    for (uint32_t i = 0; i < ram.segments; i++)
        assert_false(ram_pinned(i));
    for (int i = 0; i < MEMBERS; i++) {
        be(i);
        ram_bury((unsigned)i);
    }
    be(MEMBERS);
    (void)kit_assert_left();
    assert_slots();
    assert_int_equal(kit_counts[COUNT_ram_corrupt], 0);
    been(MEMBERS);
}

#endif
