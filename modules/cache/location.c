/* location.c - references in responses: what an unsafe request makes stale (RFC 9111 4.4).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "location.h"

#include <string.h>

bool location_invalidates(bt_str method, int status)
{
    static const bt_str safe[] = {
        FIELDS_TEXT("GET"),   FIELDS_TEXT("HEAD"),    FIELDS_TEXT("OPTIONS"),
        FIELDS_TEXT("TRACE"), FIELDS_TEXT("CONNECT"), FIELDS_TEXT("PURGE"),
    };

    for (size_t i = 0; i < sizeof safe / sizeof *safe; i++)
        if (bt_str_eq(safe[i], method))
            return false;
    return status >= 200 && status <= 399;
}

/* ---- RFC 3986 ---- */

static void advance(bt_str *s, size_t n)
{
    s->at += n;
    s->len -= n;
}

static bool starts(bt_str s, const char *with)
{
    size_t n = strlen(with);

    return s.len >= n && memcmp(s.at, with, n) == 0;
}

/* Bytes before the first of `stops`. */
static size_t until(bt_str s, const char *stops)
{
    size_t n = 0;

    while (n < s.len && strchr(stops, s.at[n]) == NULL)
        n++;
    return n;
}

static bool is_clean(bt_str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.at[i] <= ' ' || s.at[i] > '~' || s.at[i] == '\\')
            return false;
    return s.len > 0;
}

/* "http:" at the front, taken off; NONE: there is no scheme. */
static bt_str take_scheme(bt_str *rest)
{
    size_t n = until(*rest, ":/?#");
    bt_str scheme = {rest->at, n};

    if (n == 0 || n == rest->len || rest->at[n] != ':' || !fields_is_token(scheme))
        return BT_STR_NONE;
    advance(rest, n + 1);
    return scheme;
}

static bool port_parse(bt_str text, unsigned preset, unsigned *port)
{
    unsigned n = 0;

    for (size_t i = 0; i < text.len; i++) {
        if (text.at[i] < '0' || text.at[i] > '9' || n > 65535)
            return false;
        n = n * 10 + (unsigned)(text.at[i] - '0');
    }
    *port = text.len > 0 ? n : preset;
    return *port >= 1 && *port <= 65535;
}

static bt_str lower_copy(struct bt_arena *arena, bt_str s)
{
    char *to = bt_alloc_raw(arena, s.len + 1);

    for (size_t i = 0; i < s.len; i++)
        to[i] = fields_lower(s.at[i]);
    return (bt_str){to, s.len};
}

/* "user@host:port"; who the user is does not matter for what is invalid now. */
static bool authority_parse(struct bt_arena *arena, bt_str text, struct location *out)
{
    unsigned preset = out->scheme.len == 5 ? 443 : 80;
    bt_str host, port = BT_STR("");
    size_t n;

    while ((n = until(text, "@")) < text.len)
        advance(&text, n + 1);
    n = starts(text, "[") ? until(text, "]") : until(text, ":");
    host = (bt_str){text.at, n};
    if (starts(text, "[")) {
        if (n == text.len)
            return false;
        advance(&host, 1);
        n++;
    }
    if (n < text.len) {
        if (text.at[n] != ':')
            return false;
        port = (bt_str){text.at + n + 1, text.len - n - 1};
    }
    if (host.len > 0 && host.at[host.len - 1] == '.')
        host.len--;
    out->host = lower_copy(arena, host);
    return host.len > 0 && port_parse(port, preset, &out->port);
}

/* Takes "." and ".." out of a path that begins with "/", where it stands (5.2.4). */
static size_t remove_dots(char *at, size_t len)
{
    size_t to = 0, from = 0;

    while (from < len) {
        const char *slash = memchr(at + from + 1, '/', len - from - 1);
        size_t end = slash != NULL ? (size_t)(slash - at) : len;
        bt_str segment = {at + from + 1, end - from - 1};
        bool last = end == len;
        bool up = bt_str_eq(segment, BT_STR(".."));

        if (up)
            while (to > 0 && at[--to] != '/')
                ;
        if (up || bt_str_eq(segment, BT_STR("."))) {
            if (last)
                at[to++] = '/';
        } else {
            memmove(at + to, at + from, end - from);
            to += end - from;
        }
        from = end;
    }
    return to;
}

/* base's path up to its last "/", then the reference's, then its query. */
static bt_str path_join(struct bt_arena *arena, bt_str base, bt_str path, bt_str query)
{
    char *text = bt_alloc_raw(arena, base.len + path.len + query.len + 2);
    size_t len = 0;

    if (!starts(path, "/")) {
        len = until(base, "?");
        while (len > 0 && base.at[len - 1] != '/')
            len--;
        memcpy(text, base.at, len);
    }
    if (len == 0 && !starts(path, "/"))
        text[len++] = '/';
    if (path.len > 0)
        memcpy(text + len, path.at, path.len);
    len = remove_dots(text, len + path.len);
    if (query.len > 0)
        memcpy(text + len, query.at, query.len);
    return (bt_str){text, len + query.len};
}

bool location_resolve(struct bt_arena *arena, const struct location *base, bt_str reference,
                      struct location *out)
{
    bt_str rest = reference, scheme, path, query;

    *out = *base;
    if (!is_clean(rest))
        return false;
    rest.len = until(rest, "#");
    scheme = take_scheme(&rest);
    if (scheme.at != NULL) {
        out->scheme = lower_copy(arena, scheme);
        if (!starts(rest, "//") ||
            (!bt_str_eq(out->scheme, BT_STR("http")) && !bt_str_eq(out->scheme, BT_STR("https"))))
            return false;
    }
    path = (bt_str){rest.at, until(rest, "?")};
    query = (bt_str){rest.at + path.len, rest.len - path.len};
    if (starts(rest, "//")) {
        bt_str authority = {rest.at + 2, until((bt_str){rest.at + 2, path.len - 2}, "/")};

        if (!authority_parse(arena, authority, out))
            return false;
        advance(&path, authority.len + 2);
        out->path = path_join(arena, BT_STR("/"), path.len > 0 ? path : BT_STR("/"), query);
    } else if (path.len > 0) {
        out->path = path_join(arena, base->path, path, query);
    } else if (query.len > 0) {
        bt_str own = {base->path.at, until(base->path, "?")};

        out->path = bt_str_printf(arena, "%.*s%.*s", BT_STR_ARGS(own), BT_STR_ARGS(query));
    }
    return true;
}

/* ---- what else is invalid ---- */

bool location_same_origin(const struct location *a, const struct location *b)
{
    return a->port == b->port && bt_str_eq(a->scheme, b->scheme) && bt_str_eq(a->host, b->host);
}

bool location_same(const struct location *a, const struct location *b)
{
    return location_same_origin(a, b) && bt_str_eq(a->path, b->path);
}

unsigned location_others(struct bt_arena *arena, const struct location *own,
                         const struct fields *reply, struct location out[2])
{
    const bt_str names[] = {BT_STR("Location"), BT_STR("Content-Location")};
    unsigned n = 0;

    for (size_t i = 0; i < 2; i++) {
        bt_str value = fields_trim(fields_get(reply, names[i], 0));

        if (value.at == NULL || !location_resolve(arena, own, value, &out[n]))
            continue;
        if (!location_same_origin(own, &out[n]) || location_same(own, &out[n]))
            continue;
        if (n == 0 || !location_same(&out[0], &out[n]))
            n++;
    }
    return n;
}
