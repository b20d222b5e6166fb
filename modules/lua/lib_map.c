/* lib_map.c - bt.map: sets of domains, of addresses, of patterns, out of a file.
 *
 * A map is a list file as those of ACLs (bt_list_open()): compiled in the master by the same sets, so
 * that a million entries are there once for all workers; read again with the lists of ACLs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "lua.h"

enum { HOST_MAX = 255 };

/* ---- compiling; nothing of Lua here: it is done again in another process ---- */

static void *domain_compile(const struct bt_acl_values *list, size_t n, struct bt_arena *arena,
                            struct bt_error *err)
{
    struct bt_domains *set = bt_domains_new(arena);

    (void)err;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < list[i].args.n; k++)
            (void)bt_domains_add(set, list[i].args.word[k].text, 0);
    bt_domains_seal(set);
    return set;
}

static void *address_compile(const struct bt_acl_values *list, size_t n, struct bt_arena *arena,
                             struct bt_error *err)
{
    struct bt_ipset *set = bt_ipset_new(arena);
    uint8_t from[16], to[16];
    bool good = true;

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < list[i].args.n; k++) {
            const struct bt_word *word = &list[i].args.word[k];
            const char *why = bt_addr_range(word->text, from, to);
            if (why == NULL)
                bt_ipset_add(set, from, to, 0);
            else
                good = bt_complain(err, word, "'%s': %s", word->text.at, why);
        }
    bt_ipset_seal(set);
    return good ? set : NULL;
}

static void *patterns_compile(const struct bt_acl_values *list, bool nocase, struct bt_arena *arena,
                              struct bt_error *err)
{
    struct bt_regexes *set = bt_regexes_new(arena);
    const char *why;
    size_t offset;
    bool good = true;

    for (size_t k = 0; k < list->args.n; k++) {
        const struct bt_word *word = &list->args.word[k];
        if (!bt_regexes_add(set, word->text, nocase, 0, &why, &offset))
            good = bt_complain(err, word, "'%s' is no regular expression: %s", word->text.at, why);
    }
    bt_regexes_seal(set);
    return good ? set : NULL;
}

static void *regex_compile(const struct bt_acl_values *list, size_t n, struct bt_arena *arena,
                           struct bt_error *err)
{
    (void)n; /* a list has a row of its own */
    return patterns_compile(list, false, arena, err);
}

static void *regex_i_compile(const struct bt_acl_values *list, size_t n, struct bt_arena *arena,
                             struct bt_error *err)
{
    (void)n;
    return patterns_compile(list, true, arena, err);
}

/* ---- asking ---- */

static enum bt_match domain_match(const void *set, bt_str text)
{
    char lower[HOST_MAX];
    uint64_t bits = 0;

    if (text.len > 1 && text.at[text.len - 1] == '.')
        text.len--;
    if (text.len > sizeof lower)
        return BT_NO;
    for (size_t i = 0; i < text.len; i++)
        lower[i] = (char)(text.at[i] >= 'A' && text.at[i] <= 'Z' ? text.at[i] + 32 : text.at[i]);
    return bt_domains_find(set, (bt_str){lower, text.len}, &bits) ? BT_YES : BT_NO;
}

static enum bt_match address_match(const void *set, bt_str text)
{
    uint8_t from[16], to[16];
    uint64_t bits = 0;

    if (bt_addr_range(text, from, to) != NULL || memcmp(from, to, sizeof from) != 0)
        return BT_NO;
    return bt_ipset_find(set, from, &bits) ? BT_YES : BT_NO;
}

static enum bt_match regex_match(const void *set, bt_str text)
{
    uint64_t bits = 0;

    if (bt_regexes_find(set, text, &bits) == BT_BROKEN && bits == 0)
        return BT_BROKEN;
    return bits != 0 ? BT_YES : BT_NO;
}

static const char *const kind_names[] = {"domain", "address", "regex", "regex-i", NULL};
#define ROW(how)                                                                                   \
    {                                                                                              \
        .name = "bt.map", .args = "word...", .compile_all = how, .flags = BT_ANEW_WORDLESS         \
    }
