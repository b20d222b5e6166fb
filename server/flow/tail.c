/* tail.c - each exchange that ends, into a ring that `bobtailctl tail` reads.
 *
 * Nobody looks on most of the time: then all of this is one look at memory. Formats are compiled when
 * they are first wanted.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#define BT_LOG_TAG "logs"
#include "flow/tail.h"

#include <fcntl.h>

#include "base/arena.h"
#include "base/clock.h"
#include "bt.h"
#include "conf/complain.h"
#include "plug/format.h"
#include "plug/generation.h"
#include "stat/ring.h"
#include "stat/zone.h"

enum { TEXT_BYTES = 16 * 1024 };

static struct bt_zone *zone;
static struct ring *ring; /* NULL: not made (a worker of tests) */
static int kept = -1;
static struct format *format[TAIL_TEXTS];
static bool compiled;

bool tail_make(struct bt_error *err)
{
    zone = bt_zone_make("logs-tail", sizeof(struct ring), 1, 0, err);
    if (zone == NULL)
        return false;
    ring = bt_zone_memory(zone);
    if (!bt_zone_kept(zone))
        ring_init(ring);
    return true;
}

int tail_fd(void)
{
    return kept >= 0 ? kept : zone != NULL ? zone_fd(zone) : -1;
}

void tail_keep(void)
{
    kept = fcntl(tail_fd(), F_DUPFD_CLOEXEC, 0);
}

static void compile(void)
{
    struct bt_arena *arena = arena_new(4096);
    bt_str text[TAIL_TEXTS] = {BT_STR("%>a %un %>Hs %rm %>rd %Ss"), format_preset(BT_STR("squid")),
                               format_preset(BT_STR("json"))};
    struct bt_error err;

    complain_init(&err, arena);
    for (size_t i = 0; i < TAIL_TEXTS; i++)
        format[i] = format_compile(generation_current->registry, NULL, text[i], arena, &err);
    complain_fini(&err);
    compiled = true;
}

static void put(struct bt_txn *txn)
{
    static char texts[TAIL_TEXTS * TEXT_BYTES];
    struct ring_record record = {0, TAIL_TEXTS};

    if (!compiled)
        compile();
    for (size_t i = 0; i < TAIL_TEXTS; i++) {
        if (format[i] != NULL)
            record.len += (uint32_t)format_render_line(format[i], txn, texts + record.len,
                                                       TEXT_BYTES - 1);
        texts[record.len++] = '\0';
    }
    ring_put(ring, &record, texts);
}

void tail_note(struct bt_txn *txn)
{
    if (ring != NULL && ring_is_wanted(ring) && ring_is_read(ring, clock_ms() - clock_shifted()))
        put(txn);
}
