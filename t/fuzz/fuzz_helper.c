/* fuzz_helper.c - answers of helpers: whatever a program says, the parser stays within its line.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "fuzz.h"
#include "net/reply.h"

static bool within(bt_str s, const char *line, size_t len)
{
    return s.len == 0 || (s.at >= line && s.at + s.len <= line + len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reply reply;
    uint64_t channel;
    char *copy = malloc(size + 1), *line = copy;
    size_t len = size;

    memcpy(copy, data, size);
    if (size > 0 && data[0] >= '0' && data[0] <= '9' && reply_channel(&line, &len, &channel))
        MUST(channel <= UINT32_MAX && line >= copy && line + len == copy + size);
    reply_parse(&reply, line, len);
    MUST(reply.said.result < BT_HELPER_LOST);
    MUST(reply.said.n <= REPLY_PAIRS);
    MUST(within(reply.said.text, line, len));
    for (size_t i = 0; i < reply.said.n; i++) {
        MUST(within(reply.said.pair[i].value, line, len));
        MUST(reply.said.pair[i].key.len > 0);
    }
    free(copy);
    return 0;
}
