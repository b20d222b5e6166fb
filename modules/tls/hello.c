/* hello.c - reads a ClientHello byte by byte, and takes it apart once it is whole.
 *
 * What OpenSSL and browsers refuse is refused here, too, and by the same measure for what is handed
 * on (splice): extensions that stand twice, lengths that do not add up, a second name. Otherwise a
 * rule could be asked about another hello than the one that the origin reads.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "hello.h"

#include <string.h>

enum {
    RECORD_HANDSHAKE = 22,
    RECORD_MAX = 1 << 14, /* RFC 8446 5.1 */
    CLIENT_HELLO = 1,
    FIRST_ROOM = 1024
};

enum extension {
    EXT_SERVER_NAME = 0,
    EXT_STATUS_REQUEST = 5,
    EXT_GROUPS = 10,
    EXT_POINT_FORMATS = 11,
    EXT_SIGNATURES = 13,
    EXT_ALPN = 16,
    EXT_EMS = 23,
    EXT_TICKET = 35,
    EXT_PSK = 41,
    EXT_EARLY_DATA = 42,
    EXT_VERSIONS = 43,
    EXT_ECH = 0xfe0d
};

/* ---- a slice that is eaten from the front ---- */

struct bytes {
    const uint8_t *at;
    size_t left;
};

static bool take(struct bytes *from, size_t n, struct bytes *out)
{
    if (from->left < n)
        return false;
    *out = (struct bytes){from->at, n};
    from->at += n;
    from->left -= n;
    return true;
}

static bool take_number(struct bytes *from, int size, size_t *out)
{
    struct bytes number;

    if (!take(from, (size_t)size, &number))
        return false;
    *out = 0;
    for (int i = 0; i < size; i++)
        *out = *out << 8 | number.at[i];
    return true;
}

/* A vector with its length in front, in `size` bytes. */
static bool take_vector(struct bytes *from, int size, struct bytes *out)
{
    size_t n;

    return take_number(from, size, &n) && take(from, n, out);
}

/* The whole of an extension is one vector. */
static bool whole_vector(struct bytes all, int size, struct bytes *out)
{
    return take_vector(&all, size, out) && all.left == 0;
}

static bool numbers(struct bytes from, struct hello_list *out)
{
    if (from.left == 0 || from.left % 2 != 0)
        return false;
    *out = (struct hello_list){from.at, from.left / 2};
    return true;
}

static bt_str slice(struct bytes from)
{
    return (bt_str){(const char *)from.at, from.left};
}

/* ---- the server name ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f');
}

/* A name whose last label is a number is an address to inet_aton() and to browsers. */
static bool numeric(bt_str label)
{
    size_t i = 0;

    if (label.len > 1 && label.at[0] == '0' && label.at[1] == 'x') {
        for (i = 2; i < label.len && is_hex(label.at[i]); i++)
            ;
        return i == label.len;
    }
    while (i < label.len && is_digit(label.at[i]))
        i++;
    return i == label.len;
}

/* Bytes of an IPv6 address; whether they make one is for who uses it to find out. */
static bool looks_like_ipv6(bt_str name)
{
    size_t colons = 0;

    for (size_t i = 0; i < name.len; i++) {
        if (name.at[i] == ':')
            colons++;
        else if (!is_hex(name.at[i]) && name.at[i] != '.')
            return false;
    }
    return colons >= 2 && name.len <= 45;
}

static enum hello_name judge_name(bt_str name)
{
    size_t label = 0;

    if (looks_like_ipv6(name))
        return HELLO_NAME_ADDRESS;
    if (name.len == 0 || name.len > 253)
        return HELLO_NAME_ODD;
    for (size_t i = 0; i <= name.len; i++) {
        char c = i < name.len ? name.at[i] : '.';

        if (c == '.') {
            if (i == label || i - label > 63)
                return HELLO_NAME_ODD;
            if (i < name.len)
                label = i + 1;
        } else if (!is_digit(c) && (c < 'a' || c > 'z') && c != '-' && c != '_') {
            return HELLO_NAME_ODD;
        }
    }
    return numeric((bt_str){name.at + label, name.len - label}) ? HELLO_NAME_ADDRESS
                                                                : HELLO_NAME_HOST;
}

