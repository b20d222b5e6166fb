/* lists.c - list files of ACLs: read with the configuration, and again while clients are served.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "plug/lists.h"

#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/check.h"
#include "base/str.h"
#include "conf/complain.h"
#include "conf/grammar.h"
#include "conf/listfile.h"
#include "plug/acl_inside.h"

/* What tells one state of a file from another. */
struct state {
    bool there;
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec changed;
};

struct list_file {
    struct list_file *next;
    const char *path;
    int fd;             /* as it was read last; -1: it cannot be read again */
    struct state read;  /* of that */
    int fresh;          /* what lists_prepare() opened; -1: it could not */
    struct state tried; /* then */
    const char *why;    /* it could not */
    struct state seen;  /* by lists_changed() */
    size_t values;      /* in this reading */
    bool told;          /* that it could not */
};

/* A line of a list that was complained about. */
struct bad {
    const char *path;
    uint32_t line;
};

/* In memory that all processes share. */
struct shared {
    _Atomic unsigned current; /* slot in use, from 1; 0: what was read with the configuration */
    _Atomic unsigned changes;
};
/* What stands at the head of a slot. */
struct swap_table {
    struct bt_arena *arena;
    struct swap *swap;
    size_t n;
};
struct swap {
    struct acl_kind *kind; /* NULL: */
    struct acl *acl;
    void *compiled; /* of the kind */
    void **line;    /* of each line of the ACL */
    size_t lines;
};

enum { SLOTS = 2, HEAD = 4096 };
static const size_t slot_sizes[] = {(size_t)8 << 30, (size_t)2 << 30, (size_t)512 << 20,
                                    (size_t)128 << 20};

struct lists {
    struct acls *acls;
    struct bt_arena *keep;  /* where types compile */
    struct bt_arena *first; /* the same, of the configuration; NULL: it is not used any more */
    struct bt_arena *words; /* while compiling; NULL: not now */
    struct list_file *files;
    struct bad *bad;
    size_t n_bad, room;
    struct shared *shared; /* NULL: there is no memory */
    char *slot[SLOTS];
    size_t slot_size;
    unsigned changes; /* that this process has followed */
    bool anew;        /* this process is the child */
};

/* ---- states of files ---- */

static struct state state_of(const struct stat *about)
{
    return (struct state){true, about->st_dev, about->st_ino, about->st_size, about->st_mtim};
}

static struct state state_now(const char *path)
{
    struct stat about;

    return stat(path, &about) == 0 ? state_of(&about) : (struct state){.there = false};
}

static bool state_same(const struct state *a, const struct state *b)
{
    return a->there == b->there &&
           (!a->there ||
            (a->device == b->device && a->inode == b->inode && a->size == b->size &&
             a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec));
}

/* ---- beginning and end ---- */

static void lists_fini(void *what)
{
    struct lists *lists = what;

    lists_leave(lists->acls);
    arena_free(lists->words);
    arena_free(lists->first);
    free(lists->bad);
    for (size_t i = 0; i < SLOTS; i++)
        if (lists->slot[i] != NULL)
            munmap(lists->slot[i], lists->slot_size);
    if (lists->shared != NULL)
        munmap(lists->shared, sizeof *lists->shared);
    lists->acls->files = NULL;
}

static struct lists *lists_of(struct acls *acls)
{
    if (acls->files != NULL)
        return acls->files;
    struct lists *lists = bt_alloc(acls->arena, sizeof *lists);
    lists->acls = acls;
    lists->first = lists->keep = arena_new(64 * 1024);
    arena_use_large_pages(lists->first);
    lists->words = arena_new(64 * 1024);
    acls->files = lists;
    bt_defer(acls->arena, lists_fini, lists);
    return lists;
}

static void *map(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE,
                    -1, 0);

    return at == MAP_FAILED ? NULL : at;
}

/* Room that costs nothing before it is written to. Where the system counts it all the same, as much as
 * it gives. */
