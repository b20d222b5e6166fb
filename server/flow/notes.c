/* notes.c - notes on exchanges and connections, and who the client is.
 *
 * They are few and most exchanges have none: a list is walked.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/notes.h"

#include "base/arena.h"
#include "base/str.h"
#include "bt_txn.h"
#include "flow/session.h"

struct note {
    struct note *next;
    bt_str key, value;
    size_t room; /* of the value */
};
struct notes {
    struct note *first;
};
struct facts {
    struct notes notes;
    bt_str who[BT_WHO_END];
};

static struct bt_self self;

static struct facts *facts_of(struct bt_txn *txn)
{
    return bt_txn_memory(txn, &self);
}

/* ---- who ---- */

void bt_who_set(struct bt_txn *txn, enum bt_who which, bt_str value)
{
    facts_of(txn)->who[which] = bt_str_copy(bt_txn_arena(txn), value);
}

bt_str bt_who(struct bt_txn *txn, enum bt_who which)
{
    return facts_of(txn)->who[which];
}

/* ---- notes ---- */

static struct notes *notes_of(struct bt_txn *txn, enum bt_note where, struct bt_arena **arena)
{
    if (where == BT_NOTE_EXCHANGE) {
        *arena = bt_txn_arena(txn);
        return &facts_of(txn)->notes;
    }
    struct notes *notes = bt_conn_memory(txn, &self);
    *arena = txn->session->arena;
    return notes;
}

void bt_note_add(struct bt_txn *txn, enum bt_note where, bt_str key, bt_str value)
{
    struct bt_arena *arena;
    struct notes *notes = notes_of(txn, where, &arena);
    struct note **at = &notes->first;

    while (*at != NULL)
        at = &(*at)->next;
    *at = bt_alloc(arena, sizeof **at);
    (*at)->key = bt_str_copy(arena, key);
    (*at)->value = bt_str_copy(arena, value);
    (*at)->room = value.len;
}

void bt_note_set(struct bt_txn *txn, enum bt_note where, bt_str key, bt_str value)
{
    struct bt_arena *arena;
    struct notes *notes = notes_of(txn, where, &arena);
    struct note **at = &notes->first, *reuse = NULL;

    while (*at != NULL)
        if (bt_str_eq((*at)->key, key)) {
            reuse = *at;
            *at = reuse->next;
        } else {
            at = &(*at)->next;
        }
    /* A connection may last for days: a note that is set anew must not take memory anew. */
    if (reuse == NULL || reuse->room < value.len) {
        bt_note_add(txn, where, key, value);
        return;
    }
    if (value.len > 0)
        memcpy((char *)(uintptr_t)reuse->value.at, value.at, value.len);
    reuse->value.len = value.len;
    reuse->next = NULL;
    *at = reuse;
}

bt_str bt_note_get(struct bt_txn *txn, bt_str key, size_t n)
{
    struct bt_arena *arena;

    for (enum bt_note where = BT_NOTE_EXCHANGE; where <= BT_NOTE_CLIENT; where++) {
        if (where == BT_NOTE_CLIENT && txn->session->arena == NULL)
            break; /* nobody has noted anything on the connection */
        for (const struct note *note = notes_of(txn, (enum bt_note)where, &arena)->first;
             note != NULL; note = note->next)
            if (bt_str_eq(note->key, key) && n-- == 0)
                return note->value;
    }
    return BT_STR_NONE;
}

static void notes_add_all(struct bt_txn *to, const struct notes *from)
{
    for (const struct note *note = from->first; note != NULL; note = note->next)
        bt_note_add(to, BT_NOTE_EXCHANGE, note->key, note->value);
}

void notes_copy(struct bt_txn *to, struct bt_txn *from)
{
    struct bt_arena *arena;

    for (enum bt_who which = 0; which < BT_WHO_END; which++)
        bt_who_set(to, which, bt_who(from, which));
    notes_add_all(to, notes_of(from, BT_NOTE_EXCHANGE, &arena));
    if (from->session->arena != NULL)
        notes_add_all(to, notes_of(from, BT_NOTE_CLIENT, &arena));
}

/* ---- fields ---- */

static bool text(struct bt_value *out, bt_str value)
{
    *out = (struct bt_value){.kind = BT_TEXT, .text = value};
    return value.len > 0;
}

