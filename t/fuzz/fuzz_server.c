/* fuzz_server.c - what a server says in clear: one verdict, however it is cut, and nothing outside of it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/arena.h"
#include "fuzz.h"

#include "../../modules/tls/serverhello.c"

static struct bt_arena *arena;

/* In pieces of random size, or all at once with `most` 0. Each piece is freed, so that a slice into
 * it is found. */
static void feed(struct serverhello_reader *r, const uint8_t *data, size_t size, size_t most)
{
    uint64_t seed = fuzz_seed(data, size);

    serverhello_init(r, arena);
    for (size_t at = 0; at < size;) {
        size_t n = most == 0 ? size : 1 + fuzz_random(&seed, most);
        uint8_t *copy;

        if (n > size - at)
            n = size - at;
        copy = malloc(n);
        memcpy(copy, data + at, n);
        MUST(serverhello_feed(r, copy, n) == r->verdict);
        free(copy);
        at += n;
        MUST(r->used <= at && r->used <= SERVERHELLO_RAW_MAX);
        MUST(r->verdict != SERVERHELLO_MORE || r->used == at);
    }
}

static bool same(const struct serverhello_reader *a, const struct serverhello_reader *b)
{
    if (a->verdict != b->verdict || a->used != b->used || a->why != b->why ||
        a->certs != b->certs || a->has_hello != b->has_hello || a->version != b->version ||
        a->hello_version != b->hello_version || a->cipher != b->cipher ||
        !bt_str_eq(a->alpn, b->alpn))
        return false;
    for (size_t i = 0; i < a->certs; i++)
        if (!bt_str_eq(a->cert[i], b->cert[i]))
            return false;
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct serverhello_reader whole, cut, bytes;
    size_t total = 0;

    if (size > 100000)
        return 0;
    if (arena == NULL)
        arena = arena_new(4096);
    arena_reset(arena);
    feed(&whole, data, size, 0);
    feed(&cut, data, size, 100);
    feed(&bytes, data, size, 1);
    MUST(same(&whole, &cut) && same(&whole, &bytes));
    MUST(whole.certs <= SERVERHELLO_CERTS_MAX && (whole.certs == 0 || whole.has_hello));
    for (size_t i = 0; i < whole.certs; i++) {
        const char *from = (const char *)whole.message;
        MUST(whole.cert[i].len > 0 && fuzz_within(whole.cert[i], from, from + whole.need));
        total += whole.cert[i].len;
    }
    MUST(total <= size && (whole.alpn.at == NULL || whole.alpn.len > 0));
    MUST(whole.has_hello || whole.alpn.at == NULL);
    if (whole.verdict == SERVERHELLO_NOT_TLS)
        MUST(!whole.has_hello && whole.why != NULL && whole.used <= 5);
    return 0;
}