static void reserve(struct lists *lists)
{
    lists->shared = map(sizeof *lists->shared);
    for (size_t i = 0; i < sizeof slot_sizes / sizeof *slot_sizes; i++) {
        lists->slot_size = slot_sizes[i];
        lists->slot[0] = map(lists->slot_size);
        lists->slot[1] = lists->slot[0] != NULL ? map(lists->slot_size) : NULL;
        if (lists->slot[1] != NULL)
            return;
        if (lists->slot[0] != NULL)
            munmap(lists->slot[0], lists->slot_size);
        lists->slot[0] = NULL;
    }
}

/* ---- lines that are left out ---- */

/* bt_error.spare: whoever complains about a line of a list complains about that line alone. */
static bool spare(void *arg, const struct bt_word *at)
{
    struct lists *lists = arg;

    if (!at->listed)
        return false;
    if (lists->n_bad == lists->room) {
        lists->room = lists->room == 0 ? 64 : lists->room * 2;
        lists->bad = reallocarray(lists->bad, lists->room, sizeof *lists->bad);
        CHECK(lists->bad != NULL);
    }
    lists->bad[lists->n_bad++] = (struct bad){at->file, at->line};
    return true;
}

static int bad_compare(const void *a_, const void *b_)
{
    const struct bad *a = a_, *b = b_;

    if (a->path != b->path)
        return (uintptr_t)a->path < (uintptr_t)b->path ? -1 : 1;
    return a->line < b->line ? -1 : a->line > b->line;
}

/* Those that were noted since `from` out of the words, which are ours. */
static void strip(const struct lists *lists, size_t from, struct bt_args *args)
{
    struct bt_word *word = (struct bt_word *)(uintptr_t)args->word;
    size_t left = 0;

    for (size_t i = 0; i < args->n; i++) {
        const struct bad key = {word[i].file, word[i].line};
        if (word[i].listed && bsearch(&key, lists->bad + from, lists->n_bad - from,
                                      sizeof *lists->bad, bad_compare) != NULL)
            continue;
        word[left++] = word[i];
    }
    args->n = left;
}

static void bad_sort(struct lists *lists, size_t from)
{
    if (lists->n_bad > from)
        qsort(lists->bad + from, lists->n_bad - from, sizeof *lists->bad, bad_compare);
}

struct lists_mark lists_mark(struct lists *lists, struct bt_error *err)
{
    err->spare = spare;
    err->spare_arg = lists;
    return (struct lists_mark){lists->n_bad};
}

bool lists_leave_out(struct acls *acls, struct acl_type *type, const struct lists_mark *mark,
                     struct bt_error *err)
{
    struct lists *lists = acls->files;

    err->spare = NULL;
    if (lists->n_bad == mark->bad)
        return false;
    bad_sort(lists, mark->bad);
    for (size_t i = 0; i < acls->n; i++)
        for (struct acl_values *line = acls->acl[i]->values;
             line != NULL && acls->acl[i]->type == type; line = line->next)
            if (line->written.n > 0)
                strip(lists, mark->bad, &line->args);
    return true;
}

/* ---- reading ---- */

bool lists_can(const struct bt_acl_type *row)
{
    return row->status == BT_BUILT &&
           ((row->flags & BT_ANEW) != 0 || (row->compile == NULL && row->compile_all == NULL));
}

static bool wordless(const struct acl_type *type)
{
    return (type->row->flags & BT_ANEW_WORDLESS) == BT_ANEW_WORDLESS;
}

struct bt_arena *lists_arena(const struct acls *acls, const struct acl_type *type)
{
    return type->lists ? acls->files->keep : acls->arena;
}

struct bt_arena *lists_words_arena(const struct acls *acls, const struct acl_type *type)
{
    return type->lists && wordless(type) ? acls->files->words : lists_arena(acls, type);
}