#define WHO_FIELD(name, which)                                                                     \
    static bool name(struct bt_txn *txn, bt_str arg, struct bt_value *out)                         \
    {                                                                                              \
        (void)arg;                                                                                 \
        return text(out, bt_who(txn, which));                                                      \
    }
WHO_FIELD(user_proven, BT_WHO_LOGIN)
WHO_FIELD(user_external, BT_WHO_EXTERNAL)
WHO_FIELD(external_tag, BT_WHO_TAG)
WHO_FIELD(external_log, BT_WHO_LOG)
WHO_FIELD(external_message, BT_WHO_MESSAGE)

/* Logs have the name of a login that failed, too: nobody else may take it for somebody's. */
static bool user_login(struct bt_txn *txn, bt_str arg, struct bt_value *out)
{
    return user_proven(txn, arg, out) || (txn->told && text(out, bt_who(txn, BT_WHO_CLAIMED)));
}

static bool user_name(struct bt_txn *txn, bt_str arg, struct bt_value *out)
{
    return user_proven(txn, arg, out) || user_external(txn, arg, out) || user_login(txn, arg, out);
}

/* Every note, as a header field each. */
static bt_str all_notes(struct bt_txn *txn)
{
    struct str_builder all;
    struct bt_arena *arena;

    str_builder_arena(&all, bt_txn_arena(txn), 64);
    for (enum bt_note where = BT_NOTE_EXCHANGE; where <= BT_NOTE_CLIENT; where++) {
        if (where == BT_NOTE_CLIENT && txn->session->arena == NULL)
            break;
        for (const struct note *note = notes_of(txn, (enum bt_note)where, &arena)->first;
             note != NULL; note = note->next) {
            str_add(&all, note->key);
            str_add_literal(&all, ": ");
            str_add(&all, note->value);
            str_add_literal(&all, "\r\n");
        }
    }
    return str_built(&all);
}

/* KEY or KEY:SEPARATOR; several values stand with the separator, a comma, between them. */
static bool note_value(struct bt_txn *txn, bt_str arg, struct bt_value *out)
{
    bt_str key, between, value;
    struct str_builder all;

    if (arg.len == 0)
        return text(out, all_notes(txn));
    if (!str_split(arg, ':', &key, &between) || between.len == 0)
        between = BT_STR(",");
    value = bt_note_get(txn, key, 0);
    if (value.at == NULL || bt_note_get(txn, key, 1).at == NULL)
        return text(out, value);
    str_builder_arena(&all, bt_txn_arena(txn), 64);
    for (size_t n = 0; (value = bt_note_get(txn, key, n)).at != NULL; n++) {
        if (n > 0)
            str_add(&all, between);
        str_add(&all, value);
    }
    return text(out, str_built(&all));
}

#define ROW(its_name, its_codes, its_get, its_doc)                                                 \
    {                                                                                              \
        .name = its_name, .codes = its_codes, .doc = its_doc, .earliest = BT_AT_REQUEST,           \
        .get = its_get                                                                             \
    }
static const struct bt_field rows[] = {
    ROW("user.name", "un", user_name, "Name of the user, from whoever knows it best."),
    ROW("user.login", "ul", user_login,
        "Name that the user logged in with; in logs also one that was not proven."),
    ROW("user.credentials", "credentials", user_proven,
        "The part of the proof that may be told: the name."),
    ROW("user.external", "ue ui", user_external, "Name of the user from an external helper."),
    ROW("external.tag", "et", external_tag, "Tag from an external helper."),
    ROW("external.log", "ea", external_log, "Log text from an external helper."),
    ROW("external.message", NULL, external_message, "What a helper said to its answer."),
    ROW("note.value", "note", note_value,
        "Notes of that name on the exchange and on the client's connection, with the separator of "
        "NAME:SEPARATOR or a comma between them; all notes without an argument."),
};

const struct bt_module notes_module = {
    .abi_major = BT_ABI_MAJOR,
    .abi_minor = BT_ABI_MINOR,
    .size = sizeof(struct bt_module),
    .name = "notes",
    .doc = "What modules find out about an exchange: notes, and who the client is.",
    .self = &self,
    .txn_size = sizeof(struct facts),
    .conn_size = sizeof(struct notes),
    .fields = BT_ROWS(rows),
};
