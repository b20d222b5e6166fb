/* acl.c - ACL types about TLS: who is asked for, how far ssl_bump has come, certificates and what is
 * wrong with them.
 *
 *   acl banks ssl::server_name .bank.example --consensus is a flag, see below
 *   acl first at_step SslBump1
 *   acl old ssl_error X509_V_ERR_CERT_HAS_EXPIRED
 *   acl staff user_cert O Example
 *
 * The server's name is what the client's hello says; the host of CONNECT while there is no hello, or
 * none in it; and once the origin's certificate is known, the names in that, and the client's when the
 * certificate covers it, so that nobody passes for somebody else by his hello. A name in a hello that is
 * no host name, and no name at all, is `none`. Names are never looked up.
 *
 * All answers change as a connection goes on, and are asked anew each time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "tls.h"

#include <arpa/inet.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/x509v3.h>

enum {
    NAMES_MAX = 1000, /* of one certificate; what comes behind them is not looked at */
    HOST_MAX = 255,
    COMPLAINTS_MAX = 20
};

static bool is(const struct bt_word *word, const char *text)
{
    return !word->quoted && !word->listed && word->text.len == strlen(text) &&
           memcmp(word->text.at, text, word->text.len) == 0;
}

/* ---- names of a certificate ---- */

struct tls_names {
    const X509 *cert; /* whose */
    size_t n;
    bt_str name[];
};

static bool name_char(unsigned char c)
{
    return c > ' ' && c < 127;
}

/* In lower case, a dot at the end taken off. NONE: no text that rules may be asked about. */
static bt_str name_keep(struct bt_arena *arena, const unsigned char *text, int len)
{
    char *copy;
    size_t n = len < 0 ? 0 : (size_t)len;

    if (n > 0 && text[n - 1] == '.')
        n--;
    if (n == 0 || n > HOST_MAX)
        return BT_STR_NONE;
    for (size_t i = 0; i < n; i++)
        if (!name_char(text[i]))
            return BT_STR_NONE;
    copy = bt_alloc_raw(arena, n + 1);
    for (size_t i = 0; i < n; i++)
        copy[i] = (char)(text[i] >= 'A' && text[i] <= 'Z' ? text[i] + 32 : text[i]);
    copy[n] = '\0';
    return (bt_str){copy, n};
}

static bt_str name_general(struct bt_arena *arena, const GENERAL_NAME *name)
{
    const ASN1_STRING *text = name->d.ia5;
    const unsigned char *bytes = ASN1_STRING_get0_data(text);
    int len = ASN1_STRING_length(text);
    char address[INET6_ADDRSTRLEN];

    if (name->type == GEN_DNS)
        return name_keep(arena, bytes, len);
    if (len != 4 && len != 16)
        return BT_STR_NONE;
    inet_ntop(len == 4 ? AF_INET : AF_INET6, bytes, address, sizeof address);
    return name_keep(arena, (const unsigned char *)address, (int)strlen(address));
}

static bt_str name_common(struct bt_arena *arena, const X509 *cert)
{
    X509_NAME *subject = X509_get_subject_name(cert);
    unsigned char *utf8 = NULL;
    bt_str name = BT_STR_NONE;
    int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1), len;

    if (at < 0)
        return name;
    len = ASN1_STRING_to_UTF8(&utf8, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
    if (len > 0)
        name = name_keep(arena, utf8, len);
    OPENSSL_free(utf8);
    return name;
}

/* Alternative names of hosts and addresses, or the common name where there are none of them. */
static const struct tls_names *names_make(struct bt_arena *arena, const X509 *cert)
{
    int found; /* -1: there are none at all */
    GENERAL_NAMES *all = X509_get_ext_d2i(cert, NID_subject_alt_name, &found, NULL);
    int n = sk_GENERAL_NAME_num(all), room = n < 1 ? 1 : n < NAMES_MAX ? n : NAMES_MAX;
    struct tls_names *names = bt_alloc_raw(arena,
                                           sizeof *names + (size_t)room * sizeof *names->name);
    bool any = all == NULL && found != -1; /* what cannot be read is not healed by another name */
    bt_str name;

    names->cert = cert;
    names->n = 0;
    for (int i = 0; i < n && names->n < (size_t)room; i++) {
        const GENERAL_NAME *one = sk_GENERAL_NAME_value(all, i);
        if (one->type != GEN_DNS && one->type != GEN_IPADD)
            continue;
        any = true;
        if ((name = name_general(arena, one)).len > 0)
            names->name[names->n++] = name;
    }
    if (!any && (name = name_common(arena, cert)).len > 0)
        names->name[names->n++] = name;
    GENERAL_NAMES_free(all);
    ERR_clear_error();
    return names;
}

