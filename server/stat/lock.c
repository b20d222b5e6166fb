/* lock.c - locks in shared memory that tell when their owner died.
 *
 * The kernel walks the list of such locks of a thread when it ends, however it ends. Errors are
 * checked by the lock itself: who takes one twice panics instead of waiting for ever.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "base/check.h"
#include "bt_shared.h"

void bt_lock_init(struct bt_lock *lock)
{
    pthread_mutexattr_t how;

    pthread_mutexattr_init(&how);
    pthread_mutexattr_setpshared(&how, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&how, PTHREAD_MUTEX_ROBUST);
    pthread_mutexattr_settype(&how, PTHREAD_MUTEX_ERRORCHECK);
    int failed = pthread_mutex_init(&lock->mutex, &how);
    CHECK(failed == 0);
    pthread_mutexattr_destroy(&how);
}

static enum bt_lock_taken taken(struct bt_lock *lock, int how)
{
    if (__builtin_expect(how == 0, 1))
        return BT_LOCK_HELD;
    if (how == EBUSY)
        return BT_LOCK_BUSY;
    CHECK(how == EOWNERDEAD);
    /* Before any repair: one who dies while repairing is an owner like any other. */
    how = pthread_mutex_consistent(&lock->mutex);
    CHECK(how == 0);
    return BT_LOCK_HELD_DIRTY;
}

enum bt_lock_taken bt_lock_take(struct bt_lock *lock)
{
    return taken(lock, pthread_mutex_lock(&lock->mutex));
}

enum bt_lock_taken bt_lock_try(struct bt_lock *lock)
{
    return taken(lock, pthread_mutex_trylock(&lock->mutex));
}

void bt_lock_release(struct bt_lock *lock)
{
    int failed = pthread_mutex_unlock(&lock->mutex);

    CHECK(failed == 0);
}
