/* field.c - named values of an exchange: found, and turned into text.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "plug/field.h"

#include "base/addr.h"
#include "base/str.h"
#include "plug/registry.h"

const struct bt_field *field_by_name(struct registry *registry, bt_str text, bt_str *arg)
{
    bt_str name, rest;

    *arg = BT_STR_NONE;
    if (str_split(text, '[', &name, &rest)) {
        if (!str_ends(rest, BT_STR("]")))
            return NULL;
        *arg = str_slice(rest, 0, rest.len - 1);
    }
    return registry_field(registry, name, NULL);
}

static bool is_code_char(char c)
{
    return str_is(c, STR_ALPHA | STR_DIGIT) || c == '<' || c == '>' || c == ':' || c == '_' ||
           c == '.';
}

const struct bt_field *field_by_code(struct registry *registry, bt_str text, size_t *len)
{
    size_t skip = str_starts(text, BT_STR("http::")) ? 6 : 0, n = skip;
    ptrdiff_t dot;

    while (n < text.len && is_code_char(text.at[n]))
        n++;
    /* Names have a dot in them, codes have none. */
    dot = str_find_char(str_slice(text, skip, n), '.');
    for (*len = n; *len > skip; --*len) {
        bt_str code = str_slice(text, skip, *len);
        bool name = dot >= 0 && *len > skip + (size_t)dot;
        const struct bt_field *field = name ? registry_field(registry, code, NULL)
                                            : registry_code(registry, code, NULL);
        if (field != NULL)
            return field;
    }
    *len = n;
    return NULL;
}

bt_str field_text(const struct bt_value *value, char buf[FIELD_TEXT])
{
    switch (value->kind) {
    case BT_TEXT:
        return value->text;
    case BT_INT:
        return str_span(buf, str_put_int(buf, value->num));
    case BT_ADDR:
        return (bt_str){buf, addr_print_sockaddr(value->addr, buf)};
    }
    return BT_STR_NONE; /* a module's stray kind */
}
