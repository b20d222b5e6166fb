/* test_tls_side.c - the transport over OpenSSL, over socket pairs: two sides, or a side and OpenSSL itself.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "tls_kit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "tls/side.c"

/* ---- what the module has elsewhere ---- */

struct bt_self bt_self;
const char bt_log_tag[] = "tls";
static _Atomic int64_t row[N_end_];
static int leaves;

void tls_peer_release(struct tls_peer *peer)
{
    (void)peer;
}
void leaf_release(struct tls_leaf *leaf)
{
    leaves -= leaf != NULL;
}

/* ---- a pair ---- */

static struct pair {
    SSL_CTX *server_ctx, *client_ctx;
    struct bt_tls_side *server, *client;
    int server_fd, client_fd;
} pair;

static SSL_CTX *server_context(void)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
    static X509 *cert;

    if (cert == NULL)
        cert = kit_make((struct kit_cert){.subject = "CN=a.test", .key = kit_key(false, 0)});
    assert_int_equal(SSL_CTX_use_cert_and_key(ctx, cert, kit_key(false, 0), NULL, 1), 1);
    side_prepare(ctx);
    return ctx;
}

static void sockets(void)
{
    int fds[2], small = 8192;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(setsockopt(fds[i], SOL_SOCKET, SO_SNDBUF, &small, sizeof small), 0);
    pair.server_fd = fds[0];
    pair.client_fd = fds[1];
}

static int setup(void **state)
{
    (void)state;
    memset(&pair, 0, sizeof pair);
    memset((void *)row, 0, sizeof row);
    bt_self.row = row;
    sockets();
    pair.server_ctx = server_context();
    pair.client_ctx = SSL_CTX_new(TLS_client_method());
    side_prepare(pair.client_ctx);
    return 0;
}

static void open_sides(void)
{
    pair.server = side_new(SSL_new(pair.server_ctx), pair.server_fd, true);
    pair.client = side_new(SSL_new(pair.client_ctx), pair.client_fd, false);
    assert_non_null(pair.server);
    assert_non_null(pair.client);
}

static void end(struct bt_tls_side **side, int *fd)
{
    if (*side != NULL)
        tls_transport.close(*side);
    if (*fd >= 0)
        close(*fd);
    *side = NULL;
    *fd = -1;
}

static int teardown(void **state)
{
    (void)state;
    end(&pair.server, &pair.server_fd);
    end(&pair.client, &pair.client_fd);
    SSL_CTX_free(pair.server_ctx);
    SSL_CTX_free(pair.client_ctx);
    assert_int_equal(ERR_peek_error(), 0); /* nobody leaves anything behind */
    assert_int_equal(row[N_client_open], 0);
    assert_int_equal(row[N_origin_open], 0);
    return 0;
}

static void shake(void)
{
    enum bt_tls_state server = BT_TLS_WAIT, client = BT_TLS_WAIT;

    for (int i = 0; i < 10 && (server != BT_TLS_READY || client != BT_TLS_READY); i++) {
        client = side_shake(pair.client);
        server = side_shake(pair.server);
        assert_int_equal(ERR_peek_error(), 0);
    }
    assert_int_equal(server, BT_TLS_READY);
    assert_int_equal(client, BT_TLS_READY);
}

static void open_ready(int version)
{
    SSL_CTX_set_max_proto_version(pair.client_ctx, version);
    open_sides();
    shake();
    assert_int_equal(SSL_version(pair.client->ssl), version);
}

static ssize_t get(struct bt_tls_side *side, void *buf, size_t cap)
{
    ssize_t n = tls_transport.read(side, buf, cap);

    assert_int_equal(ERR_peek_error(), 0);
    return n;
}

static ssize_t put(struct bt_tls_side *side, const void *at, size_t n)
{
    struct iovec iov = {(void *)(uintptr_t)at, n};
    ssize_t did = tls_transport.write(side, &iov, 1);

    assert_int_equal(ERR_peek_error(), 0);
    return did;
}

/* ---- handshakes ---- */

