/* generation.c - everything that one configuration file became.
 *
 * In this order: the file becomes lines; the server's own modules are added; `module` lines are
 * obeyed; what directives are used decides which modules are loaded; all lines are bound, which may
 * load more (an ACL type, a field); those that are there by default are loaded; presets of silent rows
 * are set; setups run. While this goes on, a look-up in the registry that finds nothing comes to
 * supply() here.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#define BT_LOG_TAG "modules"
#include "plug/generation.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/check.h"
#include "base/str.h"
#include "base/suggest.h"
#include "bt_log.h"
#include "conf/bind.h"
#include "conf/complain.h"
#include "plug/acl.h"
#include "plug/format.h"
#include "plug/index.h"
#include "plug/load.h"
#include "plug/phase.h"
#include "plug/registry.h"
#include "plug/rules.h"
#include "plug/slots.h"
#include "stat/counter.h"

struct generation *generation_current;
const char *generation_service = "bobtail";

/* A module that was found, loaded or not. */
struct candidate {
    struct generation_module told;
    bool silent_done; /* bind_silent() was called */
    struct candidate *next;
};

/* What stands only while a configuration is read. */
struct loading {
    struct generation *gen;
    struct bt_arena *arena;
    struct bt_error *err;
    struct index *index;
    struct candidate *first, **last;
    size_t n;
    bool good; /* nothing has failed so far */
    struct registry_supplier supplier;
    struct bind_hooks hooks;
};
/* The set function of `module` is given no more than its conf struct. */
static struct loading *loading_now;

/* ---- candidates ---- */

static struct candidate *candidate_find(const struct loading *loading, bt_str name)
{
    struct candidate *c = loading->first;

    while (c != NULL && !bt_str_eq(str_from(c->told.name), name))
        c = c->next;
    return c;
}

static struct candidate *candidate_add(struct loading *loading, bt_str name, const char *path,
                                       enum generation_state state)
{
    struct candidate *c = bt_alloc(loading->arena, sizeof *c);

    c->told.name = bt_str_copy(loading->arena, name).at;
    c->told.path = path;
    c->told.state = state;
    *loading->last = c;
    loading->last = &c->next;
    loading->n++;
    return c;
}

/* ---- adding a module ---- */

/* Its rows into the registry, its structs laid out and filled with presets, a place to count. */
static void adopt(struct loading *loading, struct candidate *c, const struct bt_module *module)
{
    struct registry *registry = loading->gen->registry;
    const struct bt_module *const *modules;

    c->told.table = module;
    if (module->counters.n > 0)
        counter_register(module->counters.row, module->counters.n, &module->self->row);
    module->self->conf = bt_alloc(loading->arena, module->conf_size);
    if (module == &acl_module) {
        loading->gen->acls = module->self->conf;
        acls_init(module->self->conf, registry, loading->arena);
    }
    /* What is wrong was complained about, and the start will be refused; go on to find more. */
    loading->good &= registry_add(registry, module, c->told.path, loading->err) &&
                     bind_presets(module->directives.row, module->directives.n, module->self->conf,
                                  loading->arena, loading->err);
    module->self->number = (unsigned)registry_modules(registry, &modules) - 1;
}

/* false: it cannot be opened, and c->told.refused says why. */
static bool open_candidate(struct loading *loading, struct candidate *c)
{
    bt_str refusal;

    if (c->told.table != NULL)
        return true;
    if (c->told.refused != NULL)
        return false;
    const struct bt_module *module = load_open(c->told.path, loading->arena, &refusal);
    if (module == NULL) {
        c->told.refused = refusal.at;
        return false;
    }
    adopt(loading, c, module);
    return true;
}

/* ---- the registry's supplier: load what provides a name ---- */

static void note_use(struct loading *loading, struct candidate *c, enum registry_kind kind,
                     bt_str name)
{
    c->told.state = MODULE_AUTO;
    if (loading->err->line != NULL)
        c->told.at = *loading->err->line;
    c->told.uses =
        bt_str_printf(loading->arena, "%s %.*s", registry_kind_name(kind), BT_STR_ARGS(name)).at;
}

