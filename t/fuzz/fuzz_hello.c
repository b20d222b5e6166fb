/* fuzz_hello.c - the first bytes of a TLS client: one verdict, however they are cut.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/arena.h"
#include "fuzz.h"

#include "../../modules/tls/hello.c"
#include "../../modules/tls/ja.c"

static struct bt_arena *arena;

/* Stands in for both digests: the same for the same text. */
static bool digest(bt_str of, uint8_t *out)
{
    uint64_t seed = fuzz_seed((const uint8_t *)of.at, of.len);

    memcpy(out, &seed, sizeof seed);
    memcpy(out + 8, &seed, sizeof seed);
    return true;
}

/* In pieces of random size, or all at once with `most` 0. Each piece is freed, so that a slice into
 * it is found. */
static void feed(struct hello_reader *r, const uint8_t *data, size_t size, size_t most)
{
    uint64_t seed = fuzz_seed(data, size);

    hello_init(r, arena);
    for (size_t at = 0; at < size;) {
        size_t n = most == 0 ? size : 1 + fuzz_random(&seed, most);
        enum hello_verdict verdict;
        uint8_t *copy;

        if (n > size - at)
            n = size - at;
        copy = malloc(n);
        memcpy(copy, data + at, n);
        verdict = hello_feed(r, copy, n);
        free(copy);
        MUST(verdict == r->verdict);
        at += n;
        MUST(r->used <= at && (verdict != HELLO_MORE || r->used == at));
    }
}

static void check_name(const struct hello *hello)
{
    MUST((hello->name == HELLO_NAME_NONE) == (hello->sni_raw.at == NULL));
    if (hello->name != HELLO_NAME_HOST && hello->name != HELLO_NAME_ADDRESS) {
        MUST(hello->sni.at == NULL);
        return;
    }
    MUST(hello->sni.len > 0 && hello->sni.len <= 253 && hello->sni.at[hello->sni.len] == '\0');
    for (size_t i = 0; i < hello->sni.len; i++) {
        char c = hello->sni.at[i];

        MUST((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' ||
             (c == ':' && hello->name == HELLO_NAME_ADDRESS));
    }
}

static void check_within(const struct hello_reader *r)
{
    const char *from = (const char *)r->message, *to = from + r->need;
    const struct hello *hello = &r->hello;
    const struct hello_list *list[] = {&hello->versions, &hello->ciphers, &hello->groups,
                                       &hello->signatures};

    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        MUST(list[i]->n == 0 ||
             fuzz_within((bt_str){(const char *)list[i]->at, 2 * list[i]->n}, from, to));
    MUST(fuzz_within(hello->session_id, from, to) && hello->session_id.len <= 32);
    MUST(fuzz_within(hello->alpn, from, to) && fuzz_within(hello->extensions, from, to));
    MUST(fuzz_within(hello->point_formats, from, to) && fuzz_within(hello->sni_raw, from, to));
}

static void check_walks(const struct hello *hello)
{
    size_t at = 0, n = 0;
    uint16_t type;
    bt_str found;

    while (hello_alpn(hello, &at, &found))
        MUST(found.len > 0 && at <= hello->alpn.len);
    MUST(at == hello->alpn.len);
    for (at = 0; hello_extension(hello, &at, &type, &found); n++)
        MUST(at <= hello->extensions.len);
    MUST(at == hello->extensions.len && n <= hello->extensions.len / 4);
    MUST(hello->ciphers.n > 0 && hello->best_version >> 8 == 3);
    (void)hello_takes_ecdsa(hello);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hello_reader whole, cut, bytes;
    bt_str ja3, ja4;

    if (size > 20000)
        return 0;
    if (arena == NULL)
        arena = arena_new(4096);
    arena_reset(arena);
    feed(&whole, data, size, 0);
    feed(&cut, data, size, 100);
    feed(&bytes, data, size, 1);
    MUST(cut.verdict == whole.verdict && cut.used == whole.used && cut.why == whole.why);
    MUST(bytes.verdict == whole.verdict && bytes.used == whole.used && bytes.why == whole.why);
    MUST((whole.why != NULL) == (whole.verdict != HELLO_MORE && whole.verdict != HELLO_WHOLE));
    if (whole.verdict != HELLO_WHOLE)
        return 0;
    check_name(&whole.hello);
    check_within(&whole);
    check_walks(&whole.hello);
    MUST(bt_str_eq(whole.hello.sni, bytes.hello.sni));
    MUST(bt_str_eq(whole.hello.extensions, bytes.hello.extensions));
    ja3 = ja3_hash(&whole.hello, arena, digest);
    MUST(ja3.len == 32 && bt_str_eq(ja3, ja3_hash(&bytes.hello, arena, digest)));
    ja4 = ja4_text(&whole.hello, arena, digest);
    MUST(ja4.len == 36 && bt_str_eq(ja4, ja4_text(&bytes.hello, arena, digest)));
    return 0;
}
