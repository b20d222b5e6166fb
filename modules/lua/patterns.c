/* patterns.c - string.find, match, gmatch and gsub, with an end.
 *
 * Lua's own can be made to take years by a pattern like "a-a-a-a-b", in C, where no hook looks. This is
 * the same language of patterns, matched by trying; each STEPS tries the clock of the call is looked at.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <ctype.h>
#include <string.h>

#include "state.h"

enum { STEPS = 2000, DEPTH = 200, CAPTURES = 32 };
enum { CAPTURE_OPEN = -1, CAPTURE_PLACE = -2 };

struct match {
    lua_State *L;
    const char *from, *end; /* the subject */
    const char *pattern_end;
    unsigned steps, depth;
    int n;
    struct {
        const char *at;
        ptrdiff_t len; /* or CAPTURE_ */
    } capture[CAPTURES];
};

static const char *try(struct match *, const char *s, const char *p);

static void step(struct match *m)
{
    if (++m->steps < STEPS)
        return;
    m->steps = 0;
    guard_look(m->L);
}

/* ---- one character ---- */

/* What follows a single item: a character, %x, a set. */
static const char *item_end(struct match *m, const char *p)
{
    char c = *p++;

    if (c == '%') {
        if (p == m->pattern_end)
            luaL_error(m->L, "malformed pattern (ends with '%%')");
        return p + 1;
    }
    if (c != '[')
        return p;
    if (p < m->pattern_end && *p == '^')
        p++;
    do { /* a ] that comes first is one of the set */
        if (p == m->pattern_end)
            luaL_error(m->L, "malformed pattern (missing ']')");
        if (*p++ == '%')
            p++; /* also a %] */
        if (p > m->pattern_end)
            luaL_error(m->L, "malformed pattern (missing ']')");
    } while (p == m->pattern_end || *p != ']');
    return p + 1;
}

static bool is_class(int c, int class)
{
    bool is;

    switch (tolower(class)) {
    case 'a':
        is = isalpha(c);
        break;
    case 'c':
        is = iscntrl(c);
        break;
    case 'd':
        is = isdigit(c);
        break;
    case 'g':
        is = isgraph(c);
        break;
    case 'l':
        is = islower(c);
        break;
    case 'p':
        is = ispunct(c);
        break;
    case 's':
        is = isspace(c);
        break;
    case 'u':
        is = isupper(c);
        break;
    case 'w':
        is = isalnum(c);
        break;
    case 'x':
        is = isxdigit(c);
        break;
    case 'z':
        is = c == 0;
        break;
    default:
        return class == c;
    }
    return isupper(class) ? !is : is;
}

/* `p` at the [, `last` at its ]. */
static bool is_in_set(int c, const char *p, const char *last)
{
    bool yes = true;

    p++;
    if (*p == '^') {
        yes = false;
        p++;
    }
    for (; p < last; p++) {
        if (*p == '%') {
            p++;
            if (is_class(c, (unsigned char)*p))
                return yes;
        } else if (p[1] == '-' && p + 2 < last) {
            if ((unsigned char)p[0] <= c && c <= (unsigned char)p[2])
                return yes;
            p += 2;
        } else if ((unsigned char)*p == c) {
            return yes;
        }
    }
    return !yes;
}

/* Does the item from p to `behind` match the character at s? */
static bool is_item(struct match *m, const char *s, const char *p, const char *behind)
{
    int c;

    step(m);
    if (s >= m->end)
        return false;
    c = (unsigned char)*s;
    switch (*p) {
    case '.':
        return true;
    case '%':
        return is_class(c, (unsigned char)p[1]);
    case '[':
        return is_in_set(c, p, behind - 1);
    default:
        return (unsigned char)*p == c;
    }
}

/* ---- repetition ---- */

static const char *try_many(struct match *m, const char *s, const char *p, const char *behind)
{
    size_t n = 0;
    const char *end;

    while (is_item(m, s + n, p, behind))
        n++;
    for (;; n--) {
        end = try(m, s + n, behind + 1);
        if (end != NULL || n == 0)
            return end;
    }
}

static const char *try_few(struct match *m, const char *s, const char *p, const char *behind)
{
    for (;; s++) {
        const char *end = try(m, s, behind + 1);
        if (end != NULL)
            return end;
        if (!is_item(m, s, p, behind))
            return NULL;
    }
}

/* ---- captures ---- */

static const char *open_capture(struct match *m, const char *s, const char *p, ptrdiff_t what)
{
    const char *end;

    if (m->n >= CAPTURES)
        luaL_error(m->L, "too many captures");
    m->capture[m->n].at = s;
    m->capture[m->n].len = what;
    m->n++;
    end = try(m, s, p);
    if (end == NULL)
        m->n--;
    return end;
}

