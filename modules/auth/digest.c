/* digest.c - RFC 7616: nonces, counts, responses.
 *
 * A nonce is a moment and a number, signed with a secret that all workers of all generations have:
 * each of them takes a nonce of another one, knows how old it is, and nothing is remembered until it
 * is used. How often it was used, and with which counts, is known to all of them together, so that a
 * request that was overheard cannot be repeated to another worker.
 *
 * The helper gives HA1, which is remembered for credentialsttl; a response that does not fit it has
 * the helper asked again, since the password may have changed.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "auth.h"

enum { NONCE_STAMP = 24, NONCE_SIGN = 32, NONCE_LEN = NONCE_STAMP + NONCE_SIGN };
enum { WINDOW = 64, HA1_FRESH_MS = 5000, SALT = 16 };

/* A nonce in use. */
struct nonce {
    int64_t uses;
    uint32_t last; /* highest count so far */
    uint64_t seen; /* bit i: last - i was there */
};

struct ha1 {
    int64_t since_ms;
    char hex[HASH_HEX_MAX];
};
/* The same in shared memory, where notes stand behind it. */
struct ha1_stored {
    int64_t since_ms;
    uint8_t salt[SALT];
    uint8_t masked[HASH_HEX_MAX];
};

/* The parameters of the credentials; slices of the header, or unquoted copies. */
struct digest {
    bt_str username, realm, nonce, uri, response, qop, nc, cnonce, algorithm;
    uint32_t count;
    char nonce_text[NONCE_LEN + 1];
    bt_str extras;         /* of key_extras */
    uint8_t key[HASH_MAX]; /* by which the user is remembered */
};

/* ---- nonces ---- */

static void nonce_sign(const char *stamp, char out[NONCE_SIGN + 1])
{
    struct hash hash;
    uint8_t sum[HASH_MAX];
    char hex[HASH_HEX_MAX];

    /* The secret on both sides: nobody can append to what was signed. */
    hash_init(&hash, HASH_SHA256);
    hash_add(&hash, auth->nonce_secret, sizeof auth->nonce_secret);
    hash_add(&hash, stamp, NONCE_STAMP);
    hash_add(&hash, auth->nonce_secret, sizeof auth->nonce_secret);
    hash_hex(sum, hash_end(&hash, sum), hex);
    memcpy(out, hex, NONCE_SIGN);
    out[NONCE_SIGN] = '\0';
}

static bt_str nonce_make(struct bt_arena *arena)
{
    static uint32_t number;
    char stamp[NONCE_STAMP + 1], sign[NONCE_SIGN + 1];

    /* No two are the same: one of another worker would be used up by the first client. */
    snprintf(stamp, sizeof stamp, "%016llx%02x%06x", (unsigned long long)bt_wall_ms(),
             bt_member() & 0xff, ++number & 0xffffff);
    nonce_sign(stamp, sign);
    return bt_str_printf(arena, "%s%s", stamp, sign);
}

enum nonce_said { NONCE_GOOD, NONCE_STALE, NONCE_FORGED };

static enum nonce_said nonce_look(const struct scheme *scheme, const struct digest *digest)
{
    char sign[NONCE_SIGN + 1], stamp[17];

    if (digest->nonce.len != NONCE_LEN)
        return NONCE_FORGED;
    nonce_sign(digest->nonce.at, sign);
    if (!hash_same(sign, digest->nonce.at + NONCE_STAMP, NONCE_SIGN))
        return NONCE_FORGED;
    memcpy(stamp, digest->nonce.at, 16);
    stamp[16] = '\0';
    int64_t age = bt_wall_ms() - (int64_t)strtoull(stamp, NULL, 16);
    return age > scheme->nonce_ms ? NONCE_STALE : NONCE_GOOD;
}

struct use {
    const struct scheme *scheme;
    const struct digest *digest;
    bool good;
};

