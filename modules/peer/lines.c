/* lines.c - cache_peer and cache_peer_access, as they are written.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "lines.h"

#include <stdio.h>
#include <stdlib.h>

#include "peer.h"

/* ---- rows ---- */

#define VALUE(its_name, grammar, otherwise, field, text)                                           \
    {                                                                                              \
        .name = its_name, .args = grammar, .preset = otherwise, .doc = text,                       \
        .offset = offsetof(struct lines_options, field)                                            \
    }
#define FLAG(its_name, field, text) VALUE(its_name, NULL, NULL, field, text)
#define SPELT(its_name, old, oldest, grammar, field, text)                                         \
    VALUE(its_name, grammar, NULL, field, text),                                                   \
        VALUE(old, grammar, NULL, field, "As " its_name "."),                                      \
        VALUE(oldest, grammar, NULL, field, "As " its_name ".")
/* Of ICP, HTCP, digests and old versions. */
#define GONE(its_name, grammar)                                                                    \
    {                                                                                              \
        .name = its_name, .args = grammar,                                                         \
        .doc = "Accepted without effect: parents are asked by HTTP alone.",                        \
        .offset = offsetof(struct lines_options, no_effect)                                        \
    }
#define IGNORED(its_name, grammar, text)                                                           \
    {                                                                                              \
        .name = its_name, .args = grammar, .doc = text, .status = BT_IGNORED                       \
    }

