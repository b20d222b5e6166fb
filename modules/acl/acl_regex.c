/* acl_regex.c - ACL types of regular expressions: over the URL, its path, its host, and headers.
 *
 *   acl ads url_regex -i ^http://ads? \.swf$
 *   acl robots browser bot +i Spider
 *   acl old req_header X-Version ^1\.
 *
 * All patterns of a type that look at the same text are one set, asked once an exchange.
 *
 * -i folds case from there to the end of the line, +i stops that. URLs are looked at with one level
 * of escapes undone, so that %61ds is ads, when all their escapes are good; else as they are.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>
#include <sys/socket.h>

#include "bt.h"

/* All patterns that look at one text: of a type, or of a type and a header. */
struct look {
    bt_str header; /* req_header, rep_header: its name */
    struct bt_regexes *regexes;
    size_t told; /* of its patterns: looked at by explosions_tell() */
};
struct patterns {
    bool no_dns; /* dstdom_regex -n */
    size_t n;
    struct look look[];
};

static bool is(const struct bt_word *word, const char *text)
{
    return !word->quoted && word->text.len == strlen(text) &&
           memcmp(word->text.at, text, word->text.len) == 0;
}

/* ---- compiling ---- */

static bool line_add(struct bt_regexes *to, uint32_t owner, const struct bt_word *word, size_t n,
                     struct bt_error *err)
{
    bool nocase = false, good = true;

    for (size_t i = 0; i < n; i++) {
        const char *why = "";
        size_t offset = 0;
        if (is(&word[i], "-i") || is(&word[i], "+i"))
            nocase = word[i].text.at[0] == '-';
        else if (!bt_regexes_add(to, word[i].text, nocase, owner, &why, &offset))
            good = bt_complain(err, &word[i], "'%s': %s at byte %zu", word[i].text.at, why,
                               offset + 1);
    }
    return good;
}

static size_t lines_of(const struct bt_acl_values *acl, size_t n)
{
    size_t lines = 0;

    for (size_t i = 0; i < n; i++)
        lines += acl[i].lines;
    return lines;
}

/* The look at that header; a new one when it is the first. */
static struct look *look_at(struct patterns *all, bt_str header, struct bt_arena *arena)
{
    for (size_t i = 0; i < all->n; i++)
        if (bt_str_eq_nocase(all->look[i].header, header))
            return &all->look[i];
    all->look[all->n] = (struct look){bt_str_copy(arena, header), bt_regexes_new(arena), 0};
    return &all->look[all->n++];
}

/* Patterns that some texts can make run for ever, in the order in which they were added. */
static void explosions_tell(struct patterns *all, const struct bt_acl_values *acl, size_t n,
                            bool headers, struct bt_error *err)
{
    enum { SAID_MAX = 20 };
    size_t said = 0;

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < acl[i].lines; k++) {
            const struct bt_args *line = &acl[i].line[k];
            if (headers && line->n == 0)
                continue;
            struct look *look = look_at(all, headers ? line->word[0].text : BT_STR_NONE, NULL);
            for (size_t w = headers ? 1 : 0; w < line->n && said < SAID_MAX; w++) {
                const struct bt_word *word = &line->word[w];
                if (is(word, "-i") || is(word, "+i") ||
                    !bt_regexes_may_explode(look->regexes, look->told++))
                    continue;
                said++;
                bt_caution(err, word,
                           "'%s' repeats what repeats: of some texts it cannot be told in the "
                           "steps that a worker can spend, and what asks it then denies",
                           word->text.at);
            }
        }
}

static struct patterns *all_compile(const struct bt_acl_values *acl, size_t n, bool headers,
                                    struct bt_arena *arena, struct bt_error *err)
{
    struct patterns *all = bt_alloc(arena,
                                    sizeof *all + (lines_of(acl, n) + 1) * sizeof(struct look));
    bool good = true;

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < acl[i].lines; k++) {
            const struct bt_args *line = &acl[i].line[k];
            size_t from = headers ? 1 : 0;
            bt_str header = headers && line->n > 0 ? line->word[0].text : BT_STR_NONE;
            if (line->n >= from)
                good &= line_add(look_at(all, header, arena)->regexes, (uint32_t)i,
                                 line->word + from, line->n - from, err);
        }
    if (!good)
        return NULL;
    for (size_t i = 0; i < all->n; i++)
        bt_regexes_seal(all->look[i].regexes);
    explosions_tell(all, acl, n, headers, err);
    return all;
}

