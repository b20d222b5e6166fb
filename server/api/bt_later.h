/* bt_later.h - things that take time: timers, work beside the loop, and a memory of what was learnt.
 *
 * For workers, from .start on.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BT_LATER_H
#define BT_LATER_H

#include "bt_types.h"

/* ---- timers ---- */

struct bt_timer;
/* Call run(arg) once, after that time. The timer is gone when run() is called, or cancelled. */
BT_API struct bt_timer *bt_timer_start(bt_duration after, void (*run)(void *arg), void *arg);
BT_API void bt_timer_cancel(struct bt_timer *); /* NULL: nothing */

/* ---- work beside the loop: what computes long (passwords) or may block (files) ---- */

/* Stands in the asker's memory, on the heap, zeroed, until done() is called. There is one thread a
 * worker; what is given it is done in order. */
struct bt_work {
    void (*run)(struct bt_work *);  /* in the thread: no function of the server may be called */
    void (*done)(struct bt_work *); /* in the loop */
    struct bt_work *next;           /* the server's */
};
/* Start the thread ahead of the first work. false: logged why. */
BT_API BT_MUST bool bt_work_open(void);
/* false: so much is waiting already (1000) that more would help nobody; done() is not called. */
BT_API BT_MUST bool bt_work_start(struct bt_work *);

/* ---- answers by key, the least recently used forgotten first ---- */

struct bt_lru;
BT_API struct bt_lru *bt_lru_new(size_t max); /* entries; 0: no limit. On the heap */
BT_API void bt_lru_free(struct bt_lru *);
/* The value of that key, which becomes the most recently used; NULL: none. */
BT_API void *bt_lru_find(struct bt_lru *, bt_str key);
/* `size` zeroed bytes as the value of that key (copied), instead of any other. They stand until the
 * key is dropped, replaced or forgotten. */
BT_API void *bt_lru_add(struct bt_lru *, bt_str key, size_t size);
BT_API void bt_lru_drop(struct bt_lru *, bt_str key);
BT_API size_t bt_lru_count(const struct bt_lru *);

#endif