const struct bt_option lines_options[LINES_OPTIONS] = {
    VALUE(
        "name", "word", NULL, name,
        "Its name in other lines and in logs; the host's when it is not given. Each has its own."),
    FLAG("default", by_default, "The last resort, when no other parent can be asked."),
    FLAG(
        "originserver", originserver,
        "It is no proxy but the web server itself: it gets paths, and Host says whom they are for."),
    FLAG("round-robin", round_robin, "Asked in turn with the others that say so, by weight."),
    FLAG("weighted-round-robin", weighted,
         "In turn, too; a turn with one that answers slowly counts for more."),
    FLAG("carp", carp, "By a hash of the URL: each URL has one of the parents that say so."),
    VALUE("carp-key", "word", NULL, carp_key,
          "Of these parts of the URL alone: scheme, host, port, path, params; with commas."),
    FLAG("sourcehash", sourcehash, "By a hash of the client's address."),
    FLAG("userhash", userhash, "By a hash of the user's name; not for who has none."),
    VALUE("weight", "int(1..)", "1", weight, "Its share of round-robin and of hashes."),
    VALUE("basetime", "int(0..)", "0", basetime,
          "Milliseconds taken off the time that it answers in (weighted-round-robin)."),
    VALUE(
        "max-conn", "int(0..)", "0", max_conn,
        "Connections to it that may be open, of all workers together, idle ones included; when there are "
        "so many, the next way is tried. 0: no limit."),
    VALUE("standby", "int(0..)", "0", standby,
          "Idle connections that each worker keeps ready ahead of requests."),
    VALUE("connect-timeout", "int(1..)", "1", connect_timeout,
          "Seconds that connecting to it may take; peer_connect_timeout when it is not given."),
    VALUE("connect-fail-limit", "int(1..)", "10", fail_limit,
          "After so many failures in a row (no connection, no answer, garbage) it is left out, and "
          "probed until it is back."),
    VALUE(
        "login", "word", NULL, login,
        "What it gets to log in with: user:password (%xx for odd bytes), *:password for the user's name "
        "with that password, PASS (the client's own login, or an external ACL's), PASSTHRU (what "
        "the client sent, whatever it is), PROXYPASS (the client's login with us, for an originserver)."),
    FLAG("proxy-only", proxy_only, "What it answers is not cached here."),
    FLAG("no-delay", no_delay, "What it answers does not count in delay pools."),
    VALUE("forceddomain", "word", NULL, forceddomain,
          "What Host says to it, whatever the URL says."),
    VALUE("connection-auth", "on|off|auto", "auto", connection_auth,
          "off: logins that are bound to a connection (NTLM) are not offered through it."),
    VALUE("front-end-https", "[word]", NULL, front_end_https,
          "Sends Front-End-Https: On; auto: when the URL is https."),
    VALUE(
        "health-url", "word", NULL, health_url,
        "A URL that is fetched through it now and then: after two answers that are none, or not of 200 to "
        "399, it is left out until one is."),
    VALUE("health-interval", "int(1..)", "10", health_interval, "Seconds from one to the next."),
    VALUE("proxy-protocol", "none|v2", "none", proxy_protocol,
          "v2: each connection begins with a PROXY header that says who the client is."),
    FLAG("tls", tls, "It is spoken with over TLS."),
    FLAG("ssl", ssl, "As tls."),
    SPELT(
        "tls-cert", "sslcert", "cert", "path", cert,
        "PEM file: a certificate to show to it. This and what follows is as in tls_outgoing_options."),
    SPELT("tls-key", "sslkey", "key", "path", key, "PEM file: its key, when it is not in there."),
    SPELT("tls-cipher", "sslcipher", "cipher", "word", cipher, "Ciphers, as OpenSSL writes them."),
    SPELT("tls-options", "ssloptions", "options", "word", options, "Words of OpenSSL."),
    SPELT("tls-cafile", "sslcafile", "cafile", "path", cafile,
          "PEM file: authorities to trust, beside the system's."),
    SPELT("tls-capath", "sslcapath", "capath", "path", capath,
          "The same, a folder with hashed names."),
    SPELT("tls-crlfile", "sslcrlfile", "crlfile", "path", crlfile, "PEM file: revocation lists."),
    SPELT("tls-flags", "sslflags", "flags", "word", flags,
          "DONT_VERIFY_PEER, DONT_VERIFY_DOMAIN, NO_DEFAULT_CA, VERIFY_CRL, ..."),
    SPELT("tls-domain", "ssldomain", "domain", "word", domain,
          "The name that its certificate must be for, instead of its host's."),
    VALUE("tls-default-ca", "[word]", NULL, default_ca,
          "off: the system's authorities do not count."),
    VALUE("tls-min-version", "1.0|1.1|1.2|1.3", "1.2", min_version,
          "Oldest version that is spoken."),
    VALUE("sslversion", "int(1..6)", NULL, version,
          "Old: 4, 5, 6: only TLS 1.0, 1.1, 1.2; 1: any."),
    GONE("tls-no-npn", NULL),
    FLAG("no-query", no_query, "It is not asked by ICP; nobody is, so this is implied."),
    GONE("no-digest", NULL),
    GONE("no-netdb-exchange", NULL),
    GONE("closest-only", NULL),
    GONE("allow-miss", NULL),
    GONE("no-tproxy", NULL),
    GONE("background-ping", NULL),
    GONE("multicast-responder", NULL),
    GONE("multicast-siblings", NULL),
    GONE("htcp-oldsquid", NULL),
    IGNORED("auth-no-keytab", NULL, "Of login=NEGOTIATE."),
    IGNORED("digest-url", "word", "There are no cache digests."),
    IGNORED("htcp", "[word]", "There is no HTCP."),
    IGNORED("ttl", "int(0..255)", "There is no multicast."),
    IGNORED("monitorurl", "word", "Write health-url."),
    IGNORED("monitorsize", "word", "Write health-url."),
    IGNORED("monitorinterval", "int(0..)", "Write health-interval."),
    IGNORED("monitortimeout", "int(0..)", "Write health-interval."),
};

/* ---- words ---- */

static bool starts(bt_str text, const char *with)
{
    size_t len = strlen(with);

    return text.len >= len && memcmp(text.at, with, len) == 0;
}

/* An option of a line as a word, for complaints; the place is right for lines that no backslash joins. */
static struct bt_word option_word(const struct bt_line *line, const char *name)
{
    struct bt_word word = line->args.word[0];
    const char *at = line->text.at, *end = at + line->text.len;
    size_t len = strlen(name);

