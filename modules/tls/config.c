/* config.c - directives, and what their words mean: an OpenSSL context out of what ports and
 * tls_outgoing_options have in common.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <openssl/err.h>

#include "keylog.h"

/* ---- words ---- */

/* The next word of a list; false: that was all. */
static bool word_next(bt_str *rest, const char *separators, bt_str *word)
{
    size_t n = 0;

    while (rest->len > 0 && strchr(separators, rest->at[0]) != NULL && rest->at[0] != '\0') {
        rest->at++;
        rest->len--;
    }
    while (n < rest->len && (rest->at[n] == '\0' || strchr(separators, rest->at[n]) == NULL))
        n++;
    *word = (bt_str){rest->at, n};
    rest->at += n;
    rest->len -= n;
    return n > 0;
}

enum { MIN_VERSION = 2 }; /* the place of the preset */
static const char *const version_names[] = {"1.0", "1.1", "1.2", "1.3", NULL};

int config_version(bt_str text)
{
    for (int i = 0; version_names[i] != NULL; i++)
        if (bt_str_eq(text, (bt_str){version_names[i], 3}))
            return TLS1_VERSION + i;
    return 0;
}

static const struct option {
    const char *name;
    uint64_t bits; /* 0: OpenSSL has it no more, or does so anyway */
} options[] = {
    {"ALL", SSL_OP_ALL},
    {"NO_SSLv2", 0},
    {"NO_SSLv3", SSL_OP_NO_SSLv3},
    {"NO_TLSv1", SSL_OP_NO_TLSv1},
    {"NO_TLSv1_1", SSL_OP_NO_TLSv1_1},
    {"NO_TLSv1_2", SSL_OP_NO_TLSv1_2},
    {"NO_TLSv1_3", SSL_OP_NO_TLSv1_3},
    {"NO_TICKET", SSL_OP_NO_TICKET},
    {"NO_COMPRESSION", SSL_OP_NO_COMPRESSION},
    {"NO_RENEGOTIATION", SSL_OP_NO_RENEGOTIATION},
    {"NO_ENCRYPT_THEN_MAC", SSL_OP_NO_ENCRYPT_THEN_MAC},
    {"NO_SESSION_RESUMPTION_ON_RENEGOTIATION", SSL_OP_NO_SESSION_RESUMPTION_ON_RENEGOTIATION},
    {"CIPHER_SERVER_PREFERENCE", SSL_OP_CIPHER_SERVER_PREFERENCE},
    {"PRIORITIZE_CHACHA", SSL_OP_PRIORITIZE_CHACHA},
    {"LEGACY_SERVER_CONNECT", SSL_OP_LEGACY_SERVER_CONNECT},
    {"IGNORE_UNEXPECTED_EOF", SSL_OP_IGNORE_UNEXPECTED_EOF},
    {"DONT_INSERT_EMPTY_FRAGMENTS", SSL_OP_DONT_INSERT_EMPTY_FRAGMENTS},
    {"TLSEXT_PADDING", SSL_OP_TLSEXT_PADDING},
    {"CRYPTOPRO_TLSEXT_BUG", SSL_OP_CRYPTOPRO_TLSEXT_BUG},
    {"TLS_ROLLBACK_BUG", SSL_OP_TLS_ROLLBACK_BUG},
    {"SINGLE_DH_USE", 0},
    {"SINGLE_ECDH_USE", 0},
    {"EPHEMERAL_RSA", 0},
    {"MICROSOFT_SESS_ID_BUG", 0},
    {"MICROSOFT_BIG_SSLV3_BUFFER", 0},
    {"NETSCAPE_CHALLENGE_BUG", 0},
    {"NETSCAPE_REUSE_CIPHER_CHANGE_BUG", 0},
    {"NETSCAPE_CA_DN_BUG", 0},
    {"NETSCAPE_DEMO_CIPHER_CHANGE_BUG", 0},
    {"SSLREF2_REUSE_CERT_TYPE_BUG", 0},
    {"SSLEAY_080_CLIENT_DH_BUG", 0},
    {"TLS_D5_BUG", 0},
    {"TLS_BLOCK_PADDING_BUG", 0},
    {"PKCS1_CHECK_1", 0},
    {"PKCS1_CHECK_2", 0},
};
enum { OPTIONS = sizeof options / sizeof *options };

