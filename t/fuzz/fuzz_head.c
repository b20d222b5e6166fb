/* fuzz_head.c - request heads: one meaning, also for whoever reads what we write.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "fuzz_heads.h"

static char first[HEADS_OUT], second[HEADS_OUT];

/* What is accepted in the end was never refused on the way. */
static void check_peeks(const char *buf, size_t len)
{
    for (size_t n = 0; n <= len && n < 300; n++)
        MUST(head_peek(buf, n) == FAULT_NONE);
    MUST(head_peek(buf, len) == FAULT_NONE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct head_field fields[HEADS_FIELDS], fields_again[HEADS_FIELDS];
    const char *buf = (const char *)data;
    struct head head, again;
    struct body body;
    size_t skip, len;

    if (size == 0 || size > 70000)
        return 0;
    skip = head_skip(buf, size);
    buf += skip;
    size -= skip;
    len = heads_end(buf, size, fuzz_seed(data, size));
    (void)head_peek(buf, size);
    if (len == 0)
        len = size; /* to be refused */
    if (parse_request(&head, buf, len, fields, HEADS_FIELDS) != FAULT_NONE)
        return 0;
    heads_check(&head, buf, buf + len);
    check_peeks(buf, len);
    MUST(head.method.len > 0 && head.target.len > 0);
    MUST(head.minor == 0 || head_has(&head, HEADER_HOST));

    len = heads_write(&head, first);
    MUST(heads_end(first, len, len) == len);
    /* A request is written as HTTP/1.1, which must have a Host. */
    if (head_has(&head, HEADER_HOST)) {
        MUST(parse_request(&again, first, len, fields_again, HEADS_FIELDS) == FAULT_NONE);
        heads_same(&head, &again);
    }
    body_init_request(&body, &head);
    len = heads_forward(&head, body.kind, second);
    if (head.host.at != NULL && head.n < HEADS_FIELDS - 3) {
        MUST(parse_request(&again, second, len, fields_again, HEADS_FIELDS) == FAULT_NONE);
        heads_check_forwarded(&again);
        MUST(again.content_length == head.content_length && again.chunked == head.chunked);
    }
    return 0;
}