    while (at < end) {
        while (at < end && (*at == ' ' || *at == '\t'))
            at++;
        if ((size_t)(end - at) > len && memcmp(at, name, len) == 0) {
            const char *stop = at;
            while (stop < end && *stop != ' ' && *stop != '\t')
                stop++;
            word.column += (uint32_t)(at - line->text.at);
            word.text = bt_str_copy(line->arena, (bt_str){at + len, (size_t)(stop - at) - len});
            return word;
        }
        while (at < end && *at != ' ' && *at != '\t')
            at++;
    }
    return word;
}

static int hex(char c)
{
    return c >= '0' && c <= '9'                     ? c - '0'
           : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
                                                    : -1;
}

/* %20 and the like; %% is a percent sign. */
static bt_str unescape(struct bt_arena *arena, bt_str text)
{
    char *out = bt_alloc_raw(arena, text.len + 1), *at = out;

    for (size_t i = 0; i < text.len; i++) {
        int high = text.at[i] == '%' && i + 2 < text.len ? hex(text.at[i + 1]) : -1;
        int low = high >= 0 ? hex(text.at[i + 2]) : -1;
        if (low >= 0)
            *at++ = (char)(high * 16 + low);
        else
            *at++ = text.at[i];
        if (low >= 0)
            i += 2;
        else if (text.at[i] == '%' && i + 1 < text.len && text.at[i + 1] == '%')
            i++;
    }
    *at = '\0';
    return (bt_str){out, (size_t)(at - out)};
}

/* ---- parts of a line ---- */

static bool login_read(struct peer *peer, const struct bt_line *line, bt_str login,
                       struct bt_error *err)
{
    struct bt_word at;

    if (login.at == NULL)
        return true;
    at = option_word(line, "login=");
    if (starts(login, "NEGOTIATE"))
        return bt_complain(
            err, &at,
            "login=NEGOTIATE (Kerberos towards a parent) is not built; let the parent "
            "allow this proxy by its address, or give it login=user:password");
    peer->parent.pass_login = peer->parent.login_by_user = true;
    if (peer_is(login, "PASS"))
        peer->login = LOGIN_PASS;
    else if (peer_is(login, "PASSTHRU"))
        peer->login = LOGIN_PASSTHRU;
    else if (peer_is(login, "PROXYPASS"))
        peer->login = LOGIN_PROXYPASS;
    else
        peer->parent.pass_login = false;
    if (peer->parent.pass_login)
        return true;
    login = unescape(line->arena, login);
    if (memchr(login.at, ':', login.len) == NULL)
        return bt_complain(err, &at,
                           "user:password, *:password, PASS, PASSTHRU or PROXYPASS expected");
    if (login.at[0] == '*') {
        peer->login = LOGIN_USER;
        peer->login_password = (bt_str){login.at + 1, login.len - 1};
        return true;
    }
    peer->login = LOGIN_FIXED;
    peer->parent.login_by_user = false;
    peer->login_line = login_line(line->arena, peer->parent.origin, login);
    return true;
}

static bool carp_key_read(struct peer *peer, const struct bt_line *line, bt_str key,
                          struct bt_error *err)
{
    static const char *const parts[] = {"scheme", "host", "port", "path", "params", NULL};
    struct bt_word at;
    size_t from = 0;

    if (key.at == NULL)
        return true;
    at = option_word(line, "carp-key=");
    for (size_t i = 0; i <= key.len; i++) {
        bt_str part = {key.at + from, i - from};
        unsigned k = 0;
        if (i < key.len && key.at[i] != ',')
            continue;
        while (parts[k] != NULL && !peer_is(part, parts[k]))
            k++;
        if (parts[k] == NULL) {
            const char *near = bt_nearest(part, parts);
            return bt_complain(err, &at, "'%.*s' is no part of a URL: %s%s%s", BT_STR_ARGS(part),
                               near != NULL ? "did you mean '"
                                            : "scheme, host, port, path or params",
                               near != NULL ? near : "", near != NULL ? "'?" : "");
        }
        peer->carp_key |= 1u << k;
        from = i + 1;
    }
    return true;
}

static bool front_end_read(struct peer *peer, const struct bt_line *line, bt_str said,
                           struct bt_error *err)
{
    struct bt_word at;