static const struct kind {
    struct bt_acl_type row;
    enum bt_match (*match)(const void *set, bt_str text);
} kinds[] = {
    {ROW(domain_compile), domain_match},
    {ROW(address_compile), address_match},
    {ROW(regex_compile), regex_match},
    {ROW(regex_i_compile), regex_match},
};

/* ---- maps ---- */

struct map {
    struct map *next;
    const char *path;
    const struct kind *kind;
    struct bt_list *list;
};
static struct map *maps;

/* Where the script is that calls, for relative names and complaints. */
static void place(lua_State *L, struct bt_word *word)
{
    lua_Debug about;

    if (lua_getstack(L, 1, &about) == 0 || lua_getinfo(L, "Sl", &about) == 0 ||
        about.source[0] != '@')
        return;
    word->file = bt_str_printf(script_arena(), "%s", about.source + 1).at;
    word->line = about.currentline > 0 ? (uint32_t)about.currentline : 1;
    word->column = 1;
}

static struct map *map_open(lua_State *L, const char *path, const struct kind *kind)
{
    struct bt_word word = {.text = {path, strlen(path)}};
    struct map *map;

    if (script_arena() == NULL)
        luaL_error(L, "bt.map: %s is new; it needs a reload of the configuration", path);
    place(L, &word);
    word.text = bt_str_copy(script_arena(), word.text);
    map = bt_alloc(script_arena(), sizeof *map);
    *map = (struct map){maps, word.text.at, kind, bt_list_open(&kind->row, &word, script_error())};
    if (map->list == NULL)
        luaL_error(L, "bt.map: %s cannot be used", path);
    maps = map;
    return map;
}

static int lua_map(lua_State *L)
{
    size_t len;
    const char *path = luaL_checklstring(L, 1, &len);
    const struct kind *kind = &kinds[luaL_checkoption(L, 2, "domain", kind_names)];
    struct map *map = maps;

    if (len == 0 || strlen(path) != len)
        return luaL_error(L, "bt.map: that is no name of a file");
    while (map != NULL && (map->kind != kind || strcmp(map->path, path) != 0))
        map = map->next;
    if (map == NULL)
        map = map_open(L, path, kind);
    *(struct map **)lua_newuserdatauv(L, sizeof map, 0) = map;
    luaL_setmetatable(L, "map");
    return 1;
}

static int map_match(lua_State *L)
{
    const struct map *map = *(struct map **)luaL_checkudata(L, 1, "map");
    enum bt_match match = BT_NO;
    bt_str text;

    if (!lua_isnoneornil(L, 2)) {
        text.at = luaL_checklstring(L, 2, &text.len);
        match = map->kind->match(bt_list_compiled(map->list), text);
    }
    if (match == BT_BROKEN)
        return luaL_error(L, "a pattern of %s needs more steps for that text than there are",
                          map->path);
    lua_pushboolean(L, match == BT_YES);
    return 1;
}

static const struct binding functions[] = {
    {"map", IN_ANY, "bt.map(path [, kind]) -> map",
     "The entries of a file, one a line, as in list files of ACLs: \"domain\" (if not said; "
     ".example.com holds all below it, too), \"address\" (also with /bits, and FROM-TO), \"regex\", or "
     "\"regex-i\", which makes no difference between large and small letters. It must be named first when "
     "the script is loaded. It is read again as list files of ACLs are (acl_list_watch, bobtailctl "
     "reload-lists).",
     NULL, lua_map},
};
const struct library library_map = {"bt", "Large lists.", functions,
                                    sizeof functions / sizeof *functions};

static const struct binding methods[] = {
    {"match", IN_ANY, "map:match(text) -> boolean", "Whether it is in the file; false for nil.",
     NULL, map_match},
};
const struct library library_map_methods = {"map", "A list of bt.map.", methods,
                                            sizeof methods / sizeof *methods};