static struct list_file *file_of(struct lists *lists, const char *path)
{
    struct list_file **at = &lists->files;

    for (; *at != NULL; at = &(*at)->next)
        if (strcmp((*at)->path, path) == 0)
            return *at;
    struct list_file *file = bt_alloc(lists->acls->arena, sizeof *file);
    file->path = path;
    file->fd = file->fresh = -1;
    *at = file;
    return file;
}

struct bt_args lists_note(struct acls *acls, struct bt_args args)
{
    struct bt_word *words = bt_alloc(acls->arena, args.n * sizeof *words);
    struct lists *lists = lists_of(acls);
    char here[PATH_MAX];

    memcpy(words, args.word, args.n * sizeof *words);
    for (size_t i = 0; i < args.n; i++) {
        if (!words[i].is_list)
            continue;
        words[i].text = str_from(listfile_path(&words[i], acls->arena));
        /* The process may go elsewhere. */
        if (words[i].text.at[0] != '/' && getcwd(here, sizeof here) != NULL)
            words[i].text = bt_str_printf(acls->arena, "%s/%s", here, words[i].text.at);
        (void)file_of(lists, words[i].text.at);
    }
    return (struct bt_args){words, args.n};
}

/* With the configuration: what cannot be read is a fault. */
static bool file_first(struct list_file *file, const struct bt_word *at, struct bt_arena *arena,
                       struct bt_word **words, size_t *n, struct bt_error *err)
{
    struct stat about;
    size_t len;

    if (file->fd < 0) {
        file->fd = listfile_open(file->path, &about);
        if (file->fd < 0) /* what is no file can be read once, or is told why not */
            return listfile_read(at, arena, words, n, err);
        file->read = file->tried = file->seen = state_of(&about);
    }
    char *text = listfile_slurp(file->fd, &len);
    const char *why = text == NULL ? strerror(errno)
                                   : listfile_cut(text, len, file->path, arena, words, n);
    free(text);
    return why == NULL || bt_complain(err, at, "the list file %s cannot be read: %s",
                                      complain_word(err, at->text), why);
}

/* Its values by that descriptor; NULL, or why not. */
static const char *file_values(const struct list_file *file, int fd, struct bt_arena *arena,
                               struct bt_word **words, size_t *n)
{
    size_t len;
    char *text = listfile_slurp(fd, &len);

    if (text == NULL)
        return strerror(errno);
    const char *why = listfile_cut(text, len, file->path, arena, words, n);
    free(text);
    return why;
}

/* In the child. What cannot be read stays as it was. */
static bool file_again(struct list_file *file, const struct bt_word *at, struct bt_arena *arena,
                       struct bt_word **words, size_t *n, struct bt_error *err)
{
    struct stat about;
    const char *why = file->fresh < 0 ? file->why : file_values(file, file->fresh, arena, words, n);

    if (why == NULL)
        return true;
    file->why = why;
    bool kept = file->fd >= 0 && fstat(file->fd, &about) == 0;
    if (kept) {
        struct state is = state_of(&about);
        kept = state_same(&is, &file->read) && file_values(file, file->fd, arena, words, n) == NULL;
    }
    return kept || bt_complain(err, at,
                               "the list file %s cannot be read: %s, and what it held before is "
                               "not there any more",
                               complain_word(err, at->text), why);
}

static bool take_file(struct lists *lists, const struct bt_word *at, struct bt_arena *arena,
                      struct bt_word **words, size_t *n, struct bt_error *err)
{
    struct list_file *file = file_of(lists, at->text.at);

    *words = NULL;
    *n = 0;
    bool good = lists->anew ? file_again(file, at, arena, words, n, err)
                            : file_first(file, at, arena, words, n, err);
    file->values = *n;
    return good;
}

/* All words, list files in their places. */
struct gathered {
    struct bt_word *word;
    size_t n, room;
};

