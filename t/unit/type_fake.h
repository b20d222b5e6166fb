/* type_fake.h - an exchange for tests of ACL types: what it says is set by the test.
 *
 * The test includes the module's source, whose table is bt_module.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TYPE_FAKE_H
#define TYPE_FAKE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <string.h>

#include "base/addr.h"
#include "base/arena.h"
#include "base/str.h"
#include "bt_sets.h"
#include "bt_txn.h"
#include "conf/complain.h"

struct bt_txn {
    struct sockaddr_storage client, local, host;
    bool host_is_addr;
    bt_str method, scheme, name, port_name, reverse, url, path;
    const char *const *header; /* "Name", "value", ..., NULL; of the request and of the response */
    unsigned port;
    enum bt_match reversed, resolved; /* what bt_reverse() and bt_destination() return */
    const struct sockaddr *dest[4];
    struct sockaddr_storage dest_at[4];
    size_t dests;
    int reversals, resolutions; /* how often they were called */
    bt_str client_name, login;
    enum bt_match named; /* what bt_client_name() returns */
    int64_t connections;
};

const struct sockaddr *bt_client_addr(struct bt_txn *txn)
{
    return (struct sockaddr *)&txn->client;
}
const struct sockaddr *bt_local_addr(struct bt_txn *txn)
{
    return (struct sockaddr *)&txn->local;
}
bt_str bt_port_name(struct bt_txn *txn)
{
    return txn->port_name;
}
bt_str bt_method(struct bt_txn *txn)
{
    return txn->method;
}
bt_str bt_scheme(struct bt_txn *txn)
{
    return txn->scheme;
}
bt_str bt_host(struct bt_txn *txn)
{
    return txn->name;
}
unsigned bt_port(struct bt_txn *txn)
{
    return txn->port;
}
const struct sockaddr *bt_host_addr(struct bt_txn *txn)
{
    return txn->host_is_addr ? (struct sockaddr *)&txn->host : NULL;
}
enum bt_match bt_destination(struct bt_txn *txn, const struct sockaddr *const **addrs, size_t *n)
{
    txn->resolutions++;
    *addrs = txn->dest;
    *n = txn->dests;
    return txn->resolved;
}
enum bt_match bt_reverse(struct bt_txn *txn, bt_str *name)
{
    txn->reversals++;
    *name = txn->reverse;
    return txn->reversed;
}
enum bt_match bt_client_name(struct bt_txn *txn, bt_str *name)
{
    *name = txn->client_name;
    return txn->named;
}
int64_t bt_client_connections(struct bt_txn *txn)
{
    return txn->connections;
}
static bool connections_wanted __attribute__((unused));
void bt_client_connections_want(void)
{
    connections_wanted = true;
}
bt_str bt_url_login(struct bt_txn *txn)
{
    return txn->login;
}
bool bt_field_get(struct bt_txn *txn, bt_str name, bt_str arg, struct bt_value *out)
{
    (void)txn, (void)name, (void)arg, (void)out;
    return false;
}

bt_str bt_url(struct bt_txn *txn)
{
    return txn->url;
}
bt_str bt_path(struct bt_txn *txn)
{
    return txn->path;
}
bt_str bt_req_header(struct bt_txn *txn, bt_str name, size_t n)
{
    for (const char *const *at = txn->header; at != NULL && *at != NULL; at += 2)
        if (bt_str_eq_nocase(str_from(at[0]), name) && n-- == 0)
            return str_from(at[1]);
    return BT_STR_NONE;
}
bt_str bt_rep_header(struct bt_txn *txn, bt_str name, size_t n)
{
    return bt_req_header(txn, name, n);
}

static struct bt_arena *arena;
static struct bt_error err;

struct bt_arena *bt_txn_arena(struct bt_txn *txn)
{
    (void)txn;
    return arena;
}

static int conf_new(void **state)
{
    (void)state;
    arena = arena_new(8192);
    complain_init(&err, arena);
    return 0;
}

static int conf_free(void **state)
{
    (void)state;
    complain_fini(&err);
    arena_free(arena);
    return 0;
}

/* Values as of the n-th ACL: line n, columns from 1 on. */
static struct bt_acl_values values_of(uint32_t n, const char *text)
{
    bt_str whole = bt_str_copy(arena, str_from(text)), rest = whole, word;
    struct bt_word *words = bt_alloc(arena, 64 * sizeof *words);
    size_t count = 0;

