/* fuzz_heads.h - what must hold for every head, of a request or of a response.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FUZZ_HEADS_H
#define FUZZ_HEADS_H

#include "fuzz.h"
#include "http/hop.h"
#include "http/parse.h"

enum { HEADS_FIELDS = 64, HEADS_OUT = 1 << 20 };

/* Told in one go or bit by bit, a head ends at the same place. */
static inline size_t heads_end(const char *buf, size_t len, uint64_t seed)
{
    size_t whole = 0, scanned = 0, end = head_end(buf, len, &whole), found = 0;

    MUST(end <= len && whole <= len);
    for (size_t n = 0; n < len && found == 0;) {
        n += 1 + fuzz_random(&seed, 40);
        n = n < len ? n : len;
        found = head_end(buf, n, &scanned);
        MUST(scanned <= n);
    }
    MUST(found == end);
    return end;
}

/* What an accepted head promises. */
static inline void heads_check(const struct head *head, const char *from, const char *to)
{
    MUST(head->bytes == (size_t)(to - from));
    MUST(head->content_length >= -1 && head->content_length <= 999999999999999999);
    MUST(!(head->chunked && head->content_length >= 0));
    MUST(head->chunked == head->has_transfer_encoding);
    MUST(fuzz_within(head->host, from, to) && fuzz_within(head->target, from, to));
    MUST(fuzz_within(head->method, from, to) && fuzz_within(head->reason, from, to));
    for (unsigned i = 0; i < head->n; i++) {
        const struct head_field *field = &head->field[i];

        MUST(fuzz_within(field->name, from, to) && fuzz_within(field->value, from, to));
        MUST(field->name.len > 0 && str_all(field->name, STR_TOKEN));
        MUST(field->value.at != NULL && !field->drop);
        MUST(header_find(field->name) == field->id && head_has(head, field->id));
        for (size_t k = 0; k < field->value.len; k++)
            MUST((uint8_t)field->value.at[k] >= ' ' || field->value.at[k] == '\t');
        MUST(field->value.len == str_trim(field->value).len);
        MUST(head_find(head, field->name, 0).at != NULL);
    }
}

static inline void heads_same(const struct head *a, const struct head *b)
{
    MUST(bt_str_eq(a->method, b->method) && bt_str_eq(a->target, b->target));
    MUST(bt_str_eq(a->reason, b->reason) && bt_str_eq(a->host, b->host));
    MUST(a->status == b->status && a->method_id == b->method_id && a->n == b->n);
    MUST(a->content_length == b->content_length && a->chunked == b->chunked);
    MUST(memcmp(a->seen, b->seen, sizeof a->seen) == 0);
    for (unsigned i = 0; i < a->n; i++) {
        MUST(a->field[i].id == b->field[i].id);
        MUST(bt_str_eq(a->field[i].name, b->field[i].name));
        MUST(bt_str_eq(a->field[i].value, b->field[i].value));
    }
}

/* Write `head` with all its fields, as it came; the bytes are in `out`. */
static inline size_t heads_write(const struct head *head, char *out)
{
    struct writer w = writer_on(out, HEADS_OUT);

    if (head->status != 0)
        writer_status_line(&w, head->status, head->reason);
    else
        writer_request_line(&w, head->method, head->target);
    writer_fields(&w, head);
    writer_end(&w);
    MUST(!w.over);
    return (size_t)(w.at - out);
}

/* Write it as a proxy does: without what is for one hop, with our own lines. */
static inline size_t heads_forward(struct head *head, enum body_kind kind, char *out)
{
    struct writer w = writer_on(out, HEADS_OUT);

    hop_mark(head);
    if (head->status != 0)
        writer_status_line(&w, head->status, head->reason);
    else
        writer_request_line(&w, head->method, head->target);
    hop_via(&w, head, BT_STR("fuzz (Bobtail)"));
    hop_forwarded_for(&w, head, FORWARDED_ON, BT_STR("192.0.2.1"));
    writer_fields(&w, head);
    writer_framing(&w, kind, head->content_length);
    writer_end(&w);
    MUST(!w.over);
    return (size_t)(w.at - out);
}

/* What goes out has our framing and nothing for this hop. */
static inline void heads_check_forwarded(const struct head *head)
{
    for (unsigned i = 0; i < head->n; i++) {
        enum header_id id = head->field[i].id;

        MUST((header_flags(id) & HEADER_HOP) == 0 || id == HEADER_TRANSFER_ENCODING);
    }
    MUST(head_has(head, HEADER_VIA) && head_has(head, HEADER_X_FORWARDED_FOR));
    MUST(hop_loops(head, BT_STR("fuzz")));
    MUST(head_get(head, HEADER_VIA).len <= HOP_LIST_BYTES + 32);
}

#endif
