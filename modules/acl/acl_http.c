/* acl_http.c - ACL types that look at the request line: method, proto.
 *
 *   acl purge method PURGE
 *   acl plain proto HTTP FTP
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "acl_names.h"

static size_t count_values(const struct bt_acl_values *acl, size_t n)
{
    size_t sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += acl[i].args.n;
    return sum;
}

/* The entry of a list of names that is `word` but for case; NULL: none. */
static const char *canonical(bt_str word, const char *const *list)
{
    for (; *list != NULL; list++)
        if (bt_str_eq_nocase(word, (bt_str){*list, strlen(*list)}))
            return *list;
    return NULL;
}

/* ---- method ---- */

/* Methods are case-sensitive (RFC 9110 9.1), but who writes `get` here means GET. */
static const char *const methods[] = {
    "GET",       "HEAD",  "POST",     "PUT",        "DELETE", "CONNECT",  "OPTIONS",
    "TRACE",     "PATCH", "PURGE",    "SEARCH",     "REPORT", "PROPFIND", "PROPPATCH",
    "MKCOL",     "COPY",  "MOVE",     "LOCK",       "UNLOCK", "BMOVE",    "BDELETE",
    "BPROPFIND", "MERGE", "CHECKOUT", "MKACTIVITY", "QUERY",  NULL};

static bool method_valid(bt_str word)
{
    static const char others[] = "!#$%&'*+-.^_`|~";

    for (size_t i = 0; i < word.len; i++) {
        unsigned char c = (unsigned char)word.at[i], letter = c | 32;
        if ((letter < 'a' || letter > 'z') && (c < '0' || c > '9') && strchr(others, c) == NULL)
            return false;
    }
    return word.len > 0;
}

static void *method_compile(const struct bt_acl_values *acl, size_t n, struct bt_arena *arena,
                            struct bt_error *err)
{
    struct acl_name_row *row = bt_alloc(arena, (count_values(acl, n) + 1) * sizeof *row);
    size_t rows = 0;
    bool good = true;

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < acl[i].args.n; k++) {
            const struct bt_word *at = &acl[i].args.word[k];
            const char *known = canonical(at->text, methods);
            if (!method_valid(at->text))
                good = bt_complain(err, at, "'%s' cannot be a request method", at->text.at);
            row[rows].name = known == NULL ? at->text : (bt_str){known, strlen(known)};
            row[rows++].owner = (uint32_t)i;
        }
    return good ? acl_names_new(arena, row, rows, n) : NULL;
}

static enum bt_match method_match(const void *compiled, struct bt_txn *txn, uint64_t *bits)
{
    acl_names_find(compiled, bt_method(txn), bits);
    return BT_YES;
}

/* ---- proto ---- */

static const char *const protos[] = {"http", "https", "ftp",          "urn",  "coap", "coaps",
                                     "wais", "whois", "cache_object", "icp",  "htcp", "gopher",
                                     "icy",  "ws",    "wss",          "none", NULL};

static void *proto_compile(const struct bt_acl_values *acl, size_t n, struct bt_arena *arena,
                           struct bt_error *err)
{
    struct acl_name_row *row = bt_alloc(arena, (count_values(acl, n) + 1) * sizeof *row);
    size_t rows = 0;

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < acl[i].args.n; k++) {
            const struct bt_word *at = &acl[i].args.word[k];
            const char *known = canonical(at->text, protos);
            if (known == NULL)
                bt_caution(err, at, "no request has the scheme '%s': it never matches",
                           at->text.at);
            else if (strcmp(known, "cache_object") == 0)
                bt_caution(err, at,
                           "cache_object never matches; the predefined ACL manager is for "
                           "pages of the cache manager");
            else
                row[rows++] = (struct acl_name_row){{known, strlen(known)}, (uint32_t)i};
        }
    return acl_names_new(arena, row, rows, n);
}

static enum bt_match proto_match(const void *compiled, struct bt_txn *txn, uint64_t *bits)
{
    bt_str scheme = bt_scheme(txn);

    acl_names_find(compiled, scheme.len == 0 ? BT_STR("none") : scheme, bits);
    return BT_YES;
}

/* ---- the module ---- */

static const struct bt_acl_type types[] = {
    {.name = "method",
     .args = "word...",
     .doc = "The request's method is one of these.",
     .earliest = BT_AT_REQUEST,
     .compile_all = method_compile,
     .match_all = method_match,
     .flags = BT_ANEW},
    {.name = "proto",
     .args = "word...",
     .doc = "The scheme of the URL is one of these: HTTP, HTTPS, FTP; NONE: CONNECT has no scheme.",
     .earliest = BT_AT_REQUEST,
     .compile_all = proto_compile,
     .match_all = proto_match,
     .flags = BT_ANEW},
};

BT_MODULE(acl_http, "ACL types that look at the request line: method, proto.",
          .acl_types = BT_ROWS(types));