static void name_set(struct hello_reader *r, struct bytes raw)
{
    struct hello *hello = &r->hello;
    char *lower = bt_alloc_raw(r->arena, raw.left + 1);
    bt_str name = {lower, raw.left};

    hello->sni_raw = slice(raw);
    for (size_t i = 0; i < raw.left; i++) {
        char c = (char)raw.at[i];

        lower[i] = c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
    }
    /* RFC 6066 3 has no dot at the end, and www.example.org. is www.example.org to every server. */
    if (name.len > 1 && lower[name.len - 1] == '.')
        name.len--;
    lower[name.len] = '\0';
    hello->name = judge_name(name);
    if (hello->name == HELLO_NAME_HOST || hello->name == HELLO_NAME_ADDRESS)
        hello->sni = name;
}

static const char *server_name(struct hello_reader *r, struct bytes all)
{
    struct bytes list, name;
    size_t type;

    if (!whole_vector(all, 2, &list) || list.left == 0)
        return "malformed server_name";
    while (list.left > 0) {
        if (!take_number(&list, 1, &type) || !take_vector(&list, 2, &name) || name.left == 0)
            return "malformed server_name";
        if (type != 0)
            continue;
        if (r->hello.name != HELLO_NAME_NONE)
            return "two server names";
        name_set(r, name);
    }
    return NULL;
}

/* ---- the other extensions ---- */

static const char *alpn(struct hello_reader *r, struct bytes all)
{
    struct bytes list, protocol;

    if (!whole_vector(all, 2, &list) || list.left == 0)
        return "malformed application_layer_protocol_negotiation";
    r->hello.alpn = slice(list);
    while (list.left > 0)
        if (!take_vector(&list, 1, &protocol) || protocol.left == 0)
            return "malformed application_layer_protocol_negotiation";
    return NULL;
}

static const char *versions(struct hello_reader *r, struct bytes all)
{
    struct bytes list;
    uint16_t best = 0;

    if (!whole_vector(all, 1, &list) || !numbers(list, &r->hello.versions))
        return "malformed supported_versions";
    for (size_t i = 0; i < r->hello.versions.n; i++) {
        uint16_t version = hello_number(r->hello.versions.at + 2 * i);

        /* 0x7f..: drafts of TLS 1.3, which nobody negotiates any more */
        if (!hello_grease(version) && version >> 8 == 3 && version > best)
            best = version;
    }
    r->hello.best_version = best;
    return best == 0 ? "no known version is offered" : NULL;
}

static const char *extension(struct hello_reader *r, size_t type, struct bytes content)
{
    struct hello *hello = &r->hello;
    struct bytes list;

    switch (type) {
    case EXT_SERVER_NAME:
        return server_name(r, content);
    case EXT_ALPN:
        return alpn(r, content);
    case EXT_VERSIONS:
        return versions(r, content);
    case EXT_GROUPS:
        return whole_vector(content, 2, &list) && numbers(list, &hello->groups)
                   ? NULL
                   : "malformed supported_groups";
    case EXT_SIGNATURES:
        return whole_vector(content, 2, &list) && numbers(list, &hello->signatures)
                   ? NULL
                   : "malformed signature_algorithms";
    case EXT_POINT_FORMATS:
        if (!whole_vector(content, 1, &list) || list.left == 0)
            return "malformed ec_point_formats";
        hello->point_formats = slice(list);
        return NULL;
    case EXT_TICKET:
        hello->has_ticket = content.left > 0;
        return NULL;
    case EXT_STATUS_REQUEST:
        hello->wants_ocsp = true;
        return NULL;
    case EXT_EMS:
        hello->has_ems = true;
        return NULL;
    case EXT_PSK:
        hello->has_psk = true;
        return NULL;
    case EXT_EARLY_DATA:
        hello->has_early_data = true;
        return NULL;
    case EXT_ECH:
        hello->has_ech = true;
        return NULL;
    default:
        return NULL;
    }
}

