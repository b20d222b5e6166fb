/* map.c - url_rewrite_map: reads it, and looks up what a URL becomes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "map.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- tables ---- */

enum kind { KIND_URL, KIND_BELOW, KIND_PLACE, KIND_HOST, KIND_DOMAIN, KIND_REGEX, KINDS };

struct target {
    bt_str scheme; /* empty: that of the request */
    bt_str host;   /* with its port */
    bt_str path;   /* from "/" on; empty: that of the request */
    bool rest;     /* what stood at * is put behind the path */
    int status;
    struct bt_word at;
};

struct line {
    bt_str key;
    enum kind kind;
    struct target to;
    struct line *next;
};

/* Open addressing, half full at most; a probe that finds nothing looks at one place of memory. */
struct slot {
    uint64_t hash;
    const struct line *line;
};
struct keys {
    struct slot *slot;
    size_t mask;
};

struct map {
    struct line *first, **last;
    size_t n[KINDS];
    struct keys keys; /* of all kinds but regular expressions */
    struct bt_regexes *regexes;
    const struct line **regex; /* by owner */
    uint64_t *bits;            /* of owners */
    struct bt_arena *arena;
};

/* FNV-1a, since it can be looked at on the way; `hash_end` spreads what it knows over all bits. */
#define HASH_BEGIN UINT64_C(0xcbf29ce484222325)
static inline uint64_t hash_step(uint64_t hash, char c)
{
    return (hash ^ (unsigned char)c) * UINT64_C(0x100000001b3);
}

static inline uint64_t hash_end(uint64_t hash, enum kind kind)
{
    hash = (hash + (uint64_t)kind) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

static uint64_t hash_of(bt_str text, enum kind kind)
{
    uint64_t hash = HASH_BEGIN;

    for (size_t i = 0; i < text.len; i++)
        hash = hash_step(hash, text.at[i]);
    return hash_end(hash, kind);
}

static struct slot *keys_slot(const struct keys *keys, uint64_t hash, enum kind kind, bt_str key)
{
    size_t i = hash & keys->mask;

    for (; keys->slot[i].line != NULL; i = (i + 1) & keys->mask)
        if (keys->slot[i].hash == hash && keys->slot[i].line->kind == kind &&
            bt_str_eq(keys->slot[i].line->key, key))
            break;
    return &keys->slot[i];
}

static const struct line *find(const struct map *map, enum kind kind, bt_str key)
{
    return map->n[kind] > 0 ? keys_slot(&map->keys, hash_of(key, kind), kind, key)->line : NULL;
}

/* ---- reading ---- */

static bool blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* The next word of a line; its place is noted. */
static bool word_next(bt_str *rest, const char *begin, struct bt_word *word)
{
    size_t i = 0, from;

    while (i < rest->len && blank(rest->at[i]))
        i++;
    for (from = i; i < rest->len && !blank(rest->at[i]);)
        i++;
    word->text = (bt_str){rest->at + from, i - from};
    word->column = (uint32_t)(word->text.at - begin) + 1;
    *rest = (bt_str){rest->at + i, rest->len - i};
    return i > from;
}

static bool starts(bt_str text, const char *with)
{
    size_t n = strlen(with);

    return text.len >= n && memcmp(text.at, with, n) == 0;
}

static bt_str after(bt_str text, size_t n)
{
    return (bt_str){text.at + n, text.len - n};
}

static bt_str lower(struct bt_arena *arena, bt_str text)
{
    bt_str copy = bt_str_copy(arena, text);
    char *at = (char *)(uintptr_t)copy.at;

    for (size_t i = 0; i < copy.len; i++)
        if (at[i] >= 'A' && at[i] <= 'Z')
            at[i] = (char)(at[i] + 32);
    return copy;
}

struct url_parts {
    bt_str scheme, host, path;
};

/* [scheme://]host[:port][/path]; in lower case up to the path. */
static struct url_parts parts_of(struct bt_arena *arena, bt_str text)
{
    struct url_parts parts = {{"", 0}, {"", 0}, {"", 0}};

    for (size_t i = 0; i + 2 < text.len && text.at[i] != '/'; i++)
        if (memcmp(text.at + i, "://", 3) == 0) {
            parts.scheme = lower(arena, (bt_str){text.at, i});
            text = after(text, i + 3);
            break;
        }
    const char *slash = text.len > 0 ? memchr(text.at, '/', text.len) : NULL;
    size_t n = slash != NULL ? (size_t)(slash - text.at) : text.len;
    parts.host = lower(arena, (bt_str){text.at, n});
    parts.path = after(text, n);
    return parts;
}

static bool host_good(bt_str host)
{
    for (size_t i = 0; i < host.len; i++)
        if (host.at[i] <= ' ' || host.at[i] == 0x7f || strchr("@*?#\\\"<>", host.at[i]) != NULL)
            return false;
    return host.len > 0;
}

/* What it becomes. */
static bool target_read(struct map *map, struct line *line, const struct bt_word *word,
                        struct bt_error *err)
{
    static const int statuses[] = {301, 302, 303, 307, 308};
    struct target *to = &line->to;
    bt_str text = word->text;

    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        char mark[8];
        (void)snprintf(mark, sizeof mark, "%d:", statuses[i]);
        if (starts(text, mark)) {
            to->status = statuses[i];
            text = after(text, 4);
        }
    }
    struct url_parts parts = parts_of(map->arena, text);
    if (parts.path.len > 0 && parts.path.at[parts.path.len - 1] == '*') {
        to->rest = true;
        parts.path.len--;
    }
    if (to->rest && line->kind != KIND_BELOW)
        return bt_complain(err, word,
                           "* can stand here only when it ends what is to be replaced, "
                           "too");
    if (!host_good(parts.host) || (parts.path.len > 0 && parts.scheme.len == 0))
        return bt_complain(err, word, "a URL or a host expected, not %.*s",
                           BT_STR_ARGS(word->text));
    to->scheme = parts.scheme;
    to->host = parts.host;
    to->path = bt_str_copy(map->arena, parts.path);
    return true;
}

