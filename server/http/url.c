/* url.c - what a request asks for: the four forms of a target, checked and normalised.
 *
 * A target is split without copying; most are already as they should be, and then everything in the
 * result is a slice of it. Otherwise the text is built anew, once, and all parts are slices of
 * that.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "http/url.h"

#include <string.h>

#include "base/addr.h"
#include "base/str.h"
#include "http/scan.h"

enum { HOST_MAX = 253, PORT_DIGITS = 5, HOST_UPPER = 2 };

/* host[:port] taken apart. */
struct authority {
    bt_str host;       /* normal form; NONE in `host.at` never */
    bt_str port_text;  /* digits as given; NONE: no colon stood there */
    unsigned port;     /* 0: none was given */
    bool bracketed;    /* an IPv6 address that needs its brackets back */
    bool host_changed; /* host is not the slice that was given */
    bool is_addr;
    uint8_t addr[16];
    char text[HOST_MAX + 1]; /* where a changed host is written */
};

/* Bytes of a name: as they should be, or upper case. Sub-delimiters and escapes are in the grammar
 * of URLs, but in no name that can be looked up, and a hole in many a rule. */
static const uint8_t host_class[256] = {
    ['-'] = 1, ['.'] = 1, ['_'] = 1, ['0'] = 1, ['1'] = 1, ['2'] = 1, ['3'] = 1, ['4'] = 1,
    ['5'] = 1, ['6'] = 1, ['7'] = 1, ['8'] = 1, ['9'] = 1, ['a'] = 1, ['b'] = 1, ['c'] = 1,
    ['d'] = 1, ['e'] = 1, ['f'] = 1, ['g'] = 1, ['h'] = 1, ['i'] = 1, ['j'] = 1, ['k'] = 1,
    ['l'] = 1, ['m'] = 1, ['n'] = 1, ['o'] = 1, ['p'] = 1, ['q'] = 1, ['r'] = 1, ['s'] = 1,
    ['t'] = 1, ['u'] = 1, ['v'] = 1, ['w'] = 1, ['x'] = 1, ['y'] = 1, ['z'] = 1, ['A'] = 2,
    ['B'] = 2, ['C'] = 2, ['D'] = 2, ['E'] = 2, ['F'] = 2, ['G'] = 2, ['H'] = 2, ['I'] = 2,
    ['J'] = 2, ['K'] = 2, ['L'] = 2, ['M'] = 2, ['N'] = 2, ['O'] = 2, ['P'] = 2, ['Q'] = 2,
    ['R'] = 2, ['S'] = 2, ['T'] = 2, ['U'] = 2, ['V'] = 2, ['W'] = 2, ['X'] = 2, ['Y'] = 2,
    ['Z'] = 2,
};

/* ---- ports ---- */

uint16_t url_default_port(bt_str scheme)
{
    if (str_eq_literal_nocase(scheme, "http"))
        return 80;
    if (str_eq_literal_nocase(scheme, "https"))
        return 443;
    if (str_eq_literal_nocase(scheme, "ftp"))
        return 21;
    return 0;
}

/* What stands behind the host: nothing, ":" or ":digits". */
static enum head_fault split_port(bt_str text, struct authority *out)
{
    unsigned port = 0;

    out->port_text = BT_STR_NONE;
    out->port = 0;
    if (text.len == 0)
        return FAULT_NONE;
    if (text.at[0] != ':')
        return FAULT_TARGET_HOST;
    out->port_text = (bt_str){text.at + 1, text.len - 1};
    if (text.len == 1)
        return FAULT_NONE; /* an empty port is the default one (RFC 3986 3.2.3) */
    if (text.len > 1 + PORT_DIGITS)
        return FAULT_TARGET_PORT;
    for (size_t i = 1; i < text.len; i++) {
        if (!str_is(text.at[i], STR_DIGIT))
            return FAULT_TARGET_PORT;
        port = port * 10 + (unsigned)(text.at[i] - '0');
    }
    if (port == 0 || port > 65535)
        return FAULT_TARGET_PORT;
    out->port = port;
    return FAULT_NONE;
}

/* ---- hosts ---- */

