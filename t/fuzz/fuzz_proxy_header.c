/* fuzz_proxy_header.c - the PROXY protocol: what is read lies in what came, and its end is where it ends.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "fuzz.h"

#include "base/addr.h"
#include "http/proxy_header.h"

/* Whatever it says can be said again. */
static void check_written(const struct proxy_header *header)
{
    char out[PROXY_HEADER_ROOM];
    struct proxy_header again;
    size_t len = proxy_header_write(out, &header->src.any, &header->dst.any);

    MUST(len <= sizeof out);
    MUST(proxy_header_parse(out, len, &again) == PROXY_HEADER_WHOLE && again.len == len);
    if (header->src.any.sa_family != header->dst.any.sa_family)
        return;
    MUST(again.known && addr_same(&again.src.any, &header->src.any, true) &&
         addr_same(&again.dst.any, &header->dst.any, true));
}

static void check_whole(const struct proxy_header *header, const char *at, size_t size)
{
    size_t used = 0;
    unsigned type;
    bt_str value;

    MUST(header->len <= size && header->len <= PROXY_HEADER_MAX);
    MUST(header->version == 1 || header->version == 2);
    MUST(fuzz_within(header->tlvs, at, at + header->len));
    MUST(!header->known || !header->local);
    for (size_t i = 0; proxy_header_tlv(header->tlvs, i, &type, &value); i++) {
        MUST(type <= 255 && fuzz_within(value, header->tlvs.at, at + header->len));
        used += value.len + 3;
    }
    MUST(used == header->tlvs.len);
    if (header->known)
        check_written(header);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct proxy_header header, early;
    char *copy = malloc(size + 1);

    MUST(copy != NULL);
    memcpy(copy, data, size);
    enum proxy_header_result result = proxy_header_parse(copy, size, &header);
    if (result == PROXY_HEADER_WHOLE)
        check_whole(&header, copy, size);
    MUST(result != PROXY_HEADER_BAD || header.why != NULL);
    MUST(result != PROXY_HEADER_MORE || size < PROXY_HEADER_MAX);
    /* Nothing that may become one is refused before, and no end is found that moves. */
    for (size_t n = 0; n < size && n < 300; n++) {
        enum proxy_header_result was = proxy_header_parse(copy, n, &early);
        MUST(was != PROXY_HEADER_BAD || result == PROXY_HEADER_BAD);
        MUST(was != PROXY_HEADER_WHOLE || (result == was && early.len == header.len));
    }
    free(copy);
    return 0;
}