/* As URLs are normalised: the scheme's own port is not said, and the path is not empty. */
static bt_str url_key(struct bt_arena *arena, struct url_parts parts)
{
    const char *own = bt_str_eq(parts.scheme, BT_STR("http"))    ? ":80"
                      : bt_str_eq(parts.scheme, BT_STR("https")) ? ":443"
                                                                 : NULL;
    size_t n = own != NULL ? strlen(own) : 0;

    if (n > 0 && parts.host.len > n && memcmp(parts.host.at + parts.host.len - n, own, n) == 0)
        parts.host.len -= n;
    return bt_str_printf(arena, "%.*s://%.*s%.*s", BT_STR_ARGS(parts.scheme),
                         BT_STR_ARGS(parts.host), parts.path.len > 0 ? (int)parts.path.len : 1,
                         parts.path.len > 0 ? parts.path.at : "/");
}

/* What kind of line it is, and its key. */
static bool key_read(struct map *map, struct line *line, const struct bt_word *word,
                     struct bt_error *err)
{
    struct url_parts parts = parts_of(map->arena, word->text);
    bool star = parts.path.len > 0 && parts.path.at[parts.path.len - 1] == '*';

    if (star)
        parts.path.len--;
    if (!host_good(parts.host) || (parts.scheme.len == 0 && parts.path.len > 0) ||
        (star && (parts.path.at[parts.path.len - 1] != '/' ||
                  memchr(parts.path.at, '?', parts.path.len) != NULL)) ||
        (parts.path.len > 0 && memchr(parts.path.at, '*', parts.path.len) != NULL))
        return bt_complain(err, word,
                           "a URL, a URL that ends in /*, or a host expected, not %.*s; patterns "
                           "are written as ~ PATTERN",
                           BT_STR_ARGS(word->text));
    if (parts.scheme.len > 0) {
        line->kind = star ? KIND_BELOW : KIND_URL;
        line->key = url_key(map->arena, parts);
        return true;
    }
    line->kind = parts.host.at[0] == '.' ? KIND_DOMAIN : KIND_HOST;
    line->key = parts.host;
    if (parts.host.at[parts.host.len - 1] == ']') /* as bt_host() says it */
        line->key = (bt_str){parts.host.at + 1, parts.host.len - 2};
    else if (memchr(parts.host.at, ':', parts.host.len) != NULL)
        line->kind = KIND_PLACE;
    return true;
}