    while (str_word(&rest, &word)) {
        assert_true(count < 64);
        words[count++] = (struct bt_word){.text = bt_str_copy(arena, word),
                                          .file = "test.conf",
                                          .line = n,
                                          .column = (uint32_t)(word.at - whole.at) + 1};
    }
    struct bt_args *line = bt_alloc(arena, sizeof *line);
    *line = (struct bt_args){words, count};
    if (count > 0 && str_eq_literal(words[0].text, "-n"))
        *line = (struct bt_args){words + 1, count - 1};
    return (struct bt_acl_values){bt_str_printf(arena, "acl%u", n), {words, count}, line, 1};
}

static const struct bt_acl_type *type_of(const char *name)
{
    for (size_t i = 0; i < bt_module.acl_types.n; i++) {
        bt_str rest = str_from(bt_module.acl_types.row[i].name), alias;
        while (str_word(&rest, &alias))
            if (bt_str_eq(alias, str_from(name)))
                return &bt_module.acl_types.row[i];
    }
    fail_msg("no type %s", name);
    return NULL;
}

/* A type compiled with one ACL for each text. */
struct compiled {
    const struct bt_acl_type *type;
    size_t n;
    void *what;
};
static inline struct compiled compile_n(const char *name, const char *const *text, size_t n)
{
    struct bt_acl_values *values = bt_alloc(arena, (n + 1) * sizeof *values);
    struct compiled made = {type_of(name), n, NULL};

    for (size_t i = 0; i < n; i++)
        values[i] = values_of((uint32_t)i + 1, text[i]);
    made.what = made.type->compile_all(values, n, arena, &err);
    return made;
}
#define compiled_of(name, ...)                                                                     \
    compile_n((name), (const char *const[]){__VA_ARGS__},                                          \
              sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

/* The numbers of the ACLs that match, from 1 on: "1 3"; "wait", "broken". */
static inline const char *matches(struct compiled made, struct bt_txn *txn)
{
    uint64_t *bits = bt_alloc(arena, BT_BITS_WORDS(made.n) * sizeof *bits);
    struct str_builder text;

    str_builder_arena(&text, arena, 32);
    enum bt_match is = made.type->match_all(made.what, txn, bits);
    if (is == BT_WAIT)
        str_add_literal(&text, "wait ");
    if (is == BT_BROKEN)
        str_add_literal(&text, "broken ");
    for (size_t i = 0; i < made.n; i++)
        if (bt_bit_get(bits, i)) {
            str_add_uint(&text, i + 1);
            str_add_char(&text, ' ');
        }
    return str_trim(str_built(&text)).len == 0 ? ""
                                               : bt_str_copy(arena, str_trim(str_built(&text))).at;
}

static bool said(uint32_t line, uint32_t column, bool fault, const char *text)
{
    for (size_t i = 0; i < err.n; i++)
        if (err.list[i].line == line && err.list[i].column == column &&
            err.list[i].fault == fault && strstr(err.list[i].text, text) != NULL)
            return true;
    for (size_t i = 0; i < err.n; i++)
        print_message("# %u:%u %s: %s\n", err.list[i].line, err.list[i].column,
                      err.list[i].fault ? "error" : "warning", err.list[i].text);
    return false;
}

/* An ACL of one line, alone: does it match? */
static inline enum bt_match asked(const char *name, const char *text, struct bt_txn *txn)
{
    const struct bt_acl_type *type = type_of(name);

    if (type->compile_all != NULL) {
        struct bt_acl_values values = values_of(1, text);
        void *set = type->compile_all(&values, 1, arena, &err);
        uint64_t bits = 0;
        assert_non_null(set);
        enum bt_match said = type->match_all(set, txn, &bits);
        return (bits & 1) != 0 ? BT_YES : said == BT_YES ? BT_NO : said;
    }
    void *what = type->compile(values_of(1, text).args, arena, &err);

    assert_non_null(what);
    return type->match(what, txn);
}

/* A value that is refused at its place, with that text. */
static inline void refused(const char *name, const char *value, uint32_t column, const char *text)
{
    const struct bt_acl_type *type = type_of(name);
    struct bt_acl_values values = values_of(1, value);
    size_t before = err.faults;

    assert_null(type->compile_all != NULL ? type->compile_all(&values, 1, arena, &err)
                                          : type->compile(values.args, arena, &err));
    assert_int_equal(err.faults, before + 1);
    assert_true(said(1, column, true, text));
}

static inline struct sockaddr_storage address(const char *text, unsigned port)
{
    struct sockaddr_storage out;

    assert_true(addr_parse_sockaddr(str_from(text), port, &out));
    return out;
}

#endif
