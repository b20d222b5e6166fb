/* load.c - find, open and vet a module.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "plug/load.h"

#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "base/str.h"

#ifndef MODULEDIR
#define MODULEDIR "/usr/local/lib/bobtail"
#endif

/* Where the table ended in ABI 1.0. Members that come later are behind it, and a module that does
 * not know them gets zeroes. */
#define FIRST_SIZE (offsetof(struct bt_module, stop) + sizeof(void (*)(void *)))

/* Older tables, copied to full size; they live as long as the process, as the modules do. */
struct widened {
    struct bt_module table;
    const struct bt_module *from;
    struct widened *next;
};
static struct widened *all_widened;

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* DIR-OF-PROGRAM/modules/built into `out`; false: there is no such folder. */
static bool built_beside(char *out, size_t cap)
{
    static const char tail[] = "/modules/built";
    ssize_t len = readlink("/proc/self/exe", out, cap - sizeof tail);
    if (len <= 0)
        return false;
    while (len > 0 && out[len - 1] != '/')
        len--;
    memcpy(out + (len > 0 ? len - 1 : 0), tail, sizeof tail);
    return is_folder(out);
}

const char *load_folder(void)
{
    static char folder[PATH_MAX];
    const char *wish = getenv("BOBTAIL_MODULES");

    if (folder[0] != '\0')
        return folder;
    if (wish != NULL && *wish != '\0' && strlen(wish) < sizeof folder)
        strcpy(folder, wish);
    else if (!built_beside(folder, sizeof folder))
        strcpy(folder, MODULEDIR);
    return folder;
}

const char *load_path(const char *folder, bt_str name, struct bt_arena *arena)
{
    return bt_str_printf(arena, "%s/%.*s.so", folder, BT_STR_ARGS(name)).at;
}

bt_str load_name(const char *path)
{
    bt_str name = str_from(path);
    ptrdiff_t slash = str_rfind_char(name, '/');

    name = str_skip(name, (size_t)(slash + 1));
    if (str_ends(name, BT_STR(".so")))
        name.len -= 3;
    return name;
}

static const struct bt_module *widen(const struct bt_module *from)
{
    struct widened *copy;

    for (copy = all_widened; copy != NULL; copy = copy->next)
        if (copy->from == from)
            return &copy->table;
    copy = calloc(1, sizeof *copy);
    CHECK(copy != NULL);
    memcpy(&copy->table, from, from->size);
    copy->from = from;
    copy->next = all_widened;
    all_widened = copy;
    return &copy->table;
}

/* What is wrong with the table, as the rest of a sentence; BT_STR_NONE: nothing. Versions first:
 * what stands behind them has a meaning only when they fit. */
static bt_str vet(const struct bt_module *table, bt_str name, struct bt_arena *arena)
{
    if (table->abi_major != BT_ABI_MAJOR || table->abi_minor > BT_ABI_MINOR)
        return bt_str_printf(
            arena,
            "is made for ABI %u.%u, and this server speaks %d.0 to %d.%d: rebuild it "
            "against this server",
            (unsigned)table->abi_major, (unsigned)table->abi_minor, BT_ABI_MAJOR, BT_ABI_MAJOR,
            BT_ABI_MINOR);
    if (table->size < FIRST_SIZE || table->size > sizeof(struct bt_module) ||
        (table->abi_minor == BT_ABI_MINOR && table->size != sizeof(struct bt_module)))
        return bt_str_printf(arena,
                             "is a table of %lu bytes, where ABI %u.%u of this server has %zu: "
                             "rebuild it against this server",
                             (unsigned long)table->size, (unsigned)table->abi_major,
                             (unsigned)table->abi_minor, sizeof(struct bt_module));
    if (table->name == NULL || !bt_str_eq(str_from(table->name), name))
        return bt_str_printf(arena,
                             "names itself '%s', and the file's name asks for '%.*s': rename the "
                             "file, or the module in its BT_MODULE line, and rebuild it",
                             table->name == NULL ? "" : table->name, BT_STR_ARGS(name));
    if (table->self == NULL)
        return bt_str_printf(arena, "has no .self: make it with BT_MODULE, and rebuild it");
    return BT_STR_NONE;
}

