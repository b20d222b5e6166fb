/* side.c - the transport: one side of a connection over OpenSSL.
 *
 * OpenSSL reads and writes through a BIO of our own, which has the bytes that the core had read
 * already, and knows whether the socket was emptied: an edge-triggered event tells nothing of what
 * was left in it. Reads are ahead, so that a record costs one recv() and not one for its header and
 * one for the rest.
 *
 * An end of the socket without a close-notify is a fault, not an end: whoever can cut the network
 * could else shorten an answer that lasts until the connection ends. What is framed otherwise was
 * read whole before that, and does not notice. `options=IGNORE_UNEXPECTED_EOF` (of
 * tls_outgoing_options, or of a port) takes it for an end, for servers that do not know better.
 *
 * OpenSSL wants that a write which could not be done is tried again with the same bytes. The stream
 * does that by itself: it keeps what was not taken, in order, and offers all of it again.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "tls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>

#include <openssl/bio.h>
#include <openssl/err.h>

#include "counts.h"

enum {
    RECORD = 16 * 1024, /* the most that one record carries */
    /* Bytes that a handshake may take: OpenSSL's own limits are for messages. */
    SHAKE_MAX = 256 * 1024,
    IDLE_MAX = 4 /* reads of the socket that gave messages (tickets, keys), and no data */
};

static int64_t now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* ---- the socket, as OpenSSL sees it ---- */

static int read_early(struct bt_tls_side *side, char *to, int cap)
{
    size_t n = side->early_len - side->early_at;

    if (n > (size_t)cap)
        n = (size_t)cap;
    memcpy(to, side->early + side->early_at, n);
    side->early_at += n;
    side->more = true; /* nobody has looked at the socket yet */
    if (side->early_at == side->early_len) {
        free(side->early);
        side->early = NULL;
        side->early_at = side->early_len = 0;
    }
    return (int)n;
}

static ssize_t side_read(void *state, void *buf, size_t cap);
static ssize_t side_write(void *state, const struct iovec *iov, int n);
static bool side_holds(void *state);

/* What a transport says, as a socket would: -1 with errno. */
static ssize_t as_socket(const struct bt_tls_side *outer, ssize_t did)
{
    if (did >= 0)
        return did;
    if (did == BT_IO_EOF)
        return 0;
    errno = did == BT_IO_AGAIN ? EAGAIN : outer->error != 0 ? outer->error : ECONNABORTED;
    return -1;
}

static ssize_t below_read(struct bt_tls_side *side, char *to, size_t cap)
{
    ssize_t n;

    if (side->outer != NULL)
        return as_socket(side->outer, side_read(side->outer, to, cap));
    do
        n = recv(side->fd, to, cap, 0);
    while (n < 0 && errno == EINTR);
    return n;
}

static ssize_t below_write(struct bt_tls_side *side, const char *from, size_t len)
{
    struct iovec all = {(void *)(uintptr_t)from, len};
    ssize_t n;

    if (side->outer != NULL)
        return as_socket(side->outer, side_write(side->outer, &all, 1));
    do
        n = send(side->fd, from, len, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n;
}

static int socket_read(BIO *bio, char *to, int cap)
{
    struct bt_tls_side *side = BIO_get_data(bio);
    ssize_t n;

    BIO_clear_retry_flags(bio);
    if (cap <= 0)
        return 0;
    if (side->began_us == 0)
        side->began_us = now_us();
    if (side->early != NULL)
        return read_early(side, to, cap);
    /* Some messages OpenSSL overlooks, as long as there are more of them: a request of the server to shake
     * hands, for one. */
    if (!side->ready && side->shaken > SHAKE_MAX) {
        side->why = "a handshake without end";
        return -1;
    }
    n = below_read(side, to, (size_t)cap);
    side->more = n == cap || (side->outer != NULL && n > 0 && side_holds(side->outer));
    side->unsure = n > 0;
    side->shaken += n > 0 && !side->ready ? (size_t)n : 0;
    if (n == 0)
        side->fin = true;
    else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        BIO_set_retry_read(bio);
    else if (n < 0)
        side->error = errno;
    return (int)n;
}

static int socket_write(BIO *bio, const char *from, int len)
{
    struct bt_tls_side *side = BIO_get_data(bio);
    ssize_t n;

    BIO_clear_retry_flags(bio);
    if (len <= 0)
        return 0;
    if (side->began_us == 0)
        side->began_us = now_us();
    n = below_write(side, from, (size_t)len);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        BIO_set_retry_write(bio);
    else if (n < 0)
        side->error = errno;
    return (int)n;
}

static long socket_ctrl(BIO *bio, int what, long n, void *at)
{
    const struct bt_tls_side *side = BIO_get_data(bio);

    (void)n;
    (void)at;
    if (what == BIO_CTRL_EOF)
        return side->fin;
    return what == BIO_CTRL_FLUSH; /* nothing is kept back here */
}

static BIO *socket_new(struct bt_tls_side *side)
{
    static BIO_METHOD *method;
    BIO *bio;

    if (method == NULL) {
        method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "bobtail");
        if (method == NULL)
            return NULL;
        BIO_meth_set_read(method, socket_read);
        BIO_meth_set_write(method, socket_write);
        BIO_meth_set_ctrl(method, socket_ctrl);
    }
    bio = BIO_new(method);
    if (bio == NULL)
        return NULL;
    BIO_set_data(bio, side);
    BIO_set_init(bio, 1);
    return bio;
}

