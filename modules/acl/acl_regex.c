/* acl_regex.c - ACL types of regular expressions: over the URL, its path, its host, and headers.
 *
 *   acl ads url_regex -i ^http://ads? \.swf$
 *   acl robots browser bot +i Spider
 *   acl old req_header X-Version ^1\.
 *
 * -i folds case from there to the end of the line, +i stops that. URLs are looked at with one level
 * of escapes undone, so that %61ds is ads, when all their escapes are good; else as they are.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>
#include <sys/socket.h>

#include "bt.h"

/* The patterns of one line. */
struct patterns {
    bt_str header; /* req_header, rep_header: its name */
    bool no_dns;   /* dstdom_regex -n */
    size_t n;
    struct bt_regex *regex[];
};

static bool is(const struct bt_word *word, const char *text)
{
    return !word->quoted && word->text.len == strlen(text) &&
           memcmp(word->text.at, text, word->text.len) == 0;
}

/* ---- compiling ---- */

static struct patterns *patterns_compile(const struct bt_word *word, size_t n,
                                         struct bt_arena *arena, struct bt_error *err)
{
    struct patterns *all = bt_alloc(arena, sizeof *all + n * sizeof(struct bt_regex *));
    bool nocase = false, good = true;

    for (size_t i = 0; i < n; i++) {
        const char *why = "";
        size_t offset = 0;
        if (is(&word[i], "-i") || is(&word[i], "+i")) {
            nocase = word[i].text.at[0] == '-';
            continue;
        }
        struct bt_regex *regex = bt_regex_new(arena, word[i].text, nocase, &why, &offset);
        if (regex == NULL)
            good = bt_complain(err, &word[i], "'%s': %s at byte %zu", word[i].text.at, why,
                               offset + 1);
        all->regex[all->n++] = regex;
    }
    return good ? all : NULL;
}

static void *plain_compile(struct bt_args args, struct bt_arena *arena, struct bt_error *err)
{
    return patterns_compile(args.word, args.n, arena, err);
}

static void *host_compile(struct bt_args args, struct bt_arena *arena, struct bt_error *err)
{
    size_t skip = args.n > 0 && is(&args.word[0], "-n") ? 1 : 0;
    struct patterns *all = patterns_compile(args.word + skip, args.n - skip, arena, err);

    if (all != NULL)
        all->no_dns = skip == 1;
    return all;
}

static void *header_compile(struct bt_args args, struct bt_arena *arena, struct bt_error *err)
{
    struct patterns *all = patterns_compile(args.word + 1, args.n - 1, arena, err);

    if (all != NULL)
        all->header = args.word[0].text;
    return all;
}

/* ---- matching ---- */

/* One pattern is enough; a broken one is not forgotten. */
static enum bt_match any(const struct patterns *all, bt_str text)
{
    enum bt_match said = BT_NO;

    for (size_t i = 0; i < all->n; i++) {
        enum bt_match now = bt_regex_match(all->regex[i], text);
        if (now == BT_YES)
            return BT_YES;
        if (now != BT_NO)
            said = BT_BROKEN;
    }
    return said;
}

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 32);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bt_str unescape(struct bt_txn *txn, bt_str text)
{
    if (text.len == 0 || memchr(text.at, '%', text.len) == NULL)
        return text;
    char *out = bt_alloc_raw(bt_txn_arena(txn), text.len);
    size_t n = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.at[i] != '%') {
            out[n++] = text.at[i];
            continue;
        }
        int high = i + 2 < text.len ? hex(text.at[i + 1]) : -1;
        int low = i + 2 < text.len ? hex(text.at[i + 2]) : -1;
        if (high < 0 || low < 0)
            return text;
        out[n++] = (char)(high * 16 + low);
        i += 2;
    }
    return (bt_str){out, n};
}

static enum bt_match url_match(const void *compiled, struct bt_txn *txn)
{
    return any(compiled, unescape(txn, bt_url(txn)));
}

static enum bt_match urlpath_match(const void *compiled, struct bt_txn *txn)
{
    bt_str path = bt_path(txn);

    return path.len == 0 ? BT_NO : any(compiled, unescape(txn, path));
}