static bool regex_read(struct map *map, struct line *line, const struct bt_word *word, bool nocase,
                       struct bt_error *err)
{
    const char *why;
    size_t offset;

    if (map->regexes == NULL)
        map->regexes = bt_regexes_new(map->arena);
    line->key = bt_str_copy(map->arena, word->text);
    if (!bt_regexes_add(map->regexes, line->key, nocase, (uint32_t)map->n[KIND_REGEX], &why,
                        &offset))
        return bt_complain(err, word, "%.*s is no regular expression: %s, at byte %zu",
                           BT_STR_ARGS(word->text), why, offset + 1);
    return true;
}

static bool line_read(struct map *map, bt_str text, struct bt_word at, struct bt_error *err)
{
    struct line *line = bt_alloc(map->arena, sizeof *line);
    struct bt_word from = at, to = at, more = at;
    const char *begin = text.at;

    if (!word_next(&text, begin, &from) || from.text.at[0] == '#')
        return true;
    bool nocase = bt_str_eq(from.text, BT_STR("~*"));
    bool regex = nocase || bt_str_eq(from.text, BT_STR("~"));
    if (regex && !word_next(&text, begin, &from))
        return bt_complain(err, &at, "the pattern is missing");
    line->kind = KIND_REGEX;
    if (regex ? !regex_read(map, line, &from, nocase, err) : !key_read(map, line, &from, err))
        return false;
    if (!word_next(&text, begin, &to) || to.text.at[0] == '#')
        return bt_complain(err, &from, "what %.*s becomes is missing", BT_STR_ARGS(from.text));
    if (word_next(&text, begin, &more) && more.text.at[0] != '#')
        return bt_complain(err, &more, "surplus word %.*s", BT_STR_ARGS(more.text));
    if (!target_read(map, line, &to, err))
        return false;
    line->to.at = at;
    map->n[line->kind]++;
    *map->last = line;
    map->last = &line->next;
    return true;
}

/* ---- compiling ---- */

static void compile(struct map *map, struct bt_error *err)
{
    size_t n = 0, room = 16, owner = 0;

    for (enum kind kind = 0; kind < KIND_REGEX; kind++)
        n += map->n[kind];
    while (room < n * 2)
        room *= 2;
    map->keys = (struct keys){bt_alloc(map->arena, room * sizeof(struct slot)), room - 1};
    map->regex = bt_alloc(map->arena, (map->n[KIND_REGEX] + 1) * sizeof(struct line *));
    map->bits = bt_alloc(map->arena, BT_BITS_WORDS(map->n[KIND_REGEX] + 1) * sizeof(uint64_t));
    for (const struct line *line = map->first; line != NULL; line = line->next) {
        if (line->kind == KIND_REGEX) {
            map->regex[owner++] = line;
            continue;
        }
        uint64_t hash = hash_of(line->key, line->kind);
        struct slot *slot = keys_slot(&map->keys, hash, line->kind, line->key);
        if (slot->line != NULL)
            bt_caution(err, &line->to.at, "this is said in line %u already, which counts",
                       (unsigned)slot->line->to.at.line);
        else
            *slot = (struct slot){hash, line};
    }
    if (map->regexes != NULL)
        bt_regexes_seal(map->regexes);
}

struct map *map_read(const struct bt_word *path, struct bt_arena *arena, struct bt_error *err)
{
    struct map *map = bt_alloc(arena, sizeof *map);
    FILE *in = fopen(path->text.at, "re");
    struct bt_word at = {.file = path->text.at, .column = 1};
    char *text = NULL;
    size_t room = 0;
    ssize_t len;
    bool good = true;

    if (in == NULL) {
        bt_complain(err, path, "%s cannot be read: %s", path->text.at, strerror(errno));
        return NULL;
    }
    map->arena = arena;
    map->last = &map->first;
    while ((len = getline(&text, &room, in)) >= 0) {
        at.line++;
        good &= line_read(map, (bt_str){text, (size_t)len}, at, err);
    }
    if (ferror(in))
        good = bt_complain(err, path, "%s cannot be read: %s", path->text.at, strerror(errno));
    free(text);
    fclose(in);
    if (good)
        compile(map, err);
    return good ? map : NULL;
}

/* ---- looking up ---- */