static bool supply(void *loading_, enum registry_kind kind, bt_str name)
{
    struct loading *loading = loading_;
    struct candidate *one = NULL;
    const char *const *modules;
    size_t n = index_providers(loading->index, kind, name, &modules);

    for (size_t i = 0; i < n; i++) {
        struct candidate *c = candidate_find(loading, str_from(modules[i]));
        if (c == NULL || c->told.state == MODULE_OFF || c->told.refused != NULL)
            continue;
        if (c->told.table != NULL)
            return false; /* its row was there to be found */
        if (one != NULL) {
            bt_complain(loading->err, NULL,
                        "modules %s and %s both provide the %s '%.*s': say 'module %s off' or "
                        "'module %s off'",
                        one->told.name, c->told.name, registry_kind_name(kind), BT_STR_ARGS(name),
                        one->told.name, c->told.name);
            break;
        }
        one = c;
    }
    if (one == NULL || !open_candidate(loading, one))
        return false;
    note_use(loading, one, kind, name);
    return true;
}

static const char *why_not(void *loading_, enum registry_kind kind, bt_str name)
{
    struct loading *loading = loading_;
    const char *const *modules, *why = NULL;
    size_t n = index_providers(loading->index, kind, name, &modules);

    for (size_t i = 0; i < n; i++) {
        const struct candidate *c = candidate_find(loading, str_from(modules[i]));
        if (c == NULL)
            continue;
        if (c->told.table != NULL)
            return NULL; /* another one provides it */
        if (why != NULL)
            continue;
        if (c->told.state == MODULE_OFF)
            why = bt_str_printf(loading->arena,
                                "the %s '%.*s' is of module %s, which is switched off at %s:%u; "
                                "leave it on, or this out",
                                registry_kind_name(kind), BT_STR_ARGS(name), c->told.name,
                                c->told.at.file, (unsigned)c->told.at.line)
                      .at;
        else if (c->told.refused != NULL)
            why = bt_str_printf(loading->arena, "the %s '%.*s' needs its module: %s",
                                registry_kind_name(kind), BT_STR_ARGS(name), c->told.refused)
                      .at;
    }
    const char *gone = n == 0 ? index_gone(loading->index, kind, name) : NULL;
    if (gone != NULL)
        why = bt_str_printf(loading->arena,
                            "the %s '%.*s' is of module %s, which is missing: there is no %s; "
                            "install it, or leave this out",
                            registry_kind_name(kind), BT_STR_ARGS(name), gone,
                            load_path(load_folder(), str_from(gone), loading->arena))
                  .at;
    return why;
}

static void supply_names(void *loading_, enum registry_kind kind,
                         void (*each)(void *to, const char *name), void *to)
{
    struct loading *loading = loading_;
    index_names(loading->index, kind, each, to);
}

/* ---- `module NAME on|off` ---- */

/* A path as the user wrote it: beside the file that names it, else from the working directory, as
 * `include` does. */
static const char *so_path(struct loading *loading, const struct bt_word *word)
{
    ptrdiff_t slash = str_rfind_char(str_from(word->file), '/');

    if (word->text.at[0] == '/' || slash < 0)
        return word->text.at;
    const char *beside =
        bt_str_printf(loading->arena, "%.*s/%s", (int)slash, word->file, word->text.at).at;
    return access(beside, F_OK) == 0 ? beside : word->text.at;
}

static bool is_path(bt_str text)
{
    return str_find_char(text, '/') >= 0 || str_ends(text, BT_STR(".so"));
}

static bool unknown_module(struct loading *loading, const struct bt_word *word,
                           struct bt_error *err)
{
    struct suggest near;

    suggest_init(&near, word->text);
    for (const struct candidate *c = loading->first; c != NULL; c = c->next)
        suggest_try(&near, c->told.name);
    if (near.best != NULL)
        return bt_complain(err, word, "there is no module '%s' in %s; did you mean '%s'?",
                           word->text.at, load_folder(), near.best);
    return bt_complain(err, word,
                       "there is no module '%s' in %s; bobtail --modules lists what there is",
                       word->text.at, load_folder());
}

static struct candidate *candidate_of(struct loading *loading, const struct bt_word *word,
                                      struct bt_error *err)
{
    if (!is_path(word->text)) {
        struct candidate *c = candidate_find(loading, word->text);
        if (c == NULL)
            unknown_module(loading, word, err);
        return c;
    }
    const char *path = so_path(loading, word);
    struct candidate *c = candidate_find(loading, load_name(path));
    if (c == NULL)
        return candidate_add(loading, load_name(path), path, MODULE_UNUSED);
    /* One that lies in the module folder as well: the line says which is meant. */
    if (c->told.state == MODULE_UNUSED) {
        c->told.path = path;
        return c;
    }
    if (c->told.path != NULL && strcmp(c->told.path, path) == 0)
        return c;
    bt_complain(err, word, "two modules are named %s: %s and %s; load one of them", c->told.name,
                c->told.path == NULL ? "one in the server" : c->told.path, path);
    return NULL;
}