/* The one spelling of an IPv4 address, at most digits: the common case, done here. */
static bool plain_quad(bt_str host, uint8_t out[4])
{
    const char *at = host.at, *end = at + host.len;

    for (unsigned i = 0; i < 4; i++) {
        const char *from = at;
        unsigned n = 0;

        while (at < end && at - from < 3 && str_is(*at, STR_DIGIT))
            n = n * 10 + (unsigned)(*at++ - '0');
        if (at == from || n > 255 || (*from == '0' && at - from > 1))
            return false;
        out[i] = (uint8_t)n;
        if (i < 3 && (at == end || *at++ != '.'))
            return false;
    }
    return at == end;
}

static void host_write(struct authority *out, const char *text, size_t len)
{
    memcpy(out->text, text, len);
    out->host = (bt_str){out->text, len};
    out->host_changed = true;
}

/* The printed form of addr replaces a host that was spelled otherwise. */
static void host_respell(struct authority *out)
{
    char text[ADDR_TEXT];
    size_t len = addr_print(out->addr, text);

    out->is_addr = true;
    out->bracketed = !addr_is_v4(out->addr);
    if (len != out->host.len || memcmp(text, out->host.at, len) != 0)
        host_write(out, text, len);
}

/* A host whose last label begins with a digit may be a number that means an address. */
static enum head_fault host_number(struct authority *out)
{
    bool too_large = false;

    if (plain_quad(out->host, out->addr + 12)) {
        memset(out->addr, 0, 10);
        out->addr[10] = out->addr[11] = 0xff;
        out->is_addr = true;
        return FAULT_NONE;
    }
    if (addr_parse_odd(out->host, out->addr, &too_large))
        host_respell(out);
    return too_large ? FAULT_TARGET_HOST : FAULT_NONE;
}

/* A name, up to the first byte that none may have: lower case, no trailing dot, no empty label. */
static enum head_fault host_name(bt_str text, size_t *used, struct authority *out)
{
    size_t i = 0, len, label = 0, label_before = 0;
    unsigned classes = 0;

    for (; i < text.len && host_class[(uint8_t)text.at[i]] != 0; i++) {
        classes |= host_class[(uint8_t)text.at[i]];
        if (text.at[i] != '.')
            continue;
        if (i == label)
            return FAULT_TARGET_HOST;
        label_before = label;
        label = i + 1;
    }
    *used = len = i;
    if (len != 0 && label == len) { /* the trailing dot */
        label = label_before;
        len--;
    }
    if (len == 0 || len > HOST_MAX)
        return FAULT_TARGET_HOST;
    out->host = (bt_str){text.at, len};
    if (classes & HOST_UPPER) {
        host_write(out, text.at, len);
        str_lower_in_place(out->text, len);
    }
    return str_is(text.at[label], STR_DIGIT) ? host_number(out) : FAULT_NONE;
}

/* "[...]" without a zone. */
static enum head_fault host_literal(bt_str text, size_t *used, struct authority *out)
{
    const char *close = memchr(text.at, ']', text.len);

    if (close == NULL)
        return FAULT_TARGET_HOST;
    out->host = str_span(text.at + 1, close);
    *used = (size_t)(close - text.at) + 1;
    if (out->host.len == 0 || out->host.at[0] == '[' ||
        memchr(out->host.at, ':', out->host.len) == NULL || !addr_parse(out->host, out->addr))
        return FAULT_TARGET_HOST;
    host_respell(out);
    return FAULT_NONE;
}

static enum head_fault authority_parse(bt_str text, struct authority *out)
{
    enum head_fault fault;
    size_t used = 0;

    out->bracketed = out->host_changed = out->is_addr = false;
    if (text.len > 0 && text.at[0] == '[')
        fault = host_literal(text, &used, out);
    else
        fault = host_name(text, &used, out);
    return fault != FAULT_NONE ? fault : split_port(str_skip(text, used), out);
}

bool url_host_valid(bt_str text)
{
    struct authority authority;

    return authority_parse(text, &authority) == FAULT_NONE;
}

/* ---- putting it together ---- */

static void set_host(struct url *out, const struct authority *authority, uint16_t default_port)
{
    out->port = authority->port != 0 ? (uint16_t)authority->port : default_port;
    out->host_is_addr = authority->is_addr;
    if (!authority->is_addr)
        return;
    memset(&out->addr, 0, sizeof out->addr);
    if (addr_is_v4(authority->addr)) {
        out->addr.v4.sin_family = AF_INET;
        out->addr.v4.sin_port = htons(out->port);
        memcpy(&out->addr.v4.sin_addr, authority->addr + 12, 4);
    } else {
        out->addr.v6.sin6_family = AF_INET6;
        out->addr.v6.sin6_port = htons(out->port);
        memcpy(&out->addr.v6.sin6_addr, authority->addr, 16);
    }
}

