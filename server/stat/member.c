/* member.c - processes that carry traffic: their numbers, waking them, burying them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#define BT_LOG_TAG "proc"
#include "stat/member.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/check.h"
#include "bt_log.h"
#include "bt_module.h"
#include "stat/counts.h"
#include "stat/zone.h"

enum { FUNCTIONS = 64 };

enum state { FREE, LIVE, DYING };
enum wake {
    ASLEEP,
    TOLD, /* the eventfd was written to, or is about to be */
    NOTED /* by one who has no eventfd for it: the next tick looks */
};

struct place {
    struct bt_lock lock;
    _Atomic uint32_t state;
    _Atomic uint32_t wake;
};
struct page {
    _Alignas(64) _Atomic uint32_t high; /* places from here on were never used */
    struct {
        _Alignas(64) struct place is; /* no two on one cache line */
    } place[BT_MEMBERS_MAX];
};
enum { LAYOUT = 1 };

static struct page *page;
static unsigned self = BT_NO_MEMBER;
static int wake_fd[BT_MEMBERS_MAX]; /* number + 1; 0: none */

static struct {
    void (*fn)(void *arg, unsigned member);
    void *arg;
} deaths[FUNCTIONS];
static struct {
    void (*fn)(void *arg);
    void *arg;
} wakes[FUNCTIONS];
static size_t n_deaths, n_wakes;

/* ---- what modules see ---- */

unsigned bt_member(void)
{
    return self;
}

void bt_on_death(void (*fn)(void *arg, unsigned member), void *arg)
{
    CHECK(n_deaths < FUNCTIONS);
    deaths[n_deaths].fn = fn;
    deaths[n_deaths++].arg = arg;
}

void bt_on_wake(void (*fn)(void *arg), void *arg)
{
    CHECK(n_wakes < FUNCTIONS);
    wakes[n_wakes].fn = fn;
    wakes[n_wakes++].arg = arg;
}

void bt_wake(unsigned member)
{
    static const uint64_t one = 1;
    uint32_t was = ASLEEP;

    if (member >= BT_MEMBERS_MAX || page == NULL)
        return;
    _Atomic uint32_t *wake = &page->place[member].is.wake;
    int fd = member_fd(member);
    if (fd < 0)
        atomic_compare_exchange_strong(wake, &was, NOTED);
    else if (atomic_exchange(wake, TOLD) != TOLD)
        (void)!write(fd, &one, sizeof one);
}

/* ---- master ---- */

int member_fd(unsigned member)
{
    return member < BT_MEMBERS_MAX ? wake_fd[member] - 1 : -1;
}

void member_left(unsigned member, int fd)
{
    if (member < BT_MEMBERS_MAX && wake_fd[member] == 0)
        wake_fd[member] = fd + 1;
    else
        close(fd);
}

static void close_from(unsigned first)
{
    for (unsigned i = first; i < BT_MEMBERS_MAX; i++)
        if (wake_fd[i] > 0) {
            close(wake_fd[i] - 1);
            wake_fd[i] = 0;
        }
}

/* A child that was forked for something else is not its parent. */
static void forked(void)
{
    self = BT_NO_MEMBER;
}

bool member_make(unsigned n, struct bt_error *err)
{
    static bool watched;
    struct bt_zone *zone = bt_zone_make("members", sizeof *page, LAYOUT, 0, err);

    if (zone == NULL)
        return false;
    page = bt_zone_memory(zone);
    if (!bt_zone_kept(zone)) {
        close_from(0); /* they belong to numbers of another page */
        for (unsigned i = 0; i < BT_MEMBERS_MAX; i++)
            bt_lock_init(&page->place[i].is.lock);
    }
    close_from(n); /* there were more workers; what is left of them looks once a second */
    for (unsigned i = 0; i < n && i < BT_MEMBERS_MAX; i++) {
        if (wake_fd[i] > 0)
            continue;
        wake_fd[i] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) + 1;
        if (wake_fd[i] == 0)
            return bt_complain(err, NULL,
                               "no descriptors for the workers to wake each other: %s; allow more",
                               strerror(errno));
    }
    if (!watched)
        pthread_atfork(NULL, NULL, forked);
    watched = true;
    return true;
}

/* ---- worker ---- */

bool member_claim(void)
{
    CHECK(self == BT_NO_MEMBER);
    for (unsigned i = 0; i < BT_MEMBERS_MAX; i++) {
        struct place *place = &page->place[i].is;
        if (place->state != FREE || bt_lock_try(&place->lock) == BT_LOCK_BUSY)
            continue;
        /* Its owner may have died a moment ago: then it is for member_tick() to bury. */
        if (place->state != FREE) {
            place->state = DYING;
            bt_lock_release(&place->lock);
            continue;
        }
        place->state = LIVE;
        uint32_t high = page->high;
        while (high <= i && !atomic_compare_exchange_weak(&page->high, &high, i + 1))
            ;
        self = i;
        return true;
    }
    return false;
}

void member_give_back(void)
{
    if (self == BT_NO_MEMBER)
        return;
    struct place *place = &page->place[self].is;
    self = BT_NO_MEMBER;
    place->state = FREE;
    bt_lock_release(&place->lock);
}

static void look_around(void)
{
    if (self == BT_NO_MEMBER)
        return;
    /* Before looking, so that what comes meanwhile wakes us again. */
    atomic_store(&page->place[self].is.wake, ASLEEP);
    for (size_t i = 0; i < n_wakes; i++)
        wakes[i].fn(wakes[i].arg);
}

void member_wake(void)
{
    uint64_t n;

    (void)!read(member_fd(self), &n, sizeof n);
    look_around();
}

/* The lock is held meanwhile: when we die, it is all begun again by somebody else. */
static void bury(struct place *place, unsigned member)
{
    place->state = DYING;
    bt_log(NULL, BT_INFO, "member %u is gone; what it left in shared memory is put in order",
           member);
    for (size_t i = 0; i < n_deaths; i++)
        deaths[i].fn(deaths[i].arg, member);
    place->state = FREE;
    count(buried);
}

void member_tick(void)
{
    if (self == BT_NO_MEMBER)
        return;
    for (unsigned i = 0; i < page->high; i++) {
        struct place *place = &page->place[i].is;
        if (i == self || place->state == FREE || bt_lock_try(&place->lock) == BT_LOCK_BUSY)
            continue;
        if (place->state != FREE)
            bury(place, i);
        bt_lock_release(&place->lock);
    }
    if (page->place[self].is.wake != ASLEEP)
        look_around();
}

void member_forget(void)
{
    member_give_back();
    page = NULL;
    n_deaths = n_wakes = 0;
    close_from(0);
}