/* NULL: nobody knows the origin's certificate. */
static const struct tls_names *names_of(struct tls_client *client)
{
    const X509 *cert = client->peer == NULL ? NULL : client->peer->cert;

    if (cert == NULL)
        return NULL;
    if (client->names == NULL || client->names->cert != cert)
        client->names = names_make(client->arena, cert);
    return client->names;
}

/* ---- ssl::server_name, ssl::server_name_regex ---- */

/* Whose word about the name counts. */
enum whose { WHOSE_ANY, WHOSE_CLIENT, WHOSE_SERVER, WHOSE_CONSENSUS, WHOSE_END };

static const char *const whose_flag[] = {"", "--client-requested", "--server-provided",
                                         "--consensus", NULL};

/* NONE: nobody is named, or in an odd way. */
static bt_str name_requested(struct bt_txn *txn, const struct tls_client *client)
{
    const struct hello *hello = client->hello;

    if (hello != NULL && hello->name != HELLO_NAME_NONE)
        return hello->name == HELLO_NAME_ODD ? BT_STR_NONE : hello->sni;
    bt_str host = bt_tls_connect_host(txn);
    return host.len > 0 ? host : bt_host(txn);
}

/* Each name that the server has is given to `each`, at least one. */
typedef void name_each(void *arg, bt_str name);

static void server_names(struct bt_txn *txn, enum whose whose, name_each *each, void *arg)
{
    struct tls_client *client = tls_client(txn);
    const struct tls_names *names = whose == WHOSE_CLIENT ? NULL : names_of(client);
    bt_str asked = name_requested(txn, client);
    size_t n = 0;

    if (whose == WHOSE_SERVER ||
        (names != NULL && asked.len > 0 && !verify_host(client->peer->cert, asked)))
        asked = BT_STR_NONE;
    ERR_clear_error();
    if (whose != WHOSE_CONSENSUS)
        for (; names != NULL && n < names->n; n++)
            each(arg, names->name[n]);
    if (asked.len > 0)
        each(arg, asked);
    else if (n == 0)
        each(arg, BT_STR("none"));
}

struct server_name {
    struct bt_domains *set[WHOSE_END];
    bool used[WHOSE_END];
};

/* A flag that stands in front of the names. END: this is none. */
static enum whose whose_take(const struct bt_word *word)
{
    for (int i = 1; i < WHOSE_END; i++)
        if (is(word, whose_flag[i]))
            return (enum whose)i;
    return WHOSE_END;
}

static bool is_flag(const struct bt_word *word)
{
    return !word->quoted && !word->listed && word->text.len > 2 &&
           memcmp(word->text.at, "--", 2) == 0;
}

/* The flag of all lines of an ACL. false: complained. */
static bool whose_of(const struct bt_acl_values *acl, enum whose *whose, struct bt_error *err)
{
    bool good = true, told = false;

    *whose = WHOSE_ANY;
    for (size_t i = 0; i < acl->args.n; i++) {
        const struct bt_word *word = &acl->args.word[i];
        enum whose said = whose_take(word);
        if (!is_flag(word))
            continue;
        if (said == WHOSE_END)
            good = bt_complain(err, word,
                               "'%s' is no flag: --client-requested, --server-provided or "
                               "--consensus",
                               word->text.at);
        else if (told && said != *whose)
            good = bt_complain(err, word, "ACL %.*s has another flag already",
                               BT_STR_ARGS(acl->name));
        else
            *whose = said;
        told = true;
    }
    return good;
}