/* Whether `text`, that gave this authority, is just what would be printed for it. */
static bool is_normal(bt_str text, const struct authority *authority, uint16_t default_port)
{
    size_t len = authority->host.len + (authority->bracketed ? 2 : 0);

    if (authority->port_text.at != NULL) {
        if (authority->port == 0 || authority->port == default_port ||
            authority->port_text.at[0] == '0')
            return false;
        len += 1 + authority->port_text.len;
    }
    return !authority->host_changed && len == text.len; /* else a trailing dot was there */
}

static char *put(char *at, bt_str s)
{
    if (s.len != 0)
        memcpy(at, s.at, s.len);
    return at + s.len;
}

/* scheme "://" host ":" port path, all into one piece of the arena; the parts become slices of it.
 * Without a scheme (CONNECT) the port is always written. */
static void build(struct bt_arena *arena, const struct authority *authority, struct url *out)
{
    bool with_port = out->port != 0 && out->port != url_default_port(out->scheme);
    bool slash = out->scheme.len != 0 && (out->path.len == 0 || out->path.at[0] != '/');
    size_t room = out->scheme.len + authority->host.len + out->path.len + 16;
    char *text, *at;

    if (arena == NULL) {
        out->host = out->authority = out->text = BT_STR("");
        return;
    }
    at = text = bt_alloc_raw(arena, room);
    if (out->scheme.len != 0) {
        at = put(at, out->scheme);
        str_lower_in_place(text, out->scheme.len);
        out->scheme.at = text;
        at = put(at, BT_STR("://"));
    }
    out->authority.at = at;
    if (authority->bracketed)
        *at++ = '[';
    out->host = (bt_str){at, authority->host.len};
    at = put(at, authority->host);
    if (authority->bracketed)
        *at++ = ']';
    if (with_port) {
        *at++ = ':';
        at = str_put_uint(at, out->port);
    }
    out->authority.len = (size_t)(at - out->authority.at);
    if (slash)
        *at++ = '/';
    at = put(at, out->path);
    out->text = str_span(text, at);
    out->path = str_span(out->authority.at + out->authority.len, at);
}

/* ---- the forms ---- */

/* Blanks and control bytes are in no target; "#" would begin what no server may be sent. */
static enum head_fault check_path(bt_str path)
{
    const char *end = path.at + path.len;

    if (scan_control(path.at, end, ' ' + 1) != end)
        return FAULT_TARGET_BYTE;
    return memchr(path.at, '#', path.len) != NULL ? FAULT_FRAGMENT : FAULT_NONE;
}

static enum head_fault parse_connect(struct bt_arena *arena, bt_str target, struct url *out)
{
    struct authority authority;
    enum head_fault fault;

    out->form = URL_AUTHORITY;
    if (memchr(target.at, '/', target.len) != NULL)
        return FAULT_TARGET_FORM;
    if (memchr(target.at, '@', target.len) != NULL)
        return FAULT_TARGET_USER;
    if ((fault = authority_parse(target, &authority)) != FAULT_NONE)
        return fault;
    if (authority.port == 0)
        return FAULT_TARGET_PORT;
    set_host(out, &authority, 0);
    if (is_normal(target, &authority, 0)) {
        out->host = authority.host;
        out->text = out->authority = target;
    } else {
        build(arena, &authority, out);
    }
    out->path = BT_STR("");
    return FAULT_NONE;
}

/* Bytes of the scheme in front of "://"; 0 when there is none. *upper: some are upper case. */
static size_t scheme_len(bt_str target, bool *upper)
{
    size_t i = 0;

    *upper = false;
    for (; i < target.len; i++) {
        char c = target.at[i];

        if (!str_is(c, STR_ALPHA | STR_DIGIT) && c != '+' && c != '-' && c != '.')
            break;
        *upper = *upper || (c >= 'A' && c <= 'Z');
    }
    if (i == 0 || !str_is(target.at[0], STR_ALPHA) || target.len - i < 3 ||
        memcmp(target.at + i, "://", 3) != 0)
        return 0;
    return i;
}

