/* serve.c - delivering a record: whole, in parts, as 304 or 416, also while it still grows.
 *
 * The bytes stay where they are, in the zone; the pin on them is kept until the exchange is over,
 * since head and body are read by the core until then.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve.h"

#include <string.h>
#include <sys/random.h>

#include "tell.h"

/* ---- a body that may still grow ---- */

/* How much is there, and what follows it. */
static enum bt_source_state grown(const struct served *s, int64_t *written)
{
    const struct visit *v = s->visit;
    int64_t length;

    if (!s->growing) {
        *written = s->ref.length;
        return BT_SOURCE_END;
    }
    if (v->role == FLIGHT_FOLLOW && v->joined) {
        switch (flight_progress(&v->flight, written, &length)) {
        case FLIGHT_WHOLE:
            return BT_SOURCE_END;
        case FLIGHT_WAITING:
        case FLIGHT_GROWING:
            return BT_SOURCE_MORE;
        case FLIGHT_PRIVATE:
        case FLIGHT_FAILED:
            break;
        }
        return BT_SOURCE_BROKEN;
    }
    *written = v->keep.written;
    if (!v->keep.ended)
        return BT_SOURCE_MORE;
    return v->keep.whole ? BT_SOURCE_END : BT_SOURCE_BROKEN;
}

/* A pin covers what was written when it was taken. An older one is kept when the record has moved:
 * pieces that were handed out lie where it was. */
static void repin(struct served *s, struct store_ref *ref)
{
    if (s->ref.head.at == ref->head.at) {
        STORE->release(&s->ref);
    } else {
        struct served_old *old = bt_alloc(bt_txn_arena(s->visit->txn), sizeof *old);
        old->ref = s->ref;
        old->next = s->old;
        s->old = old;
    }
    s->ref = *ref;
}

void serve_catch_up(struct visit *v)
{
    struct store_ref ref;

    if (!v->served.open || !v->served.growing)
        return;
    if (v->keep.writer != NULL ? STORE->peek(v->keep.writer, &ref)
                               : v->joined && flight_ref(&v->flight, &ref))
        repin(&v->served, &ref);
}

void serve_close(struct visit *v)
{
    struct served *s = &v->served;

    if (!s->open)
        return;
    s->open = false;
    STORE->release(&s->ref);
    for (; s->old != NULL; s->old = s->old->next)
        STORE->release(&s->old->ref);
}

static int record_pieces(struct served *s, struct range window, int64_t from, bt_str *piece,
                         int max)
{
    int n = STORE->read(&s->ref, window.from + from, piece, max);
    int64_t left = window.len - from;

    for (int i = 0; i < n; i++) {
        if ((int64_t)piece[i].len >= left) {
            piece[i].len = (size_t)left;
            return left > 0 ? i + 1 : i;
        }
        left -= (int64_t)piece[i].len;
    }
    return n;
}

/* A body that is one window. */
static int window_read(struct served *s, struct range window, int64_t from, bt_str *piece, int max,
                       enum bt_source_state *state)
{
    int64_t written = 0, end = window.from + window.len;
    int n = 0;

    *state = grown(s, &written);
    if (window.len < 0) /* to its end, wherever that is */
        end = *state == BT_SOURCE_END ? written : INT64_MAX;
    struct range known = {window.from, (written < end ? written : end) - window.from};
    if (known.from + known.len > s->ref.length)
        serve_catch_up(s->visit);
    if (from < known.len)
        n = record_pieces(s, known, from, piece, max);
    int64_t until = window.from + from;
    for (int i = 0; i < n; i++)
        until += (int64_t)piece[i].len;
    if (until >= end)
        *state = BT_SOURCE_END;
    else if (*state == BT_SOURCE_END && until < written)
        *state = n > 0 ? BT_SOURCE_MORE : BT_SOURCE_BROKEN;
    return n;
}

/* Piece number `at` of a body in parts: text or a window. */
static int part_read(struct served *s, unsigned at, int64_t from, bt_str *piece, int max,
                     enum bt_source_state *state)
{
    const struct ranges_body *parts = s->parts;
    bt_str text = at / 2 < s->ranges->n ? parts->before[at / 2] : parts->after;

    if (at % 2 == 1)
        return window_read(s, s->ranges->at[at / 2], from, piece, max, state);
    piece[0] = (bt_str){text.at + from, text.len - (size_t)from};
    *state = BT_SOURCE_END;
    return 1;
}