static const char *close_capture(struct match *m, const char *s, const char *p)
{
    int i = m->n - 1;
    const char *end;

    while (i >= 0 && m->capture[i].len != CAPTURE_OPEN)
        i--;
    if (i < 0) {
        luaL_error(m->L, "invalid pattern capture");
        return NULL;
    }
    m->capture[i].len = s - m->capture[i].at;
    end = try(m, s, p);
    if (end == NULL)
        m->capture[i].len = CAPTURE_OPEN;
    return end;
}

/* %1: the same text once more; NULL: it is not there. */
static const char *again(struct match *m, const char *s, char digit)
{
    int i = digit - '1';
    size_t len;

    if (i < 0 || i >= m->n || m->capture[i].len == CAPTURE_OPEN) {
        luaL_error(m->L, "invalid capture index %%%d", i + 1);
        return NULL;
    }
    if (m->capture[i].len == CAPTURE_PLACE)
        return NULL;
    len = (size_t)m->capture[i].len;
    guard_charge(m->L, len / 16);
    return (size_t)(m->end - s) >= len && memcmp(m->capture[i].at, s, len) == 0 ? s + len : NULL;
}

/* ---- %b, %f ---- */

static const char *balanced(struct match *m, const char *s, const char *p)
{
    size_t depth = 1;

    if (p + 1 >= m->pattern_end)
        luaL_error(m->L, "malformed pattern (missing arguments to '%%b')");
    if (s >= m->end || *s != p[0])
        return NULL;
    while (++s < m->end) {
        step(m);
        if (*s == p[1] && --depth == 0)
            return s + 1;
        if (*s == p[0] && p[0] != p[1])
            depth++;
    }
    return NULL;
}

static bool frontier(struct match *m, const char *s, const char *p, const char *behind)
{
    int before = s == m->from ? 0 : (unsigned char)s[-1];
    int here = s == m->end ? 0 : (unsigned char)*s;

    return !is_in_set(before, p, behind - 1) && is_in_set(here, p, behind - 1);
}

/* ---- what the pattern says from p on, at s: the end of it, or NULL ---- */

/* %b, %f, %1: *s moves behind it. false: it is something else. */
static bool special(struct match *m, const char **s, const char **p)
{
    const char *at = *p + 1, *behind;

    if (at >= m->pattern_end)
        return false;
    if (*at == 'b') {
        *s = balanced(m, *s, at + 1);
        *p = at + 3;
        return true;
    }
    if (*at == 'f') {
        at++;
        if (at >= m->pattern_end || *at != '[')
            luaL_error(m->L, "missing '[' after '%%f' in pattern");
        behind = item_end(m, at);
        if (!frontier(m, *s, at, behind))
            *s = NULL;
        *p = behind;
        return true;
    }
    if (isdigit((unsigned char)*at)) {
        *s = again(m, *s, *at);
        *p = at + 1;
        return true;
    }
    return false;
}

static const char *try_all(struct match *m, const char *s, const char *p)
{
    while (p < m->pattern_end) {
        const char *behind, *end;
        char mark;

        step(m);
        if (*p == '(')
            return p + 1 < m->pattern_end && p[1] == ')' ? open_capture(m, s, p + 2, CAPTURE_PLACE)
                                                         : open_capture(m, s, p + 1, CAPTURE_OPEN);
        if (*p == ')')
            return close_capture(m, s, p + 1);
        if (*p == '$' && p + 1 == m->pattern_end)
            return s == m->end ? s : NULL;
        if (*p == '%' && special(m, &s, &p)) {
            if (s == NULL)
                return NULL;
            continue;
        }
        behind = item_end(m, p);
        mark = behind < m->pattern_end ? *behind : '\0';
        switch (mark) {
        case '?':
            if (is_item(m, s, p, behind) && (end = try(m, s + 1, behind + 1)) != NULL)
                return end;
            p = behind + 1;
            continue;
        case '+':
            return is_item(m, s, p, behind) ? try_many(m, s + 1, p, behind) : NULL;
        case '*':
            return try_many(m, s, p, behind);
        case '-':
            return try_few(m, s, p, behind);
        default:
            break;
        }
        if (!is_item(m, s, p, behind))
            return NULL;
        s++;
        p = behind;
    }
    return s;
}

static const char *try(struct match *m, const char *s, const char *p)
{
    const char *end;

    if (++m->depth > DEPTH)
        luaL_error(m->L, "pattern too complex");
    end = try_all(m, s, p);
    m->depth--;
    return end;
}