static void value_look(const struct bt_word *at, struct bt_error *err, size_t *said)
{
    bt_str value = at->text;

    if (*said >= COMPLAINTS_MAX)
        return;
    if (value.len > 2 && memcmp(value.at, "*.", 2) == 0)
        bt_caution(err, at, "'%s' holds no names: write .%s for all below it", value.at,
                   value.at + 2);
    else if (value.len == 0 || memchr(value.at, '/', value.len) != NULL)
        bt_caution(err, at, "'%s' is no host name and never matches", value.at);
    else
        return;
    ++*said;
}

static void *server_name_compile(const struct bt_acl_values *acl, size_t n, struct bt_arena *arena,
                                 struct bt_error *err)
{
    struct server_name *all = bt_alloc(arena, sizeof *all);
    bool good = true;

    for (int i = 0; i < WHOSE_END; i++)
        all->set[i] = bt_domains_new(arena);
    for (size_t i = 0; i < n; i++) {
        enum whose whose;
        size_t said = 0;
        good &= whose_of(&acl[i], &whose, err);
        all->used[whose] = true;
        for (size_t k = 0; k < acl[i].args.n; k++) {
            const struct bt_word *word = &acl[i].args.word[k];
            if (is_flag(word))
                continue;
            value_look(word, err, &said);
            (void)bt_domains_add(all->set[whose], word->text, (uint32_t)i);
        }
    }
    for (int i = 0; i < WHOSE_END; i++)
        bt_domains_seal(all->set[i]);
    return good ? all : NULL;
}

struct found {
    const struct bt_domains *domains;
    const struct bt_regexes *regexes;
    uint64_t *bits;
    bool broken;
};

static void domain_find(void *arg, bt_str name)
{
    struct found *found = arg;

    bt_domains_find(found->domains, name, found->bits);
}

static enum bt_match server_name_match(const void *compiled, struct bt_txn *txn, uint64_t *bits)
{
    const struct server_name *all = compiled;

    for (int i = 0; i < WHOSE_END; i++) {
        struct found found = {.domains = all->set[i], .bits = bits};
        if (all->used[i])
            server_names(txn, (enum whose)i, domain_find, &found);
    }
    return BT_YES;
}

/* ---- ssl::server_name_regex ---- */

static bool regex_line(struct bt_regexes *to, uint32_t owner, const struct bt_args *line,
                       struct bt_error *err)
{
    bool nocase = false, good = true;

    for (size_t i = 0; i < line->n; i++) {
        const struct bt_word *word = &line->word[i];
        const char *why = "";
        size_t offset = 0;
        if (is(word, "-i") || is(word, "+i"))
            nocase = word->text.at[0] == '-';
        else if (!bt_regexes_add(to, word->text, nocase, owner, &why, &offset))
            good = bt_complain(err, word, "'%s': %s at byte %zu", word->text.at, why, offset + 1);
    }
    return good;
}

static void *regex_compile(const struct bt_acl_values *acl, size_t n, struct bt_arena *arena,
                           struct bt_error *err)
{
    struct bt_regexes *all = bt_regexes_new(arena);
    bool good = true;

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < acl[i].lines; k++)
            good &= regex_line(all, (uint32_t)i, &acl[i].line[k], err);
    if (!good)
        return NULL;
    bt_regexes_seal(all);
    return all;
}

static void regex_find(void *arg, bt_str name)
{
    struct found *found = arg;

    found->broken |= bt_regexes_find(found->regexes, name, found->bits) == BT_BROKEN;
}

static enum bt_match regex_match(const void *compiled, struct bt_txn *txn, uint64_t *bits)
{
    struct found found = {.regexes = compiled, .bits = bits};

    server_names(txn, WHOSE_ANY, regex_find, &found);
    return found.broken ? BT_BROKEN : BT_YES;
}

/* ---- at_step ---- */

enum { STEP_CONNECT = 4 }; /* SslBump1 to 3 are 1 to 3 */

