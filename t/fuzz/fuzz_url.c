/* fuzz_url.c - request targets: the normal form is one, and is what a rule may rely on.
 *
 * The first byte of the input chooses the method.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/addr.h"
#include "base/arena.h"
#include "fuzz.h"
#include "http/url.h"

static void check_host(const struct url *url)
{
    MUST(url->host.len > 0 && url->host.len <= 253 && url->authority.len >= url->host.len);
    MUST(url->host.at[url->host.len - 1] != '.' && url->host.at[0] != '.');
    for (size_t i = 0; i < url->host.len; i++) {
        char c = url->host.at[i];

        MUST(str_is(c, STR_DIGIT) || (c >= 'a' && c <= 'z') || c == '-' || c == '.' || c == '_' ||
             (c == ':' && url->host_is_addr));
    }
    if (url->host_is_addr) {
        char text[ADDR_TEXT];

        addr_print_sockaddr(&url->addr.any, text);
        MUST(bt_str_eq(str_from(text), url->host));
        MUST(addr_port(&url->addr.any) == url->port);
    } else {
        uint8_t bytes[16];

        MUST(!addr_parse_odd(url->host, bytes, NULL));
    }
    MUST(url_host_valid(url->authority));
}

static void check_same(const struct url *a, const struct url *b)
{
    MUST(a->form == b->form && a->port == b->port && a->host_is_addr == b->host_is_addr);
    MUST(bt_str_eq(a->scheme, b->scheme) && bt_str_eq(a->host, b->host));
    MUST(bt_str_eq(a->authority, b->authority) && bt_str_eq(a->text, b->text));
    MUST(b->userinfo.at == NULL);
}

static void check_clean(bt_str s)
{
    for (size_t i = 0; i < s.len; i++)
        MUST((uint8_t)s.at[i] > ' ' && s.at[i] != 0x7f && s.at[i] != '#');
}

/* What an intercepted request would become, taking the input for a Host field. */
static void complete(struct bt_arena *arena, bt_str host)
{
    struct url url;

    MUST(url_parse(arena, METHOD_GET, BT_STR("/path?q"), &url) == FAULT_NONE);
    if (url_complete(arena, BT_STR("http"), host, &url) != FAULT_NONE) {
        MUST(!url_host_valid(host));
        return;
    }
    MUST(url_host_valid(host));
    check_host(&url);
    check_clean(url.text);
    MUST(str_ends(url.text, BT_STR("/path?q")));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum method methods[] = {METHOD_GET, METHOD_CONNECT, METHOD_OPTIONS};
    static struct bt_arena *arena;
    enum head_fault fault;
    struct url url, again;
    enum method method;
    bt_str target;

    if (size == 0 || size > 20000)
        return 0;
    if (arena == NULL)
        arena = arena_new(4096);
    arena_reset(arena);
    method = methods[data[0] % 3];
    target = (bt_str){(const char *)data + 1, size - 1};
    complete(arena, target);
    fault = url_parse(arena, method, target, &url);
    MUST(url_parse(NULL, method, target, &again) == fault);
    if (fault != FAULT_NONE)
        return 0;
    check_clean(url.text);
    check_clean(url.path);
    if (url.form == URL_ORIGIN || url.form == URL_ASTERISK)
        return 0;
    MUST((url.form == URL_AUTHORITY) == (method == METHOD_CONNECT));
    MUST(url.form == URL_AUTHORITY ? url.path.len == 0
                                   : url.path.at[0] == '/' || str_eq_literal(url.path, "*"));
    check_host(&url);
    MUST(url_parse(arena, method, url.text, &again) == FAULT_NONE);
    check_same(&url, &again);
    return 0;
}
