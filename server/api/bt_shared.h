/* bt_shared.h - memory that all workers share, and how they find, wake and bury each other.
 *
 * Workers are processes, and any of them may be ended at any instruction. So what is shared is plain
 * memory without pointers (it lies elsewhere in each process: store offsets), guarded by locks that
 * tell when their owner died inside, and everybody who carries traffic has a number by which what it
 * left behind can be found.
 *
 * A module makes its zones in .setup, in the master; workers inherit them. After a reload old and new
 * workers live side by side for as long as old ones drain: a zone that was kept is used by both.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BT_SHARED_H
#define BT_SHARED_H

#include <pthread.h>

#include "bt_mem.h"
#include "bt_types.h"

struct bt_error;

/* ---- members: processes that carry traffic ---- */

enum { BT_MEMBERS_MAX = 256 };
#define BT_NO_MEMBER UINT32_MAX

/* The number of this process, below BT_MEMBERS_MAX, its own from before the modules' .start until it
 * is gone: no other process has it, of whatever generation. BT_NO_MEMBER: it carries no traffic (the
 * master, a -k parse, a child that was forked to do something else). A number is given again only
 * after its former owner was buried. */
BT_API unsigned bt_member(void);

/* Call `fn` in exactly one survivor when a member died without giving its number back, within about a
 * second, before anybody else may have its number. It must be idempotent: when the survivor dies in
 * the middle of it, another one begins again. It is called for every member that dies, also for one
 * of another generation, which may have had another zone than ours (bt_zone_kept), or none. It runs
 * in the loop, or after the modules' .start for those who died when nobody lived. Call this from
 * .setup or .start. It must not wait for a lock for long. */
BT_API void bt_on_death(void (*fn)(void *arg, unsigned member), void *arg);

/* ---- waking ---- */

/* Make the loop of that member call all its bt_on_wake() functions soon. Cheap: while one is pending,
 * more cost one look at memory. May be called from the thread of bt_later.h, too. Oneself and members
 * that do not exist may be woken. A wake is not lost, but one from a process that does not know the
 * other's descriptor (of an older generation, when workers have become more) takes up to a second. */
BT_API void bt_wake(unsigned member);
/* From .setup or .start. Called when somebody woke us, or perhaps for no reason; look what there is
 * to do. Whatever the other wrote before bt_wake() is seen. */
BT_API void bt_on_wake(void (*fn)(void *arg), void *arg);

/* ---- zones: named memory ---- */

struct bt_zone;
enum {
    BT_ZONE_HUGE = 1 /* large and used all over: in huge pages where the system grants them */
};
/* From .setup (in the master). `size` bytes, all zero, which take room only as they are touched; so a
 * -k parse may make any. When the former generation of this server had one of that name, size and
 * `layout` (a number that the module changes whenever what it writes there changes shape), it is that
 * memory with all that is in it, and in use by the old workers: do not begin it anew. Names are
 * letters, digits, '-' and '_', at most 63, those of one module beginning with its name. NULL: there
 * is no such memory; complained. */
BT_API struct bt_zone *bt_zone_make(const char *name, uint64_t size, uint64_t layout,
                                    unsigned flags, struct bt_error *);
/* Begins on a page. The same place in all processes of one generation. */
BT_API void *bt_zone_memory(const struct bt_zone *);
BT_API uint64_t bt_zone_size(const struct bt_zone *);
/* It is the former generation's. */
BT_API bool bt_zone_kept(const struct bt_zone *);

/* ---- locks in zones ---- */

/* Stands in a zone; held for a short time, never while something is waited for, and not taken twice
 * by the same thread (a panic). May be taken in any process and thread. */
struct bt_lock {
    pthread_mutex_t mutex;
};
enum bt_lock_taken {
    BT_LOCK_HELD,
    BT_LOCK_HELD_DIRTY, /* held, and the former owner died inside: repair what it guards, go on */
    BT_LOCK_BUSY        /* of bt_lock_try() alone: not held */
};
/* Once, before anybody can see it: by the one who made the zone (bt_zone_kept false). */
BT_API void bt_lock_init(struct bt_lock *);
/* Waits. Dirty is told once: when the repairer dies too, it is told again. */
BT_API BT_MUST enum bt_lock_taken bt_lock_take(struct bt_lock *);
BT_API BT_MUST enum bt_lock_taken bt_lock_try(struct bt_lock *);
BT_API void bt_lock_release(struct bt_lock *);