static void *step_compile(struct bt_args args, struct bt_arena *arena, struct bt_error *err)
{
    static const char *const names[] = {"SslBump1", "SslBump2", "SslBump3", "GeneratingCONNECT",
                                        NULL};
    unsigned *steps = bt_alloc(arena, sizeof *steps);
    bool good = true;

    for (size_t i = 0; i < args.n; i++) {
        bt_str text = args.word[i].text;
        unsigned step = 0;
        while (names[step] != NULL &&
               !bt_str_eq_nocase(text, (bt_str){names[step], strlen(names[step])}))
            step++;
        if (names[step] == NULL)
            good = bt_complain(err, &args.word[i],
                               "'%s' is no step: SslBump1, SslBump2, SslBump3 or "
                               "GeneratingCONNECT",
                               text.at);
        *steps |= 1u << (step + 1);
    }
    return good ? steps : NULL;
}

/* Before ssl_bump is asked for the first time it is step 1; nothing here generates a CONNECT. */
static enum bt_match step_match(const void *compiled, struct bt_txn *txn)
{
    const unsigned *steps = compiled;
    int step = tls_client(txn)->step;

    return (*steps >> (step == 0 ? 1 : step) & 1) != 0 ? BT_YES : BT_NO;
}

/* ---- ssl_error ---- */

struct codes {
    size_t n;
    int code[];
};

/* Short words for what is often asked; as the predefined ACLs of the same names. */
static const struct {
    const char *name;
    int code[7]; /* 0 at the end */
} group[] = {
    {"ssl::certHasExpired", {X509_V_ERR_CERT_HAS_EXPIRED}},
    {"ssl::certNotYetValid", {X509_V_ERR_CERT_NOT_YET_VALID}},
    {"ssl::certDomainMismatch", {VERIFY_WRONG_HOST}},
    {"ssl::certUntrusted",
     {X509_V_ERR_INVALID_CA, X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN,
      X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT,
      X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY, X509_V_ERR_CERT_UNTRUSTED}},
    {"ssl::certSelfSigned", {X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT}},
};
enum { GROUPS = sizeof group / sizeof *group, GROUP_MAX = sizeof group->code / sizeof(int) };

static bool codes_add(struct codes *codes, const struct bt_word *word, struct bt_error *err)
{
    for (size_t i = 0; i < GROUPS; i++) {
        if (!bt_str_eq_nocase(word->text, (bt_str){group[i].name, strlen(group[i].name)}))
            continue;
        for (size_t k = 0; group[i].code[k] != 0; k++)
            codes->code[codes->n++] = group[i].code[k];
        return true;
    }
    int code = verify_code(word->text);
    if (code == -1)
        return bt_complain(err, word,
                           "'%s' is no fault of a certificate; their names are those of OpenSSL "
                           "(X509_V_ERR_CERT_HAS_EXPIRED), and SQUID_X509_V_ERR_DOMAIN_MISMATCH",
                           word->text.at);
    codes->code[codes->n++] = code;
    return true;
}

static void *error_compile(struct bt_args args, struct bt_arena *arena, struct bt_error *err)
{
    struct codes *codes = bt_alloc(arena, sizeof *codes + args.n * GROUP_MAX * sizeof(int));
    bool good = true;

    for (size_t i = 0; i < args.n; i++)
        good &= codes_add(codes, &args.word[i], err);
    return good ? codes : NULL;
}

static bool has_code(const struct codes *codes, int code)
{
    for (size_t i = 0; i < codes->n; i++)
        if (codes->code[i] == code)
            return true;
    return false;
}

/* The origin, as far as it is known. */
static const struct tls_peer *peer_known(struct bt_txn *txn)
{
    const struct tls_peer *peer = tls_client(txn)->peer;
    const struct bt_tls_side *side = peer == NULL ? bt_tls_origin(txn) : NULL;

    return side != NULL ? side->peer : peer;
}

/* The fault that is judged now; else any that the origin's certificate has. */
static enum bt_match error_match(const void *compiled, struct bt_txn *txn)
{
    const struct tls_peer *peer;

    if (tls_judged != NULL)
        return has_code(compiled, tls_judged->code) ? BT_YES : BT_NO;
    peer = peer_known(txn);
    for (unsigned i = 0; peer != NULL && i < peer->errors; i++)
        if (has_code(compiled, peer->error[i].code))
            return BT_YES;
    return BT_NO;
}