static void gather(struct gathered *all, const struct bt_word *word, size_t n)
{
    if (all->n + n > all->room) {
        all->room = all->n + n + all->room / 2;
        all->word = reallocarray(all->word, all->room, sizeof *all->word);
        CHECK(all->word != NULL);
    }
    if (n > 0)
        memcpy(all->word + all->n, word, n * sizeof *word);
    all->n += n;
}

static void plain_words(struct gathered *all, bool plain)
{
    for (size_t i = 0; plain && i < all->n; i++)
        all->word[i].quoted = true;
}

/* They live as long as the arena. */
static struct bt_args gathered(struct gathered *all, struct bt_arena *arena)
{
    if (!arena_is_shared(arena)) { /* a million need no copy */
        if (all->word == NULL)     /* none, but not NULL */
            all->word = calloc(1, sizeof *all->word);
        CHECK(all->word != NULL);
        bt_defer(arena, free, all->word);
        return (struct bt_args){all->word, all->n};
    }
    struct bt_word *word = bt_alloc_raw(arena, (all->n + 1) * sizeof *word);

    if (all->n > 0)
        memcpy(word, all->word, all->n * sizeof *word);
    free(all->word);
    return (struct bt_args){word, all->n};
}

bool lists_line(struct lists *lists, struct acl *acl, struct acl_values *values,
                struct bt_error *err)
{
    struct bt_arena *arena = lists_words_arena(lists->acls, acl->type);
    struct grammar_of of = {.folds = (acl->type->row->flags & BT_FOLDS) != 0, .arena = arena};
    struct gathered all = {NULL, 0, 0};
    struct grammar_line out;
    bool good = true;

    for (size_t i = 0; i < values->written.n; i++) {
        const struct bt_word *at = &values->written.word[i];
        struct bt_word *words;
        size_t n;
        if (!at->is_list) {
            gather(&all, at, 1);
            continue;
        }
        good &= take_file(lists, at, arena, &words, &n, err);
        if (all.n == 0 && i + 1 == values->written.n)
            all = (struct gathered){words, n, n};
        else {
            gather(&all, words, n);
            free(words);
        }
    }
    plain_words(&all, values->plain);
    values->args = gathered(&all, arena);
    if (values->args.n == 0)
        return good;
    struct lists_mark mark = lists_mark(lists, err);
    good &= grammar_words(acl->type->grammar, &of, &acl->type_at, values->args, &out, err) ||
            lists->n_bad > mark.bad;
    err->spare = NULL;
    values->args = out.args;
    if (lists->n_bad > mark.bad) {
        bad_sort(lists, mark.bad);
        strip(lists, mark.bad, &values->args);
    }
    return good;
}

bool lists_expand(struct bt_arena *arena, struct bt_args *args, bool plain, struct bt_error *err)
{
    struct gathered all = {NULL, 0, 0};
    bool good = true;

    for (size_t i = 0; i < args->n; i++) {
        const struct bt_word *at = &args->word[i];
        struct bt_word *words;
        size_t n;
        if (!at->is_list) {
            gather(&all, at, 1);
        } else if (listfile_read(at, arena, &words, &n, err)) {
            gather(&all, words, n);
            free(words);
        } else {
            good = false;
        }
    }
    plain_words(&all, plain);
    *args = gathered(&all, arena);
    return good;
}

/* What the words are kept for is done. */
static void words_drop(struct acls *acls)
{
    for (size_t i = 0; i < acls->n; i++)
        for (struct acl_values *line = acls->acl[i]->values; line != NULL; line = line->next)
            if (line->written.n > 0)
                line->args = (struct bt_args){NULL, 0};
    arena_free(acls->files->words);
    acls->files->words = NULL;
}

void lists_compiled(struct acls *acls)
{
    struct lists *lists = acls->files;

    words_drop(acls);
    free(lists->bad);
    lists->bad = NULL;
    lists->n_bad = lists->room = 0;
    (void)malloc_trim(0); /* a million words leave much behind, which each worker would have */
    if (lists->shared == NULL)
        reserve(lists);
}