/* Is this its first use, and may it be used again? */
static bool use_fits(const struct use *use, struct nonce *nonce)
{
    uint32_t count = use->digest->count;

    if (++nonce->uses > use->scheme->nonce_uses)
        return false;
    if (!use->scheme->check_count || use->digest->qop.len == 0)
        return true;
    if (count > nonce->last) {
        uint32_t ahead = count - nonce->last;
        nonce->seen = (ahead >= WINDOW ? 0 : nonce->seen << ahead) | 1;
        nonce->last = count;
        return true;
    }
    /* Requests on several connections may overtake each other. */
    uint32_t behind = nonce->last - count;
    if (use->scheme->strict || behind >= WINDOW || (nonce->seen >> behind & 1) != 0)
        return false;
    nonce->seen |= UINT64_C(1) << behind;
    return true;
}

static enum bt_dict_done use_note(void *arg, struct bt_dict_entry *entry)
{
    struct use *use = arg;
    struct nonce *nonce = entry->at;

    if (!entry->there || entry->len != sizeof *nonce) {
        *nonce = (struct nonce){0};
        entry->left_ms = use->scheme->nonce_ms;
    }
    entry->len = sizeof *nonce;
    use->good = use_fits(use, nonce);
    return BT_DICT_STORE;
}

/* After the response was found right. */
static bool nonce_use(const struct scheme *scheme, const struct digest *digest)
{
    struct use use = {scheme, digest, false};

    bt_dict_update(auth->nonces, digest->nonce, use_note, &use);
    return use.good;
}

bt_str digest_challenge(const struct scheme *scheme, struct bt_txn *txn, bool stale)
{
    struct bt_arena *arena = bt_txn_arena(txn);
    bt_str nonce = nonce_make(arena);

    return bt_str_printf(arena, "nonce=\"%.*s\", qop=\"auth\", algorithm=%s, stale=%s%s",
                         BT_STR_ARGS(nonce), scheme->sha256 ? "SHA-256" : "MD5",
                         stale ? "true" : "false", scheme->utf8 ? ", charset=UTF-8" : "");
}

/* ---- parameters ---- */

static void blanks_skip(bt_str *rest)
{
    while (rest->len > 0 && (rest->at[0] == ' ' || rest->at[0] == '\t')) {
        rest->at++;
        rest->len--;
    }
}

/* A token or a quoted string, off the front. */
static bool value_take(bt_str *rest, struct bt_arena *arena, bt_str *value)
{
    size_t n = 0;

    if (rest->len > 0 && rest->at[0] == '"') {
        char *copy = bt_alloc_raw(arena, rest->len), *to = copy;
        for (n = 1; n < rest->len && rest->at[n] != '"'; n++) {
            if (rest->at[n] == '\\' && n + 1 < rest->len)
                n++;
            *to++ = rest->at[n];
        }
        if (n >= rest->len)
            return false;
        n++;
        *value = (bt_str){copy, (size_t)(to - copy)};
    } else {
        while (n < rest->len && rest->at[n] != ',' && rest->at[n] != ' ' && rest->at[n] != '\t')
            n++;
        *value = (bt_str){rest->at, n};
    }
    rest->at += n;
    rest->len -= n;
    return true;
}

static bool param_take(bt_str *rest, struct bt_arena *arena, struct digest *digest)
{
    struct {
        const char *name;
        bt_str *value;
    } known[] = {
        {"username", &digest->username},
        {"realm", &digest->realm},
        {"nonce", &digest->nonce},
        {"uri", &digest->uri},
        {"qop", &digest->qop},
        {"response", &digest->response},
        {"nc", &digest->nc},
        {"cnonce", &digest->cnonce},
        {"algorithm", &digest->algorithm},
    };
    const char *equals = memchr(rest->at, '=', rest->len);
    bt_str name, value;

    if (equals == NULL)
        return false;
    name = (bt_str){rest->at, (size_t)(equals - rest->at)};
    while (name.len > 0 && name.at[name.len - 1] == ' ')
        name.len--;
    rest->len -= (size_t)(equals + 1 - rest->at);
    rest->at = equals + 1;
    blanks_skip(rest);
    if (name.len == 0 || !value_take(rest, arena, &value))
        return false;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (bt_str_eq_nocase(name, (bt_str){known[i].name, strlen(known[i].name)})) {
            if (known[i].value->at != NULL)
                return false; /* twice: who knows which one others look at */
            *known[i].value = value;
        }
    return true;
}