/* ---- results ---- */

/* A text and a pattern, of the arguments 1 and 2. */
struct subject {
    struct match m;
    const char *pattern;
    bool anchored;
};

static void subject_open(lua_State *L, struct subject *s, const char *text, size_t len,
                         const char *pattern, size_t pattern_len, bool anchors)
{
    s->m = (struct match){.L = L, .from = text, .end = text + len};
    s->anchored = anchors && pattern_len > 0 && pattern[0] == '^';
    s->pattern = pattern + s->anchored;
    s->m.pattern_end = pattern + pattern_len;
}

static const char *try_at(struct subject *s, const char *at)
{
    s->m.n = 0;
    s->m.depth = 0;
    return try(&s->m, at, s->pattern);
}

static void push_capture(struct match *m, int i, const char *at, const char *end)
{
    if (i >= m->n) {
        if (i != 0)
            luaL_error(m->L, "invalid capture index %%%d", i + 1);
        lua_pushlstring(m->L, at, (size_t)(end - at));
        return;
    }
    if (m->capture[i].len == CAPTURE_OPEN)
        luaL_error(m->L, "unfinished capture");
    if (m->capture[i].len == CAPTURE_PLACE)
        lua_pushinteger(m->L, m->capture[i].at - m->from + 1);
    else
        lua_pushlstring(m->L, m->capture[i].at, (size_t)m->capture[i].len);
}

/* All of them; `whole`: the match when there is none. */
static int push_captures(struct match *m, const char *at, const char *end, bool whole)
{
    int n = m->n == 0 && whole ? 1 : m->n;

    luaL_checkstack(m->L, n, "too many captures");
    for (int i = 0; i < n; i++)
        push_capture(m, i, at, end);
    return n;
}

/* ---- find, match ---- */

/* Place of the third argument, from 0; false: behind the end. */
static bool init_arg(lua_State *L, size_t len, size_t *init)
{
    lua_Integer at = luaL_optinteger(L, 3, 1);

    if (at < 0)
        at = (lua_Unsigned)-at > len ? 1 : (lua_Integer)len + at + 1;
    *init = at > 0 ? (size_t)at - 1 : 0;
    return *init <= len;
}

static bool is_plain(const char *pattern, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (pattern[i] != '\0' && strchr("^$*+?.([%-", pattern[i]) != NULL)
            return false;
    return true;
}

static int find_plain(lua_State *L, const char *text, size_t len, size_t init, const char *what,
                      size_t what_len)
{
    const char *at = what_len == 0 ? text + init : memmem(text + init, len - init, what, what_len);

    guard_charge(L, (len - init) / 16);
    if (at == NULL) {
        lua_pushnil(L);
        return 1;
    }
    lua_pushinteger(L, at - text + 1);
    lua_pushinteger(L, at - text + (lua_Integer)what_len);
    return 2;
}

static int find_or_match(lua_State *L, bool find)
{
    size_t len, pattern_len, init;
    const char *text = luaL_checklstring(L, 1, &len), *end;
    const char *pattern = luaL_checklstring(L, 2, &pattern_len);
    struct subject s;

    if (!init_arg(L, len, &init)) {
        lua_pushnil(L);
        return 1;
    }
    if (find && (lua_toboolean(L, 4) || is_plain(pattern, pattern_len)))
        return find_plain(L, text, len, init, pattern, pattern_len);
    subject_open(L, &s, text, len, pattern, pattern_len, true);
    for (const char *at = text + init; at <= s.m.end; at++) {
        end = try_at(&s, at);
        if (end != NULL && !find)
            return push_captures(&s.m, at, end, true);
        if (end != NULL) {
            lua_pushinteger(L, at - text + 1);
            lua_pushinteger(L, end - text);
            return 2 + push_captures(&s.m, at, end, false);
        }
        if (s.anchored)
            break;
    }
    lua_pushnil(L);
    return 1;
}

static int find(lua_State *L)
{
    return find_or_match(L, true);
}

static int match(lua_State *L)
{
    return find_or_match(L, false);
}

/* ---- gmatch ---- */