/* ---- what went wrong ---- */

const char *side_why(const struct bt_tls_side *side)
{
    return side->why != NULL ? side->why : "nothing is known to be wrong";
}

void side_complain(struct bt_tls_side *side, const char *otherwise)
{
    unsigned long err = ERR_peek_error();
    int reason = ERR_GET_REASON(err);
    const char *text = err != 0 ? ERR_reason_error_string(err) : NULL;

    ERR_clear_error();
    if (side->why != NULL)
        return;
    if (ERR_GET_LIB(err) == ERR_LIB_SSL && reason > SSL_AD_REASON_OFFSET) {
        snprintf(side->says, sizeof side->says, "the other side refused it: %s",
                 SSL_alert_desc_string_long(reason - SSL_AD_REASON_OFFSET));
        text = side->says;
    } else if (text != NULL) { /* texts of OpenSSL are in its tables, but tables go with it */
        snprintf(side->says, sizeof side->says, "%s", text);
        text = side->says;
    }
    side->why = text != NULL ? text : otherwise;
}

static void side_break(struct bt_tls_side *side)
{
    side->broken = true;
    if (side->error != 0) {
        snprintf(side->says, sizeof side->says, "%s", strerror(side->error));
        side->why = side->why != NULL ? side->why : side->says;
    }
    side_complain(side, "OpenSSL does not say why");
}

/* The other side is done, or only its socket is. */
static int side_end(struct bt_tls_side *side)
{
    ERR_clear_error();
    if (!side->fin || (side->lenient && side->ready)) {
        side->eof = true;
        return BT_IO_EOF;
    }
    if (side->ready)
        bt_count(truncated);
    side->broken = true;
    if (side->why == NULL)
        side->why = "the other side ended without a word";
    return BT_IO_ERROR;
}

