/* counter.c - slots for tables, rows for processes; sums, walks and quantiles.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "stat/counter.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/log.h"
#include "stat/counts.h"

struct table {
    struct segment_table table;
    _Atomic int64_t **where;
    _Atomic int64_t *spare; /* where it counts before there is a row */
};

static struct {
    struct table *at;
    size_t n, room;
    uint32_t slots;
} tables;

static const struct bt_counter server_rows[] = {SERVER_COUNTERS(BT_ROW_)};
static _Atomic int64_t server_spare[COUNT_end_];
_Atomic int64_t *count_row = server_spare;

static struct table *add(const struct bt_counter *row, size_t n, _Atomic int64_t **where)
{
    if (tables.n == tables.room) {
        tables.room = tables.room == 0 ? 32 : 2 * tables.room;
        tables.at = realloc(tables.at, tables.room * sizeof *tables.at);
        CHECK(tables.at != NULL);
    }
    struct table *table = &tables.at[tables.n++];
    *table = (struct table){.table = {row, n, tables.slots}, .where = where};
    for (size_t i = 0; i < n; i++)
        tables.slots += BT_SLOTS_(row[i].kind);
    return table;
}

static void add_server(void)
{
    if (tables.n == 0)
        add(server_rows, sizeof server_rows / sizeof *server_rows, &count_row)->spare =
            server_spare;
}

void counter_register(const struct bt_counter *row, size_t n, _Atomic int64_t **where)
{
    add_server();
    for (size_t i = 0; i < tables.n; i++)
        if (tables.at[i].where == where)
            return; /* whoever loads a module may register it early; it counts once */
    struct table *table = add(row, n, where);
    table->spare = calloc(tables.slots - table->table.slot + 1u, sizeof *table->spare);
    CHECK(table->spare != NULL);
    *where = table->spare;
}

void bt_counters_register(const struct bt_counter *row, size_t n, _Atomic int64_t **where)
{
    counter_register(row, n, where);
}

static void line_lost(void)
{
    count(diagnostics_lost);
}

bool counter_make(struct segment *segment, unsigned workers)
{
    add_server();
    struct segment_table *plain = calloc(tables.n, sizeof *plain);

    CHECK(plain != NULL);
    for (size_t i = 0; i < tables.n; i++)
        plain[i] = tables.at[i].table;
    bool made = segment_make(segment, plain, tables.n, workers);
    free(plain);
    if (made)
        counter_use(segment, 0);
    log_on_lost = line_lost;
    return made;
}

static const struct segment *used;
static unsigned used_row;

const struct segment *counter_segment(unsigned *row)
{
    *row = used_row;
    return used;
}

void counter_use(const struct segment *segment, unsigned row)
{
    _Atomic int64_t *slots = segment_row(segment, row);

    used = segment;
    used_row = row;

    for (size_t i = 0; i < tables.n; i++)
        *tables.at[i].where = slots + tables.at[i].table.slot;
}

void counter_forget(void)
{
    for (size_t i = 0; i < tables.n; i++) {
        *tables.at[i].where = NULL;
        if (tables.at[i].spare != server_spare)
            free((void *)tables.at[i].spare);
    }
    free(tables.at);
    memset(&tables, 0, sizeof tables);
    count_row = server_spare;
    used = NULL;
}

static int64_t slot_sum(const struct segment *segment, uint32_t slot)
{
    int64_t sum = 0;

    for (unsigned row = 0; row <= segment->head->workers; row++)
        sum += atomic_load_explicit(&segment_row(segment, row)[slot], memory_order_relaxed);
    return sum;
}

/* Buckets go to `bucket`, which value->bucket then points to. */
static struct counter_value value_of(const struct segment *segment,
                                     const struct segment_entry *entry, int64_t *bucket)
{
    struct counter_value value = {.name = segment_text(segment, entry->name),
                                  .unit = segment_text(segment, entry->unit),
                                  .doc = segment_text(segment, entry->doc),
                                  .kind = (enum bt_kind)entry->kind};

    if (value.kind != BT_HISTOGRAM) {
        value.value = slot_sum(segment, entry->slot);
        return value;
    }
    value.sum = slot_sum(segment, entry->slot);
    for (uint32_t i = 0; i < BT_HISTOGRAM_BUCKETS; i++) {
        bucket[i] = slot_sum(segment, entry->slot + 1 + i);
        value.value += bucket[i];
    }
    value.bucket = bucket;
    return value;
}

void counter_walk(const struct segment *segment, void (*each)(void *, const struct counter_value *),
                  void *arg)
{
    int64_t bucket[BT_HISTOGRAM_BUCKETS];

    for (unsigned i = 0; i < segment->head->entries; i++) {
        struct counter_value value = value_of(segment, segment_entry(segment, i), bucket);
        each(arg, &value);
    }
}

static const struct segment_entry *entry_named(const struct segment *segment, const char *name)
{
    for (unsigned i = 0; i < segment->head->entries; i++)
        if (strcmp(segment_text(segment, segment_entry(segment, i)->name), name) == 0)
            return segment_entry(segment, i);
    return NULL;
}

bool counter_get(const struct segment *segment, const char *name, struct counter_value *out,
                 int64_t bucket[BT_HISTOGRAM_BUCKETS])
{
    const struct segment_entry *entry = entry_named(segment, name);

    if (entry == NULL)
        return false;
    *out = value_of(segment, entry, bucket);
    return true;
}

int64_t counter_of_row(const struct segment *segment, unsigned row, const char *name)
{
    const struct segment_entry *entry = entry_named(segment, name);

    return entry == NULL ? 0
                         : atomic_load_explicit(&segment_row(segment, row)[entry->slot],
                                                memory_order_relaxed);
}

bool counter_sum(const struct segment *segment, const char *name, int64_t *sum)
{
    int64_t bucket[BT_HISTOGRAM_BUCKETS];
    struct counter_value value;

    if (!counter_get(segment, name, &value, bucket))
        return false;
    *sum = value.value;
    return true;
}

int64_t counter_bucket_low(unsigned bucket)
{
    if (bucket < 16)
        return bucket;
    return (int64_t)(16 + bucket % 16) << (bucket / 16 - 1);
}

int64_t counter_quantile(const int64_t *bucket, double share)
{
    int64_t all = 0, below = 0;

    for (unsigned i = 0; i < BT_HISTOGRAM_BUCKETS; i++)
        all += bucket[i];
    if (all <= 0)
        return 0;
    int64_t wanted = (int64_t)(share * (double)all + 0.999999);
    if (wanted < 1)
        wanted = 1;
    for (unsigned i = 0; i < BT_HISTOGRAM_BUCKETS; i++) {
        below += bucket[i];
        if (below >= wanted) /* the middle of the bucket */
            return (counter_bucket_low(i) + counter_bucket_low(i + 1) - 1) / 2;
    }
    return counter_bucket_low(BT_HISTOGRAM_BUCKETS);
}
