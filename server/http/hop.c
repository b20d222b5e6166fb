/* hop.c - what must not travel on, and what a proxy adds: Via and X-Forwarded-For.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "http/hop.h"

#include "base/str.h"

/* ---- what must not travel on ---- */

/* Drop the fields of this name that the table does not know; Connection named it. */
static void drop_named(struct head *head, bt_str name)
{
    /* A name of the table is either hop-by-hop, and dropped anyway, or for the other end: then the
     * option is an attempt to take it away from there. */
    if (header_find(name) != HEADER_OTHER)
        return;
    for (unsigned i = 0; i < head->n; i++)
        if (head->field[i].id == HEADER_OTHER && bt_str_eq_nocase(head->field[i].name, name))
            head->field[i].drop = true;
}

void hop_mark(struct head *head)
{
    for (unsigned i = 0; i < head->n; i++) {
        struct head_field *field = &head->field[i];
        bt_str rest = field->value, member;

        if ((header_flags(field->id) & (HEADER_HOP | HEADER_FRAMING)) == 0)
            continue;
        field->drop = true;
        if (field->id == HEADER_CONNECTION || field->id == HEADER_PROXY_CONNECTION)
            while (head_token_next(&rest, &member))
                drop_named(head, member);
    }
    if (head_has(head, HEADER_UPGRADE)) /* goes with an Upgrade to h2c, which is not passed on */
        drop_named(head, BT_STR("HTTP2-Settings"));
}

/* ---- lists that grow at each hop ---- */

/* Members of a list that came in several lines: how many, and their bytes with ", ". */
struct list {
    unsigned members;
    size_t bytes;
};

static struct list list_count(const struct head *head, enum header_id id)
{
    struct list list = {0, 0};

    if (!head_has(head, id))
        return list;
    for (unsigned i = 0; i < head->n; i++) {
        bt_str rest = head->field[i].value, member;

        if (head->field[i].id != id)
            continue;
        while (head_token_next(&rest, &member)) {
            list.members++;
            list.bytes += member.len + 2;
        }
    }
    return list;
}

static void list_drop(struct head *head, enum header_id id)
{
    for (unsigned i = 0; i < head->n; i++)
        if (head->field[i].id == id)
            head->field[i].drop = true;
}

/* Write the members that came, each with ", " behind it: the newest that the caps allow. */
static void list_write(struct writer *w, const struct head *head, enum header_id id)
{
    struct list left = list_count(head, id);

    for (unsigned i = 0; i < head->n && left.members != 0; i++) {
        bt_str rest = head->field[i].value, member;

        if (head->field[i].id != id)
            continue;
        while (head_token_next(&rest, &member)) {
            /* One place is kept for the member that we add. */
            if (left.members < HOP_LIST_MAX && left.bytes <= HOP_LIST_BYTES) {
                writer_str(w, member);
                writer_str(w, BT_STR(", "));
            }
            left.members--;
            left.bytes -= member.len + 2;
        }
    }
}

void hop_via(struct writer *w, struct head *head, bt_str name)
{
    writer_str(w, BT_STR("Via: "));
    list_write(w, head, HEADER_VIA);
    list_drop(head, HEADER_VIA);
    writer_str(w, head->minor == 0 ? BT_STR("1.0 ") : BT_STR("1.1 "));
    writer_str(w, name);
    writer_str(w, BT_STR("\r\n"));
}

/* Whether a member "protocol by comment" has this name as its `by`. */
static bool via_names(bt_str member, bt_str name)
{
    bt_str protocol, by;

    if (!str_word(&member, &protocol) || !str_word(&member, &by))
        return false;
    return bt_str_eq_nocase(by, name);
}

bool hop_loops(const struct head *head, bt_str name)
{
    bt_str host;

    if (!head_has(head, HEADER_VIA) || !str_word(&name, &host))
        return false;
    for (unsigned i = 0; i < head->n; i++) {
        bt_str rest = head->field[i].value, member;

        if (head->field[i].id != HEADER_VIA)
            continue;
        while (head_token_next(&rest, &member))
            if (via_names(member, host))
                return true;
    }
    return false;
}

void hop_forwarded_for(struct writer *w, struct head *head, enum forwarded_for how, bt_str client)
{
    if (how == FORWARDED_TRANSPARENT)
        return;
    if (how != FORWARDED_DELETE) {
        writer_str(w, BT_STR("X-Forwarded-For: "));
        if (how != FORWARDED_TRUNCATE)
            list_write(w, head, HEADER_X_FORWARDED_FOR);
        writer_str(w, how == FORWARDED_OFF ? BT_STR("unknown") : client);
        writer_str(w, BT_STR("\r\n"));
    }
    list_drop(head, HEADER_X_FORWARDED_FOR);
}