static bool params_take(bt_str rest, struct bt_arena *arena, struct digest *digest)
{
    for (blanks_skip(&rest); rest.len > 0; blanks_skip(&rest)) {
        if (rest.at[0] == ',') {
            rest.at++;
            rest.len--;
            continue;
        }
        if (!param_take(&rest, arena, digest))
            return false;
        blanks_skip(&rest);
        if (rest.len > 0 && rest.at[0] != ',')
            return false;
    }
    return true;
}

static bool is_hex(bt_str text, size_t len)
{
    if (text.len != len)
        return false;
    for (size_t i = 0; i < len; i++)
        if (strchr("0123456789abcdefABCDEF", text.at[i]) == NULL || text.at[i] == '\0')
            return false;
    return true;
}

static bool params_fit(const struct scheme *scheme, struct digest *digest)
{
    const char *algorithm = scheme->sha256 ? "SHA-256" : "MD5";
    char count[9];

    if (digest->username.len == 0 || memchr(digest->username.at, '\0', digest->username.len) ||
        digest->uri.at == NULL || digest->nonce.at == NULL ||
        !bt_str_eq(digest->realm, scheme->realm) ||
        !is_hex(digest->response, scheme->sha256 ? 64 : 32))
        return false;
    if (digest->algorithm.at != NULL &&
        !bt_str_eq_nocase(digest->algorithm, (bt_str){algorithm, strlen(algorithm)}))
        return false;
    if (digest->algorithm.at == NULL && scheme->sha256)
        return false;
    if (digest->qop.at == NULL) /* as RFC 2069 had it */
        return digest->nc.at == NULL && digest->cnonce.at == NULL;
    if (!bt_str_eq(digest->qop, BT_STR("auth")) || !is_hex(digest->nc, 8) ||
        digest->cnonce.len == 0)
        return false;
    memcpy(count, digest->nc.at, 8);
    count[8] = '\0';
    digest->count = (uint32_t)strtoul(count, NULL, 16);
    return digest->count > 0;
}

/* ---- responses ---- */

static void hex_of(struct hash *hash, char out[HASH_HEX_MAX])
{
    uint8_t sum[HASH_MAX];
    size_t n = hash_end(hash, sum);

    hash_hex(sum, n, out);
}

static bool response_fits(const struct login *login, const struct digest *digest, const char *ha1)
{
    enum hash_kind kind = login->scheme->sha256 ? HASH_SHA256 : HASH_MD5;
    char ha2[HASH_HEX_MAX], want[HASH_HEX_MAX], got[HASH_HEX_MAX];
    struct hash hash;
    size_t len = digest->response.len;

    hash_init(&hash, kind);
    hash_add_str(&hash, bt_method(login->txn));
    hash_add(&hash, ":", 1);
    hash_add_str(&hash, digest->uri);
    hex_of(&hash, ha2);
    hash_init(&hash, kind);
    hash_add(&hash, ha1, strlen(ha1));
    hash_add(&hash, ":", 1);
    hash_add_str(&hash, digest->nonce);
    hash_add(&hash, ":", 1);
    if (digest->qop.len > 0) {
        hash_add_str(&hash, digest->nc);
        hash_add(&hash, ":", 1);
        hash_add_str(&hash, digest->cnonce);
        hash_add(&hash, ":", 1);
        hash_add_str(&hash, digest->qop);
        hash_add(&hash, ":", 1);
    }
    hash_add(&hash, ha2, strlen(ha2));
    hex_of(&hash, want);
    for (size_t i = 0; i < len; i++)
        got[i] = digest->response.at[i] >= 'A' && digest->response.at[i] <= 'F'
                     ? (char)(digest->response.at[i] + 'a' - 'A')
                     : digest->response.at[i];
    return strlen(want) == len && hash_same(want, got, len);
}

static void stale(struct login *login)
{
    bt_count(stale);
    login->stale = true;
    login_not_yet(login);
}

static void decide(struct login *login, const char *ha1, bt_str notes)
{
    const struct digest *digest = login->data;

    if (!response_fits(login, digest, ha1))
        login_bad(login, BT_STR_NONE);
    else if (nonce_look(login->scheme, digest) == NONCE_STALE || !nonce_use(login->scheme, digest))
        stale(login);
    else {
        notes_recall(login, notes);
        login_good(login, digest->username);
    }
}

