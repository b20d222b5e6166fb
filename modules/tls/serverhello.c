/* serverhello.c - records, out of them handshake messages, out of those a ServerHello and certificates.
 *
 * Whatever is malformed ends the look, and what was seen up to there stands: an origin that wants to
 * be unknown can be that by TLS 1.3 as well, and it is the rules that say what becomes of unknown
 * ones.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "serverhello.h"

#include <string.h>

enum record_type { RECORD_CHANGE = 20, RECORD_ALERT = 21, RECORD_HANDSHAKE = 22, RECORD_DATA = 23 };
enum message_type { MESSAGE_HELLO = 2, MESSAGE_CERTIFICATE = 11, MESSAGE_DONE = 14 };
enum { EXTENSION_ALPN = 16, EXTENSION_VERSIONS = 43 };
enum { RECORD_CONTENT_MAX = 16384, TLS13 = 0x0304 };

/* A part of a message that is taken from its front. */
struct part {
    const uint8_t *at;
    size_t left;
};

static bool take(struct part *part, size_t n, struct part *out)
{
    if (n > part->left)
        return false;
    *out = (struct part){part->at, n};
    part->at += n;
    part->left -= n;
    return true;
}

static bool take_number(struct part *part, unsigned bytes, size_t *out)
{
    struct part digits;

    if (!take(part, bytes, &digits))
        return false;
    *out = 0;
    for (unsigned i = 0; i < bytes; i++)
        *out = *out << 8 | digits.at[i];
    return true;
}

/* What has its length in front, of that many bytes. */
static bool take_counted(struct part *part, unsigned bytes, struct part *out)
{
    size_t n;

    return take_number(part, bytes, &n) && take(part, n, out);
}

/* ---- messages ---- */

static bool extension_read(struct serverhello_reader *r, size_t type, struct part content)
{
    struct part list, name;
    size_t version;

    if (type == EXTENSION_VERSIONS) {
        if (!take_number(&content, 2, &version) || content.left > 0)
            return false;
        r->version = (uint16_t)version;
    } else if (type == EXTENSION_ALPN) {
        if (!take_counted(&content, 2, &list) || content.left > 0 ||
            !take_counted(&list, 1, &name) || list.left > 0 || name.left == 0)
            return false;
        r->alpn = (bt_str){(const char *)name.at, name.left};
    }
    return true;
}

static bool hello_read(struct serverhello_reader *r, struct part message)
{
    struct part skipped, extensions, content;
    size_t version, cipher, type;

    if (!take_number(&message, 2, &version) || !take(&message, 32, &skipped) ||
        !take_counted(&message, 1, &skipped) || !take_number(&message, 2, &cipher) ||
        !take(&message, 1, &skipped))
        return false;
    r->hello_version = r->version = (uint16_t)version;
    r->cipher = (uint16_t)cipher;
    if (message.left > 0) {
        if (!take_counted(&message, 2, &extensions) || message.left > 0)
            return false;
        while (extensions.left > 0)
            if (!take_number(&extensions, 2, &type) || !take_counted(&extensions, 2, &content) ||
                !extension_read(r, type, content))
                return false;
    }
    r->has_hello = true;
    return true;
}

static bool certificate_read(struct serverhello_reader *r, struct part message)
{
    struct part list, cert;
    size_t n = 0;

    if (!take_counted(&message, 3, &list) || message.left > 0)
        return false;
    while (list.left > 0) {
        if (n == SERVERHELLO_CERTS_MAX || !take_counted(&list, 3, &cert) || cert.left == 0)
            return false;
        r->cert[n++] = (bt_str){(const char *)cert.at, cert.left};
    }
    r->certs = n;
    return true;
}

/* ---- from bytes to messages ---- */

static enum serverhello_verdict end(struct serverhello_reader *r, enum serverhello_verdict verdict,
                                    const char *why)
{
    r->why = why;
    return r->verdict = verdict;
}

static enum serverhello_verdict seen(struct serverhello_reader *r, const char *why)
{
    if (!r->has_hello) { /* half of one is none */
        r->hello_version = r->version = r->cipher = 0;
        r->alpn = BT_STR_NONE;
    }
    return end(r, SERVERHELLO_SEEN, why);
}

static enum serverhello_verdict message_whole(struct serverhello_reader *r)
{
    struct part message = {r->message, r->need};

