/* registry.c - every row of every module, by kind and name.
 *
 * One table a kind, keyed by name. What may be wrong with a row in itself is looked at in rows.c.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "plug/registry.h"

#include <stdlib.h>

#include "base/str.h"
#include "base/suggest.h"
#include "base/table.h"
#include "plug/rows.h"
#include "stat/counts.h"

/* Of two rows with one name the stronger one stays; equals clash. */
enum strength {
    KNOWN,       /* a name that the server only knows: ignored, obsolete or not built */
    KNOWN_BY_SO, /* the same, said by a loaded module, which knows better */
    WORKS
};

struct entry {
    struct registry_row row;
    enum strength strength;
};

struct registry {
    struct bt_arena *arena;
    struct table table[ROW_KINDS]; /* struct entry */
    const struct bt_module **module;
    const char **file; /* of each module; NULL: part of the server */
    size_t n, room;
    const struct registry_supplier *supplier;
};

static const struct bt_counter server_counters[] = {SERVER_COUNTERS(BT_ROW_)};
static const struct bt_module server = {.name = "server",
                                        .doc = "What the server itself counts.",
                                        .counters = BT_ROWS(server_counters)};

static const char *const kind_names[ROW_KINDS] = {
    [ROW_DIRECTIVE] = "directive", [ROW_COUNTER] = "counter",   [ROW_FIELD] = "field",
    [ROW_CODE] = "logformat code", [ROW_ACL_TYPE] = "ACL type", [ROW_LOG_WRITER] = "log writer",
};

const char *registry_kind_name(enum registry_kind kind)
{
    return kind_names[kind];
}

/* ---- adding ---- */

/* What is added, and where complaints go. */
struct addition {
    struct registry *registry;
    const struct bt_module *module;
    const char *file;
    struct bt_error *err;
    bool good;
};

static void clash(struct addition *add, enum registry_kind kind, const char *name,
                  const struct bt_module *other)
{
    add->good = bt_complain(add->err, NULL,
                            "modules %s and %s both provide the %s '%s': switch one of them off "
                            "(module %s off)",
                            other->name, add->module->name, kind_names[kind], name,
                            add->module->name);
}

static void put(struct addition *add, enum registry_kind kind, bt_str name, const void *row,
                bool works)
{
    struct registry *registry = add->registry;
    enum strength strength = works ? WORKS : add->file != NULL ? KNOWN_BY_SO : KNOWN;
    struct entry *other = table_find(&registry->table[kind], name);

    if (str_empty(name) || (other != NULL && other->strength > strength))
        return;
    if (other != NULL && other->strength == strength && other->row.module != add->module) {
        clash(add, kind, other->row.name, other->row.module);
        return;
    }
    if (other != NULL && other->strength == strength) {
        add->good = bt_complain(add->err, NULL, "module %s has the %s '%s' twice",
                                add->module->name, kind_names[kind], other->row.name);
        return;
    }
    struct entry *entry = bt_alloc(registry->arena, sizeof *entry);
    bt_str key = bt_str_copy(registry->arena, name);
    *entry = (struct entry){{key.at, row, add->module}, strength};
    table_put(&registry->table[kind], key, entry);
}

/* One row under each of several names, separated by blanks. */
static void put_names(struct addition *add, enum registry_kind kind, const char *names,
                      const void *row, bool works)
{
    bt_str rest = str_from(names), name;

    while (str_word(&rest, &name))
        put(add, kind, name, row, works);
}

/* An alias works as well as what it means. */
static bool directive_works(struct registry *registry, const struct bt_module *module,
                            const struct bt_directive *row)
{
    if (row->same_as == NULL)
        return row->status == BT_BUILT;
    for (size_t i = 0; i < module->directives.n; i++) {
        const struct bt_directive *meant = &module->directives.row[i];
        if (meant->same_as == NULL && strcmp(meant->name, row->same_as) == 0)
            return meant->status == BT_BUILT;
    }
    const struct entry *entry = table_find(&registry->table[ROW_DIRECTIVE], str_from(row->same_as));
    return entry == NULL || entry->strength == WORKS;
}