/* ---- is the file whole? ---- */

static uint64_t table_end(uint64_t at, uint64_t n, uint64_t size)
{
    return n == 0 || at > UINT64_MAX - n * size ? at : at + n * size;
}

/* Where the file ends, as its headers tell; 0: they are not of this machine, which dlopen() says. */
static uint64_t elf_end(int fd)
{
    static const unsigned char here = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
    ElfW(Ehdr) head;
    ElfW(Phdr) part;
    uint64_t end;

    if (pread(fd, &head, sizeof head, 0) != (ssize_t)sizeof head ||
        memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != here ||
        head.e_phentsize != sizeof part)
        return 0;
    end = table_end(head.e_shoff, head.e_shnum, head.e_shentsize);
    for (unsigned i = 0; i < head.e_phnum; i++) {
        uint64_t at = table_end(head.e_phoff, i, sizeof part);
        uint64_t its = table_end(at, 1, sizeof part);

        if (at <= INT64_MAX && pread(fd, &part, sizeof part, (off_t)at) == (ssize_t)sizeof part &&
            part.p_type == PT_LOAD)
            end = end > part.p_offset + part.p_filesz ? end : part.p_offset + part.p_filesz;
        end = end > its ? end : its;
    }
    return end;
}

/* dlopen() maps what the headers promise, and reading behind the file's end kills the process. */
static bt_str cut_short(const char *path, struct bt_arena *arena)
{
    bt_str why = BT_STR_NONE;
    struct stat about;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    uint64_t end = fd >= 0 && fstat(fd, &about) == 0 && S_ISREG(about.st_mode) ? elf_end(fd) : 0;

    if (end > 0 && end > (uint64_t)about.st_size)
        why = bt_str_printf(arena,
                            "the file is cut short: it has %lld bytes, and its headers speak of "
                            "%llu; copy or build it anew",
                            (long long)about.st_size, (unsigned long long)end);
    if (fd >= 0)
        close(fd);
    return why;
}

/* dlopen() searches the system's folders for a path without a slash; that is never meant here. */
static void *open_here(const char *path, struct bt_arena *arena)
{
    if (strchr(path, '/') == NULL)
        path = bt_str_printf(arena, "./%s", path).at;
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

const struct bt_module *load_open(const char *path, struct bt_arena *arena, bt_str *refusal)
{
    bt_str cut = cut_short(path, arena);
    void *handle = cut.at == NULL ? open_here(path, arena) : NULL;
    if (handle == NULL) {
        *refusal = bt_str_printf(arena, "module %s cannot be opened: %s", path,
                                 cut.at != NULL ? cut.at : dlerror());
        return NULL;
    }
    const struct bt_module *table = dlsym(handle, "bt_module");
    if (table == NULL) {
        *refusal = bt_str_printf(arena,
                                 "module %s has no symbol bt_module (%s): it is no module of this "
                                 "server, or was made without BT_MODULE",
                                 path, dlerror());
        return NULL;
    }
    bt_str wrong = vet(table, load_name(path), arena);
    if (wrong.at != NULL) {
        *refusal = bt_str_printf(arena, "module %s: its symbol bt_module %.*s", path,
                                 BT_STR_ARGS(wrong));
        return NULL;
    }
    return table->size < sizeof *table ? widen(table) : table;
}

static int is_module(const struct dirent *entry)
{
    bt_str name = str_from(entry->d_name);
    return name.len > 3 && name.at[0] != '.' && str_ends(name, BT_STR(".so"));
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return str_compare(load_name((*a)->d_name), load_name((*b)->d_name));
}

size_t load_list(const char *folder, struct bt_arena *arena, const char *const **names)
{
    struct dirent **entry;
    int n = scandir(folder, &entry, is_module, by_name);

    *names = NULL;
    if (n <= 0) {
        if (n == 0)
            free(entry);
        return 0;
    }
    const char **list = bt_alloc(arena, (size_t)n * sizeof *list);
    for (int i = 0; i < n; i++) {
        list[i] = bt_str_copy(arena, load_name(entry[i]->d_name)).at;
        free(entry[i]);
    }
    free(entry);
    *names = list;
    return (size_t)n;
}