static void test_versions(void **state)
{
    char buf[16];

    (void)state;
    for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++) {
        open_ready(version);
        assert_int_equal(put(pair.client, "hello", 5), 5);
        assert_int_equal(get(pair.server, buf, sizeof buf), 5);
        assert_memory_equal(buf, "hello", 5);
        assert_int_equal(get(pair.server, buf, sizeof buf), BT_IO_AGAIN);
        assert_int_equal(put(pair.server, "yes", 3), 3);
        assert_int_equal(get(pair.client, buf, sizeof buf), 3);
        end(&pair.server, &pair.server_fd);
        assert_int_equal(get(pair.client, buf, sizeof buf), BT_IO_EOF);
        end(&pair.client, &pair.client_fd);
        sockets();
    }
    assert_int_equal(row[N_client_handshakes], 2);
    assert_int_equal(row[N_origin_handshakes], 2);
    assert_int_equal(row[N_client_failed], 0);
    assert_true(row[N_client_time] > 0);
}

/* The server is never told to shake: reading is enough, as for https_port. */
static void test_within_reads(void **state)
{
    char buf[16];

    (void)state;
    open_sides();
    assert_int_equal(get(pair.server, buf, sizeof buf), BT_IO_AGAIN);
    assert_int_equal(put(pair.server, "x", 1), BT_IO_AGAIN);
    for (int i = 0; i < 5 && !pair.client->ready; i++) {
        (void)side_shake(pair.client);
        (void)get(pair.server, buf, sizeof buf);
    }
    assert_int_equal(put(pair.client, "hello", 5), 5);
    assert_int_equal(get(pair.server, buf, sizeof buf), 5);
    assert_true(pair.server->ready);
}

/* The hello was read by somebody else, `split` bytes of it. */
static void early(size_t split)
{
    char bytes[4096], buf[16];
    ssize_t n;

    open_sides();
    assert_int_equal(side_shake(pair.client), BT_TLS_WAIT);
    n = recv(pair.server_fd, bytes, sizeof bytes, split < sizeof bytes ? MSG_PEEK : 0);
    assert_true(n > 200);
    if (split < sizeof bytes)
        assert_int_equal(recv(pair.server_fd, bytes, split, 0), split);
    else
        split = (size_t)n;
    assert_true(side_early(pair.server, (bt_str){bytes, split}));
    memset(bytes, 0, sizeof bytes); /* it was copied */
    shake();
    assert_null(pair.server->early);
    assert_int_equal(put(pair.client, "hello", 5), 5);
    assert_int_equal(get(pair.server, buf, sizeof buf), 5);
    end(&pair.server, &pair.server_fd);
    end(&pair.client, &pair.client_fd);
    sockets();
}

static void test_early(void **state)
{
    (void)state;
    early(1);
    early(5);
    early(100);
    early(SIZE_MAX);
}

static void test_no_tls(void **state)
{
    static const char text[] = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";
    unsigned char buf[16];

    (void)state;
    open_sides();
    assert_int_equal(send(pair.client_fd, text, sizeof text - 1, 0), sizeof text - 1);
    assert_int_equal(get(pair.server, buf, sizeof buf), BT_IO_ERROR);
    assert_int_equal(errno, 0);
    assert_true(pair.server->broken);
    assert_string_equal(side_why(pair.server), "http request");
    assert_int_equal(get(pair.server, buf, sizeof buf), BT_IO_ERROR); /* it stays so */
    assert_int_equal(put(pair.server, "x", 1), BT_IO_ERROR);
    assert_int_equal(row[N_client_failed], 1);
}

static void test_refusals(void **state)
{
    (void)state;
    SSL_CTX_set_max_proto_version(pair.client_ctx, TLS1_2_VERSION);
    SSL_CTX_set_min_proto_version(pair.server_ctx, TLS1_3_VERSION);
    open_sides();
    assert_int_equal(side_shake(pair.client), BT_TLS_WAIT);
    assert_int_equal(side_shake(pair.server), BT_TLS_FAILED);
    assert_string_equal(side_why(pair.server), "unsupported protocol");
    assert_int_equal(side_shake(pair.client), BT_TLS_FAILED);
    assert_string_equal(side_why(pair.client), "the other side refused it: protocol version");
    assert_int_equal(side_shake(pair.client), BT_TLS_FAILED);
    assert_int_equal(row[N_client_failed], 1);
    assert_int_equal(row[N_origin_failed], 1);
}

