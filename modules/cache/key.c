/* key.c - keys: the URL, or what store_id_program says instead, and what the answer varies by.
 *
 * GET and HEAD share keys. The primary key is the normalised URL, or "\nid\n" and a store id:
 * neither has a line end, so no store id can be taken for a URL. Under it stands the answer; or,
 * when that varies, a marker: a random number and the names of the fields. A variant stands under
 * the primary key, that number, and the values of these fields in its request, each on lines of
 * their own. Writing the marker anew with another number therefore forgets all variants at once.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "visit.h"

enum { ID_LEN = 16, EXTRAS_MAX = 8192, STORE_ID_MAX = 8192 };

/* ---- life and meta ---- */

/* Seconds as 12 bits and a power of two, rounded down: they are limits. */
static uint32_t short_seconds(uint32_t seconds)
{
    uint32_t power = 0;

    for (; seconds > 0xfff && power < 15; power++)
        seconds /= 2;
    return power << 12 | (seconds > 0xfff ? 0xfff : seconds);
}

static uint32_t long_seconds(uint32_t packed)
{
    return (packed & 0xfff) << (packed >> 12 & 15);
}

void key_life_meta(const struct fresh_life *life, int status, struct store_meta *meta)
{
    *meta = (struct store_meta){
        .stored = life->received,
        .corrected = life->corrected,
        .expires = life->received + life->lifetime - life->corrected,
        .flags = life->flags & FRESH_FLAGS,
        .stale_ms_s = short_seconds(life->stale_while) << 16 | short_seconds(life->stale_error),
        .status = (uint16_t)status,
    };
}

void key_meta_life(const struct store_meta *meta, struct fresh_life *life)
{
    *life = (struct fresh_life){
        .received = meta->stored,
        .corrected = meta->corrected,
        .lifetime = meta->expires - meta->stored + meta->corrected,
        .flags = meta->flags & FRESH_FLAGS,
        .stale_while = long_seconds(meta->stale_ms_s >> 16),
        .stale_error = long_seconds(meta->stale_ms_s & 0xffff),
    };
}

/* ---- markers ---- */

static void wake(void *txn)
{
    bt_resume(txn);
}

/* "ID COUNT NAMES" into the visit; false: it is none. */
static bool marker_read(struct visit *v, bt_str text)
{
    bt_str copy;
    uint32_t count = 0;
    size_t i = ID_LEN + 1;

    if (text.len < ID_LEN + 4 || text.at[ID_LEN] != ' ')
        return false;
    copy = bt_str_copy(bt_txn_arena(v->txn), text);
    for (; i < copy.len && copy.at[i] >= '0' && copy.at[i] <= '9' && count < 1000000; i++)
        count = count * 10 + (uint32_t)(copy.at[i] - '0');
    if (i + 1 >= copy.len || copy.at[i] != ' ')
        return false;
    v->variant = (bt_str){copy.at, ID_LEN};
    v->variants = count;
    v->varies = (bt_str){copy.at + i + 1, copy.len - i - 1};
    return true;
}

static bool marker_write(struct visit *v)
{
    struct store_meta meta = {.stored = bt_wall_ms(), .expires = INT64_MAX, .flags = META_MARKER};
    bt_str head = bt_str_printf(bt_txn_arena(v->txn), "%.*s %u %.*s", BT_STR_ARGS(v->variant),
                                v->variants, BT_STR_ARGS(v->varies));
    struct store_writer *writer = STORE->begin(v->primary, &meta, head, 0);

    return writer != NULL && STORE->commit(writer);
}

/* What the marker says that stands there now, whoever wrote it. */
static void marker_look(struct visit *v)
{
    struct store_ref ref;

    v->varies = BT_STR_NONE;
    if (STORE->find(v->primary, &ref, wake, v->txn) != STORE_HIT)
        return;
    if ((ref.meta->flags & META_MARKER) != 0)
        (void)marker_read(v, ref.head);
    STORE->release(&ref);
}

static void marker_new(struct visit *v, bt_str names)
{
    uint64_t id = 0;

    if (getrandom(&id, sizeof id, 0) != (ssize_t)sizeof id)
        id = (uint64_t)bt_wall_ms() ^ (uint64_t)(uintptr_t)v;
    v->variant = bt_str_printf(bt_txn_arena(v->txn), "%016llx", (unsigned long long)id);
    v->variants = 1;
    v->varies = names;
}

static bt_str variant_key(struct visit *v, const struct vary *vary)
{
    bt_str values = vary_key(bt_txn_arena(v->txn), vary, &v->request);

    return bt_str_printf(bt_txn_arena(v->txn), "%.*s\n%.*s\n%.*s", BT_STR_ARGS(v->primary),
                         BT_STR_ARGS(v->variant), BT_STR_ARGS(values));
}

/* ---- looking up ---- */