static bool option_number(bt_str word, uint64_t *bits)
{
    *bits = 0;
    if (word.len < 3 || word.len > 18 || word.at[0] != '0' || (word.at[1] | 0x20) != 'x')
        return false;
    for (size_t i = 2; i < word.len; i++) {
        char c = word.at[i];
        unsigned digit = c >= '0' && c <= '9' ? (unsigned)(c - '0')
                         : (c | 0x20) >= 'a' && (c | 0x20) <= 'f'
                             ? (unsigned)((c | 0x20) - 'a' + 10)
                             : 16;
        if (digit == 16)
            return false;
        *bits = *bits << 4 | digit;
    }
    return true;
}

static bool option_find(bt_str word, uint64_t *bits)
{
    bt_str bare = word;

    if (option_number(word, bits))
        return true;
    if (bare.len > 7 && memcmp(bare.at, "SSL_OP_", 7) == 0)
        bare = (bt_str){bare.at + 7, bare.len - 7};
    for (size_t i = 0; i < OPTIONS; i++)
        if (bt_str_eq_nocase(bare, (bt_str){options[i].name, strlen(options[i].name)})) {
            *bits = options[i].bits;
            return true;
        }
    return false;
}

/* To do without is never weaker than Squid, which does, too. */
static void option_unknown(const struct config_words *words, bt_str word, struct bt_error *err)
{
    const char *known[OPTIONS + 1] = {NULL}, *near;

    for (size_t i = 0; i < OPTIONS; i++)
        known[i] = options[i].name;
    near = bt_nearest(word, known);
    bt_caution(err, words->at, "%s: OpenSSL's option '%.*s' is not known, and ignored%s%s%s",
               words->what, BT_STR_ARGS(word), near != NULL ? "; did you mean '" : "",
               near != NULL ? near : "", near != NULL ? "'?" : "");
}

static void options_set(SSL_CTX *ctx, const struct config_words *words, struct bt_error *err)
{
    bt_str rest = words->options, word;
    uint64_t bits;

    while (word_next(&rest, ",:| ", &word)) {
        bool off = word.at[0] == '-' || word.at[0] == '!';

        if (off || word.at[0] == '+')
            word = (bt_str){word.at + 1, word.len - 1};
        if (!option_find(word, &bits)) {
            option_unknown(words, word, err);
            continue;
        }
        if ((bits & SSL_OP_IGNORE_UNEXPECTED_EOF) != 0)
            side_lenient(ctx, !off);
        bits &= ~(SSL_OP_IGNORE_UNEXPECTED_EOF | SSL_OP_NO_RENEGOTIATION);
        if (off)
            SSL_CTX_clear_options(ctx, bits);
        else
            SSL_CTX_set_options(ctx, bits);
    }
}

/* ---- flags ---- */

static const struct flag {
    const char *name;
    unsigned bit;
} flags[] = {
    {"DONT_VERIFY_PEER", CONFIG_DONT_VERIFY_PEER},
    {"DONT_VERIFY_DOMAIN", CONFIG_DONT_VERIFY_DOMAIN},
    {"NO_DEFAULT_CA", CONFIG_NO_DEFAULT_CA},
    {"DELAYED_AUTH", CONFIG_DELAYED_AUTH},
    {"CONDITIONAL_AUTH", CONFIG_CONDITIONAL_AUTH},
    {"NO_SESSION_REUSE", CONFIG_NO_SESSION_REUSE},
    {"VERIFY_CRL", CONFIG_VERIFY_CRL},
    {"VERIFY_CRL_ALL", CONFIG_VERIFY_CRL_ALL},
};
enum { FLAGS = sizeof flags / sizeof *flags };