/* unreserved, sub-delims, ":" and whole escapes (RFC 3986 3.2.1). */
static bool userinfo_valid(bt_str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.at[i];

        if (c == '%') {
            if (s.len - i < 3 || !str_is(s.at[i + 1], STR_HEX) || !str_is(s.at[i + 2], STR_HEX))
                return false;
            i += 2;
        } else if (!str_is(c, STR_ALPHA | STR_DIGIT) &&
                   memchr("-._~!$&'()*+,;=:", c, sizeof("-._~!$&'()*+,;=:") - 1) == NULL) {
            return false;
        }
    }
    return true;
}

/* Cut "user@" off the front of *text. */
static enum head_fault split_userinfo(bt_str *text, struct url *out)
{
    const char *mark = memchr(text->at, '@', text->len);

    if (mark == NULL)
        return FAULT_NONE;
    out->userinfo = str_span(text->at, mark);
    *text = str_span(mark + 1, text->at + text->len);
    return userinfo_valid(out->userinfo) ? FAULT_NONE : FAULT_TARGET_USER;
}

static enum head_fault parse_absolute(struct bt_arena *arena, bt_str target, struct url *out)
{
    const char *end = target.at + target.len, *at, *stop;
    struct authority authority;
    uint16_t default_port;
    enum head_fault fault;
    bt_str text;
    bool upper;

    out->form = URL_ABSOLUTE;
    out->scheme = (bt_str){target.at, scheme_len(target, &upper)};
    if (out->scheme.len == 0)
        return FAULT_TARGET;
    at = stop = target.at + out->scheme.len + 3;
    while (stop < end && *stop != '/' && *stop != '?' && *stop != '#')
        stop++;
    text = str_span(at, stop);
    out->path = str_span(stop, end);
    if ((fault = check_path(out->path)) != FAULT_NONE ||
        (fault = split_userinfo(&text, out)) != FAULT_NONE ||
        (fault = authority_parse(text, &authority)) != FAULT_NONE)
        return fault;
    default_port = url_default_port(out->scheme);
    set_host(out, &authority, default_port);
    if (!upper && out->userinfo.at == NULL && stop < end && *stop == '/' &&
        is_normal(text, &authority, default_port)) {
        out->host = authority.host;
        out->authority = text;
        out->text = target;
    } else {
        build(arena, &authority, out);
    }
    return FAULT_NONE;
}

enum head_fault url_parse(struct bt_arena *arena, enum method method, bt_str target,
                          struct url *out)
{
    enum head_fault fault;

    out->port = 0;
    out->host_is_addr = false;
    out->userinfo = BT_STR_NONE;
    out->scheme = out->host = out->authority = out->path = BT_STR("");
    out->text = target;
    if (target.len > HEAD_TARGET_MAX)
        return FAULT_TARGET_LONG;
    if (target.len == 0)
        return FAULT_TARGET;
    if (method == METHOD_CONNECT)
        return parse_connect(arena, target, out);
    if (target.at[0] == '/') {
        out->form = URL_ORIGIN;
        out->path = target;
        return check_path(target);
    }
    if (str_eq_literal(target, "*")) {
        out->form = URL_ASTERISK;
        out->path = target;
        return method == METHOD_OPTIONS ? FAULT_NONE : FAULT_TARGET_FORM;
    }
    fault = parse_absolute(arena, target, out);
    /* OPTIONS of a whole server: the last proxy sends "*" (RFC 9112 3.2.4). */
    if (fault == FAULT_NONE && method == METHOD_OPTIONS && target.at[target.len - 1] != '/' &&
        out->path.len == 1)
        out->path = BT_STR("*");
    return fault;
}

enum head_fault url_complete(struct bt_arena *arena, bt_str scheme, bt_str text, struct url *out)
{
    bool asterisk = str_eq_literal(out->path, "*");
    struct authority authority;

    if (authority_parse(text, &authority) != FAULT_NONE)
        return FAULT_HOST_BAD;
    if (asterisk)
        out->path = BT_STR("");
    out->scheme = scheme;
    set_host(out, &authority, url_default_port(scheme));
    build(arena, &authority, out);
    if (asterisk)
        out->path = BT_STR("*");
    return FAULT_NONE;
}
