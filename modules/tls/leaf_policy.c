/* leaf_policy.c - which certificate a client is to get: who signs it, what of the origin's is changed.
 *
 * What is wrong with an origin, and was forgiven, stays wrong for the client. An expired certificate
 * is copied as it is, one for another host too. One that signed itself does so here, and whatever else
 * it is that makes it untrusted makes a certificate that nobody trusts. Lines of sslproxy_cert_sign
 * and sslproxy_cert_adapt say otherwise.
 *
 * The lists are walked here and not by bt_rules_run(): a line holds when it does for any of the
 * faults, and those of sslproxy_cert_adapt count together.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "leaf.h"

#include <string.h>

#include <openssl/evp.h>

/* ---- lines ---- */

static void append(struct leaf_rule **list, const struct bt_line *line, int action, bt_str name)
{
    struct leaf_rule *rule = bt_alloc(line->arena, sizeof *rule);

    *rule = (struct leaf_rule){.line = line, .action = action, .name = name};
    while (*list != NULL)
        list = &(*list)->next;
    *list = rule;
}

bool leaf_set_sign(void *conf_, const struct bt_line *line, struct bt_error *err)
{
    static const char *const words[] = {"signTrusted", "signUntrusted", "signSelf", NULL};
    struct tls_conf *conf = conf_;

    for (int i = 0; words[i] != NULL; i++)
        if (bt_str_eq_nocase(line->args.word[0].text, (bt_str){words[i], strlen(words[i])})) {
            append(&conf->cert_sign, line, i, BT_STR_NONE);
            return true;
        }
    return bt_complain(err, &line->args.word[0], "'%.*s' is no way to sign",
                       BT_STR_ARGS(line->args.word[0].text));
}

/* What stands in braces behind `word`, if that is how `text` begins; *is says so. */
static bt_str parameter(bt_str text, const char *word, bool *is)
{
    size_t n = strlen(word);

    *is = text.len >= n && bt_str_eq_nocase((bt_str){text.at, n}, (bt_str){word, n}) &&
          (text.len == n ||
           (text.at[n] == '{' && text.len >= n + 3 && text.at[text.len - 1] == '}'));
    return *is && text.len > n ? (bt_str){text.at + n + 1, text.len - n - 2} : BT_STR_NONE;
}

bool leaf_set_adapt(void *conf_, const struct bt_line *line, struct bt_error *err)
{
    static const char *const words[] = {"setValidAfter", "setValidBefore", "setCommonName", NULL};
    const struct bt_word *word = &line->args.word[0];
    struct tls_conf *conf = conf_;
    const char *near;
    bool is;

    for (int i = 0; words[i] != NULL; i++) {
        bt_str name = parameter(word->text, words[i], &is);

        if (!is)
            continue;
        if (name.at != NULL && i != LEAF_COMMON_NAME)
            return bt_complain(err, word, "%s takes no value in braces", words[i]);
        if (name.at != NULL && !forge_name(name))
            return bt_complain(err, word, "'%.*s' is neither a host name nor an address",
                               BT_STR_ARGS(name));
        append(&conf->cert_adapt, line, i, name);
        return true;
    }
    near = bt_nearest(word->text, words);
    return bt_complain(err, word,
                       "'%.*s' is none of setValidAfter, setValidBefore, setCommonName, "
                       "setCommonName{NAME}%s%s%s",
                       BT_STR_ARGS(word->text), near != NULL ? "; did you mean '" : "",
                       near != NULL ? near : "", near != NULL ? "'?" : "");
}

/* Configurations that are taken over from Squid have it, with a folder that may not even exist. */
bool leaf_set_program(void *conf, const struct bt_line *line, struct bt_error *err)
{
    (void)conf;
    bt_caution(
        err, &line->name,
        "no sslcrtd_program is needed: certificates are made in the process and kept in memory "
        "(dynamic_cert_mem_cache_size of the port); this line and sslcrtd_children can go");
    return true;
}

bool leaf_set_children(void *conf, const struct bt_line *line, struct bt_error *err)
{
    (void)conf;
    (void)line;
    (void)err;
    return true;
}

/* For one of the faults, or, when there are none, as such. */
static bool holds(const struct leaf_rule *rule, struct bt_txn *txn, const struct tls_peer *origin)
{
    unsigned i = 0;
    bool yes;

    do {
        tls_judged = i < origin->errors ? &origin->error[i] : NULL;
        tls_judged_cert = origin->cert;
        yes = bt_acls_match(rule->line->acls, txn) == BT_YES;
    } while (!yes && ++i < origin->errors);
    tls_judged = NULL;
    tls_judged_cert = NULL;
    return yes;
}

/* ---- what comes of them ---- */

/* With DONT_VERIFY_PEER nobody wants to know. */
static enum forge_mode deserved(const struct tls_peer *origin)
{
    bool self = false, untrusted = false;