    r->header_have = 0;
    switch (r->header[0]) {
    case MESSAGE_HELLO:
        if (r->has_hello)
            return seen(r, "a second ServerHello");
        if (!hello_read(r, message))
            return seen(r, "a malformed ServerHello");
        return r->version >= TLS13 ? seen(r, NULL) : SERVERHELLO_MORE;
    case MESSAGE_CERTIFICATE:
        return seen(r, certificate_read(r, message) ? NULL : "a malformed list of certificates");
    case MESSAGE_DONE:
        return seen(r, NULL);
    default:
        return SERVERHELLO_MORE;
    }
}

/* The header of a message is whole. */
static enum serverhello_verdict message_begin(struct serverhello_reader *r)
{
    uint8_t type = r->header[0];

    r->need = (size_t)r->header[1] << 16 | (size_t)r->header[2] << 8 | r->header[3];
    r->have = 0;
    r->message = NULL;
    if (!r->has_hello && type != MESSAGE_HELLO)
        return seen(r, "another message than a ServerHello");
    if (r->need > SERVERHELLO_RAW_MAX)
        return seen(r, "a message that is too long");
    if (type == MESSAGE_HELLO || type == MESSAGE_CERTIFICATE)
        r->message = bt_alloc_raw(r->arena, r->need + 1);
    return r->need == 0 ? message_whole(r) : SERVERHELLO_MORE;
}

/* Content of a handshake record: pieces of messages, as they fall. Returns how much was met. */
static size_t content_feed(struct serverhello_reader *r, const uint8_t *at, size_t all)
{
    size_t len = all;

    while (len > 0 && r->verdict == SERVERHELLO_MORE) {
        size_t n;
        if (r->header_have < sizeof r->header) {
            r->header[r->header_have++] = *at++;
            len--;
            if (r->header_have == sizeof r->header)
                (void)message_begin(r);
            continue;
        }
        n = r->need - r->have < len ? r->need - r->have : len;
        if (r->message != NULL)
            memcpy(r->message + r->have, at, n);
        r->have += n;
        at += n;
        len -= n;
        if (r->have == r->need)
            (void)message_whole(r);
    }
    return all - len;
}

/* The header of a record is whole. */
static enum serverhello_verdict record_begin(struct serverhello_reader *r, bool first)
{
    uint8_t type = r->record[0];

    if (type < RECORD_CHANGE || type > RECORD_DATA || r->record[1] != 3)
        return first ? end(r, SERVERHELLO_NOT_TLS, "no TLS") : seen(r, "a record that is none");
    if (type != RECORD_HANDSHAKE) /* an alert, or what follows is encrypted */
        return seen(r, NULL);
    r->record_left = (size_t)r->record[3] << 8 | r->record[4];
    if (r->record_left == 0 || r->record_left > RECORD_CONTENT_MAX)
        return seen(r, "a record of no or too much content");
    return SERVERHELLO_MORE;
}

void serverhello_init(struct serverhello_reader *r, struct bt_arena *arena)
{
    *r = (struct serverhello_reader){.arena = arena};
}

enum serverhello_verdict serverhello_feed(struct serverhello_reader *r, const void *bytes,
                                          size_t len)
{
    const uint8_t *at = bytes;

    while (len > 0 && r->verdict == SERVERHELLO_MORE) {
        size_t n;
        if (r->used == SERVERHELLO_RAW_MAX)
            return seen(r, "too much before a certificate");
        if (r->record_left == 0) {
            r->record[r->record_have++] = *at++;
            len--;
            r->used++;
            /* A kind of record that there is not is seen at once, without waiting for the rest. */
            if (r->used == 1 && (*r->record < RECORD_CHANGE || *r->record > RECORD_DATA))
                return end(r, SERVERHELLO_NOT_TLS, "no TLS");
            if (r->record_have == sizeof r->record) {
                r->record_have = 0;
                (void)record_begin(r, r->used == sizeof r->record);
            }
            continue;
        }
        n = r->record_left < len ? r->record_left : len;
        if (n > SERVERHELLO_RAW_MAX - r->used)
            n = SERVERHELLO_RAW_MAX - r->used;
        n = content_feed(r, at, n);
        r->used += n;
        r->record_left -= n;
        at += n;
        len -= n;
    }
    return r->verdict;
}