static void *plain_compile(const struct bt_acl_values *acl, size_t n, struct bt_arena *arena,
                           struct bt_error *err)
{
    return all_compile(acl, n, false, arena, err);
}

static void *host_compile(const struct bt_acl_values *acl, size_t n, struct bt_arena *arena,
                          struct bt_error *err)
{
    struct patterns *all = all_compile(acl, n, false, arena, err);

    /* All ACLs with -n are compiled together, and it stands first in each. */
    if (all != NULL)
        all->no_dns = n > 0 && acl[0].args.n > 0 && is(&acl[0].args.word[0], "-n");
    return all;
}

static void *header_compile(const struct bt_acl_values *acl, size_t n, struct bt_arena *arena,
                            struct bt_error *err)
{
    return all_compile(acl, n, true, arena, err);
}

/* ---- matching ---- */

/* Two looks are as good as the worse of them: BROKEN only when one is. */
static enum bt_match worse(enum bt_match one, enum bt_match other)
{
    return one == BT_BROKEN || other == BT_BROKEN ? BT_BROKEN : BT_YES;
}

static enum bt_match any(const struct patterns *all, bt_str text, uint64_t *bits)
{
    return all->n == 0 ? BT_YES : bt_regexes_find(all->look[0].regexes, text, bits);
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

static enum bt_match url_match(const void *compiled, struct bt_txn *txn, uint64_t *bits)
{
    return any(compiled, unescape(txn, bt_url(txn)), bits);
}

static enum bt_match urlpath_match(const void *compiled, struct bt_txn *txn, uint64_t *bits)
{
    bt_str path = bt_path(txn);

    return path.len == 0 ? BT_YES : any(compiled, unescape(txn, path), bits);
}

/* As dstdomain: an address as it is written, then by its reverse name or as `none`. */
static enum bt_match host_match(const void *compiled, struct bt_txn *txn, uint64_t *bits)
{
    const struct patterns *all = compiled;
    bt_str name = bt_host(txn);
    enum bt_match said = name.len == 0 ? BT_YES : any(all, name, bits);

    if (all->no_dns || bt_host_addr(txn) == NULL)
        return said;
    enum bt_match reverse = bt_reverse(txn, &name);
    if (reverse == BT_WAIT)
        return BT_WAIT;
    return worse(said, any(all, reverse == BT_YES ? name : BT_STR("none"), bits));
}

/* The reverse name of the client, or `none`. */
static enum bt_match client_match(const void *compiled, struct bt_txn *txn, uint64_t *bits)
{
    bt_str name;
    enum bt_match said = bt_client_name(txn, &name);

    if (said == BT_WAIT)
        return BT_WAIT;
    return any(compiled, said == BT_YES ? name : BT_STR("none"), bits);
}

static enum bt_match login_match(const void *compiled, struct bt_txn *txn, uint64_t *bits)
{
    bt_str login = bt_url_login(txn);

    return login.at == NULL ? BT_YES : any(compiled, unescape(txn, login), bits);
}

/* Whoever chooses parents has a field of that name. */
static enum bt_match peer_match(const void *compiled, struct bt_txn *txn, uint64_t *bits)
{
    struct bt_value name;