/* ---- what is remembered of a user ---- */

/* HA1 is as good as the password in this realm: it is masked with a hash of our secret and of a salt
 * that is drawn each time. */
static void ha1_mask(const struct ha1_stored *stored, bt_str user, uint8_t mask[HASH_HEX_MAX])
{
    bt_str salt = {(const char *)stored->salt, SALT};

    _Static_assert(HASH_HEX_MAX <= 3 * HASH_MAX, "three hashes are enough");
    for (size_t at = 0, n; at < HASH_HEX_MAX; at += n) {
        uint8_t sum[HASH_MAX];
        n = HASH_HEX_MAX - at < HASH_MAX ? HASH_HEX_MAX - at : HASH_MAX;
        auth_key(sum, (char)('0' + at / HASH_MAX), salt, user, BT_STR(""));
        memcpy(mask + at, sum, n);
    }
}

static bt_str key_of(const struct digest *digest)
{
    return (bt_str){(const char *)digest->key, sizeof digest->key};
}

static void ha1_remember(struct login *login, const struct ha1 *ha1,
                         const struct bt_helper_reply *reply)
{
    const struct digest *digest = login->data;
    struct ha1_stored stored = {.since_ms = ha1->since_ms};
    bt_str head = {(const char *)&stored, sizeof stored};
    uint8_t mask[HASH_HEX_MAX];

    if (getrandom(stored.salt, SALT, 0) != SALT)
        return;
    ha1_mask(&stored, digest->username, mask);
    for (size_t i = 0; i < HASH_HEX_MAX; i++)
        stored.masked[i] = mask[i] ^ (uint8_t)ha1->hex[i];
    bt_dict_put(auth->known, key_of(digest), notes_packed(bt_txn_arena(login->txn), head, reply),
                (bt_duration){login->scheme->credentials_ms});
}

/* `*notes` are for notes_recall(). */
static bool ha1_recall(struct login *login, struct ha1 *ha1, bt_str *notes)
{
    const struct digest *digest = login->data;
    bt_str known = bt_dict_copy(auth->known, key_of(digest), bt_txn_arena(login->txn));
    struct ha1_stored stored;
    uint8_t mask[HASH_HEX_MAX];

    if (known.len < sizeof stored)
        return false;
    memcpy(&stored, known.at, sizeof stored);
    *notes = (bt_str){known.at + sizeof stored, known.len - sizeof stored};
    ha1_mask(&stored, digest->username, mask);
    for (size_t i = 0; i < HASH_HEX_MAX; i++)
        ha1->hex[i] = (char)(mask[i] ^ stored.masked[i]);
    ha1->hex[HASH_HEX_MAX - 1] = '\0';
    ha1->since_ms = stored.since_ms;
    return true;
}

/* ---- what the credentials are for ---- */

/* "http://HOST[:PORT]" off the front; false: it does not begin so, or is of another origin. */
static bool origin_take(struct bt_txn *txn, bt_str *uri)
{
    static const struct {
        const char *text;
        unsigned port;
    } schemes[] = {{"http://", 80}, {"https://", 443}, {"ftp://", 21}};
    struct bt_arena *arena = bt_txn_arena(txn);
    unsigned usual = 0;
    bt_str host = bt_host(txn);
    size_t n = 0;

    for (size_t i = 0; i < sizeof schemes / sizeof *schemes && n == 0; i++) {
        size_t len = strlen(schemes[i].text);
        if (uri->len > len &&
            bt_str_eq_nocase((bt_str){uri->at, len}, (bt_str){schemes[i].text, len})) {
            n = len;
            usual = schemes[i].port;
        }
    }
    if (n == 0)
        return false;
    *uri = (bt_str){uri->at + n, uri->len - n};
    for (n = 0; n < uri->len && strchr("/?", uri->at[n]) == NULL;)
        n++;
    bt_str authority = {uri->at, n};
    const char *at = n == 0 ? NULL : memrchr(authority.at, '@', n);
    if (at != NULL)
        authority = (bt_str){at + 1, (size_t)(authority.at + n - at) - 1};
    *uri = (bt_str){uri->at + n, uri->len - n};
    if (host.len > 0 && memchr(host.at, ':', host.len) != NULL)
        host = bt_str_printf(arena, "[%.*s]", BT_STR_ARGS(host));
    bt_str whole = bt_str_printf(arena, "%.*s:%u", BT_STR_ARGS(host), bt_port(txn));
    return bt_str_eq_nocase(authority, whole) ||
           (bt_port(txn) == usual && bt_str_eq_nocase(authority, host));
}