void lists_late(struct acls *acls)
{
    if (acls->files != NULL && acls->files->words == NULL)
        acls->files->words = arena_new(64 * 1024);
}

/* ---- reading anew ---- */

bool lists_any(const struct acls *acls)
{
    return acls != NULL && acls->files != NULL;
}

const char *lists_prepare(struct acls *acls)
{
    struct lists *lists = acls->files;

    if (lists->shared == NULL || lists->slot[0] == NULL)
        return "the system gave no shared memory for list files at the start; a reload reads them";
    for (struct list_file *file = lists->files; file != NULL; file = file->next) {
        struct stat about;
        file->fresh = listfile_open(file->path, &about);
        file->why = file->fresh >= 0 ? NULL
                    : errno != 0     ? strerror(errno)
                                     : "it is no regular file";
        file->tried = file->fresh >= 0 ? state_of(&about) : state_now(file->path);
    }
    return NULL;
}

static unsigned slot_next(const struct lists *lists)
{
    return atomic_load(&lists->shared->current) % SLOTS + 1;
}

/* There are more entries than fit. */
static FILE *full_to;
static void full(void)
{
    fputs("error: the lists need more memory than was set aside at the start; a reload sets aside "
          "more\n",
          full_to);
    fflush(full_to);
    _exit(EXIT_FAILURE);
}

static bool compile_anew(struct acls *acls, struct acl_type *type, struct bt_error *err)
{
    bool good = true;

    acls->files->words = arena_new(64 * 1024);
    for (size_t i = 0; i < acls->n; i++)
        for (struct acl_values *line = acls->acl[i]->values;
             line != NULL && acls->acl[i]->type == type; line = line->next)
            if (line->written.n > 0)
                good &= lists_line(acls->files, acls->acl[i], line, err);
    good = good && acl_type_compile(acls, type, err);
    words_drop(acls);
    return good;
}

static void swap_note(struct swap_table *table, struct swap swap)
{
    table->swap[table->n++] = swap;
}

/* Where the others find what has been compiled. */
static void table_fill(struct acls *acls, struct swap_table *table)
{
    size_t most = acls->n;

    for (struct acl_type *type = acls->types; type != NULL; type = type->next)
        most += 2;
    table->n = 0;
    table->arena = acls->files->keep;
    table->swap = bt_alloc(table->arena, most * sizeof *table->swap);
    for (struct acl_type *type = acls->types; type != NULL; type = type->next)
        for (unsigned i = 0; type->lists && i < 2; i++)
            if (type->kind[i].n > 0)
                swap_note(table, (struct swap){.kind = &type->kind[i],
                                               .compiled = type->kind[i].compiled});
    for (size_t i = 0; i < acls->n; i++)
        if (acls->acl[i]->type != NULL && acls->acl[i]->type->lists && acls->acl[i]->how == HOW_ONE)
            swap_note(table, (struct swap){.acl = acls->acl[i],
                                           .line = acls->acl[i]->compiled,
                                           .lines = acls->acl[i]->lines});
}

static unsigned long bad_of(const struct lists *lists, const char *path)
{
    unsigned long n = 0;

    for (size_t i = 0; i < lists->n_bad; i++)
        n += lists->bad[i].path == path &&
             (i == 0 || bad_compare(&lists->bad[i - 1], &lists->bad[i]) != 0);
    return n;
}

static void tell(struct lists *lists, struct lists_result *result, FILE *out)
{
    bad_sort(lists, 0);
    for (struct list_file *file = lists->files; file != NULL; file = file->next) {
        unsigned long bad = bad_of(lists, file->path);
        result->bad += bad;
        result->values += file->values - bad;
        if (file->why != NULL) {
            result->missing++;
            unsigned long values = (unsigned long)file->values - bad;
            fprintf(out, "%s: error: cannot be read: %s; its %lu value%s as they were\n",
                    file->path, file->why, values, values == 1 ? " stays" : "s stay");
            continue;
        }
        fprintf(out, "%s: %lu value%s", file->path, (unsigned long)file->values - bad,
                file->values - bad == 1 ? "" : "s");
        if (bad > 0)
            fprintf(out, ", %lu line%s left out", bad, bad == 1 ? "" : "s");
        fputc('\n', out);
    }
}