bool config_flags(const struct config_words *words, unsigned allowed, unsigned *bits,
                  struct bt_error *err)
{
    bt_str rest = words->flags, word;
    const char *known[FLAGS + 1] = {NULL}, *near;
    size_t n = 0, i;
    bool good = true;

    *bits = 0;
    for (i = 0; i < FLAGS; i++)
        if ((flags[i].bit & allowed) != 0)
            known[n++] = flags[i].name;
    while (word_next(&rest, ",:| ", &word)) {
        for (i = 0; i < FLAGS; i++)
            if ((flags[i].bit & allowed) != 0 &&
                bt_str_eq_nocase(word, (bt_str){flags[i].name, strlen(flags[i].name)}))
                break;
        if (i < FLAGS) {
            *bits |= flags[i].bit;
            continue;
        }
        near = bt_nearest(word, known);
        good = bt_complain(err, words->at, "%s: the flag '%.*s' is not known here%s%s%s",
                           words->what, BT_STR_ARGS(word), near != NULL ? "; did you mean '" : "",
                           near != NULL ? near : "", near != NULL ? "'?" : "");
    }
    return good;
}

/* ---- a context ---- */

/* Why OpenSSL refused; its queue is empty then. */
static const char *reason(void)
{
    const char *text = ERR_reason_error_string(ERR_peek_error());

    ERR_clear_error();
    return text != NULL ? text : "OpenSSL does not say why";
}

static bool versions_set(SSL_CTX *ctx, const struct config_words *words, struct bt_error *err)
{
    int min = words->min_version.len > 0 ? config_version(words->min_version) : TLS1_2_VERSION;

    if (min == 0)
        return bt_complain(err, words->at, "%s: '%.*s' is no version of TLS; write 1.2 or 1.3",
                           words->what, BT_STR_ARGS(words->min_version));
    if (words->max_version != 0 && words->max_version < min)
        min = words->max_version;
    if (min < TLS1_2_VERSION) {
        bt_caution(err, words->at,
                   "%s: TLS 1.0 and 1.1 are broken, and OpenSSL speaks them only without its other "
                   "guards against weak keys; write 1.2 unless somebody cannot do without",
                   words->what);
        SSL_CTX_set_security_level(ctx, 0);
    }
    SSL_CTX_set_min_proto_version(ctx, min);
    SSL_CTX_set_max_proto_version(ctx, words->max_version);
    return true;
}

/* Names of TLS 1.3 begin with TLS_ and are set by a call of their own. */
static bool ciphers_set(SSL_CTX *ctx, const struct config_words *words, struct bt_error *err)
{
    bt_str rest = words->cipher, word;
    char old[1024] = "", new[1024] = "";

    if (words->cipher.len >= sizeof old)
        return bt_complain(err, words->at, "%s: the list of ciphers is too long", words->what);
    while (word_next(&rest, ": ", &word)) {
        char *list = word.len > 4 && memcmp(word.at, "TLS_", 4) == 0 ? new : old;

        if (list[0] != '\0')
            strcat(list, ":");
        strncat(list, word.at, word.len);
    }
    if ((old[0] == '\0' || SSL_CTX_set_cipher_list(ctx, old) == 1) &&
        (new[0] == '\0' || SSL_CTX_set_ciphersuites(ctx, new) == 1))
        return true;
    ERR_clear_error();
    return bt_complain(err, words->at,
                       "%s: OpenSSL knows no cipher of '%.*s'; `openssl ciphers` lists what it has",
                       words->what, BT_STR_ARGS(words->cipher));
}

/* What is no reason to refuse a start, but to look. */
static void own_doubts(const struct pem *pem, const struct config_words *words,
                       struct bt_error *err)
{
    time_t now = (time_t)(bt_wall_ms() / 1000);

