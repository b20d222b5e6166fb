/* key.c - keys of buckets.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "shape.h"

static void put(struct key *key, const void *bytes, size_t n)
{
    size_t room = sizeof key->text - key->len;

    n = n < room ? n : room;
    if (n > 0)
        memcpy(key->text + key->len, bytes, n);
    key->len += n;
}

struct key key_of(const char *kind, uint64_t number)
{
    struct key key;

    key.len = 0;
    put(&key, kind, strlen(kind) + 1);
    put(&key, &number, sizeof number);
    return key;
}

void key_text(struct key *key, bt_str text)
{
    put(key, text.at, text.len);
}

void key_addr(struct key *key, const struct sockaddr *addr, unsigned v4_bits, unsigned v6_bits)
{
    static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    uint8_t bytes[16];

    if (!bt_addr_bytes(addr, bytes))
        return;
    unsigned bits = memcmp(bytes, mapped, sizeof mapped) == 0 ? 96 + v4_bits : v6_bits;
    memset(bytes + (bits + 7) / 8, 0, 16 - (bits + 7) / 8);
    put(key, bytes, sizeof bytes);
}

struct bt_bucket key_bucket(const struct key *key, const struct bt_pace *pace)
{
    return bt_bucket_find((bt_str){key->text, key->len}, pace);
}