    if (!bt_field_get(txn, BT_STR("peer.name"), BT_STR_NONE, &name))
        return BT_YES;
    return any(compiled, name.text, bits);
}

/* Each of the fields of that name. */
static enum bt_match field_match(const struct look *look, struct bt_txn *txn, bt_str name,
                                 bt_str (*get)(struct bt_txn *, bt_str, size_t), uint64_t *bits)
{
    enum bt_match said = BT_YES;
    bt_str value;

    for (size_t n = 0; (value = get(txn, name, n)).at != NULL; n++)
        said = worse(said, bt_regexes_find(look->regexes, value, bits));
    return said;
}

static enum bt_match one_field(const struct patterns *all, struct bt_txn *txn, bt_str name,
                               bt_str (*get)(struct bt_txn *, bt_str, size_t), uint64_t *bits)
{
    return all->n == 0 ? BT_YES : field_match(&all->look[0], txn, name, get, bits);
}

static enum bt_match browser_match(const void *compiled, struct bt_txn *txn, uint64_t *bits)
{
    return one_field(compiled, txn, BT_STR("User-Agent"), bt_req_header, bits);
}

static enum bt_match referer_match(const void *compiled, struct bt_txn *txn, uint64_t *bits)
{
    return one_field(compiled, txn, BT_STR("Referer"), bt_req_header, bits);
}

static enum bt_match req_mime_match(const void *compiled, struct bt_txn *txn, uint64_t *bits)
{
    return one_field(compiled, txn, BT_STR("Content-Type"), bt_req_header, bits);
}

static enum bt_match rep_mime_match(const void *compiled, struct bt_txn *txn, uint64_t *bits)
{
    return one_field(compiled, txn, BT_STR("Content-Type"), bt_rep_header, bits);
}

static enum bt_match req_header_match(const void *compiled, struct bt_txn *txn, uint64_t *bits)
{
    const struct patterns *all = compiled;
    enum bt_match said = BT_YES;

    for (size_t i = 0; i < all->n; i++)
        said = worse(said,
                     field_match(&all->look[i], txn, all->look[i].header, bt_req_header, bits));
    return said;
}

static enum bt_match rep_header_match(const void *compiled, struct bt_txn *txn, uint64_t *bits)
{
    const struct patterns *all = compiled;
    enum bt_match said = BT_YES;

    for (size_t i = 0; i < all->n; i++)
        said = worse(said,
                     field_match(&all->look[i], txn, all->look[i].header, bt_rep_header, bits));
    return said;
}

/* ---- the module ---- */

#define TYPE(its_name, its_args, since, how, with, text)                                           \
    {                                                                                              \
        .name = its_name, .args = its_args, .doc = text, .earliest = since,                        \
        .flags = BT_FOLDS | BT_SETS | BT_ANEW_WORDLESS, .compile_all = how, .match_all = with,     \
        .cost = 2                                                                                  \
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
     .flags = BT_FOLDS | BT_NO_DNS | BT_SETS | BT_ANEW_WORDLESS,
     .compile_all = host_compile,
     .match_all = host_match,
     .cost = 2},
    {.name = "srcdom_regex",
     .args = "regex...",
     .doc = "The reverse name of the client's address, or `none`, matches.",
     .earliest = BT_AT_ACCEPT,
     .flags = BT_FOLDS | BT_SLOW | BT_SETS | BT_ANEW_WORDLESS,
     .compile_all = plain_compile,
     .match_all = client_match,
     .cost = 3},
    TYPE("urllogin", "regex...", BT_AT_REQUEST, plain_compile, login_match,
         "The user info of the URL (http://USER:PASSWORD@host/) matches."),
    {.name = "peername_regex",
     .args = "regex...",
     .doc = "The name of the parent that the request goes to matches.",
     .earliest = BT_AT_UPSTREAM,
     .flags = BT_FOLDS | BT_FRESH | BT_ANEW_WORDLESS,
     .compile_all = plain_compile,
     .match_all = peer_match,
     .cost = 2},
    TYPE("browser", "pattern...", BT_AT_REQUEST, plain_compile, browser_match,
         "The User-Agent header matches."),
    TYPE("referer_regex", "regex...", BT_AT_REQUEST, plain_compile, referer_match,
         "The Referer header matches."),
    TYPE("req_mime_type", "regex...", BT_AT_REQUEST, plain_compile, req_mime_match,
         "The request's Content-Type matches."),
    TYPE("rep_mime_type", "regex...", BT_AT_RESPONSE, plain_compile, rep_mime_match,
         "The response's Content-Type matches."),
    TYPE("req_header", "word pattern...", BT_AT_REQUEST, header_compile, req_header_match,
         "A header of the request matches: NAME, then patterns."),
    TYPE("rep_header", "word pattern...", BT_AT_RESPONSE, header_compile, rep_header_match,
         "A header of the response matches: NAME, then patterns."),
};

BT_MODULE(acl_regex, "ACL types of regular expressions: URL, path, host and headers.",
          .acl_types = BT_ROWS(types));