static bool module_set(void *conf, const struct bt_line *line, struct bt_error *err)
{
    struct loading *loading = loading_now;
    const struct bt_word *word = &line->args.word[0];
    bool on = str_eq_literal(line->args.word[1].text, "on");
    struct candidate *c = candidate_of(loading, word, err);

    (void)conf;
    if (line->args.n > 2)
        return bt_complain(err, &line->args.word[2], "modules take no options here: leave out %s",
                           line->args.word[2].text.at);
    if (c == NULL)
        return false;
    if (c->told.state == MODULE_BUILT_IN)
        return on || bt_complain(err, word, "module %s is part of the server, and always on",
                                 c->told.name);
    enum generation_state wish = on ? MODULE_ON : MODULE_OFF;
    if (c->told.state != MODULE_UNUSED && c->told.state != wish)
        return bt_complain(err, word, "module %s was switched %s at %s:%u: leave one of the two",
                           c->told.name, on ? "off" : "on", c->told.at.file,
                           (unsigned)c->told.at.line);
    c->told.state = wish;
    c->told.at = *word;
    if (!on || open_candidate(loading, c))
        return true;
    return bt_complain(err, word, "%s", c->told.refused);
}

static const struct bt_directive directives[] = {
    {.name = "module",
     .args = "word on|off [word...]",
     .set = module_set,
     .doc = "Loads a module by name or by the path of its .so (on), or forbids it (off); modules "
            "that no line names are loaded when something of theirs is used."},
};
static struct bt_self plug_self;
const struct bt_module plug_module = {
    .abi_major = BT_ABI_MAJOR,
    .abi_minor = BT_ABI_MINOR,
    .size = sizeof(struct bt_module),
    .name = "plug",
    .doc = "Modules: which are loaded, and which must not be.",
    .self = &plug_self,
    .directives = BT_ROWS(directives),
};

/* ---- what the binder asks ---- */

static bool hook_find(void *loading_, bt_str name, struct bind_target *out)
{
    struct loading *loading = loading_;
    const struct registry_row *row = registry_find(loading->gen->registry, ROW_DIRECTIVE, name);

    if (row == NULL)
        return false;
    *out = (struct bind_target){row->row, row->module->self->conf, row->module->name};
    return true;
}

static const char *hook_nearest(void *loading_, bt_str name)
{
    struct loading *loading = loading_;
    return registry_nearest(loading->gen->registry, ROW_DIRECTIVE, name);
}

static const struct bt_acls *hook_acls(void *loading_, struct bt_args names,
                                       const struct bt_directive *row, bool may_wait,
                                       struct bt_error *err)
{
    struct loading *loading = loading_;
    CHECK(loading->gen->acls != NULL);
    return rules_acls(loading->gen->acls, names, row, !may_wait, err);
}

static void hook_rule(void *loading, struct bt_rules **list, const struct bt_line *line, int action,
                      const struct bt_directive *row)
{
    (void)loading;
    (void)row;
    bt_rules_add(list, line, action);
}

static bool hook_format(void *loading_, const struct bt_word *at, bt_str text, struct bt_error *err)
{
    struct loading *loading = loading_;
    return format_compile(loading->gen->registry, at, text, loading->arena, err) != NULL;
}

/* ---- the steps of loading ---- */

static struct loading *begin(const struct bt_module *const *statics, size_t n, struct bt_error *err)
{
    struct bt_arena *arena = err->arena;
    struct loading *loading = bt_alloc(arena, sizeof *loading);
    const char *const *names;

    arena_use_large_pages(arena);
    loading->arena = arena;
    loading->err = err;
    loading->last = &loading->first;
    loading->good = true;
    loading->gen = bt_alloc(arena, sizeof *loading->gen);
    loading->gen->arena = arena;
    loading->gen->registry = registry_new(arena);
    loading->supplier = (struct registry_supplier){supply, why_not, supply_names, loading};
    loading->hooks = (struct bind_hooks){loading,   hook_find, hook_nearest,
                                         hook_acls, hook_rule, hook_format};
    generation_current = loading->gen;
    loading_now = loading;