/* Upvalues: text, pattern, next place, end of the last match (0: none; both from 1). */
static int gmatch_next(lua_State *L)
{
    size_t len, pattern_len;
    const char *text = lua_tolstring(L, lua_upvalueindex(1), &len);
    const char *pattern = lua_tolstring(L, lua_upvalueindex(2), &pattern_len);
    lua_Integer from = lua_tointeger(L, lua_upvalueindex(3));
    lua_Integer last = lua_tointeger(L, lua_upvalueindex(4));
    struct subject s;

    if (from < 1 || (lua_Unsigned)from > len + 1)
        return 0;
    subject_open(L, &s, text, len, pattern, pattern_len, false);
    for (const char *at = text + from - 1; at <= s.m.end; at++) {
        const char *end = try_at(&s, at);
        if (end == NULL || end - text + 1 == last)
            continue;
        lua_pushinteger(L, end - text + 1);
        lua_copy(L, -1, lua_upvalueindex(3));
        lua_replace(L, lua_upvalueindex(4));
        return push_captures(&s.m, at, end, true);
    }
    lua_pushinteger(L, 0);
    lua_replace(L, lua_upvalueindex(3));
    return 0;
}

static int gmatch(lua_State *L)
{
    size_t len, init;

    (void)luaL_checklstring(L, 1, &len);
    (void)luaL_checkstring(L, 2);
    if (!init_arg(L, len, &init))
        init = len + 1;
    lua_settop(L, 2);
    lua_pushinteger(L, (lua_Integer)init + 1);
    lua_pushinteger(L, 0);
    lua_pushcclosure(L, gmatch_next, 4);
    return 1;
}

/* ---- gsub ---- */

static void add_template(struct match *m, luaL_Buffer *out, const char *at, const char *end)
{
    lua_State *L = m->L;
    size_t len;
    const char *with = lua_tolstring(L, 3, &len);

    for (size_t i = 0; i < len; i++) {
        if (with[i] != '%') {
            luaL_addchar(out, with[i]);
            continue;
        }
        i++;
        if (i < len && with[i] == '%') {
            luaL_addchar(out, '%');
        } else if (i < len && with[i] == '0') {
            luaL_addlstring(out, at, (size_t)(end - at));
        } else if (i < len && isdigit((unsigned char)with[i])) {
            push_capture(m, with[i] - '1', at, end);
            luaL_tolstring(L, -1, NULL);
            lua_remove(L, -2);
            luaL_addvalue(out);
        } else {
            luaL_error(L, "invalid use of '%%' in replacement string");
        }
    }
}

/* What stands there instead. */
static void add_instead(struct match *m, luaL_Buffer *out, const char *at, const char *end)
{
    lua_State *L = m->L;

    switch (lua_type(L, 3)) {
    case LUA_TFUNCTION:
        lua_pushvalue(L, 3);
        lua_call(L, push_captures(m, at, end, true), 1);
        break;
    case LUA_TTABLE:
        push_capture(m, 0, at, end);
        lua_gettable(L, 3);
        break;
    default:
        add_template(m, out, at, end);
        return;
    }
    if (!lua_toboolean(L, -1)) {
        lua_pop(L, 1);
        luaL_addlstring(out, at, (size_t)(end - at));
    } else if (lua_isstring(L, -1)) {
        luaL_addvalue(out);
    } else {
        luaL_error(L, "invalid replacement value (a %s)", luaL_typename(L, -1));
    }
}

static int gsub(lua_State *L)
{
    size_t len, pattern_len;
    const char *text = luaL_checklstring(L, 1, &len), *at = text, *last = NULL;
    const char *pattern = luaL_checklstring(L, 2, &pattern_len);
    int type = lua_type(L, 3);
    lua_Integer most = luaL_optinteger(L, 4, (lua_Integer)len + 1), n = 0;
    struct subject s;
    luaL_Buffer out;

    luaL_argexpected(L,
                     type == LUA_TNUMBER || type == LUA_TSTRING || type == LUA_TFUNCTION ||
                         type == LUA_TTABLE,
                     3, "string/function/table");
    if (type == LUA_TNUMBER)
        (void)lua_tostring(L, 3);
    subject_open(L, &s, text, len, pattern, pattern_len, true);
    luaL_buffinit(L, &out);
    while (n < most) {
        const char *end = try_at(&s, at);
        if (end != NULL && end != last) {
            n++;
            add_instead(&s.m, &out, at, end);
            at = last = end;
        } else if (at < s.m.end) {
            luaL_addchar(&out, *at++);
        } else {
            break;
        }
        if (s.anchored)
            break;
    }
    luaL_addlstring(&out, at, (size_t)(s.m.end - at));
    luaL_pushresult(&out);
    lua_pushinteger(L, n);
    return 2;
}

void patterns_open(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"find", find}, {"match", match}, {"gmatch", gmatch}, {"gsub", gsub}, {NULL, NULL}};

    luaL_setfuncs(L, functions, 0);
}