static void put_rows(struct addition *add)
{
    const struct bt_module *m = add->module;

    for (size_t i = 0; i < m->directives.n; i++)
        put(add, ROW_DIRECTIVE, str_from(m->directives.row[i].name), &m->directives.row[i],
            directive_works(add->registry, m, &m->directives.row[i]));
    for (size_t i = 0; i < m->counters.n; i++)
        put(add, ROW_COUNTER, str_from(m->counters.row[i].name), &m->counters.row[i], true);
    for (size_t i = 0; i < m->fields.n; i++) {
        put(add, ROW_FIELD, str_from(m->fields.row[i].name), &m->fields.row[i], true);
        put_names(add, ROW_CODE, m->fields.row[i].codes, &m->fields.row[i], true);
    }
    for (size_t i = 0; i < m->acl_types.n; i++)
        put_names(add, ROW_ACL_TYPE, m->acl_types.row[i].name, &m->acl_types.row[i],
                  m->acl_types.row[i].status == BT_BUILT);
    for (size_t i = 0; i < m->log_writers.n; i++)
        put(add, ROW_LOG_WRITER, str_from(m->log_writers.row[i].name), &m->log_writers.row[i],
            true);
}

static void list_module(struct registry *registry, const struct bt_module *module, const char *file)
{
    if (registry->n == registry->room) {
        size_t room = registry->room == 0 ? 16 : registry->room * 2;
        const struct bt_module **modules = bt_alloc(registry->arena, room * sizeof *modules);
        const char **files = bt_alloc(registry->arena, room * sizeof *files);
        for (size_t i = 0; i < registry->n; i++) {
            modules[i] = registry->module[i];
            files[i] = registry->file[i];
        }
        registry->module = modules;
        registry->file = files;
        registry->room = room;
    }
    registry->module[registry->n] = module;
    registry->file[registry->n++] = file == NULL ? NULL
                                                 : bt_str_copy(registry->arena, str_from(file)).at;
}

struct registry *registry_new(struct bt_arena *arena)
{
    struct registry *registry = bt_alloc(arena, sizeof *registry);

    registry->arena = arena;
    for (size_t kind = 0; kind < ROW_KINDS; kind++)
        table_init(&registry->table[kind], arena, false);
    put_rows(&(struct addition){.registry = registry, .module = &server});
    return registry;
}

bool registry_add(struct registry *registry, const struct bt_module *module, const char *file,
                  struct bt_error *err)
{
    const struct bt_module *other = registry_module(registry, str_from(module->name));
    struct addition add = {registry, module, file, err, true};

    if (other == module)
        return true;
    if (other != NULL || strcmp(module->name, server.name) == 0) {
        const char *where = other == NULL ? NULL : registry_file(registry, other);
        return bt_complain(err, NULL, "two modules are named %s: %s and %s; load one of them",
                           module->name, where == NULL ? "one in the server" : where,
                           file == NULL ? "one in the server" : file);
    }
    list_module(registry, module, file);
    add.good = rows_vet(module, registry->arena, err);
    put_rows(&add);
    return add.good;
}

/* ---- looking up ---- */

static const struct entry *find(struct registry *registry, enum registry_kind kind, bt_str name)
{
    const struct entry *entry = table_find(&registry->table[kind], name);
    const struct registry_supplier *supplier = registry->supplier;

    if ((entry != NULL && entry->strength == WORKS) || supplier == NULL)
        return entry;
    if (!supplier->supply(supplier->ctx, kind, name))
        return entry;
    return table_find(&registry->table[kind], name);
}

const struct registry_row *registry_find(struct registry *registry, enum registry_kind kind,
                                         bt_str name)
{
    const struct entry *entry = find(registry, kind, name);
    return entry == NULL ? NULL : &entry->row;
}

static const void *find_row(struct registry *registry, enum registry_kind kind, bt_str name,
                            const struct bt_module **owner)
{
    const struct registry_row *row = registry_find(registry, kind, name);

    if (owner != NULL)
        *owner = row == NULL ? NULL : row->module;
    return row == NULL ? NULL : row->row;
}