enum store_found key_find(struct visit *v)
{
    enum store_found found = STORE->find(v->primary, &v->found, wake, v->txn);
    struct vary vary;

    v->key = v->primary;
    v->varies = BT_STR_NONE;
    if (found == STORE_HIT && (v->found.meta->flags & META_MARKER) != 0) {
        bool good = marker_read(v, v->found.head);
        STORE->release(&v->found);
        if (!good || vary_parse(&vary, v->varies) != VARY_FIELDS)
            return STORE_MISS;
        v->key = variant_key(v, &vary);
        found = STORE->find(v->key, &v->found, wake, v->txn);
    }
    if (found == STORE_HIT) {
        v->pinned = true;
        visit_sure(v);
        key_meta_life(v->found.meta, &v->life);
    }
    return found;
}

bt_str key_for(struct visit *v, const struct vary *vary)
{
    bt_str names, key;
    struct store_ref ref;
    bool known;

    if (vary->n == 0)
        return v->primary;
    names = vary_text(bt_txn_arena(v->txn), vary);
    marker_look(v);
    known = v->varies.at != NULL && bt_str_eq(v->varies, names);
    if (known && v->variants >= (uint32_t)CONF->vary_max) {
        bt_count(variants_full);
        known = false;
    }
    if (!known)
        marker_new(v, names);
    key = variant_key(v, vary);
    if (known) {
        if (STORE->find(key, &ref, wake, v->txn) == STORE_HIT) {
            STORE->release(&ref);
            return key;
        }
        v->variants++;
    }
    return marker_write(v) ? key : BT_STR_NONE;
}

bool key_matches(struct visit *v, bt_str record)
{
    struct headtext head;
    struct fields fields;
    struct vary vary;
    size_t skip = v->primary.len + 1 + ID_LEN + 1;
    bt_str values;

    if (bt_str_eq(record, v->primary))
        return true;
    if (record.len < skip || memcmp(record.at, v->primary.at, v->primary.len) != 0 ||
        record.at[v->primary.len] != '\n' || !headtext_open(&head, v->found.head))
        return false;
    fields = headtext_fields(&head);
    if (vary_read(&vary, &fields) != VARY_FIELDS)
        return false;
    values = vary_key(bt_txn_arena(v->txn), &vary, &v->request);
    return bt_str_eq(values, (bt_str){record.at + skip, record.len - skip});
}

/* ---- store ids ---- */

static void name_take(struct visit *v, bt_str id)
{
    if (id.len == 0 || id.len > STORE_ID_MAX || memchr(id.at, '\n', id.len) != NULL)
        return;
    v->primary = bt_str_printf(bt_txn_arena(v->txn), "\nid\n%.*s", BT_STR_ARGS(id));
    v->named = true;
    bt_count(store_ids);
}

static void name_done(struct bt_helper_ask *ask, const struct bt_helper_reply *reply)
{
    struct visit *v = (struct visit *)(void *)((char *)ask - offsetof(struct visit, ask));

    v->named_done = true;
    for (size_t i = 0; i < reply->n; i++)
        bt_note_set(v->txn, BT_NOTE_EXCHANGE, reply->pair[i].key, reply->pair[i].value);
    switch (reply->result) {
    case BT_HELPER_OK:
        name_take(v, bt_helper_value(reply, "store-id"));
        break;
    case BT_HELPER_TEXT: /* as helpers of old say it */
        name_take(v, reply->text);
        break;
    case BT_HELPER_ERR:
        break;
    case BT_HELPER_BH:
    case BT_HELPER_TT:
    case BT_HELPER_LOST:
        bt_count(store_ids_lost);
        if (!CONF->store_id_bypass)
            v->bypass = true;
        break;
    }
    bt_resume(v->txn);
}

static void name_ask(struct visit *v)
{
    struct bt_arena *arena = bt_txn_arena(v->txn);
    char *extras = bt_alloc_raw(arena, EXTRAS_MAX);
    size_t len = bt_format_render(CONF->store_id_extras, v->txn, extras, EXTRAS_MAX);

    v->ask.done = name_done;
    visit_sure(v);
    bt_helper_ask(CONF->store_ids, &v->ask,
                  bt_str_printf(arena, "%.*s %.*s", BT_STR_ARGS(v->primary), (int)len, extras));
}

bool key_name(struct visit *v)
{
    const struct bt_cache_wish *wish = bt_cache_wish(v->txn, false);
    struct bt_ruling ruling;

    if (wish != NULL && wish->key.at != NULL && !v->named_done) {
        name_take(v, wish->key);
        v->named_done = true;
    }
    if (CONF->store_ids == NULL || v->named_done)
        return true;
    if (v->ask.job != NULL)
        return false;
    ruling = bt_rules_run(CONF->store_id_access, v->txn);
    if (ruling.match == BT_WAIT)
        return false;
    if (ruling.match != BT_NO && ruling.action == BT_DENY)
        return true;
    name_ask(v);
    return false;
}