/* As dstdomain: an address as it is written, then by its reverse name or as `none`. */
static enum bt_match host_match(const void *compiled, struct bt_txn *txn)
{
    const struct patterns *all = compiled;
    bt_str name = bt_host(txn);
    enum bt_match said = name.len == 0 ? BT_NO : any(all, name);

    if (said != BT_NO || all->no_dns || bt_host_addr(txn) == NULL)
        return said;
    said = bt_reverse(txn, &name);
    if (said == BT_WAIT)
        return BT_WAIT;
    return any(all, said == BT_YES ? name : BT_STR("none"));
}

/* One of the fields of that name. */
static enum bt_match field_match(const struct patterns *all, struct bt_txn *txn, bt_str name,
                                 bt_str (*get)(struct bt_txn *, bt_str, size_t))
{
    enum bt_match said = BT_NO;
    bt_str value;

    for (size_t n = 0; (value = get(txn, name, n)).at != NULL; n++) {
        enum bt_match now = any(all, value);
        if (now == BT_YES)
            return BT_YES;
        if (now != BT_NO)
            said = now;
    }
    return said;
}

static enum bt_match browser_match(const void *compiled, struct bt_txn *txn)
{
    return field_match(compiled, txn, BT_STR("User-Agent"), bt_req_header);
}

static enum bt_match referer_match(const void *compiled, struct bt_txn *txn)
{
    return field_match(compiled, txn, BT_STR("Referer"), bt_req_header);
}

static enum bt_match req_mime_match(const void *compiled, struct bt_txn *txn)
{
    return field_match(compiled, txn, BT_STR("Content-Type"), bt_req_header);
}

static enum bt_match rep_mime_match(const void *compiled, struct bt_txn *txn)
{
    return field_match(compiled, txn, BT_STR("Content-Type"), bt_rep_header);
}

static enum bt_match req_header_match(const void *compiled, struct bt_txn *txn)
{
    const struct patterns *all = compiled;
    return field_match(all, txn, all->header, bt_req_header);
}

static enum bt_match rep_header_match(const void *compiled, struct bt_txn *txn)
{
    const struct patterns *all = compiled;
    return field_match(all, txn, all->header, bt_rep_header);
}

/* ---- the module ---- */

#define TYPE(its_name, its_args, since, how, with, text)                                           \
    {                                                                                              \
        .name = its_name, .args = its_args, .doc = text, .earliest = since, .flags = BT_FOLDS,     \
        .compile = how, .match = with, .cost = 2                                                   \
    }

static const struct bt_acl_type types[] = {
    TYPE("url_regex", "regex...", BT_AT_REQUEST, plain_compile, url_match,
         "The URL matches; with its port when that is written, host:port for CONNECT."),
    TYPE("urlpath_regex", "regex...", BT_AT_REQUEST, plain_compile, urlpath_match,
         "The URL's path and query match."),
    {.name = "dstdom_regex",
     .args = "regex...",
     .doc = "The host of the URL matches; an address by its reverse name too, unless -n is given.",
     .earliest = BT_AT_REQUEST,
     .flags = BT_FOLDS | BT_NO_DNS,
     .compile = host_compile,
     .match = host_match,
     .cost = 2},
    TYPE("browser", "regex...", BT_AT_REQUEST, plain_compile, browser_match,
         "The User-Agent header matches."),
    TYPE("referer_regex", "regex...", BT_AT_REQUEST, plain_compile, referer_match,
         "The Referer header matches."),
    TYPE("req_mime_type", "regex...", BT_AT_REQUEST, plain_compile, req_mime_match,
         "The request's Content-Type matches."),
    TYPE("rep_mime_type", "regex...", BT_AT_RESPONSE, plain_compile, rep_mime_match,
         "The response's Content-Type matches."),
    TYPE("req_header", "word regex...", BT_AT_REQUEST, header_compile, req_header_match,
         "A header of the request matches: NAME, then patterns."),
    TYPE("rep_header", "word regex...", BT_AT_RESPONSE, header_compile, rep_header_match,
         "A header of the response matches: NAME, then patterns."),
};

BT_MODULE(acl_regex, "ACL types of regular expressions: URL, path, host and headers.",
          .acl_types = BT_ROWS(types));
