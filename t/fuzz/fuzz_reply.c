/* fuzz_reply.c - what an origin may send: a response head, and the body behind it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "fuzz_heads.h"

static char first[HEADS_OUT], second[HEADS_OUT];

/* To the end of the body, or of the input. */
static void read_body(const struct head *head, enum method method, const char *at, const char *end)
{
    const char *from = at;
    struct body body;
    uint64_t total = 0;
    bt_str data;
    enum body_result result;

    body_init_response(&body, head, method);
    while ((result = body_next(&body, &at, end, &data)) == BODY_DATA) {
        MUST(data.len > 0 && fuzz_within(data, from, end));
        total += data.len;
    }
    MUST(at <= end && (result != BODY_MORE || at == end));
    MUST(total == body.received && total <= (uint64_t)(at - from));
    if (body.kind == BODY_NONE)
        MUST(result == BODY_END && at == from);
    if (body.kind == BODY_LENGTH && result == BODY_END)
        MUST(total == (uint64_t)head->content_length);
    (void)body_eof(&body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct head_field fields[HEADS_FIELDS], fields_again[HEADS_FIELDS];
    struct head head, again;
    char *buf;
    size_t len, rest;

    if (size == 0 || size > 70000)
        return 0;
    len = heads_end((const char *)data, size, fuzz_seed(data, size));
    (void)head_peek_response((const char *)data, size);
    if (len == 0)
        len = size;
    rest = size - len;
    buf = malloc(len); /* of its own, since folds are undone in it */
    memcpy(buf, data, len);
    if (parse_response(&head, buf, len, fields, HEADS_FIELDS) == FAULT_NONE) {
        const char *body = (const char *)data + len;
        size_t n;

        heads_check(&head, buf, buf + len);
        MUST(head.status >= 100 && head.status <= 599);
        MUST(head_peek_response(buf, len) == FAULT_NONE);
        read_body(&head, METHOD_GET, body, body + rest);
        read_body(&head, METHOD_HEAD, body, body + rest);
        read_body(&head, METHOD_CONNECT, body, body + rest);

        n = heads_write(&head, first);
        MUST(parse_response(&again, first, n, fields_again, HEADS_FIELDS) == FAULT_NONE);
        heads_same(&head, &again);
        n = heads_forward(&head, head.chunked ? BODY_CHUNKED : BODY_LENGTH, second);
        if (head.n < HEADS_FIELDS - 3) {
            MUST(parse_response(&again, second, n, fields_again, HEADS_FIELDS) == FAULT_NONE);
            heads_check_forwarded(&again);
            MUST(again.content_length == head.content_length && again.chunked == head.chunked);
        }
    }
    free(buf);
    return 0;
}