static int64_t part_len(const struct served *s, unsigned at)
{
    if (at % 2 == 1)
        return s->ranges->at[at / 2].len;
    return (int64_t)(at / 2 < s->ranges->n ? s->parts->before[at / 2] : s->parts->after).len;
}

static int parts_read(struct served *s, int64_t from, bt_str *piece, int max,
                      enum bt_source_state *state)
{
    unsigned last = 2 * s->ranges->n;
    int n = 0;

    *state = BT_SOURCE_END;
    for (unsigned at = 0; at <= last; at++) {
        int64_t len = part_len(s, at);
        if (from >= len) {
            from -= len;
            continue;
        }
        if (n == max) {
            *state = BT_SOURCE_MORE;
            return n;
        }
        int more = part_read(s, at, from, piece + n, max - n, state);
        for (int i = 0; i < more; i++)
            from += (int64_t)piece[n + i].len;
        n += more;
        if (*state != BT_SOURCE_END || from < len)
            return n;
        from = 0;
    }
    return n;
}

static int served_read(struct bt_source *source, int64_t from, bt_str *piece, int max,
                       enum bt_source_state *state)
{
    struct served *s = (struct served *)(void *)source;
    struct range all = {0, -1};

    if (s->parts != NULL)
        return parts_read(s, from, piece, max, state);
    return window_read(s, all, from, piece, max, state);
}

/* The pin goes with the exchange: its head may still be looked at. */
static void served_close(struct bt_source *source)
{
    (void)source;
}

static const struct bt_source_ops served_ops = {served_read, served_close};

struct bt_source *serve_open(struct visit *v, const struct store_ref *ref, bool growing)
{
    struct served *s = &v->served;

    serve_close(v);
    STORE->hold(ref, &s->ref);
    s->source.ops = &served_ops;
    s->open = true;
    s->growing = growing;
    s->visit = v;
    visit_sure(v);
    return &s->source;
}

/* ---- what to answer ---- */

static void add_age(struct visit *v)
{
    char text[24], *first = text + sizeof text;
    uint64_t left = (uint64_t)fresh_age_seconds(&v->life, bt_wall_ms());

    do
        *--first = (char)('0' + left % 10);
    while ((left /= 10) != 0);
    bt_reply_add(v->txn, BT_STR("Age"), (bt_str){first, (size_t)(text + sizeof text - first)});
}

static bool has(struct visit *v, bt_str name)
{
    return fields_has(&v->request, name);
}

enum condition serve_condition(struct visit *v, bt_str head)
{
    struct validators validators;
    struct headtext text;
    struct fields fields;

    if (!v->conditions || !headtext_open(&text, head))
        return CONDITION_NONE;
    fields = headtext_fields(&text);
    validators_read(&validators, &fields, bt_wall_ms());
    return condition_check(&v->request, &validators, text.status);
}

/* The parts of a body of that length that the client wants. */
static enum ranges_are wanted(struct visit *v, bt_str head, int64_t length, struct ranges *ranges)
{
    bt_str value = v->head ? BT_STR_NONE : fields_get(&v->request, BT_STR("Range"), 0);
    struct validators validators;
    struct headtext text;
    struct fields fields;

    if (value.at == NULL || length < 0 || !headtext_open(&text, head) || text.status != 200)
        return RANGES_NONE;
    fields = headtext_fields(&text);
    validators_read(&validators, &fields, bt_wall_ms());
    if (!condition_if_range(&v->request, &validators))
        return RANGES_NONE;
    return ranges_read(ranges, value, length);
}

/* Parts out of v->served; their head. */
static bt_str cut_up(struct visit *v, bt_str head, const struct ranges *ranges, int64_t *length)
{
    struct bt_arena *arena = bt_txn_arena(v->txn);
    struct ranges_body *parts = bt_alloc(arena, sizeof *parts);
    struct ranges *copy = bt_alloc_raw(arena, sizeof *copy);
    uint64_t boundary = 0;

    if (getrandom(&boundary, sizeof boundary, 0) != (ssize_t)sizeof boundary)
        boundary = (uint64_t)bt_wall_ms();
    *copy = *ranges;
    ranges_answer(arena, head, copy, boundary, parts);
    v->served.parts = parts;
    v->served.ranges = copy;
    *length = parts->length;
    return parts->head;
}

/* ---- a record that is there ---- */

