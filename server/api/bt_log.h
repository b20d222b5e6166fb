/* bt_log.h - the diagnostics log (cache_log): for whoever runs the server.
 *
 * Time, worker, exchange, client and module are put in front by the server. No error without a
 * word about what to do. Access lines are not diagnostics: see log writers in bt_module.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BT_LOG_H
#define BT_LOG_H

#include "bt_types.h"

struct bt_txn;

enum bt_level {
    BT_ERROR, /* somebody must act */
    BT_WARN,  /* somebody should look */
    BT_INFO,  /* the life of the process */
    BT_DEBUG  /* compiled in, off unless debug_options asks */
};

/* One line. `txn` may be NULL. The tag is the module's name, filled in by BT_MODULE. */
BT_API void bt_log_tagged(struct bt_txn *txn, const char *tag, enum bt_level level,
                          const char *format, ...) BT_PRINTF(4, 5);
/* Whether a line of that level would be written: for arguments that cost something. */
BT_API bool bt_log_on(enum bt_level level);

/* In a module: its own name. In the server: a file may define BT_LOG_TAG before the includes. */
#ifndef BT_LOG_TAG
extern __attribute__((visibility("hidden"))) const char bt_log_tag[];
#define BT_LOG_TAG bt_log_tag
#endif
#define bt_log(txn, level, ...) bt_log_tagged(txn, BT_LOG_TAG, level, __VA_ARGS__)

/* At most one line in `seconds` from this place; what was left out is counted and said with the next. */
#define bt_log_limited(txn, level, seconds, ...)                                                   \
    do {                                                                                           \
        static struct bt_log_limit limit_ = {0};                                                   \
        if (bt_log_may(&limit_, (seconds)))                                                        \
            bt_log(txn, level, __VA_ARGS__);                                                       \
    } while (0)

struct bt_log_limit {
    int64_t next_ms;
    uint64_t held;
};
BT_API bool bt_log_may(struct bt_log_limit *, int seconds);

#endif