static void test_left_in_handshake(void **state)
{
    (void)state;
    open_sides();
    assert_int_equal(side_shake(pair.client), BT_TLS_WAIT);
    close(pair.server_fd);
    pair.server_fd = -1;
    pair.server->fd = -1;
    assert_int_equal(side_shake(pair.client), BT_TLS_FAILED);
    assert_non_null(pair.client->why);
    assert_int_equal(row[N_origin_failed], 1);
    assert_int_equal(row[N_truncated], 0);
}

static bool refused(struct bt_tls_side *side)
{
    side->why = "we know better";
    return false;
}

static void test_settled(void **state)
{
    (void)state;
    open_sides();
    pair.client->settled = refused;
    for (int i = 0; i < 5; i++) {
        (void)side_shake(pair.client);
        (void)side_shake(pair.server);
    }
    assert_int_equal(side_shake(pair.client), BT_TLS_FAILED);
    assert_string_equal(side_why(pair.client), "we know better");
    assert_int_equal(put(pair.client, "x", 1), BT_IO_ERROR);
}

/* ---- bytes ---- */

enum { LARGE = 300 * 1000 };
static char sent[LARGE], got[LARGE + 1];

static void fill(void)
{
    for (size_t i = 0; i < LARGE; i++)
        sent[i] = (char)(i * 7 + i / 251);
}

/* As a stream does it: what is not taken is kept elsewhere, and all of it offered again. The other side reads
 * what `holds_bytes` and the socket promise. */
static void test_large(void **state)
{
    size_t out = 0, in = 0;
    int again = 0;
    char *copy = NULL;

    (void)state;
    fill();
    open_ready(TLS1_3_VERSION);
    for (int i = 0; i < 10000 && in < LARGE; i++) {
        ssize_t n;

        if (out < LARGE) {
            char *moved = malloc(LARGE - out);

            memcpy(moved, sent + out, LARGE - out);
            free(copy);
            copy = moved;
            n = put(pair.server, copy, LARGE - out);
            again += n == BT_IO_AGAIN;
            assert_true(n > 0 || n == BT_IO_AGAIN);
            out += n > 0 ? (size_t)n : 0;
        }
        n = get(pair.client, got + in, i % 3 == 0 ? 1000 : sizeof got - in);
        assert_true(n > 0 || n == BT_IO_AGAIN);
        in += n > 0 ? (size_t)n : 0;
    }
    free(copy);
    assert_int_equal(in, LARGE);
    assert_memory_equal(got, sent, LARGE);
    assert_true(again > 0);
}

/* As test_large, but the reader waits for an edge unless holds_bytes says that there is none to come. */
static void test_edges(void **state)
{
    static const size_t caps[] = {300, 5000, 16384, 100000};
    int large = 1 << 20;

    (void)state;
    fill();
    assert_int_equal(setsockopt(pair.server_fd, SOL_SOCKET, SO_SNDBUF, &large, sizeof large), 0);
    open_ready(TLS1_3_VERSION);
    for (size_t i = 0; i < COUNT(caps); i++) {
        size_t in = 0, out = 0;

        while (out < 100000) { /* more than one read of the socket takes */
            size_t n = out % 3 == 0 ? 10 : 7000;

            assert_int_equal(put(pair.server, sent + out, n), n);
            out += n;
        }
        do {
            ssize_t did = get(pair.client, got + in, caps[i] < LARGE - in ? caps[i] : LARGE - in);

            assert_true(did > 0 || did == BT_IO_AGAIN);
            in += did > 0 ? (size_t)did : 0;
        } while (tls_transport.holds_bytes(pair.client));
        assert_int_equal(in, out); /* or bytes were left that nobody tells of */
        assert_memory_equal(got, sent, in);
    }
}