    if (X509_cmp_time(X509_get0_notAfter(pem->cert), &now) <= 0)
        bt_caution(err, words->at,
                   "%.*s: the certificate has expired, and who looks at it will say so",
                   BT_STR_ARGS(words->cert));
    else if (X509_cmp_time(X509_get0_notBefore(pem->cert), &now) > 0)
        bt_caution(err, words->at, "%.*s: the certificate is not valid yet; is the clock right?",
                   BT_STR_ARGS(words->cert));
    if (pem->strangers > 0)
        bt_caution(
            err, words->at,
            "%.*s: %d certificates in it have nothing to do with the key's, and are not sent",
            BT_STR_ARGS(words->cert), pem->strangers);
}

static bool own_set(SSL_CTX *ctx, const struct config_words *words, struct bt_error *err)
{
    struct pem_says says;
    struct pem pem;
    bool fine;

    if (words->cert.len == 0) {
        if (words->key.len > 0)
            return bt_complain(err, words->at, "%s: there is a key without a certificate",
                               words->what);
        return true;
    }
    if (!pem_load(words->cert.at, words->key.len > 0 ? words->key.at : NULL, &pem, &says))
        return bt_complain(err, words->at, "%s", says.text);
    fine = SSL_CTX_use_cert_and_key(ctx, pem.cert, pem.key, pem.chain, 1) == 1;
    own_doubts(&pem, words, err);
    pem_free(&pem);
    return fine || bt_complain(err, words->at, "%.*s: OpenSSL does not take this certificate: %s",
                               BT_STR_ARGS(words->cert), reason());
}

static bool revoked_set(SSL_CTX *ctx, const struct config_words *words, struct bt_error *err)
{
    X509_STORE *store = SSL_CTX_get_cert_store(ctx);
    X509_LOOKUP *lookup;
    unsigned long flag = X509_V_FLAG_CRL_CHECK;

    if (words->crl_all)
        flag |= X509_V_FLAG_CRL_CHECK_ALL;
    if (words->crlfile.len > 0) {
        lookup = X509_STORE_add_lookup(store, X509_LOOKUP_file());
        if (lookup == NULL || X509_load_crl_file(lookup, words->crlfile.at, X509_FILETYPE_PEM) <= 0)
            return bt_complain(err, words->at,
                               "%.*s: there is no revocation list (PEM, X509 CRL) in it, or it "
                               "cannot be read: %s",
                               BT_STR_ARGS(words->crlfile), reason());
    }
    if (words->crlfile.len > 0 || words->crl || words->crl_all)
        X509_STORE_set_flags(store, flag);
    ERR_clear_error();
    return true;
}

/* Whether certificates can be found there one by one, by a hash of their name. */
static bool is_hashed(const char *folder)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    bool found = false;

    while (dir != NULL && !found && (entry = readdir(dir)) != NULL)
        found = strlen(entry->d_name) == 10 && strspn(entry->d_name, "0123456789abcdef") == 8 &&
                strcmp(entry->d_name + 8, ".0") == 0;
    if (dir != NULL)
        closedir(dir);
    return found;
}

/* The system's authorities: where they stand in a folder, one by one as they are needed, for reading
 * all of them costs each start 30 ms. */
static bool trust_default(SSL_CTX *ctx)
{
    const char *folder = getenv(X509_get_default_cert_dir_env());

    if (folder == NULL)
        folder = X509_get_default_cert_dir();
    if (getenv(X509_get_default_cert_file_env()) == NULL && is_hashed(folder))
        return SSL_CTX_set_default_verify_dir(ctx) == 1;
    return SSL_CTX_set_default_verify_paths(ctx) == 1;
}