static const char *extensions(struct hello_reader *r, struct bytes rest)
{
    uint8_t met[65536 / 8] = {0};
    struct bytes all, content;
    size_t type;

    if (!whole_vector(rest, 2, &all))
        return "the length of the extensions does not fit";
    r->hello.extensions = slice(all);
    r->hello.has_extensions = true;
    while (all.left > 0) {
        const char *why;

        if (!take_number(&all, 2, &type) || !take_vector(&all, 2, &content))
            return "an extension is cut off";
        if (met[type / 8] & 1 << type % 8)
            return "an extension stands twice"; /* RFC 8446 4.2 */
        met[type / 8] = (uint8_t)(met[type / 8] | 1 << type % 8);
        if (r->hello.has_psk)
            return "pre_shared_key is not the last extension"; /* RFC 8446 4.2.11 */
        why = extension(r, type, content);
        if (why != NULL)
            return why;
    }
    return NULL;
}

/* NULL: it is a hello. */
static const char *read_message(struct hello_reader *r, struct bytes body)
{
    struct hello *hello = &r->hello;
    struct bytes random, session_id, suites, compressions;
    size_t version;

    if (!take_number(&body, 2, &version) || !take(&body, 32, &random) ||
        !take_vector(&body, 1, &session_id))
        return "the hello is cut off";
    if (version >> 8 != 3)
        return "an unknown version";
    if (session_id.left > 32)
        return "the session id is longer than 32 bytes";
    hello->legacy_version = hello->best_version = (uint16_t)version;
    hello->session_id = slice(session_id);
    if (!take_vector(&body, 2, &suites) || !numbers(suites, &hello->ciphers))
        return "malformed cipher suites";
    if (!take_vector(&body, 1, &compressions) || compressions.left == 0 ||
        memchr(compressions.at, 0, compressions.left) == NULL)
        return "malformed compression methods";
    return body.left == 0 ? NULL : extensions(r, body);
}

/* ---- records ---- */

static enum hello_verdict over(struct hello_reader *r, enum hello_verdict verdict, const char *why)
{
    r->verdict = verdict;
    r->why = why;
    return verdict;
}

/* The byte of a record's header that has just come. */
static enum hello_verdict record_byte(struct hello_reader *r)
{
    const uint8_t *h = r->record;
    bool first = r->have == 0;

    switch (r->record_have) {
    case 1:
        if (h[0] == RECORD_HANDSHAKE)
            return HELLO_MORE;
        if (!first)
            return over(r, HELLO_BAD, "another record within the hello");
        if (h[0] & 0x80)
            return over(r, HELLO_NOT_TLS, "SSLv2, or no TLS at all");
        return over(r, HELLO_NOT_TLS, h[0] >= ' ' ? "plain text" : "no TLS");
    case 2:
        if (h[1] == 3)
            return HELLO_MORE;
        return over(r, first ? HELLO_NOT_TLS : HELLO_BAD, "a record of no known version");
    case 5:
        r->record_left = hello_number(h + 3);
        if (r->record_left == 0)
            return over(r, HELLO_BAD, "an empty record"); /* RFC 8446 5.1 */
        if (r->record_left > RECORD_MAX)
            return over(r, HELLO_BAD, "a record that is too long");
        if (r->need > 0 && r->record_left > r->need - r->have)
            return over(r, HELLO_BAD, "something behind the hello in its record");
        return HELLO_MORE;
    default:
        return HELLO_MORE;
    }
}

/* The type and length of the message have come. */
static enum hello_verdict message_head(struct hello_reader *r)
{
    size_t len = (size_t)r->message[1] << 16 | hello_number(r->message + 2);

    if (len > HELLO_MAX)
        return over(r, HELLO_TOO_BIG, "a hello that is too long");
    r->need = 4 + len;
    if (r->record_left > len)
        return over(r, HELLO_BAD, "something behind the hello in its record");
    return HELLO_MORE;
}

/* Room for `len` more bytes; doubled, so that a length that is only announced costs nothing. */
static void grow(struct hello_reader *r, size_t len)
{
    size_t room = r->room == 0 ? FIRST_ROOM : r->room;
    uint8_t *larger;

    while (room < r->have + len)
        room *= 2;
    if (room == r->room)
        return;
    larger = bt_alloc_raw(r->arena, room);
    if (r->have > 0)
        memcpy(larger, r->message, r->have);
    r->message = larger;
    r->room = room;
}