    for (size_t i = 0; i < n; i++)
        adopt(loading, candidate_add(loading, str_from(statics[i]->name), NULL, MODULE_BUILT_IN),
              statics[i]);
    loading->index = index_read(load_folder(), arena, err);
    size_t found = index_modules(loading->index, &names);
    for (size_t i = 0; i < found; i++)
        if (candidate_find(loading, str_from(names[i])) == NULL)
            candidate_add(loading, str_from(names[i]),
                          load_path(load_folder(), str_from(names[i]), arena), MODULE_UNUSED);
    return loading;
}

/* `module` lines come first wherever they stand, so that nothing is loaded that is forbidden further
 * down. They are bound as a file of their own. */
static void obey_module_lines(struct loading *loading, struct file *file)
{
    struct file own = {bt_alloc(loading->arena, file->n * sizeof *own.line), 0, file->n};
    size_t left = 0;

    for (size_t i = 0; i < file->n; i++)
        if (str_eq_literal(file->line[i].name.text, "module"))
            own.line[own.n++] = file->line[i];
        else
            file->line[left++] = file->line[i];
    file->n = left;
    loading->good &= bind_lines(&own, &loading->hooks, loading->arena, loading->err);
}

/* Load what directives need. Lines of modules that are forbidden or refused are complained about
 * here and taken out: the binder would call them unknown. */
static void load_for_lines(struct loading *loading, struct file *file)
{
    struct registry *registry = loading->gen->registry;
    size_t left = 0;

    for (size_t i = 0; i < file->n; i++) {
        const struct bt_word *name = &file->line[i].name;
        complain_at(loading->err, name);
        (void)registry_find(registry, ROW_DIRECTIVE, name->text);
        const char *why = registry_why_not(registry, ROW_DIRECTIVE, name->text);
        if (why != NULL)
            bt_complain(loading->err, name, "%s", why);
        else
            file->line[left++] = file->line[i];
    }
    file->n = left;
    complain_at(loading->err, NULL);
}

/* Those that are there unless a line forbids them; last, so that their hooks come behind those of
 * modules that somebody asked for. */
static void load_defaults(struct loading *loading)
{
    for (struct candidate *c = loading->first; c != NULL; c = c->next) {
        if (c->told.state != MODULE_UNUSED ||
            !index_default(loading->index, str_from(c->told.name)))
            continue;
        if (open_candidate(loading, c))
            c->told.state = MODULE_DEFAULT;
        else
            bt_caution(loading->err, NULL, "%s", c->told.refused);
    }
}

/* Rows that set a preset by function, for lines that never came. Modules that come later by use of
 * a field are met here again before their setup. */
static void bind_silent_of(struct loading *loading, struct candidate *c, const struct file *file)
{
    if (c->told.table == NULL || c->silent_done)
        return;
    c->silent_done = true;
    loading->good &= bind_silent(file, c->told.table->directives.row, c->told.table->directives.n,
                                 c->told.table->self->conf, &loading->hooks, loading->arena,
                                 loading->err);
}

static void setup(struct loading *loading, const struct bt_module *module)
{
    size_t before = loading->err->faults;

    if (module->setup == NULL || module->setup(module->self->conf, loading->arena, loading->err))
        return;
    if (loading->err->faults == before)
        bt_complain(loading->err, NULL, "module %s refused the configuration and did not say why",
                    module->name);
}

/* A setup may need a field whose module is not there yet: the list grows meanwhile. */
static void run_setups(struct loading *loading, const struct file *file)
{
    const struct bt_module *const *modules;
    struct registry *registry = loading->gen->registry;

    for (struct candidate *c = loading->first; c != NULL; c = c->next)
        bind_silent_of(loading, c, file);
    for (size_t i = 0; i < file->n && loading->gen->acls != NULL; i++)
        if (str_eq_literal(file->line[i].name.text, "acl") && file->line[i].n > 0)
            acl_note_line(loading->gen->acls, file->line[i].word[0].text);
    if (loading->gen->acls != NULL)
        setup(loading, &acl_module);
    for (size_t i = 0; i < registry_modules(registry, &modules); i++) {
        const struct bt_module *module = modules[i];
        bind_silent_of(loading, candidate_find(loading, str_from(module->name)), file);
        if (module != &acl_module)
            setup(loading, module);
    }
}

