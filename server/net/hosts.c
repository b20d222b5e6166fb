/* hosts.c - /etc/hosts: names to addresses and back, read again when the file changes.
 *
 * Such files grow to hundreds of thousands of lines where they serve as block lists. So names are
 * slices of the text as read, and everything lies in one arena that goes with the next reading.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#define BT_LOG_TAG "hosts"
#include "net/hosts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/addr.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "base/table.h"

struct host_line { /* one address of a name */
    struct host_line *next;
    union address addr;
};
struct host {
    struct host_line *first, *last;
    struct addresses *set; /* made when it is first asked for */
};

enum { LARGEST = 64 * 1024 * 1024 };

static bt_str path;
static struct bt_arena *arena; /* NULL: nothing was read */
static struct table names;     /* name -> struct host */
static struct table reverse;   /* 16 bytes -> bt_str */
static struct stat seen;
static int64_t next_look_ms;

static void forget(void)
{
    struct host *host;

    if (arena == NULL)
        return;
    for (uint32_t i = 0; (host = table_walk(&names, &i, NULL)) != NULL;)
        addresses_unref(host->set);
    table_fini(&names);
    table_fini(&reverse);
    arena_free(arena);
    arena = NULL;
}

static void host_add(bt_str name, const union address *addr)
{
    struct host *host = table_find(&names, name);
    struct host_line *line = bt_alloc(arena, sizeof *line);

    if (host == NULL) {
        host = bt_alloc(arena, sizeof *host);
        (void)table_put(&names, name, host);
    }
    for (const struct host_line *l = host->first; l != NULL; l = l->next)
        if (addr_same(&l->addr.any, &addr->any, false))
            return;
    line->addr = *addr;
    if (host->last == NULL)
        host->first = line;
    else
        host->last->next = line;
    host->last = line;
}

/* As in Squid the last line with an address says its name. */
static void reverse_add(const uint8_t addr[16], bt_str name)
{
    bt_str key = {(const char *)addr, 16};
    bt_str *value = table_find(&reverse, key);

    if (value == NULL) {
        key.at = memcpy(bt_alloc_raw(arena, 16), addr, 16);
        value = bt_alloc(arena, sizeof *value);
        (void)table_put(&reverse, key, value);
    }
    *value = name;
}

/* "ADDRESS NAME... # comment"; the names are made lower case where they stand. */
static void line_read(bt_str line)
{
    bt_str word, rest, comment;
    struct sockaddr_storage storage;
    union address addr;
    uint8_t bytes[16];
    bool first = true;

    str_split(line, '#', &rest, &comment);
    if (!str_word(&rest, &word) || !addr_parse(word, bytes))
        return;
    addr_to_sockaddr(bytes, 0, &storage);
    address_from(&addr, (const struct sockaddr *)&storage);
    while (str_word(&rest, &word)) {
        if (word.at[word.len - 1] == '.')
            word.len--;
        if (word.len == 0)
            continue;
        str_lower_in_place((char *)(uintptr_t)word.at, word.len);
        host_add(word, &addr);
        if (first)
            reverse_add(bytes, word);
        first = false;
    }
}

/* The whole file, in the arena; BT_STR_NONE: errno. */
static bt_str file_read(int fd, size_t size)
{
    char *text = bt_alloc_raw(arena, size + 1);
    size_t len = 0;

    while (len < size) {
        ssize_t n = read(fd, text + len, size - len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return BT_STR_NONE;
        if (n == 0)
            break;
        len += (size_t)n;
    }
    return (bt_str){text, len};
}

static void load(void)
{
    int fd = open(path.at, O_RDONLY | O_CLOEXEC);
    bt_str text = BT_STR_NONE, line;

    if (fd < 0 || fstat(fd, &seen) < 0 || seen.st_size > LARGEST) {
        bt_log_limited(NULL, BT_WARN, 300,
                       "%s cannot be read (%s); hosts_file names another one, "
                       "or none",
                       path.at, fd < 0 ? strerror(errno) : "too large");
        if (fd >= 0)
            close(fd);
        return;
    }
    forget();
    arena = arena_new(64 * 1024);
    table_init(&names, arena, false);
    table_init(&reverse, arena, false);
    text = file_read(fd, (size_t)seen.st_size);
    close(fd);
    while (str_cut(&text, '\n', &line)) {
        if (line.len > 0 && line.at[line.len - 1] == '\r')
            line.len--;
        line_read(line);
    }
}

void hosts_check(bool now)
{
    struct stat is;

    if (path.at == NULL || (!now && clock_ms() < next_look_ms))
        return;
    next_look_ms = clock_ms() + 1000;
    if (stat(path.at, &is) < 0)
        return; /* being replaced, or gone: what was read stands */
    if (arena == NULL || is.st_mtim.tv_sec != seen.st_mtim.tv_sec ||
        is.st_mtim.tv_nsec != seen.st_mtim.tv_nsec || is.st_size != seen.st_size ||
        is.st_ino != seen.st_ino)
        load();
}

void hosts_open(bt_str at)
{
    path = str_eq_literal(at, "none") ? BT_STR_NONE : at;
    hosts_check(true);
}

void hosts_close(void)
{
    forget();
    path = BT_STR_NONE;
}

struct addresses *hosts_find(bt_str name)
{
    struct host *host = arena == NULL ? NULL : table_find(&names, name);
    union address addr[64];
    size_t n = 0;

    if (host == NULL)
        return NULL;
    if (host->set == NULL) {
        for (const struct host_line *l = host->first; l != NULL && n < 64; l = l->next)
            addr[n++] = l->addr;
        host->set = addresses_new(addr, n, name);
    }
    return host->set;
}

bt_str hosts_name_of(const struct sockaddr *addr)
{
    uint8_t bytes[16];
    const bt_str *name;

    if (arena == NULL)
        return BT_STR_NONE;
    if (addr->sa_family == AF_INET)
        addr_from_v4((const void *)&((const struct sockaddr_in *)(const void *)addr)->sin_addr,
                     bytes);
    else
        memcpy(bytes, &((const struct sockaddr_in6 *)(const void *)addr)->sin6_addr, 16);
    name = table_find(&reverse, (bt_str){(const char *)bytes, 16});
    return name == NULL ? BT_STR_NONE : *name;
}