/* ---- server_cert_fingerprint ---- */

enum { SHA1_BYTES = 20, SHA256_BYTES = 32 };

struct prints {
    bool sha256;
    size_t n;
    uint8_t print[][SHA256_BYTES];
};

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 32);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Pairs of digits, with colons between them or without. */
static bool print_read(bt_str text, size_t bytes, uint8_t *out)
{
    size_t at = 0;

    for (size_t n = 0; n < bytes; n++) {
        int high = at < text.len ? digit(text.at[at]) : -1;
        int low = at + 1 < text.len ? digit(text.at[at + 1]) : -1;
        if (high < 0 || low < 0)
            return false;
        out[n] = (uint8_t)(high << 4 | low);
        at += 2;
        if (n + 1 < bytes && at < text.len && text.at[at] == ':')
            at++;
    }
    return at == text.len;
}

static void *print_compile(struct bt_args args, struct bt_arena *arena, struct bt_error *err)
{
    struct prints *all = bt_alloc(arena, sizeof *all + args.n * SHA256_BYTES);
    bool good = true;

    for (size_t i = 0; i < args.n; i++) {
        const struct bt_word *word = &args.word[i];
        if (i == 0 && (is(word, "-sha1") || is(word, "-sha256"))) {
            all->sha256 = word->text.len > 5;
            continue;
        }
        size_t bytes = all->sha256 ? SHA256_BYTES : SHA1_BYTES;
        if (!print_read(word->text, bytes, all->print[all->n++]))
            good = bt_complain(err, word,
                               "'%s' is no fingerprint: %zu pairs of digits (00:1F:...)%s",
                               word->text.at, bytes,
                               all->sha256 ? "" : "; in front of those of SHA-256 stands -sha256");
    }
    return good ? all : NULL;
}

static enum bt_match print_match(const void *compiled, struct bt_txn *txn)
{
    const struct prints *all = compiled;
    const struct tls_peer *peer = peer_known(txn);
    uint8_t now[EVP_MAX_MD_SIZE];
    const uint8_t *print = NULL;

    if (tls_judged_cert != NULL) {
        if (X509_digest(tls_judged_cert, all->sha256 ? EVP_sha256() : EVP_sha1(), now, NULL) == 1)
            print = now;
        ERR_clear_error();
    } else if (peer != NULL && peer->cert != NULL) {
        print = all->sha256 ? peer->sha256 : peer->sha1;
    }
    for (size_t i = 0; print != NULL && i < all->n; i++)
        if (memcmp(all->print[i], print, all->sha256 ? SHA256_BYTES : SHA1_BYTES) == 0)
            return BT_YES;
    return BT_NO;
}

/* ---- user_cert, ca_cert ---- */

struct attribute {
    int nid; /* 0: the whole name */
    struct bt_args values;
};

static void *attribute_compile(struct bt_args args, struct bt_arena *arena, struct bt_error *err)
{
    struct attribute *made = bt_alloc(arena, sizeof *made);
    const char *name = args.word[0].text.at;

    if (strcmp(name, "DN") != 0 && (made->nid = OBJ_txt2nid(name)) == NID_undef) {
        (void)bt_complain(err, &args.word[0],
                          "'%s' is no attribute of a certificate: DN, CN, O, OU, C, L, ST, "
                          "emailAddress, ...",
                          name);
        return NULL;
    }
    made->values = (struct bt_args){args.word + 1, args.n - 1};
    return made;
}

static bool attribute_has(const struct attribute *want, const char *text, size_t len)
{
    for (size_t i = 0; i < want->values.n; i++)
        if (bt_str_eq(want->values.word[i].text, (bt_str){text, len}))
            return true;
    return false;
}

static bool entry_has(const struct attribute *want, X509_NAME_ENTRY *entry)
{
    unsigned char *utf8 = NULL;
    int len = ASN1_STRING_to_UTF8(&utf8, X509_NAME_ENTRY_get_data(entry));
    bool has = len >= 0 && attribute_has(want, (const char *)utf8, (size_t)len);

    OPENSSL_free(utf8);
    ERR_clear_error();
    return has;
}