/* Loaded ones in order, then the others by name (candidates of the folder are sorted already). */
static void list_found(struct loading *loading)
{
    struct generation *gen = loading->gen;
    struct generation_module *found = bt_alloc(loading->arena, loading->n * sizeof *found);

    gen->n_modules = registry_modules(gen->registry, &gen->modules);
    for (size_t i = 0; i < gen->n_modules; i++) {
        const struct candidate *c = candidate_find(loading, str_from(gen->modules[i]->name));
        if (c != NULL)
            found[gen->n_found++] = c->told;
    }
    for (const struct candidate *c = loading->first; c != NULL; c = c->next)
        if (c->told.table == NULL)
            found[gen->n_found++] = c->told;
    gen->found = found;
}

static struct generation *end(struct loading *loading)
{
    struct generation *gen = loading->gen;

    /* A module's .set may have said no and nothing else. */
    if (!loading->good && !complain_any(loading->err))
        bt_complain(loading->err, NULL,
                    "a line was refused without a word about why; report it to "
                    "the author of the module that takes it");
    registry_supplier(gen->registry, NULL);
    list_found(loading);
    phase_init(gen->modules, gen->n_modules, gen->arena);
    slots_init(gen->modules, gen->n_modules, gen->arena);
    loading_now = NULL;
    return gen;
}

/* ---- public ---- */

struct generation *generation_look(const char *path, const struct bt_module *const *statics,
                                   size_t n, struct bt_error *err)
{
    struct loading *loading = begin(statics, n, err);
    struct file file = {0};

    loading->gen->path = bt_str_copy(loading->arena, str_from(path)).at;
    struct file_macros macros = {generation_service, "bobtail", 1};
    loading->good &= file_read(&file, loading->gen->path, &macros, loading->arena, err);
    obey_module_lines(loading, &file);
    registry_supplier(loading->gen->registry, &loading->supplier);
    load_for_lines(loading, &file);
    loading->good &= bind_lines(&file, &loading->hooks, loading->arena, err);
    load_defaults(loading);
    run_setups(loading, &file);
    loading->gen->line = file.line;
    loading->gen->n_lines = file.n;
    return end(loading);
}

struct generation *generation_load(const char *path, const struct bt_module *const *statics,
                                   size_t n, struct bt_error *err)
{
    struct generation *gen = generation_look(path, statics, n, err);

    if (!complain_any(err))
        return gen;
    generation_current = NULL;
    return NULL;
}

static void vet_aliases(struct loading *loading)
{
    struct registry *registry = loading->gen->registry;
    const struct registry_row *row;
    size_t n = registry_rows(registry, ROW_DIRECTIVE, loading->arena, &row);

    for (size_t i = 0; i < n; i++)
        if (registry_directive(registry, str_from(row[i].name), NULL) == NULL)
            bt_complain(loading->err, NULL,
                        "module %s: directive '%s' is an alias of '%s', which does not exist or is "
                        "one itself; its author must correct that",
                        row[i].module->name, row[i].name,
                        ((const struct bt_directive *)row[i].row)->same_as);
}

struct generation *generation_load_all(const struct bt_module *const *statics, size_t n,
                                       struct bt_error *err)
{
    struct loading *loading = begin(statics, n, err);

    for (struct candidate *c = loading->first; c != NULL; c = c->next)
        if (!open_candidate(loading, c))
            bt_caution(err, NULL, "%s", c->told.refused);
    vet_aliases(loading);
    return end(loading);
}

bool generation_start(struct generation *gen)
{
    for (gen->n_started = 0; gen->n_started < gen->n_modules; gen->n_started++) {
        const struct bt_module *module = gen->modules[gen->n_started];
        if (module->start == NULL || module->start(module->self->conf))
            continue;
        bt_log(NULL, BT_ERROR,
               "module %s could not start, so this worker ends; what it said about "
               "the reason stands above",
               module->name);
        generation_stop(gen);
        return false;
    }
    return true;
}

void generation_stop(struct generation *gen)
{
    while (gen->n_started > 0) {
        const struct bt_module *module = gen->modules[--gen->n_started];
        if (module->stop != NULL)
            module->stop(module->self->conf);
    }
}

void generation_free(struct generation *gen)
{
    if (gen == NULL)
        return;
    if (generation_current == gen)
        generation_current = NULL;
    for (size_t phase = 0; phase < BT_PHASE_END; phase++)
        phase_lists[phase] = (struct phase_list){NULL, 0};
    arena_free(gen->arena);
}

const struct generation_module *generation_find(const struct generation *gen, bt_str name)
{
    for (size_t i = 0; i < gen->n_found; i++)
        if (bt_str_eq(str_from(gen->found[i].name), name))
            return &gen->found[i];
    return NULL;
}
