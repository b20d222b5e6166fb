/* index.c - which module provides which name, known without opening any.
 *
 * What the file says of a module holds while the module is not newer than the file; one that is, or
 * that the file does not know, is opened to look. So a module copied into the folder works at once,
 * and costs its memory until the index is made anew.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "plug/index.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/table.h"
#include "plug/load.h"

struct providers {
    const char **module;
    size_t n, room;
};

struct index {
    struct bt_arena *arena;
    struct table table[ROW_KINDS]; /* struct providers */
    struct table gone[ROW_KINDS];  /* names of modules that the file knows and the folder lacks */
    const char *const *module;
    bool *by_default; /* by place in `module` */
    size_t n;
};

/* The first word of a line of the file, by kind; counters are nothing to load a module for. */
static const char *const words[ROW_KINDS] = {
    [ROW_DIRECTIVE] = "directive", [ROW_FIELD] = "field",    [ROW_CODE] = "code",
    [ROW_ACL_TYPE] = "acl",        [ROW_LOG_WRITER] = "log",
};

/* ---- the rows of one module, whoever wants to know them ---- */

typedef void each_row(void *to, enum registry_kind kind, bt_str name, bt_str module);

static void each_name(const char *names, each_row *each, void *to, enum registry_kind kind,
                      const struct bt_module *module)
{
    bt_str rest = str_from(names), name;

    while (str_word(&rest, &name))
        each(to, kind, name, str_from(module->name));
}

static void each_of(const struct bt_module *module, each_row *each, void *to)
{
    for (size_t i = 0; i < module->directives.n; i++)
        each_name(module->directives.row[i].name, each, to, ROW_DIRECTIVE, module);
    for (size_t i = 0; i < module->acl_types.n; i++)
        each_name(module->acl_types.row[i].name, each, to, ROW_ACL_TYPE, module);
    for (size_t i = 0; i < module->fields.n; i++)
        each_name(module->fields.row[i].name, each, to, ROW_FIELD, module);
    for (size_t i = 0; i < module->fields.n; i++)
        each_name(module->fields.row[i].codes, each, to, ROW_CODE, module);
    for (size_t i = 0; i < module->log_writers.n; i++)
        each_name(module->log_writers.row[i].name, each, to, ROW_LOG_WRITER, module);
}

/* ---- reading ---- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void add(void *index_, enum registry_kind kind, bt_str name, bt_str module)
{
    struct index *index = index_;
    struct providers *providers = table_find(&index->table[kind], name);

    if (providers == NULL) {
        providers = bt_alloc(index->arena, sizeof *providers);
        table_put(&index->table[kind], bt_str_copy(index->arena, name), providers);
    }
    for (size_t i = 0; i < providers->n; i++)
        if (bt_str_eq(str_from(providers->module[i]), module))
            return;
    if (providers->n == providers->room) {
        size_t room = providers->room == 0 ? 1 : providers->room * 2;
        const char **more = bt_alloc(index->arena, room * sizeof *more);
        for (size_t i = 0; i < providers->n; i++)
            more[i] = providers->module[i];
        providers->module = more;
        providers->room = room;
    }
    providers->module[providers->n++] = bt_str_copy(index->arena, module).at;
    qsort(providers->module, providers->n, sizeof *providers->module, by_text);
}

static enum registry_kind kind_of(bt_str word)
{
    enum registry_kind kind = 0;

    while (kind < ROW_KINDS && (words[kind] == NULL || !bt_str_eq(str_from(words[kind]), word)))
        kind++;
    return kind;
}

static bool is_there(const struct index *index, bt_str module)
{
    for (size_t i = 0; i < index->n; i++)
        if (bt_str_eq(str_from(index->module[i]), module))
            return true;
    return false;
}

/* Whether the file may speak for a module: it is one of the folder, and not newer. */
struct trust {
    const struct index *index;
    bool *known; /* by place in index->module: named by the file */
    bool *newer;
};

static bool trusted(const struct trust *trust, bt_str module, bool mark)
{
    for (size_t i = 0; i < trust->index->n; i++)
        if (bt_str_eq(str_from(trust->index->module[i]), module)) {
            if (mark)
                trust->known[i] = true;
            return !trust->newer[i];
        }
    return false;
}

/* false: the line is none of an index. */
static bool read_line(struct index *index, const struct trust *trust, bt_str line)
{
    bt_str kind, name, module, surplus;

    if (!str_word(&line, &kind) || kind.at[0] == '#')
        return true;
    if (!str_word(&line, &name) || !str_word(&line, &module) || str_word(&line, &surplus))
        return false;
    if (str_eq_literal(kind, "module")) {
        (void)trusted(trust, module, true);
        return true;
    }
    if (str_eq_literal(kind, "default")) {
        for (size_t i = 0; i < index->n; i++)
            index->by_default[i] |= !trust->newer[i] &&
                                    bt_str_eq(str_from(index->module[i]), module);
        return true;
    }
    if (kind_of(kind) == ROW_KINDS)
        return false;
    if (trusted(trust, module, false))
        add(index, kind_of(kind), name, module);
    else if (!is_there(index, module))
        table_put(&index->gone[kind_of(kind)], bt_str_copy(index->arena, name),
                  (void *)(uintptr_t)bt_str_copy(index->arena, module).at);
    return true;
}