    if (said.at == NULL)
        return true;
    peer->parent.says_https = said.len == 0 || peer_is(said, "on");
    peer->parent.says_if_https = peer_is(said, "auto");
    if (peer->parent.says_https || peer->parent.says_if_https || peer_is(said, "off"))
        return true;
    at = option_word(line, "front-end-https=");
    return bt_complain(err, &at, "on, off or auto expected");
}

static void tls_read(struct peer *peer, const struct bt_line *line, const struct lines_options *o)
{
    static const char *const versions[] = {"1.0", "1.1", "1.2", "1.3"};
    struct bt_parent_tls *tls;

    if (!o->tls && !o->ssl)
        return;
    tls = bt_alloc(line->arena, sizeof *tls);
    *tls = (struct bt_parent_tls){.at = &line->args.word[0],
                                  .cert = o->cert,
                                  .key = o->key,
                                  .cipher = o->cipher,
                                  .options = o->options,
                                  .cafile = o->cafile,
                                  .capath = o->capath,
                                  .crlfile = o->crlfile,
                                  .flags = o->flags,
                                  .domain = o->domain,
                                  .version = o->version,
                                  .default_ca = !peer_is(o->default_ca, "off")};
    tls->min_version = (bt_str){versions[o->min_version], 3};
    peer->parent.tls = tls;
}

static bool name_read(struct peer_conf *conf, struct peer *peer, const struct bt_line *line,
                      bt_str name, struct bt_error *err)
{
    struct bt_word given = option_word(line, "name=");
    const struct bt_word *at = name.at != NULL ? &given : &line->args.word[0];

    peer->parent.name = name.at != NULL ? name : line->args.word[0].text;
    if (peer_find(conf, peer->parent.name) != NULL)
        return bt_complain(err, at,
                           "there is a parent named '%.*s' already: give each its own name=",
                           BT_STR_ARGS(peer->parent.name));
    return true;
}

static void type_read(struct peer_conf *conf, struct peer *peer, const struct bt_line *line,
                      const struct lines_options *o, struct bt_error *err)
{
    bt_str type = line->args.word[1].text;

    peer->type = peer_is(type, "parent")    ? PEER_PARENT
                 : peer_is(type, "sibling") ? PEER_SIBLING
                                            : PEER_MULTICAST;
    if (peer->type != PEER_PARENT) {
        if (!conf->told_sibling)
            bt_caution(err, &line->args.word[1],
                       "there is no ICP, by which a %s would say what it has: it is never asked",
                       type.at);
        conf->told_sibling = true;
        return;
    }
    if (!conf->told_icp && !o->no_query && !peer_is(line->args.word[3].text, "0") &&
        !peer_is(line->args.word[3].text, "7")) {
        bt_caution(err, &line->args.word[3],
                   "there is no ICP: parents are taken to be there until they fail (no-query)");
        conf->told_icp = true;
    }
}

static void peer_keep(struct peer_conf *conf, struct bt_arena *arena, struct peer *peer)
{
    if (conf->n == conf->room) {
        unsigned room = conf->room == 0 ? 16 : conf->room * 2;
        struct peer **more = bt_alloc(arena, room * sizeof(*more));
        if (conf->n > 0)
            memcpy(more, conf->peer, conf->n * sizeof(*more));
        conf->peer = more;
        conf->room = room;
    }
    peer->number = conf->n;
    conf->peer[conf->n++] = peer;
}

static const struct bt_parent_ops ops = {
    .login = login_lines,
    .tell = state_tell,
    .take = state_take,
    .give = state_give,
};

