/* acl_compile.c - the values of ACLs become what is asked, type by type.
 *
 * A type is compiled in up to two kinds: the ACLs with -n, which never wait for a name server, and
 * the others, so that an ACL that needs no look-up does not wait for the one that does.
 *
 * A type with list files may be compiled more than once: without the lines that were found bad, and
 * anew when the files have changed (lists.c). Which ACL is which bit, and where its answer is kept,
 * stays as it was the first time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "base/check.h"
#include "bt_sets.h"
#include "plug/acl_inside.h"
#include "plug/lists.h"

/* Values of one line or, with `whole`, of all, as one array; -n in front where it was given. */
static struct bt_args values_join(struct bt_arena *arena, const struct acl *acl,
                                  const struct acl_values *first, bool whole)
{
    size_t n = acl->no_dns ? 1 : 0, all = n;

    if (n == 0 && (!whole || first->next == NULL))
        return first->args;
    for (const struct acl_values *line = first; line != NULL; line = whole ? line->next : NULL)
        all += line->args.n;
    struct bt_word *words = bt_alloc_raw(arena, (all + 1) * sizeof *words);
    if (n != 0)
        words[0] = (struct bt_word){.text = BT_STR("-n"),
                                    .file = acl->name.file,
                                    .line = acl->name.line,
                                    .column = acl->name.column};
    for (const struct acl_values *line = first; line != NULL; line = whole ? line->next : NULL) {
        if (line->args.n > 0)
            memcpy(words + n, line->args.word, line->args.n * sizeof *words);
        n += line->args.n;
    }
    return (struct bt_args){words, n};
}

static struct acl *compiling; /* a type looks at its values now */

bt_str bt_acl_name(void)
{
    return compiling == NULL ? BT_STR_NONE : compiling->name.text;
}

void bt_acl_asks_login(void)
{
    if (compiling != NULL)
        compiling->login = true;
}

static void *line_compile(struct bt_arena *arena, struct acl *acl, struct bt_args args,
                          struct bt_error *err)
{
    const struct bt_acl_type *row = acl->type->row;

    if (row->compile != NULL) {
        compiling = acl;
        void *compiled = row->compile(args, arena, err);
        compiling = NULL;
        return compiled;
    }
    struct bt_args *copy = bt_alloc(arena, sizeof *copy);
    *copy = args;
    return copy;
}

/* An ACL that is asked alone: each of its lines. One without values has none, or an empty one. */
static bool one_compile(struct acls *acls, struct acl *acl, struct bt_error *err)
{
    static const struct acl_values no_values;
    const struct acl_values *first = acl->values;
    struct bt_arena *arena = lists_arena(acls, acl->type);
    bool good = true;

    if (first == NULL && acl_takes_values(acl->type->row))
        return true;
    if (first == NULL)
        first = &no_values;
    acl->lines = 0;
    for (const struct acl_values *line = first; line != NULL; line = line->next)
        acl->lines++;
    acl->compiled = bt_alloc(arena, acl->lines * sizeof *acl->compiled);
    acl->lines = 0;
    for (const struct acl_values *line = first; line != NULL; line = line->next) {
        /* An empty list matches nothing; but who has to log in is asked even so. */
        if (line->args.n == 0 && line->written.n > 0 && (acl->type->row->flags & BT_SLOW) == 0)
            continue;
        void *compiled = line_compile(arena, acl, values_join(arena, acl, line, false), err);
        if (compiled != NULL)
            acl->compiled[acl->lines++] = compiled;
        else
            good = false;
    }
    if (acl->how == HOW_NEVER)
        acl->code = acls->codes++;
    acl->how = good ? HOW_ONE : HOW_BAD;
    return good;
}