static bool name_has(const struct attribute *want, const X509_NAME *name)
{
    if (want->nid == NID_undef) {
        char *line = X509_NAME_oneline(name, NULL, 0);
        bool has = line != NULL && attribute_has(want, line, strlen(line));
        OPENSSL_free(line);
        return has;
    }
    for (int at = -1; (at = X509_NAME_get_index_by_NID(name, want->nid, at)) >= 0;)
        if (entry_has(want, X509_NAME_get_entry(name, at)))
            return true;
    return false;
}

/* The client's own certificate, when it has one that holds. */
static X509 *client_cert(struct bt_txn *txn)
{
    const struct bt_tls_side *side = bt_tls_client(txn);

    return side != NULL && SSL_get_verify_result(side->ssl) == X509_V_OK
               ? SSL_get0_peer_certificate(side->ssl)
               : NULL;
}

static enum bt_match user_match(const void *compiled, struct bt_txn *txn)
{
    const X509 *cert = client_cert(txn);

    return cert != NULL && name_has(compiled, X509_get_subject_name(cert)) ? BT_YES : BT_NO;
}

static enum bt_match ca_match(const void *compiled, struct bt_txn *txn)
{
    const X509 *cert = client_cert(txn);

    return cert != NULL && name_has(compiled, X509_get_issuer_name(cert)) ? BT_YES : BT_NO;
}

/* ---- the rows ---- */

const struct bt_acl_type tls_acl_types[TLS_ACL_TYPES] = {
    {.name = "ssl::server_name",
     .args = "word...",
     .doc = "The name that a TLS client asks for, or the host of CONNECT while there is none, or "
            "once the origin's certificate is known the names in it; .NAME holds all below, `none` "
            "stands for no name. With --client-requested, --server-provided or --consensus (both "
            "of them) in front, that alone counts.",
     .earliest = BT_AT_HELLO,
     .flags = BT_FRESH | BT_SETS | BT_ANEW_WORDLESS,
     .compile_all = server_name_compile,
     .match_all = server_name_match,
     .cost = 1},
    {.name = "ssl::server_name_regex",
     .args = "regex...",
     .doc = "A name as of ssl::server_name matches.",
     .earliest = BT_AT_HELLO,
     .flags = BT_FRESH | BT_FOLDS | BT_SETS | BT_ANEW_WORDLESS,
     .compile_all = regex_compile,
     .match_all = regex_match,
     .cost = 2},
    {.name = "at_step",
     .args = "word...",
     .doc = "How far looking into a TLS connection has come: SslBump1, SslBump2, SslBump3.",
     .earliest = BT_AT_ACCEPT,
     .flags = BT_FRESH | BT_ANEW,
     .compile = step_compile,
     .match = step_match},
    {.name = "ssl_error",
     .args = "word...",
     .doc = "The origin's certificate has one of these faults, by OpenSSL's names; in "
            "sslproxy_cert_error: the fault that is judged is one of these.",
     .earliest = BT_AT_ACCEPT,
     .flags = BT_FRESH | BT_ANEW,
     .compile = error_compile,
     .match = error_match},
    {.name = "server_cert_fingerprint",
     .args = "word...",
     .doc = "The origin's certificate has one of these fingerprints, of SHA-1, or of SHA-256 with "
            "-sha256 in front.",
     .earliest = BT_AT_ACCEPT,
     .flags = BT_FRESH | BT_ANEW_WORDLESS,
     .compile = print_compile,
     .match = print_match},
    {.name = "user_cert",
     .args = "word word...",
     .doc = "An attribute (CN, O, DN, ...) of the client's certificate has one of these values.",
     .earliest = BT_AT_ACCEPT,
     .compile = attribute_compile,
     .match = user_match},
    {.name = "ca_cert",
     .args = "word word...",
     .doc = "An attribute (CN, O, DN, ...) of the issuer of the client's certificate has one of "
            "these values.",
     .earliest = BT_AT_ACCEPT,
     .compile = attribute_compile,
     .match = ca_match},
};