/* One pass over the URL: itself, or the longest part of it that ends in "/". */
static const struct line *find_url(const struct map *map, bt_str url, size_t from)
{
    const struct line *found = NULL, *here;
    uint64_t hash = HASH_BEGIN;

    for (size_t i = 0; i < url.len; i++) {
        hash = hash_step(hash, url.at[i]);
        if (i < from || url.at[i] != '/' || map->n[KIND_BELOW] == 0)
            continue;
        if (i > from && memchr(url.at + from, '?', i - from) != NULL)
            continue;
        here = keys_slot(&map->keys, hash_end(hash, KIND_BELOW), KIND_BELOW,
                         (bt_str){url.at, i + 1})
                   ->line;
        found = here != NULL ? here : found;
    }
    if (map->n[KIND_URL] == 0)
        return found;
    here = keys_slot(&map->keys, hash_end(hash, KIND_URL), KIND_URL, url)->line;
    return here != NULL ? here : found;
}

static const struct line *find_host(const struct map *map, const struct map_asked *asked)
{
    const struct line *found = NULL;
    bt_str host = asked->host;
    char place[300];

    if (map->n[KIND_PLACE] > 0 && host.len <= 256) {
        bool v6 = memchr(host.at, ':', host.len) != NULL;
        int n = snprintf(place, sizeof place, v6 ? "[%.*s]:%u" : "%.*s:%u", BT_STR_ARGS(host),
                         asked->port);
        found = find(map, KIND_PLACE, (bt_str){place, (size_t)n});
    }
    if (found == NULL)
        found = find(map, KIND_HOST, host);
    if (found != NULL || map->n[KIND_DOMAIN] == 0 || host.len > 256)
        return found;
    place[0] = '.';
    memcpy(place + 1, host.at, host.len);
    for (size_t i = 0; i <= host.len && found == NULL; i++)
        if (place[i] == '.')
            found = find(map, KIND_DOMAIN, (bt_str){place + i, host.len + 1 - i});
    return found;
}

static enum bt_match find_regex(const struct map *map, bt_str url, const struct line **found)
{
    size_t n = map->n[KIND_REGEX];

    if (n == 0)
        return BT_NO;
    memset(map->bits, 0, BT_BITS_WORDS(n) * sizeof *map->bits);
    enum bt_match match = bt_regexes_find(map->regexes, url, map->bits);
    for (size_t i = 0; i < n; i++)
        if (bt_bit_get(map->bits, i)) {
            *found = map->regex[i];
            return BT_YES;
        }
    return match == BT_BROKEN ? BT_BROKEN : BT_NO;
}

/* [scheme://]host[:port][/path] of the line, and of the request what the line leaves open. */
static bt_str become(const struct line *line, const struct map_asked *asked, struct bt_arena *arena)
{
    const struct target *to = &line->to;
    bt_str scheme = to->scheme.len > 0 ? to->scheme : asked->scheme, rest = {"", 0};

    if (asked->scheme.len == 0) { /* CONNECT */
        bool port = memchr(to->host.at, ':', to->host.len) != NULL &&
                    to->host.at[to->host.len - 1] != ']';
        return port ? to->host
                    : bt_str_printf(arena, "%.*s:%u", BT_STR_ARGS(to->host), asked->port);
    }
    if (to->path.len == 0 && !to->rest)
        rest = asked->path;
    else if (to->rest)
        rest = after(asked->url, line->key.len);
    return bt_str_printf(arena, "%.*s://%.*s%.*s%.*s", BT_STR_ARGS(scheme), BT_STR_ARGS(to->host),
                         BT_STR_ARGS(to->path), BT_STR_ARGS(rest));
}

enum bt_match map_find(const struct map *map, const struct map_asked *asked, struct bt_arena *arena,
                       struct map_target *target)
{
    const struct line *found = NULL;
    enum bt_match match = BT_YES;

    if (asked->scheme.len > 0 && map->n[KIND_URL] + map->n[KIND_BELOW] > 0)
        found = find_url(map, asked->url, asked->scheme.len + 3);
    if (found == NULL)
        found = find_host(map, asked);
    if (found == NULL)
        match = find_regex(map, asked->url, &found);
    if (match != BT_YES)
        return match;
    target->status = found->to.status;
    target->url = become(found, asked, arena);
    target->at = &found->to.at;
    return BT_YES;
}
