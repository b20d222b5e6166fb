/* fuzz_body.c - bodies: the same however they are cut; what is encoded is decoded.
 *
 * The first byte of the input says which kind of body, the second its length.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "fuzz.h"
#include "http/body.h"

/* What a body came to: where it stopped, and a sum over the payload. */
struct outcome {
    enum body_result result;
    size_t used;
    uint64_t payload, sum;
};

static void init(struct body *body, const uint8_t *data)
{
    struct head head = {.content_length = -1, .status = 200};

    if (data[0] % 4 == 1)
        head.content_length = data[1];
    head.chunked = data[0] % 4 >= 2;
    body_init_response(body, &head, METHOD_GET);
}

/* Feed in pieces of at most `most` bytes. */
static struct outcome feed(const uint8_t *data, const char *from, const char *end, size_t most)
{
    uint64_t seed = fuzz_seed(data, 2) + most;
    struct outcome out = {.result = BODY_MORE};
    const char *at = from;
    struct body body;

    init(&body, data);
    do {
        const char *stop = at + 1 + fuzz_random(&seed, most);
        bt_str piece;

        stop = (size_t)(end - at) < (size_t)(stop - at) ? end : stop;
        while ((out.result = body_next(&body, &at, stop, &piece)) == BODY_DATA) {
            MUST(piece.len > 0 && fuzz_within(piece, from, stop) && piece.at + piece.len == at);
            out.payload += piece.len;
            for (size_t i = 0; i < piece.len; i++)
                out.sum = (out.sum ^ (uint8_t)piece.at[i]) * UINT64_C(0x100000001b3);
        }
        MUST(at <= stop && (out.result != BODY_MORE || at == stop));
    } while (out.result == BODY_MORE && at < end);
    out.used = (size_t)(at - from);
    MUST(body.received == out.payload);
    /* Asked again, it says the same. */
    if (out.result != BODY_MORE) {
        bt_str piece;

        MUST(body_next(&body, &at, end, &piece) == out.result);
        MUST((size_t)(at - from) == out.used);
    }
    MUST(body_eof(&body) == (out.result == BODY_END || body.kind == BODY_CLOSE ||
                             (body.kind == BODY_LENGTH && body.left == 0)));
    return out;
}

/* Chunks of the input as payload, and back. */
static void there_and_back(const uint8_t *data, const char *from, size_t len)
{
    char *text = malloc(len * (BODY_CHUNK_HEAD_MAX + 3) + 8), *to = text;
    uint64_t seed = fuzz_seed(data, 2);
    static const uint8_t chunked[2] = {2, 0};
    struct outcome encoded, plain;

    for (size_t done = 0; done < len;) {
        size_t n = 1 + fuzz_random(&seed, len - done);

        to += body_chunk_head(to, n);
        memcpy(to, from + done, n);
        memcpy(to + n, BODY_CHUNK_END.at, BODY_CHUNK_END.len);
        to += n + BODY_CHUNK_END.len;
        done += n;
    }
    memcpy(to, BODY_LAST_CHUNK.at, BODY_LAST_CHUNK.len);
    to += BODY_LAST_CHUNK.len;
    encoded = feed(chunked, text, to, (size_t)(to - text));
    plain = feed((const uint8_t[2]){0, 0}, from, from + len, len + 1);
    MUST(encoded.result == BODY_END && encoded.used == (size_t)(to - text));
    MUST(encoded.payload == len && encoded.sum == plain.sum);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *from = (const char *)data + 2, *end = (const char *)data + size;
    static const size_t pieces[] = {1, 2, 7, 100};
    struct outcome whole;

    if (size < 2 || size > 70000)
        return 0;
    whole = feed(data, from, end, size);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        struct outcome cut = feed(data, from, end, pieces[i]);

        MUST(cut.result == whole.result && cut.used == whole.used);
        MUST(cut.payload == whole.payload && cut.sum == whole.sum);
    }
    there_and_back(data, from, (size_t)(end - from));
    return 0;
}