static bool trust_set(SSL_CTX *ctx, const struct config_words *words, struct bt_error *err)
{
    struct stat about;

    if (words->cafile.len > 0 && SSL_CTX_load_verify_file(ctx, words->cafile.at) != 1)
        return bt_complain(err, words->at,
                           "%.*s: there is no certificate of an authority (PEM) in it, or it "
                           "cannot be read: %s",
                           BT_STR_ARGS(words->cafile), reason());
    if (words->capath.len > 0 && (stat(words->capath.at, &about) != 0 || !S_ISDIR(about.st_mode) ||
                                  SSL_CTX_load_verify_dir(ctx, words->capath.at) != 1)) {
        ERR_clear_error();
        return bt_complain(err, words->at, "%.*s: this is no folder that can be read",
                           BT_STR_ARGS(words->capath));
    }
    if (words->default_ca && !trust_default(ctx))
        return bt_complain(err, words->at, "the system's authorities cannot be loaded: %s",
                           reason());
    ERR_clear_error();
    return true;
}

SSL_CTX *config_context(const SSL_METHOD *method, const struct config_words *words,
                        struct bt_error *err)
{
    SSL_CTX *ctx = SSL_CTX_new(method);
    bool good;

    if (ctx == NULL) {
        bt_complain(err, words->at, "OpenSSL cannot make a context: %s", reason());
        return NULL;
    }
    SSL_CTX_set_security_level(ctx, CONFIG_SECURITY);
    side_prepare(ctx);
    keylog_context(ctx);
    good = versions_set(ctx, words, err);
    options_set(ctx, words, err);
    good &= ciphers_set(ctx, words, err);
    good &= own_set(ctx, words, err);
    good &= trust_set(ctx, words, err);
    good &= revoked_set(ctx, words, err);
    if (good)
        return ctx;
    SSL_CTX_free(ctx);
    return NULL;
}

/* ---- directives ---- */

/* Of tls_outgoing_options, in the spellings of today and of old. */
#define OPTION(its_name, grammar, field, text)                                                     \
    {                                                                                              \
        .name = its_name, .args = grammar, .doc = text,                                            \
        .offset = offsetof(struct config_outgoing, field)                                          \
    }
#define OLDEST(its_name, field, text)                                                              \
    {                                                                                              \
        .name = its_name, .args = "1.0|1.1|1.2|1.3", .preset = "1.2", .doc = text,                 \
        .offset = offsetof(struct config_outgoing, field)                                          \
    }
#define SPELT(its_name, old, new_one, grammar, field, text)                                        \
    OPTION(its_name, grammar, field, text), OPTION(old, grammar, field, "As " its_name "."),       \
        OPTION(new_one, grammar, field, "As " its_name ".")

const struct bt_option config_outgoing_options[CONFIG_OUTGOING_OPTIONS] = {
    OPTION("disable", NULL, disable, "No TLS towards origins: https URLs are not fetched."),
    SPELT("cert", "sslcert", "tls-cert", "path", cert,
          "PEM file: a certificate to show to origins that ask for one."),
    SPELT("key", "sslkey", "tls-key", "path", key, "PEM file: its key, when it is not in there."),
    SPELT("cipher", "sslcipher", "tls-cipher", "word", cipher,
          "Ciphers, as OpenSSL writes them; those of TLS 1.3 begin with TLS_."),
    SPELT("options", "ssloptions", "tls-options", "word", options,
          "Words of OpenSSL: NO_TLSv1_2, NO_TICKET, LEGACY_SERVER_CONNECT, ..."),
    SPELT("cafile", "sslcafile", "tls-cafile", "path", cafile,
          "PEM file: authorities to trust, beside the system's."),
    SPELT("capath", "sslcapath", "tls-capath", "path", capath,
          "The same, a folder with hashed names (openssl rehash)."),
    SPELT("crlfile", "sslcrlfile", "tls-crlfile", "path", crlfile,
          "PEM file: revocation lists; whose authority has none is refused."),
    SPELT("flags", "sslflags", "tls-flags", "word", flags,
          "DONT_VERIFY_PEER, DONT_VERIFY_DOMAIN, NO_DEFAULT_CA, VERIFY_CRL, VERIFY_CRL_ALL."),
    SPELT("domain", "ssldomain", "tls-domain", "word", domain,
          "The name that all certificates must be for, instead of the host's."),
    OPTION("default-ca", "[word]", default_ca, "off: the system's authorities do not count."),
    OPTION("tls-default-ca", "[word]", default_ca, "As default-ca."),
    OLDEST("min-version", min_version, "Oldest version that is spoken."),
    OLDEST("tls-min-version", tls_min_version, "As min-version."),
    OPTION("version", "int(1..6)", version, "Old: 4, 5, 6: only TLS 1.0, 1.1, 1.2; 1: any."),
    OPTION("sslversion", "int(1..6)", version, "As version."),
    OPTION("tls-no-npn", NULL, no_npn, "NPN is gone anyway; no effect."),
};