static void peer_fill(struct peer *peer, const struct bt_line *line, const struct lines_options *o)
{
    struct bt_parent *parent = &peer->parent;
    bool timeout = option_word(line, "connect-timeout=").column != line->args.word[0].column;

    peer->at = &line->args.word[0];
    parent->host = line->args.word[0].text;
    parent->port = (unsigned)strtoul(line->args.word[2].text.at, NULL, 10);
    parent->connect_timeout.ms = timeout ? o->connect_timeout * 1000 : 0;
    parent->origin = o->originserver;
    parent->domain = o->forceddomain;
    parent->no_bound_login = o->connection_auth == 1;
    parent->not_cached = o->proxy_only;
    parent->not_shaped = o->no_delay;
    parent->says_client = o->proxy_protocol == 1;
    parent->ops = &ops;
    parent->idle = &peer->idle;
    peer->by_default = o->by_default;
    peer->round_robin = o->round_robin;
    peer->weighted = o->weighted;
    peer->carp = o->carp;
    peer->sourcehash = o->sourcehash;
    peer->userhash = o->userhash;
    peer->weight = o->weight;
    peer->basetime_ms = o->basetime;
    peer->max_conn = o->max_conn;
    peer->fail_limit = o->fail_limit;
    peer->standby = o->standby;
    peer->health_url = o->health_url;
    peer->health_interval.ms = o->health_interval * 1000;
}

bool lines_peer(void *conf_, const struct bt_line *line, struct bt_error *err)
{
    struct peer_conf *conf = conf_;
    const struct lines_options *o = line->options;
    struct peer *peer = bt_alloc(line->arena, sizeof *peer);
    bool good;

    peer_fill(peer, line, o);
    tls_read(peer, line, o);
    type_read(conf, peer, line, o, err);
    good = name_read(conf, peer, line, o->name, err);
    good &= login_read(peer, line, o->login, err);
    good &= carp_key_read(peer, line, o->carp_key, err);
    good &= front_end_read(peer, line, o->front_end_https, err);
    if (peer->parent.port == 0 && peer->type == PEER_PARENT)
        good = bt_complain(err, &line->args.word[2], "a parent has a port of 1 to 65535");
    if (o->health_url.at != NULL && !starts(o->health_url, "http://")) {
        struct bt_word at = option_word(line, "health-url=");
        good = bt_complain(err, &at, "a whole URL, http://..., expected");
    }
    peer_keep(conf, line->arena, peer);
    if (peer->type == PEER_PARENT)
        bt_parent_add(&peer->parent);
    return good;
}

bool lines_access(void *conf_, const struct bt_line *line, struct bt_error *err)
{
    struct peer_conf *conf = conf_;
    const struct bt_word *name = &line->args.word[0];
    struct peer_access **at = &conf->access;

    (void)err;
    while (*at != NULL && !bt_str_eq((*at)->name->text, name->text))
        at = &(*at)->next;
    if (*at == NULL) {
        *at = bt_alloc(line->arena, sizeof **at);
        (*at)->name = name;
    }
    bt_rules_add(&(*at)->rules, line,
                 peer_is(line->args.word[1].text, "allow") ? BT_ALLOW : BT_DENY);
    return true;
}

/* ---- when all was read ---- */

static bool nobody(const struct peer_conf *conf, const struct bt_word *name, struct bt_error *err)
{
    const char **names = calloc(conf->n + 1, sizeof *names), *near;
    bool said;

    for (unsigned i = 0; names != NULL && i < conf->n; i++)
        names[i] = conf->peer[i]->parent.name.at;
    near = names != NULL ? bt_nearest(name->text, names) : NULL;
    said = bt_complain(err, name, "there is no parent named '%.*s'%s%s%s", BT_STR_ARGS(name->text),
                       near != NULL ? "; did you mean '" : "", near != NULL ? near : "",
                       near != NULL ? "'?" : "");
    free(names);
    return said;
}

bool lines_setup(struct peer_conf *conf, struct bt_error *err)
{
    bool good = true;

    for (struct peer_access *a = conf->access; a != NULL; a = a->next) {
        struct peer *peer = peer_find(conf, a->name->text);
        if (peer == NULL)
            good = nobody(conf, a->name, err);
        else
            peer->access = a->rules;
    }
    for (unsigned i = 0; i < conf->n; i++)
        if (conf->peer[i]->parent.connect_timeout.ms == 0)
            conf->peer[i]->parent.connect_timeout = conf->connect_timeout;
    return good;
}