    if (tls_conf->outgoing.dont_verify_peer)
        return FORGE_TRUSTED;
    for (unsigned i = 0; i < origin->errors; i++)
        switch (origin->error[i].depth > 0 ? X509_V_ERR_UNSPECIFIED : origin->error[i].code) {
        case X509_V_ERR_CERT_HAS_EXPIRED:
        case X509_V_ERR_CERT_NOT_YET_VALID:
        case X509_V_ERR_HOSTNAME_MISMATCH:
        case X509_V_ERR_IP_ADDRESS_MISMATCH:
        case VERIFY_WRONG_HOST:
            break; /* is seen in the copy as well */
        case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
            self = true;
            break;
        default:
            untrusted = true;
        }
    return untrusted ? FORGE_UNTRUSTED : self ? FORGE_SELF : FORGE_TRUSTED;
}

/* Of each kind the first line that holds. */
static void adapt(struct leaf_order *order, struct bt_txn *txn, bt_str host)
{
    bool done[3] = {false, false, false};

    for (const struct leaf_rule *rule = tls_conf->cert_adapt; rule != NULL; rule = rule->next) {
        if (done[rule->action] || !holds(rule, txn, order->origin))
            continue;
        done[rule->action] = true;
        if (rule->action == LEAF_COMMON_NAME)
            order->name = rule->name.at != NULL ? rule->name : host;
    }
    order->valid_after = done[LEAF_VALID_AFTER];
    order->valid_before = done[LEAF_VALID_BEFORE];
}

static bool is_rsa(const EVP_PKEY *key)
{
    return key != NULL && EVP_PKEY_get_base_id(key) == EVP_PKEY_RSA;
}

void leaf_policy(struct bt_txn *txn, bt_str host, struct tls_peer *origin, struct leaf_order *order)
{
    const struct tls_client *client = tls_client(txn);
    const struct leaf_rule *rule = tls_conf->cert_sign;

    order->rsa = tls_conf->leaf_key == 1 ||
                 (client->hello != NULL && !hello_takes_ecdsa(client->hello));
    order->origin = origin != NULL && origin->cert != NULL ? origin : NULL;
    order->name = host;
    order->mode = FORGE_TRUSTED;
    if (order->origin == NULL)
        return;
    order->name = BT_STR("");
    adapt(order, txn, host);
    while (rule != NULL && !holds(rule, txn, origin))
        rule = rule->next;
    order->mode = rule != NULL ? (enum forge_mode)rule->action : deserved(origin);
    /* What signs itself does so as the origin does: its key is seen by that. */
    if (order->mode == FORGE_SELF && is_rsa(X509_get0_pubkey(origin->cert)))
        order->rsa = true;
}

/* ---- under which key it is kept ---- */

uint32_t leaf_errors(const struct tls_peer *origin)
{
    uint32_t sum = 0;

    /* Not by order: that is the chain's, and OpenSSL's. */
    for (unsigned i = 0; origin != NULL && i < origin->errors; i++) {
        uint32_t one = (uint32_t)origin->error[i].code * 256u + (uint32_t)origin->error[i].depth +
                       1;

        one *= UINT32_C(2654435761);
        one ^= one >> 15;
        sum += one * UINT32_C(2246822519);
    }
    return sum;
}

bool leaf_id(const struct leaf_order *order, uint8_t id[LEAF_ID])
{
    const uint32_t about[] = {
        (uint32_t)order->mode, leaf_errors(order->origin),   (uint32_t)EVP_MD_get_type(leaf_hash()),
        (uint32_t)order->rsa,  (uint32_t)order->valid_after, (uint32_t)order->valid_before,
        order->origin != NULL, (uint32_t)order->name.len};
    static const uint8_t nobody[sizeof order->origin->sha256];
    bt_str keys = leaf_keys_id();
    EVP_MD_CTX *hash = EVP_MD_CTX_new();
    bool done = hash != NULL && EVP_DigestInit_ex(hash, EVP_sha256(), NULL) == 1 &&
                EVP_DigestUpdate(hash, about, sizeof about) == 1 &&
                EVP_DigestUpdate(hash, order->ca->id, sizeof order->ca->id) == 1 &&
                EVP_DigestUpdate(hash, keys.at, keys.len) == 1 &&
                EVP_DigestUpdate(hash, order->origin != NULL ? order->origin->sha256 : nobody,
                                 sizeof nobody) == 1 &&
                EVP_DigestUpdate(hash, order->name.at, order->name.len) == 1 &&
                EVP_DigestFinal_ex(hash, id, NULL) == 1;

    EVP_MD_CTX_free(hash);
    return done;
}

const EVP_MD *leaf_hash(void)
{
    switch (tls_conf->sign_hash) {
    case 2:
        return EVP_sha512();
    case 1:
        return EVP_sha384();
    default:
        return EVP_sha256();
    }
}
