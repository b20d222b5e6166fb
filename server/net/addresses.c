/* addresses.c - the addresses of one name: made once, then only read, shared by count.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/addresses.h"

#include <stdlib.h>
#include <string.h>

#include "base/addr.h"
#include "base/check.h"

/* One block: the struct, pointers, addresses, name. */
static struct addresses *block(size_t n, bt_str name, union address **first)
{
    struct addresses *set = malloc(sizeof *set + n * (sizeof *set->list + sizeof(union address)) +
                                   name.len + 1);
    char *text;

    CHECK(set != NULL);
    set->refs = 1;
    set->n = n;
    *first = (union address *)(void *)(set->list + n);
    text = (char *)(*first + n);
    if (name.len > 0)
        memcpy(text, name.at, name.len);
    text[name.len] = '\0';
    set->name = (bt_str){text, name.len};
    for (size_t i = 0; i < n; i++)
        set->list[i] = &(*first)[i].any;
    return set;
}

struct addresses *addresses_new(const union address *from, size_t n, bt_str name)
{
    union address *to;
    struct addresses *set = block(n, name, &to);

    if (n > 0)
        memcpy(to, from, n * sizeof *to);
    return set;
}

struct addresses *addresses_join(const struct addresses *a, const struct addresses *b)
{
    size_t n_a = a == NULL ? 0 : a->n, n_b = b == NULL ? 0 : b->n;
    union address *to;
    struct addresses *set = block(n_a + n_b, (bt_str){"", 0}, &to);

    for (size_t i = 0; i < n_a + n_b; i++)
        address_from(&to[i], i < n_a ? a->list[i] : b->list[i - n_a]);
    return set;
}

struct addresses *addresses_ref(struct addresses *set)
{
    set->refs++;
    return set;
}

void addresses_unref(struct addresses *set)
{
    if (set != NULL && --set->refs == 0)
        free(set);
}

void address_from(union address *to, const struct sockaddr *from)
{
    memset(to, 0, sizeof *to);
    memcpy(to, from, addr_len(from));
    addr_set_port(&to->any, 0);
}