/* A type that is known and not built: look at its values all the same, then refuse it. */
static bool unbuilt_refuse(struct acls *acls, struct acl *acl, struct bt_error *err)
{
    for (const struct acl_values *line = acl->values; line != NULL; line = line->next)
        (void)line_compile(acls->arena, acl, line->args, err);
    return bt_complain(err, &acl->type_at, "ACL type %s is not built yet", acl->type_at.text.at);
}

/* The values of each line by itself. */
static void values_by_line(struct bt_arena *arena, const struct acl *acl,
                           struct bt_acl_values *values)
{
    struct bt_args *each;

    for (const struct acl_values *line = acl->values; line != NULL; line = line->next)
        values->lines++;
    values->line = each = bt_alloc_raw(arena, values->lines * sizeof *each);
    for (const struct acl_values *line = acl->values; line != NULL; line = line->next)
        *each++ = line->args;
}

/* Once: which ACL is which bit of which kind. */
static void set_number(struct acls *acls, struct acl_type *type)
{
    for (size_t i = 0; i < acls->n; i++) {
        struct acl *acl = acls->acl[i];
        if (acl->type != type || acl->values == NULL)
            continue;
        acl->how = HOW_SET;
        acl->kind = &type->kind[acl->no_dns ? 1 : 0];
        acl->index = (uint32_t)type->kind[acl->no_dns ? 1 : 0].n++;
    }
    for (unsigned i = 0; i < 2; i++)
        if (type->kind[i].n > 0)
            type->kind[i].code = acls->codes++;
    type->numbered = true;
}

static bool kind_compile(struct acls *acls, struct acl_type *type, struct acl_kind *kind,
                         struct bt_error *err)
{
    struct bt_arena *arena = lists_words_arena(acls, type);
    size_t n = 0;

    if (kind->n == 0)
        return true;
    struct bt_acl_values *values = bt_alloc(arena, kind->n * sizeof *values);
    for (size_t i = 0; i < acls->n; i++) {
        struct acl *acl = acls->acl[i];
        if (acl->kind != kind)
            continue;
        values[n] = (struct bt_acl_values){.name = acl->name.text,
                                           .args = values_join(arena, acl, acl->values, true)};
        values_by_line(arena, acl, &values[n++]);
    }
    kind->compiled = kind->row->compile_all(values, kind->n, lists_arena(acls, type), err);
    return kind->compiled != NULL;
}

static bool type_compile(struct acls *acls, struct acl_type *type, struct bt_error *err)
{
    bool good = true;

    if (type->row->status == BT_BUILT && type->row->compile_all != NULL) {
        /* All ACLs of a type that answers for them at once. */
        if (!type->numbered)
            set_number(acls, type);
        for (unsigned i = 0; i < 2; i++)
            good &= kind_compile(acls, type, &type->kind[i], err);
        return good;
    }
    for (size_t i = 0; i < acls->n; i++) {
        struct acl *acl = acls->acl[i];
        if (acl->type != type)
            continue;
        if (type->row->status == BT_UNBUILT)
            good &= unbuilt_refuse(acls, acl, err);
        else
            good &= one_compile(acls, acl, err);
    }
    return good;
}

bool acl_type_compile(struct acls *acls, struct acl_type *type, struct bt_error *err)
{
    if (!type->lists)
        return type_compile(acls, type, err);
    for (;;) {
        struct lists_mark mark = lists_mark(acls->files, err);
        bool good = type_compile(acls, type, err);
        if (!lists_leave_out(acls, type, &mark, err))
            return good;
    }
}

/* Where the bits of each kind stand in a memo: after the codes, whose number is known by now. */
void acl_memo_lay_out(struct acls *acls)
{
    acls->words = (acls->codes + 31) / 32;
    for (struct acl_type *type = acls->types; type != NULL; type = type->next)
        for (unsigned i = 0; i < 2; i++) {
            type->kind[i].bits = acls->words;
            acls->words += type->kind[i].n > ACL_MANY ? 1
                                                      : (uint32_t)BT_BITS_WORDS(type->kind[i].n);
        }
}