const struct bt_directive *registry_directive(struct registry *registry, bt_str name,
                                              const struct bt_module **owner)
{
    const struct bt_directive *row = find_row(registry, ROW_DIRECTIVE, name, owner);

    if (row == NULL || row->same_as == NULL)
        return row;
    row = find_row(registry, ROW_DIRECTIVE, str_from(row->same_as), owner);
    return row == NULL || row->same_as != NULL ? NULL : row;
}

const struct bt_acl_type *registry_acl_type(struct registry *registry, bt_str name,
                                            const struct bt_module **owner)
{
    return find_row(registry, ROW_ACL_TYPE, name, owner);
}

const struct bt_field *registry_field(struct registry *registry, bt_str name,
                                      const struct bt_module **owner)
{
    return find_row(registry, ROW_FIELD, name, owner);
}

const struct bt_field *registry_code(struct registry *registry, bt_str code,
                                     const struct bt_module **owner)
{
    return find_row(registry, ROW_CODE, code, owner);
}

const struct bt_log_writer *registry_log_writer(struct registry *registry, bt_str name,
                                                const struct bt_module **owner)
{
    return find_row(registry, ROW_LOG_WRITER, name, owner);
}

const struct bt_counter *registry_counter(struct registry *registry, bt_str name,
                                          const struct bt_module **owner)
{
    return find_row(registry, ROW_COUNTER, name, owner);
}

void registry_supplier(struct registry *registry, const struct registry_supplier *supplier)
{
    registry->supplier = supplier;
}

/* ---- names that are not there ---- */

static void try_name(void *near, const char *name)
{
    suggest_try(near, name);
}

const char *registry_nearest(struct registry *registry, enum registry_kind kind, bt_str name)
{
    const struct registry_row *row;
    size_t n = registry_rows(registry, kind, registry->arena, &row);
    const struct registry_supplier *supplier = registry->supplier;
    struct suggest near;

    suggest_init(&near, name);
    for (size_t i = 0; i < n; i++)
        suggest_try(&near, row[i].name);
    if (supplier != NULL)
        supplier->names(supplier->ctx, kind, try_name, &near);
    return near.best;
}

const char *registry_why_not(struct registry *registry, enum registry_kind kind, bt_str name)
{
    const struct registry_supplier *supplier = registry->supplier;
    return supplier == NULL ? NULL : supplier->why_not(supplier->ctx, kind, name);
}

bool registry_unknown(struct registry *registry, enum registry_kind kind, bt_str name,
                      const struct bt_word *at, struct bt_error *err)
{
    const char *why = registry_why_not(registry, kind, name);
    if (why != NULL)
        return bt_complain(err, at, "%s", why);

    const char *near = registry_nearest(registry, kind, name);
    if (near != NULL)
        return bt_complain(err, at, "unknown %s '%.*s'; did you mean '%s'?", kind_names[kind],
                           BT_STR_ARGS(name), near);
    return bt_complain(err, at, "unknown %s '%.*s'", kind_names[kind], BT_STR_ARGS(name));
}

/* ---- lists ---- */

size_t registry_modules(const struct registry *registry, const struct bt_module *const **modules)
{
    *modules = registry->module;
    return registry->n;
}

const struct bt_module *registry_module(const struct registry *registry, bt_str name)
{
    for (size_t i = 0; i < registry->n; i++)
        if (bt_str_eq(str_from(registry->module[i]->name), name))
            return registry->module[i];
    return NULL;
}

const char *registry_file(const struct registry *registry, const struct bt_module *module)
{
    for (size_t i = 0; i < registry->n; i++)
        if (registry->module[i] == module)
            return registry->file[i];
    return NULL;
}

static int by_name(const void *a_, const void *b_)
{
    const struct registry_row *a = a_, *b = b_;
    return strcmp(a->name, b->name);
}

size_t registry_rows(const struct registry *registry, enum registry_kind kind,
                     struct bt_arena *arena, const struct registry_row **rows)
{
    const struct table *table = &registry->table[kind];
    struct registry_row *list = bt_alloc(arena, table->n * sizeof *list);
    const struct entry *entry;
    size_t n = 0;

    for (uint32_t i = 0; (entry = table_walk(table, &i, NULL)) != NULL;)
        list[n++] = entry->row;
    qsort(list, n, sizeof *list, by_name);
    *rows = list;
    return n;
}