/* A later line adds to what an earlier one said, so that old names of single options work. */
static void take(bt_str *field, bt_str said)
{
    if (said.at != NULL)
        *field = said;
}

bool config_outgoing_set(void *conf_, const struct bt_line *line, struct bt_error *err)
{
    struct tls_outgoing *out = &((struct tls_conf *)conf_)->outgoing;
    const struct config_outgoing *said = line->options;
    int64_t min = said->min_version != MIN_VERSION ? said->min_version : said->tls_min_version;

    if (said->version == 2 || said->version == 3)
        return bt_complain(err, NULL,
                           "version=%d is SSL, which nobody speaks any more; write "
                           "min-version=1.2",
                           (int)said->version);
    out->at = &line->name;
    out->disable |= said->disable;
    take(&out->cert, said->cert);
    take(&out->key, said->key);
    take(&out->cipher, said->cipher);
    take(&out->options, said->options);
    take(&out->cafile, said->cafile);
    take(&out->capath, said->capath);
    take(&out->crlfile, said->crlfile);
    take(&out->flags, said->flags);
    take(&out->domain, said->domain);
    out->min_version = (bt_str){version_names[min], 3};
    if (said->version != 0)
        out->version = said->version;
    if (said->default_ca.at != NULL)
        out->no_default_ca = bt_str_eq_nocase(said->default_ca, BT_STR("off"));
    return true;
}

/* Directives of before tls_outgoing_options, one option each. */
bool config_old_set(void *conf_, const struct bt_line *line, struct bt_error *err)
{
    struct tls_outgoing *out = &((struct tls_conf *)conf_)->outgoing;
    const struct {
        const char *name;
        bt_str *field;
    } old[] = {
        {"sslproxy_cafile", &out->cafile},   {"sslproxy_capath", &out->capath},
        {"sslproxy_cipher", &out->cipher},   {"sslproxy_client_certificate", &out->cert},
        {"sslproxy_client_key", &out->key},  {"sslproxy_flags", &out->flags},
        {"sslproxy_options", &out->options},
    };

    bt_caution(err, NULL, "this is an old name; write tls_outgoing_options");
    out->at = &line->name;
    for (size_t i = 0; i < sizeof old / sizeof *old; i++)
        if (bt_str_eq(line->name.text, (bt_str){old[i].name, strlen(old[i].name)}))
            *old[i].field = line->args.word[0].text;
    return true;
}

bool config_old_version_set(void *conf_, const struct bt_line *line, struct bt_error *err)
{
    struct tls_outgoing *out = &((struct tls_conf *)conf_)->outgoing;
    char digit = line->args.word[0].text.at[0];

    bt_caution(err, NULL, "this is an old name; write tls_outgoing_options min-version=");
    if (digit == '2' || digit == '3')
        return bt_complain(err, NULL, "that is SSL, which nobody speaks any more");
    out->at = &line->name;
    out->version = digit - '0';
    return true;
}