static bool is_newer(const char *path, const struct timespec *than)
{
    struct stat st;

    if (stat(path, &st) != 0)
        return true;
    return st.st_mtim.tv_sec != than->tv_sec ? st.st_mtim.tv_sec > than->tv_sec
                                             : st.st_mtim.tv_nsec > than->tv_nsec;
}

static void read_file(struct index *index, struct trust *trust, const char *folder,
                      struct bt_error *err)
{
    const char *path = bt_str_printf(index->arena, "%s/modules.index", folder).at;
    FILE *in = fopen(path, "re");
    struct stat st;
    char *text = NULL;
    size_t room = 0;
    ssize_t len;

    if (in == NULL || fstat(fileno(in), &st) != 0) {
        bt_caution(err, NULL,
                   "%s: %s; every module there is opened to see what it provides: make it with "
                   "bobtail --make-index %s > %s",
                   path, strerror(errno), folder, path);
        if (in != NULL)
            fclose(in);
        return;
    }
    for (size_t i = 0; i < index->n; i++)
        trust->newer[i] = is_newer(load_path(folder, str_from(index->module[i]), index->arena),
                                   &st.st_mtim);
    for (unsigned number = 1; (len = getline(&text, &room, in)) >= 0; number++)
        if (!read_line(index, trust, str_trim_space((bt_str){text, (size_t)len})))
            bt_caution(err, NULL, "%s:%u makes no sense and is left out: make the index anew", path,
                       number);
    free(text);
    fclose(in);
}

struct index *index_read(const char *folder, struct bt_arena *arena, struct bt_error *err)
{
    struct index *index = bt_alloc(arena, sizeof *index);

    index->arena = arena;
    for (size_t kind = 0; kind < ROW_KINDS; kind++) {
        table_init(&index->table[kind], arena, false);
        table_init(&index->gone[kind], arena, false);
    }
    index->n = load_list(folder, arena, &index->module);
    if (index->n == 0 && access(folder, R_OK | X_OK) != 0)
        bt_caution(err, NULL,
                   "the module folder %s: %s; nothing is there but what is part of the server "
                   "(the environment variable BOBTAIL_MODULES names another folder)",
                   folder, strerror(errno));
    if (index->n == 0)
        return index;

    index->by_default = bt_alloc(arena, index->n * sizeof *index->by_default);
    struct trust trust = {index, bt_alloc(arena, index->n), bt_alloc(arena, index->n)};
    read_file(index, &trust, folder, err);
    for (size_t i = 0; i < index->n; i++) {
        if (trust.known[i] && !trust.newer[i])
            continue;
        bt_str refusal;
        const struct bt_module *module = load_open(
            load_path(folder, str_from(index->module[i]), arena), arena, &refusal);
        index->by_default[i] = module != NULL && module->by_default;
        if (module != NULL)
            each_of(module, add, index);
        else
            bt_caution(err, NULL, "%.*s", BT_STR_ARGS(refusal));
    }
    return index;
}

/* ---- asking ---- */

size_t index_providers(const struct index *index, enum registry_kind kind, bt_str name,
                       const char *const **modules)
{
    const struct providers *providers = table_find(&index->table[kind], name);

    *modules = providers == NULL ? NULL : providers->module;
    return providers == NULL ? 0 : providers->n;
}

const char *index_gone(const struct index *index, enum registry_kind kind, bt_str name)
{
    return table_find(&index->gone[kind], name);
}

void index_names(const struct index *index, enum registry_kind kind,
                 void (*each)(void *to, const char *name), void *to)
{
    const struct table *table = &index->table[kind];
    const char **names = bt_alloc(index->arena, table->n * sizeof *names);
    size_t n = 0;
    bt_str key;

    for (uint32_t i = 0; table_walk(table, &i, &key) != NULL;)
        names[n++] = key.at;
    qsort(names, n, sizeof *names, by_text);
    for (size_t i = 0; i < n; i++)
        each(to, names[i]);
}

bool index_default(const struct index *index, bt_str name)
{
    for (size_t i = 0; i < index->n; i++)
        if (index->by_default[i] && bt_str_eq(str_from(index->module[i]), name))
            return true;
    return false;
}

size_t index_modules(const struct index *index, const char *const **modules)
{
    *modules = index->module;
    return index->n;
}

/* ---- making ---- */

static void print(void *out, enum registry_kind kind, bt_str name, bt_str module)
{
    fprintf(out, "%s %.*s %.*s\n", words[kind], BT_STR_ARGS(name), BT_STR_ARGS(module));
}

bool index_print(const char *folder, FILE *out)
{
    struct bt_arena *arena = arena_new(16384);
    const char *const *names;
    size_t n = load_list(folder, arena, &names);
    bool good = true;

    fprintf(out, "# modules.index - who provides what; made by bobtail --make-index.\n");
    for (size_t i = 0; i < n; i++) {
        bt_str refusal;
        const struct bt_module *module = load_open(load_path(folder, str_from(names[i]), arena),
                                                   arena, &refusal);
        if (module == NULL) {
            fprintf(stderr, "bobtail: %.*s\n", BT_STR_ARGS(refusal));
            good = false;
            continue;
        }
        fprintf(out, "module %s %s\n", names[i], names[i]);
        if (module->by_default)
            fprintf(out, "default %s %s\n", names[i], names[i]);
        each_of(module, print, out);
    }
    arena_free(arena);
    return fflush(out) == 0 && good;
}