/* After a call of OpenSSL that did nothing: BT_IO_AGAIN, or what became of the side. */
static int side_fault(struct bt_tls_side *side, int result)
{
    switch (SSL_get_error(side->ssl, result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
    case SSL_ERROR_WANT_RETRY_VERIFY:
        ERR_clear_error();
        return BT_IO_AGAIN;
    case SSL_ERROR_ZERO_RETURN:
        return side_end(side);
    default:
        side_break(side);
        return BT_IO_ERROR;
    }
}

static ssize_t side_over(const struct bt_tls_side *side)
{
    if (side->broken) {
        errno = side->error;
        return BT_IO_ERROR;
    }
    return BT_IO_EOF;
}

/* ---- the handshake ---- */

static void count_done(struct bt_tls_side *side)
{
    bool resumed = SSL_session_reused(side->ssl) == 1;
    int64_t took = now_us() - side->began_us;

    if (side->server) {
        bt_count(client_handshakes);
        bt_count_by(client_resumed, resumed);
        bt_observe(client_time, took);
    } else {
        bt_count(origin_handshakes);
        bt_count_by(origin_resumed, resumed);
        bt_observe(origin_time, took);
    }
}

static void count_failed(const struct bt_tls_side *side)
{
    if (side->server)
        bt_count(client_failed);
    else
        bt_count(origin_failed);
}

enum bt_tls_state side_shake(struct bt_tls_side *side)
{
    int result;

    if (side->ready)
        return BT_TLS_READY;
    if (side->broken || side->eof)
        return BT_TLS_FAILED;
    result = SSL_do_handshake(side->ssl);
    if (result != 1) {
        if (side_fault(side, result) == BT_IO_AGAIN)
            return BT_TLS_WAIT;
        if (side->why == NULL) /* a close-notify in the middle of it */
            side->why = "the other side ended in the middle of the handshake";
        side->broken = true;
        count_failed(side);
        return BT_TLS_FAILED;
    }
    if (side->settled != NULL && !side->settled(side)) {
        side->broken = true;
        count_failed(side);
        return BT_TLS_FAILED;
    }
    side->ready = true;
    count_done(side);
    return BT_TLS_READY;
}

/* ---- the transport ---- */

/* 0: go on; else what to return. */
static ssize_t side_begun(struct bt_tls_side *side)
{
    if (side->broken || side->eof)
        return side_over(side);
    switch (side_shake(side)) {
    case BT_TLS_READY:
        return 0;
    case BT_TLS_WAIT:
        return BT_IO_AGAIN;
    default:
        return side_over(side);
    }
}

/* An incomplete record counts, too: the read that finds out costs less than knowing. */
static bool side_holds(void *state)
{
    const struct bt_tls_side *side = state;

    return side->more || side->early != NULL || side->eof || side->broken ||
           SSL_has_pending(side->ssl) == 1;
}

/* SSL_read() comes back when it has used up what it had read ahead and all of that were messages of
 * TLS itself (AUTO_RETRY off), though the socket may have more, or a reset, of which no edge will tell.
 * Whoever sends such messages without end shall not keep us here. */
static bool read_on(struct bt_tls_side *side, ssize_t did, int *idle)
{
    if (did != BT_IO_AGAIN || (!side->more && !side->unsure) || SSL_want_read(side->ssl) != 1)
        return false;
    if (++*idle < IDLE_MAX)
        return true;
    side->broken = true;
    side->why = "the other side sends tickets or keys without end";
    return false;
}

static ssize_t side_read(void *state, void *buf, size_t cap)
{
    struct bt_tls_side *side = state;
    ssize_t did = side_begun(side);
    size_t total = 0, n;
    int idle = 0;

    if (did < 0)
        return did;
    while (total < cap) {
        if (SSL_read_ex(side->ssl, (char *)buf + total, cap - total, &n) == 1) {
            total += n;
            if (!side_holds(side)) /* the socket is empty, and so are we */
                break;
            continue;
        }
        did = side_fault(side, 0);
        if (!read_on(side, did, &idle))
            break;
    }
    if (total > 0)
        return (ssize_t)total;
    if (side->broken) {
        errno = side->error;
        return BT_IO_ERROR;
    }
    return did;
}

/* Where in an iov we are. */
struct place {
    const struct iovec *iov;
    int n;
    size_t skip; /* of the first one */
};

static void place_advance(struct place *place, size_t by)
{
    place->skip += by;
    while (place->n > 0 && place->skip >= place->iov->iov_len) {
        place->skip -= place->iov->iov_len;
        place->iov++;
        place->n--;
    }
}

/* What the next record is made of: where it stands, when that is one piece, else a copy. */
static const char *place_piece(const struct place *place, size_t *len)
{
    static char record[RECORD];
    size_t first = place->iov->iov_len - place->skip;
    const char *at = (const char *)place->iov->iov_base + place->skip;

    if (place->n == 1 || first >= RECORD) {
        *len = first < RECORD ? first : RECORD;
        return at;
    }
    *len = 0;
    for (int i = 0; i < place->n && *len < RECORD; i++) {
        size_t skip = i == 0 ? place->skip : 0, n = place->iov[i].iov_len - skip;

        if (n > RECORD - *len)
            n = RECORD - *len;
        if (n > 0)
            memcpy(record + *len, (const char *)place->iov[i].iov_base + skip, n);
        *len += n;
    }
    return record;
}

static ssize_t side_write(void *state, const struct iovec *iov, int n)
{
    struct bt_tls_side *side = state;
    struct place place = {iov, n, 0};
    ssize_t did;
    size_t total = 0, len, wrote;

    if (side->broken) {
        errno = side->error;
        return BT_IO_ERROR;
    }
    did = side->ready ? 0 : side_begun(side); /* whoever has said that it is done may still read */
    if (did < 0)
        return did == BT_IO_EOF ? BT_IO_ERROR : did;
    place_advance(&place, 0);
    while (place.n > 0) {
        const char *at = place_piece(&place, &len);

        if (SSL_write_ex(side->ssl, at, len, &wrote) != 1) {
            did = side_fault(side, 0);
            break;
        }
        total += wrote;
        place_advance(&place, wrote);
    }
    if (total > 0)
        return (ssize_t)total;
    if (did == BT_IO_EOF)
        did = BT_IO_ERROR;
    if (did == BT_IO_ERROR)
        errno = side->error;
    return did;
}

static void side_shutdown(void *state)
{
    struct bt_tls_side *side = state;

    if (!side->ready || side->broken || side->told)
        return;
    side->told = true;
    (void)SSL_shutdown(side->ssl); /* when the socket is full, it is lost: nobody waits for it */
    ERR_clear_error();
}

static void side_close(void *state)
{
    struct bt_tls_side *side = state;

    side_shutdown(side);
    if (side->closed != NULL)
        side->closed(side);
    if (side->server)
        bt_count_by(client_open, -1);
    else
        bt_count_by(origin_open, -1);
    tls_peer_release(side->peer);
    leaf_release(side->leaf);
    /* Or OpenSSL takes the session for a bad one, when only nobody said good-bye. */
    SSL_set_shutdown(side->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_free(side->ssl);
    free(side->early);
    if (side->outer != NULL)
        side_close(side->outer);
    free(side);
    ERR_clear_error();
}

const struct bt_transport tls_transport = {
    .name = "tls",
    .read = side_read,
    .write = side_write,
    .holds_bytes = side_holds,
    .shutdown = side_shutdown,
    .close = side_close,
};

/* ---- beginning ---- */

void side_prepare(SSL_CTX *ctx)
{
    SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                              SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_clear_mode(ctx, SSL_MODE_AUTO_RETRY); /* see read_on() */
    SSL_CTX_set_read_ahead(ctx, 1);
    /* OpenSSL would answer an end without a word by an alert, and forget the session: side_end(). */
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                 SSL_OP_IGNORE_UNEXPECTED_EOF);
    /* With 128 bits first, as browsers have it: its key schedule runs on SHA-256, for which processors have
     * instructions, instead of SHA-384. A client without instructions for AES says so by its order. */
    SSL_CTX_set_options(ctx, SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
    (void)SSL_CTX_set_ciphersuites(ctx, "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:"
                                        "TLS_CHACHA20_POLY1305_SHA256");
}

void side_lenient(SSL_CTX *ctx, bool on)
{
    static char yes;

    SSL_CTX_set_app_data(ctx, on ? &yes : NULL);
}

void side_within(struct bt_tls_side *side, struct bt_tls_side *outer)
{
    side->outer = outer;
}

struct bt_tls_side *side_new(SSL *ssl, int fd, bool server)
{
    struct bt_tls_side *side = ssl == NULL ? NULL : calloc(1, sizeof *side);
    BIO *bio = side == NULL ? NULL : socket_new(side);

    if (bio == NULL) {
        free(side);
        SSL_free(ssl);
        ERR_clear_error();
        return NULL;
    }
    side->ssl = ssl;
    side->fd = fd;
    side->server = server;
    side->lenient = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)) != NULL;
    SSL_set_bio(ssl, bio, bio);
    SSL_set_app_data(ssl, side);
    if (server) {
        SSL_set_accept_state(ssl);
        bt_count(client_open);
    } else {
        SSL_set_connect_state(ssl);
        bt_count(origin_open);
    }
    return side;
}

bool side_early(struct bt_tls_side *side, bt_str bytes)
{
    if (bytes.len == 0)
        return true;
    side->early = malloc(bytes.len);
    if (side->early == NULL)
        return false;
    memcpy(side->early, bytes.at, bytes.len);
    side->early_at = 0;
    side->early_len = bytes.len;
    return true;
}