/* Records of application data on the wire. */
static int records(int fd)
{
    unsigned char buf[40000];
    ssize_t n = recv(fd, buf, sizeof buf, 0);
    int count = 0;

    for (ssize_t at = 0; at + 5 <= n; at += 5 + (buf[at + 3] << 8 | buf[at + 4])) {
        assert_int_equal(buf[at], 23);
        count++;
    }
    return count;
}

static void test_records(void **state)
{
    struct iovec iov[] = {{sent, 10}, {sent + 10, 0}, {sent + 10, 90}, {sent + 100, 400}};
    struct iovec mixed[] = {{sent, 100}, {sent + 100, 6000}};
    char buf[100];

    (void)state;
    fill();
    open_ready(TLS1_3_VERSION);
    assert_int_equal(get(pair.client, buf, sizeof buf), BT_IO_AGAIN); /* tickets */
    assert_int_equal(tls_transport.write(pair.server, iov, 4), 500);
    assert_int_equal(records(pair.client_fd), 1);
    assert_int_equal(tls_transport.write(pair.server, mixed, 2), 6100);
    assert_int_equal(records(pair.client_fd), 1);
    assert_int_equal(tls_transport.write(pair.server, iov + 1, 1), 0);
    assert_int_equal(tls_transport.write(pair.server, iov, 0), 0);
}

/* So many tickets, behind each other, and then `text`: more than one read of the socket takes. */
static void tickets(int n, const char *text)
{
    int large = 4 << 20;

    assert_int_equal(setsockopt(pair.server_fd, SOL_SOCKET, SO_SNDBUF, &large, sizeof large), 0);
    open_ready(TLS1_3_VERSION);
    while (get(pair.client, got, sizeof got) > 0)
        continue;
    for (int i = 0; i < n; i++) {
        assert_int_equal(SSL_new_session_ticket(pair.server->ssl), 1);
        assert_int_equal(SSL_do_handshake(pair.server->ssl), 1);
    }
    assert_int_equal(put(pair.server, text, strlen(text)), strlen(text));
}

static void test_behind_tickets(void **state)
{
    (void)state;
    tickets(100, "hello"); /* 26 KB */
    assert_int_equal(get(pair.client, got, sizeof got),
                     5); /* at the first call: no edge would come */
    assert_memory_equal(got, "hello", 5);
    assert_int_equal(get(pair.client, got, sizeof got), BT_IO_AGAIN);
}

static void test_tickets_without_end(void **state)
{
    (void)state;
    tickets(6000, "hello");
    assert_int_equal(get(pair.client, got, sizeof got), BT_IO_ERROR);
    assert_string_equal(side_why(pair.client), "the other side sends tickets or keys without end");
    assert_int_equal(get(pair.client, got, sizeof got), BT_IO_ERROR);
}

/* ---- ends ---- */

static void test_close_notify(void **state)
{
    char buf[16];

    (void)state;
    open_ready(TLS1_3_VERSION);
    assert_int_equal(put(pair.client, "bye", 3), 3);
    tls_transport.shutdown(pair.client);
    tls_transport.shutdown(pair.client);
    assert_int_equal(get(pair.server, buf, 2), 2);
    assert_true(tls_transport.holds_bytes(pair.server));
    assert_int_equal(get(pair.server, buf, sizeof buf), 1);
    assert_int_equal(get(pair.server, buf, sizeof buf), BT_IO_EOF);
    assert_int_equal(get(pair.server, buf, sizeof buf), BT_IO_EOF);
    assert_int_equal(put(pair.server, "still", 5), 5); /* a half that is closed is one half */
    assert_int_equal(get(pair.client, buf, sizeof buf), 5);
    assert_int_equal(row[N_truncated], 0);
}

static void truncated(bool lenient)
{
    char buf[16];

    side_lenient(pair.client_ctx, lenient);
    open_ready(TLS1_3_VERSION);
    assert_int_equal(put(pair.server, "part", 4), 4);
    shutdown(pair.server_fd, SHUT_WR);
    assert_int_equal(get(pair.client, buf, sizeof buf), 4);
    errno = EINVAL;
    assert_int_equal(get(pair.client, buf, sizeof buf), lenient ? BT_IO_EOF : BT_IO_ERROR);
    if (!lenient) {
        assert_int_equal(errno, 0);
        assert_string_equal(side_why(pair.client), "the other side ended without a word");
        assert_int_equal(put(pair.client, "x", 1), BT_IO_ERROR);
    }
    assert_int_equal(row[N_truncated], !lenient);
}