/* RFC 7616 3.4.6: a response is good for what was asked when it was made, and for nothing else. Clients
 * give the target as they sent it, or, of a whole URL, the path alone. */
static bool uri_fits(struct bt_txn *txn, bt_str uri)
{
    bt_str path = bt_path(txn);

    if (bt_str_eq(uri, bt_url(txn)) || bt_str_eq(uri, path))
        return true;
    if (bt_str_eq(bt_method(txn), BT_STR("CONNECT")))
        return bt_str_eq_nocase(uri, bt_url(txn));
    return origin_take(txn, &uri) &&
           (bt_str_eq(uri, path) || (uri.len == 0 && bt_str_eq(path, BT_STR("/"))));
}

/* ---- the helper ---- */

static void each(struct check *check, struct login *login, const struct bt_helper_reply *reply)
{
    bt_str hex = bt_helper_value(reply, "ha1");

    if (reply->result == BT_HELPER_TEXT) /* old helpers say the hash and nothing else */
        hex = reply->text;
    if ((reply->result != BT_HELPER_OK && reply->result != BT_HELPER_TEXT) ||
        !is_hex(hex, check->scheme->sha256 ? 64 : 32)) {
        notes_set(login, reply);
        login_bad(login, bt_helper_value(reply, "message"));
        return;
    }
    struct ha1 ha1 = {.since_ms = bt_wall_ms()};
    for (size_t i = 0; i < hex.len; i++)
        ha1.hex[i] = hex.at[i] >= 'A' && hex.at[i] <= 'F' ? (char)(hex.at[i] + 'a' - 'A')
                                                          : hex.at[i];
    ha1.hex[hex.len] = '\0';
    bt_str notes = notes_packed(bt_txn_arena(login->txn), BT_STR(""), reply);
    ha1_remember(login, &ha1, reply);
    decide(login, ha1.hex, notes);
}

void digest_login(struct login *login, bt_str credentials)
{
    struct bt_arena *arena = bt_txn_arena(login->txn);
    struct scheme *scheme = login->scheme;
    struct digest *digest = bt_alloc(arena, sizeof *digest);
    int64_t now = bt_wall_ms();
    bool is_new;

    login->data = digest;
    if (!params_take(credentials, arena, digest) || !params_fit(scheme, digest) ||
        !uri_fits(login->txn, digest->uri)) {
        bt_count(malformed);
        login_bad(login, BT_STR_NONE);
        return;
    }
    if (scheme->utf8)
        digest->username = auth_utf8(arena, digest->username);
    bt_who_set(login->txn, BT_WHO_CLAIMED, digest->username);
    if (nonce_look(scheme, digest) == NONCE_FORGED) {
        /* Of another server, or of this one before it was started anew. */
        stale(login);
        return;
    }
    struct ha1 ha1;
    bt_str notes;
    digest->extras = auth_extras(scheme, login->txn);
    auth_key(digest->key, 'D', digest->username, digest->extras, BT_STR(""));
    if (ha1_recall(login, &ha1, &notes) &&
        (now - ha1.since_ms < HA1_FRESH_MS || response_fits(login, digest, ha1.hex))) {
        bt_count(cached);
        decide(login, ha1.hex, notes);
        return;
    }
    struct check *check = check_join(login, key_of(digest), &is_new);
    if (!is_new)
        return;
    check->each = each;
    bt_str user = auth_quoted(arena, digest->username), realm = auth_quoted(arena, scheme->realm);
    bt_helper_ask(scheme->pool, &check->ask,
                  bt_str_printf(arena, "%.*s:%.*s%.*s", BT_STR_ARGS(user), BT_STR_ARGS(realm),
                                BT_STR_ARGS(digest->extras)));
}
