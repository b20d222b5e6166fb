/* head.c - the tables of methods and field names, and look-ups in a parsed head.
 *
 * Field names are found by a hash over their length and three letters, then compared eight bytes at
 * a time; the index is made out of the X-macro when the program starts, so that a new name is one
 * row in head.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "http/head.h"

#include <string.h>

#include "base/str.h"

struct known {
    const char *name;
    uint8_t len;
    uint8_t flags;
};

#define KNOWN_ROW_(id, name, flags) [HEADER_##id] = {name, sizeof(name) - 1, flags},
static const struct known known[HEADER_COUNT] = {[HEADER_OTHER] = {"", 0, 0}, HEADERS(KNOWN_ROW_)};

/* Open addressing, at most half full, so that a look-up of an unknown name mostly ends at once. */
enum { INDEX_SIZE = 256 };
_Static_assert(HEADER_COUNT * 2 <= INDEX_SIZE, "the index of field names is too full");
static uint8_t name_index[INDEX_SIZE];

static unsigned name_hash(const char *at, size_t len)
{
    unsigned first = (uint8_t)at[0] | 0x20u, last = (uint8_t)at[len - 1] | 0x20u;
    unsigned middle = (uint8_t)at[len / 2] | 0x20u;

    /* Factors that give each name of today a slot of its own; nothing depends on that. */
    return ((unsigned)len * 153 + first * 68 + last * 15 + middle * 239) % INDEX_SIZE;
}

static inline uint64_t load8(const char *at)
{
    uint64_t v;

    memcpy(&v, at, sizeof v);
    return v;
}

/* memcmp() for the lengths that names have, without the call: half of the time of a look-up. */
static inline bool same_bytes(const char *a, const char *b, size_t len)
{
    if (len < 8) {
        for (size_t i = 0; i < len; i++)
            if (a[i] != b[i])
                return false;
        return true;
    }
    for (size_t i = 0; i + 8 < len; i += 8)
        if (load8(a + i) != load8(b + i))
            return false;
    return load8(a + len - 8) == load8(b + len - 8);
}

/* Equal when case is ignored. */
static bool name_equal(const char *a, const char *b, size_t len)
{
    if (same_bytes(a, b, len)) /* most senders spell as the standard does */
        return true;
    for (size_t i = 0; i < len; i++)
        if (str_lower(a[i]) != str_lower(b[i]))
            return false;
    return true;
}

static void __attribute__((constructor)) name_index_fill(void)
{
    for (unsigned id = 1; id < HEADER_COUNT; id++) {
        unsigned slot = name_hash(known[id].name, known[id].len);

        while (name_index[slot] != HEADER_OTHER)
            slot = (slot + 1) % INDEX_SIZE;
        name_index[slot] = (uint8_t)id;
    }
}

enum header_id header_find(bt_str name)
{
    if (name.len == 0)
        return HEADER_OTHER;
    for (unsigned slot = name_hash(name.at, name.len);; slot = (slot + 1) % INDEX_SIZE) {
        unsigned id = name_index[slot];

        if (id == HEADER_OTHER)
            return HEADER_OTHER;
        if (known[id].len == name.len && name_equal(known[id].name, name.at, name.len))
            return (enum header_id)id;
    }
}

bt_str header_name(enum header_id id)
{
    return (bt_str){known[id].name, known[id].len};
}

unsigned header_flags(enum header_id id)
{
    return known[id].flags;
}

enum method method_find(bt_str name)
{
#define METHOD_CASE_(word)                                                                         \
    if (str_eq_literal(name, #word))                                                               \
        return METHOD_##word;
    METHODS(METHOD_CASE_)
    return METHOD_OTHER;
}

bool method_safe(enum method method)
{
    return method == METHOD_GET || method == METHOD_HEAD || method == METHOD_OPTIONS ||
           method == METHOD_TRACE;
}

bool method_idempotent(enum method method)
{
    return method_safe(method) || method == METHOD_PUT || method == METHOD_DELETE;
}

const struct head_field *head_field_get(const struct head *head, enum header_id id)
{
    if (id == HEADER_OTHER || !head_has(head, id))
        return NULL;
    for (unsigned i = 0; i < head->n; i++)
        if (head->field[i].id == id)
            return &head->field[i];
    return NULL;
}

bt_str head_get(const struct head *head, enum header_id id)
{
    const struct head_field *field = head_field_get(head, id);

    return field != NULL ? field->value : BT_STR_NONE;
}

bt_str head_find(const struct head *head, bt_str name, size_t nth)
{
    enum header_id id = header_find(name);

    if (id != HEADER_OTHER && !head_has(head, id))
        return BT_STR_NONE;
    for (unsigned i = 0; i < head->n; i++) {
        const struct head_field *field = &head->field[i];

        if (field->id != id || (id == HEADER_OTHER && !bt_str_eq_nocase(field->name, name)))
            continue;
        if (nth-- == 0)
            return field->value;
    }
    return BT_STR_NONE;
}

/* Length of the list member at the front of `rest`: up to a comma, that is in no quoted string if
 * those can be. */
static size_t member_len(bt_str rest, bool quotes)
{
    bool quoted = false;

    for (size_t i = 0; i < rest.len; i++) {
        char c = rest.at[i];

        if (c == ',' && !quoted)
            return i;
        if (quotes && c == '"')
            quoted = !quoted;
        else if (quoted && c == '\\')
            i++;
    }
    return rest.len;
}

static bool member_next(bt_str *rest, bt_str *member, bool quotes)
{
    while (rest->len > 0) {
        size_t len = member_len(*rest, quotes);

        *member = str_trim((bt_str){rest->at, len});
        if (len < rest->len)
            len++; /* the comma */
        rest->at += len;
        rest->len -= len;
        if (member->len > 0)
            return true;
    }
    return false;
}

bool head_list_next(bt_str *rest, bt_str *member)
{
    return member_next(rest, member, true);
}

bool head_token_next(bt_str *rest, bt_str *member)
{
    return member_next(rest, member, false);
}

bool head_has_token(const struct head *head, enum header_id id, bt_str token)
{
    if (!head_has(head, id))
        return false;
    for (unsigned i = 0; i < head->n; i++) {
        bt_str rest = head->field[i].value, member;

        if (head->field[i].id != id)
            continue;
        while (head_token_next(&rest, &member))
            if (bt_str_eq_nocase(member, token))
                return true;
    }
    return false;
}