static const char *const tags[] = {
    [SERVE_HIT] = "TCP_MEM_HIT",
    [SERVE_STALE] = "TCP_MEM_HIT",
    [SERVE_VALIDATED] = "TCP_REFRESH_UNMODIFIED",
    [SERVE_FAILED] = "TCP_REFRESH_FAIL_OLD",
    [SERVE_SHARED] = "TCP_CF_HIT",
};
static const enum visit_result results[] = {
    [SERVE_HIT] = RESULT_hits,
    [SERVE_STALE] = RESULT_stale_hits,
    [SERVE_VALIDATED] = RESULT_validated,
    [SERVE_FAILED] = RESULT_failed_old,
    [SERVE_SHARED] = RESULT_shared_hits,
};

static void tell_served(struct visit *v, enum serve_as as, int status)
{
    const char *tag = tags[as];
    enum visit_result result = results[as];

    if (as == SERVE_HIT && v->waited) {
        tag = tags[SERVE_SHARED];
        result = RESULT_shared_hits;
    } else if (as == SERVE_HIT || as == SERVE_STALE) {
        if (status == 304)
            tag = has(v, BT_STR("If-None-Match")) ? "TCP_INM_HIT" : "TCP_IMS_HIT";
        else if (status == 412)
            tag = "TCP_HIT";
        else if ((v->life.flags & FRESH_NEGATIVE) != 0)
            tag = "TCP_NEGATIVE_HIT";
        if (as == SERVE_HIT && status == 304)
            result = RESULT_not_modified;
        else if (as == SERVE_HIT && (v->life.flags & FRESH_NEGATIVE) != 0)
            result = RESULT_negative_hits;
    }
    tell(v, result, tag);
    if (as == SERVE_VALIDATED)
        tell_validated(v);
    else
        tell_hit(v);
    add_age(v);
}

static enum bt_verdict answer(struct visit *v, bt_str head, int64_t length,
                              struct bt_source *source)
{
    if (source != NULL && length > 0 && !v->head)
        bt_count_by(bytes_saved, length);
    v->stage = VISIT_ANSWERED;
    bt_answer_from(v->txn, head, length, source);
    return BT_ANSWER;
}

static enum bt_verdict failed_condition(struct visit *v)
{
    struct headtext_out out;

    headtext_begin(&out, bt_txn_arena(v->txn), 412, BT_STR("Precondition Failed"));
    return answer(v, headtext_end(&out), 0, NULL);
}

enum bt_verdict serve(struct visit *v, enum serve_as as, bt_str head)
{
    const struct store_ref *ref = &v->found;
    struct bt_arena *arena = bt_txn_arena(v->txn);
    struct ranges ranges;
    int64_t length = ref->length;

    if (head.at == NULL)
        head = ref->head;
    switch (serve_condition(v, head)) {
    case CONDITION_NOT_MODIFIED:
        tell_served(v, as, 304);
        return answer(v, condition_head_304(arena, head), -1, NULL);
    case CONDITION_FAILED:
        tell_served(v, as, 412);
        return failed_condition(v);
    case CONDITION_NONE:
        break;
    }
    tell_served(v, as, 0);
    switch (wanted(v, head, length, &ranges)) {
    case RANGES_OUTSIDE:
        return answer(v, ranges_head_416(arena, head, length), 0, NULL);
    case RANGES_SOME:
        (void)serve_open(v, ref, false);
        head = cut_up(v, head, &ranges, &length);
        return answer(v, head, length, &v->served.source);
    case RANGES_NONE:
        break;
    }
    return answer(v, head, length, serve_open(v, ref, false));
}

/* ---- one that is coming ---- */

enum bt_verdict serve_growing(struct visit *v, int64_t length)
{
    tell_served(v, SERVE_SHARED, 0);
    return answer(v, v->found.head, length, serve_open(v, &v->found, true));
}

/* The client gets less than the origin sends; it was fetched for it all the same. */
enum bt_verdict serve_instead(struct visit *v, bt_str head, int64_t length,
                              struct bt_source *source)
{
    if (v->result == RESULT_misses)
        bt_tag(v->txn, "TCP_MISS");
    v->stage = VISIT_ANSWERED;
    bt_answer_from(v->txn, head, length, source);
    return BT_ANSWER;
}

enum bt_verdict serve_window(struct visit *v, bt_str head, int64_t length)
{
    struct store_ref ref;
    struct ranges ranges;

    if (v->keep.writer == NULL || wanted(v, head, length, &ranges) != RANGES_SOME ||
        !STORE->peek(v->keep.writer, &ref))
        return BT_PASS;
    (void)serve_open(v, &ref, true);
    STORE->release(&ref);
    head = cut_up(v, head, &ranges, &length);
    return serve_instead(v, head, length, &v->served.source);
}