/* ---- dictionaries: keys and values of any bytes, in a zone ---- */

/* What all workers know together: the value that one put is got by the others at once. When memory is
 * short, what was used least recently goes; so a dictionary may forget, and does when a worker is
 * killed in the middle of a change (a part of it is emptied then, and counted: shared.emptied). No
 * value may be relied upon to be there.
 *
 * Times are milliseconds of the clock that tests move, not of the wall. -1: until it is forgotten.
 * For workers, in the loop; bt_dict_make() is for the master, in .setup. A dictionary is kept across
 * a reload when its name and its size are the same: change the name when values change shape. */
struct bt_dict;
/* `bytes` of memory with all that it costs, 64 KB at least. NULL: complained. */
BT_API struct bt_dict *bt_dict_make(const char *name, uint64_t bytes, struct bt_error *);
/* At most so many entries; 0: as many as there is memory for. */
BT_API void bt_dict_limit(struct bt_dict *, uint64_t entries);
/* The most bytes that key and value may have together. */
BT_API size_t bt_dict_max(const struct bt_dict *);

/* false: there is none. Else `*len` is the length of the value; as much of it as there is room for,
 * `cap` bytes, is copied to `value`. */
BT_API BT_MUST bool bt_dict_get(struct bt_dict *, bt_str key, void *value, size_t cap, size_t *len);
/* The same, copied into an arena; BT_STR_NONE: there is none. */
BT_API bt_str bt_dict_copy(struct bt_dict *, bt_str key, struct bt_arena *);
/* Instead of any other. false: it is too long (bt_dict_max); there is none then. */
BT_API bool bt_dict_put(struct bt_dict *, bt_str key, bt_str value, bt_duration ttl);
/* If there is none. false: there is one, or it is too long. */
BT_API BT_MUST bool bt_dict_add(struct bt_dict *, bt_str key, bt_str value, bt_duration ttl);
/* Counts in a value of eight bytes, an int64_t; the sum, which stops at the ends of the range. What is
 * missing, or no number, begins anew with `initial` and lives for `ttl` from then on. */
BT_API int64_t bt_dict_incr(struct bt_dict *, bt_str key, int64_t by, bt_duration ttl,
                            int64_t initial);
/* A new end of its life. false: there is none. */
BT_API bool bt_dict_expire(struct bt_dict *, bt_str key, bt_duration ttl);
/* false: there was none. */
BT_API bool bt_dict_remove(struct bt_dict *, bt_str key);
/* All that begin so; how many there were. Looks at each entry: not for every request. */
BT_API uint64_t bt_dict_remove_prefix(struct bt_dict *, bt_str prefix);

/* Look at a value and change it, while nobody else can. */
struct bt_dict_entry {
    bool there;      /* false: there is none yet, len is 0 and at[] has no meaning */
    void *at;        /* the value, aligned for anything; may be changed in place */
    size_t len, cap; /* cap: the most that it may grow to */
    int64_t left_ms; /* of its life; -1: no end. May be changed */
};
enum bt_dict_done { BT_DICT_LEAVE, BT_DICT_STORE, BT_DICT_REMOVE };
/* `fn` is called once, with the lock held: it must not call a dictionary, and be quick. */
BT_API void bt_dict_update(struct bt_dict *, bt_str key,
                           enum bt_dict_done (*fn)(void *arg, struct bt_dict_entry *), void *arg);

struct bt_dict_state {
    uint64_t entries;
    uint64_t bytes;   /* that they take, with all that they cost */
    uint64_t room;    /* that entries can take */
    uint64_t evicted; /* that had to go for others */
    uint64_t emptied; /* times that a part was emptied */
};
BT_API void bt_dict_state(struct bt_dict *, struct bt_dict_state *);

#endif