/* As much of the message as this record and this packet have: the four bytes of its head one by
 * one, the rest in pieces. */
static enum hello_verdict content(struct hello_reader *r, const uint8_t *at, size_t *len)
{
    const char *why;

    if (r->have < 4)
        *len = 1;
    else if (*len > r->record_left)
        *len = r->record_left;
    grow(r, *len);
    memcpy(r->message + r->have, at, *len);
    r->have += *len;
    r->record_left -= *len;
    if (r->record_left == 0)
        r->record_have = 0;
    if (r->have == 1 && r->message[0] != CLIENT_HELLO)
        return over(r, HELLO_BAD, "another message in place of the hello");
    if (r->have == 4 && message_head(r) != HELLO_MORE)
        return r->verdict;
    if (r->have < 4 || r->have < r->need)
        return HELLO_MORE;
    why = read_message(r, (struct bytes){r->message + 4, r->need - 4});
    return over(r, why == NULL ? HELLO_WHOLE : HELLO_BAD, why);
}

void hello_init(struct hello_reader *r, struct bt_arena *arena)
{
    *r = (struct hello_reader){.arena = arena, .verdict = HELLO_MORE};
}

enum hello_verdict hello_feed(struct hello_reader *r, const void *at, size_t len)
{
    const uint8_t *from = at;

    while (len > 0 && r->verdict == HELLO_MORE) {
        size_t taken = 1;

        if (r->record_have < sizeof r->record) {
            r->record[r->record_have++] = *from;
            record_byte(r);
        } else {
            taken = len;
            content(r, from, &taken);
        }
        from += taken;
        len -= taken;
        r->used += taken;
    }
    return r->verdict;
}

/* ---- what is asked of a hello ---- */

bool hello_list_has(struct hello_list list, uint16_t number)
{
    for (size_t i = 0; i < list.n; i++)
        if (hello_number(list.at + 2 * i) == number)
            return true;
    return false;
}

bool hello_alpn(const struct hello *hello, size_t *at, bt_str *protocol)
{
    if (*at >= hello->alpn.len)
        return false;
    *protocol = (bt_str){hello->alpn.at + *at + 1, (uint8_t)hello->alpn.at[*at]};
    *at += 1 + protocol->len;
    return true;
}

bool hello_extension(const struct hello *hello, size_t *at, uint16_t *type, bt_str *found)
{
    const uint8_t *head;

    if (*at >= hello->extensions.len)
        return false;
    head = (const uint8_t *)hello->extensions.at + *at;
    *type = hello_number(head);
    *found = (bt_str){hello->extensions.at + *at + 4, hello_number(head + 2)};
    *at += 4 + found->len;
    return true;
}

/* Suites of TLS 1.2 whose names have ECDHE_ECDSA, as far as somebody still offers them. */
static bool ecdsa_suite(uint16_t suite)
{
    switch (suite) {
    case 0xc008: /* 3DES */
    case 0xc009: /* AES-CBC with SHA-1 */
    case 0xc00a:
    case 0xc023: /* AES-CBC with SHA-2 */
    case 0xc024:
    case 0xc02b: /* AES-GCM */
    case 0xc02c:
    case 0xc0ac: /* AES-CCM */
    case 0xc0ad:
    case 0xc0ae:
    case 0xc0af:
    case 0xcca9: /* ChaCha20 */
        return true;
    default:
        return false;
    }
}

bool hello_takes_ecdsa(const struct hello *hello)
{
    enum { ECDSA_P256_SHA256 = 0x0403, P256 = 0x0017, TLS13 = 0x0304 };
    bool suite = hello->best_version >= TLS13;

    for (size_t i = 0; i < hello->ciphers.n && !suite; i++)
        suite = ecdsa_suite(hello_number(hello->ciphers.at + 2 * i));
    if (!suite || !hello_list_has(hello->signatures, ECDSA_P256_SHA256))
        return false;
    /* TLS 1.3 asks for groups of the key exchange only; 1.2 has one list for both (RFC 8422 5.1). */
    return hello->best_version >= TLS13 || hello_list_has(hello->groups, P256);
}