struct lists_result lists_read_anew(struct acls *acls, FILE *out)
{
    struct lists *lists = acls->files;
    struct swap_table *table = (struct swap_table *)(void *)lists->slot[slot_next(lists) - 1];
    struct lists_result result = {.taken = true};
    struct bt_error err;

    complain_init(&err, arena_new(64 * 1024));
    full_to = out;
    lists->anew = true;
    lists->keep = arena_in((char *)table + HEAD, lists->slot_size - HEAD, full);
    for (struct acl_type *type = acls->types; type != NULL; type = type->next)
        if (type->lists)
            result.taken &= compile_anew(acls, type, &err);
    result.taken &= !complain_any(&err);
    if (result.taken) {
        table_fill(acls, table);
        tell(lists, &result, out);
    }
    complain_print(&err, out, false);
    return result;
}

void lists_taken(struct acls *acls, bool taken)
{
    struct lists *lists = acls->files;

    for (struct list_file *file = lists->files; file != NULL; file = file->next) {
        int goes = taken && file->fresh >= 0 ? file->fd : file->fresh;
        if (taken && file->fresh >= 0) {
            file->fd = file->fresh;
            file->read = file->tried;
        }
        if (goes >= 0)
            close(goes);
        file->fresh = -1;
    }
    if (!taken)
        return;
    atomic_store(&lists->shared->current, slot_next(lists));
    atomic_fetch_add(&lists->shared->changes, 1);
}

void lists_follow(struct acls *acls)
{
    struct lists *lists = acls->files;

    if (lists == NULL || lists->shared == NULL)
        return;
    unsigned changes = atomic_load(&lists->shared->changes);
    if (changes == lists->changes)
        return;
    lists->changes = changes;
    const char *slot = lists->slot[atomic_load(&lists->shared->current) - 1];
    const struct swap_table *table = (const struct swap_table *)(const void *)slot;
    arena_adopt(table->arena);
    for (size_t i = 0; i < table->n; i++) {
        const struct swap *swap = &table->swap[i];
        if (swap->kind != NULL) {
            swap->kind->compiled = swap->compiled;
        } else {
            swap->acl->compiled = swap->line;
            swap->acl->lines = swap->lines;
        }
    }
    acls->swaps++;
    arena_free(lists->first);
    lists->first = NULL;
}

void lists_settled(struct acls *acls)
{
    struct lists *lists = acls->files;

    /* All its pages go back to the system. */
    (void)madvise(lists->slot[slot_next(lists) - 1], lists->slot_size, MADV_REMOVE);
}

bool lists_changed(struct acls *acls)
{
    bool due = false;

    for (struct list_file *file = acls->files->files; file != NULL; file = file->next) {
        struct state now = state_now(file->path);
        due |= state_same(&now, &file->seen) && !state_same(&now, &file->tried);
        file->seen = now;
    }
    return due;
}

bool lists_has(const struct acls *acls, int fd)
{
    for (const struct list_file *file = acls->files->files; file != NULL; file = file->next)
        if (file->fd == fd || file->fresh == fd)
            return true;
    return false;
}

void lists_leave(struct acls *acls)
{
    struct lists *lists = acls->files;

    for (struct list_file *file = lists == NULL ? NULL : lists->files; file != NULL;
         file = file->next) {
        if (file->fd >= 0)
            close(file->fd);
        if (file->fresh >= 0)
            close(file->fresh);
        file->fd = file->fresh = -1;
    }
}