static void test_truncated(void **state)
{
    (void)state;
    truncated(false);
}

static void test_lenient(void **state)
{
    (void)state;
    truncated(true);
}

static void test_reset(void **state)
{
    char buf[16];

    (void)state;
    open_ready(TLS1_3_VERSION);
    assert_int_equal(put(pair.client, "unread", 6), 6);
    close(pair.server_fd);
    pair.server->fd = pair.server_fd = -1;
    pair.server->broken = true;
    assert_int_equal(put(pair.client, "x", 1), BT_IO_ERROR);
    assert_int_equal(errno, EPIPE);
    assert_string_equal(side_why(pair.client), strerror(EPIPE));
    assert_int_equal(get(pair.client, buf, sizeof buf), BT_IO_ERROR);
}

static void test_garbage(void **state)
{
    char buf[64];

    (void)state;
    open_ready(TLS1_3_VERSION);
    assert_int_equal(
        send(pair.client_fd, "\x17\x03\x03\x00\x20 this is no record that decrypts", 37, 0), 37);
    assert_int_equal(get(pair.server, buf, sizeof buf), BT_IO_ERROR);
    assert_int_equal(errno, 0);
    assert_string_equal(side_why(pair.server), "decryption failed or bad record mac");
    (void)get(pair.client, buf, sizeof buf);
    assert_string_equal(side_why(pair.client), "the other side refused it: bad record mac");
}

/* The socket is full: the close-notify is lost, and nobody waits. */
static void test_shutdown_full(void **state)
{
    char buf[64];

    (void)state;
    fill();
    open_ready(TLS1_3_VERSION);
    while (put(pair.server, sent, LARGE) > 0)
        continue;
    tls_transport.shutdown(pair.server);
    end(&pair.server, &pair.server_fd);
    while (get(pair.client, got, sizeof got) > 0)
        continue;
    assert_int_equal(get(pair.client, buf, sizeof buf), BT_IO_ERROR);
}

static void test_no_renegotiation(void **state)
{
    char buf[64];

    (void)state;
    open_ready(TLS1_2_VERSION);
    SSL_clear_options(pair.client->ssl, SSL_OP_NO_RENEGOTIATION);
    assert_int_equal(SSL_renegotiate(pair.client->ssl), 1);
    for (int i = 0; i < 5; i++) {
        (void)SSL_do_handshake(pair.client->ssl);
        ERR_clear_error();
        (void)get(pair.server, buf, sizeof buf);
    }
    assert_int_equal(SSL_num_renegotiations(pair.server->ssl), 0);
}

static void test_takes_all(void **state)
{
    struct bt_tls_side *side;

    (void)state;
    assert_null(side_new(NULL, 3, true));
    side = side_new(SSL_new(pair.client_ctx), pair.client_fd, false);
    side->leaf = (void *)side;
    leaves = 1;
    assert_true(side_early(side, BT_STR("")));
    assert_null(side->early);
    assert_true(side_early(side, BT_STR("abc")));
    tls_transport.close(side);
    assert_int_equal(leaves, 0);
}

#define PAIR(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
static const struct CMUnitTest tests[] = {
    PAIR(test_versions),
    PAIR(test_within_reads),
    PAIR(test_early),
    PAIR(test_no_tls),
    PAIR(test_refusals),
    PAIR(test_left_in_handshake),
    PAIR(test_settled),
    PAIR(test_large),
    PAIR(test_edges),
    PAIR(test_records),
    PAIR(test_close_notify),
    PAIR(test_truncated),
    PAIR(test_lenient),
    PAIR(test_reset),
    PAIR(test_garbage),
    PAIR(test_shutdown_full),
    PAIR(test_no_renegotiation),
    PAIR(test_takes_all),
    PAIR(test_behind_tickets),
    PAIR(test_tickets_without_end),
};
UNIT_MAIN(tests)
