/* wire.c - connections of modules (bt_net.h): the module at one end of a pair of sockets, at the other a
 * session with a CONNECT, so that all that holds for tunnels of clients holds for them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"
#include "base/str.h"
#include "bt_net.h"
#include "flow/fetch.h"
#include "flow/session.h"

enum { HELD_MAX = 256 * 1024, PENDING_MAX = 1024 * 1024, STEP = 16 * 1024 };

struct bt_wire {
    struct stream stream;
    struct bt_fetch *fetch; /* NULL: its exchange is gone */
    void (*ready)(void *arg);
    void *arg;
    enum bt_wire_state state;
    const char *error;
    char *at; /* what came */
    size_t len, cap;
    bool telling, closed; /* ready() is on the stack; it was closed there */
};

static void wire_free(struct bt_wire *wire)
{
    free(wire->at);
    free(wire);
}

/* ---- reading ---- */

static void grow(struct bt_wire *wire)
{
    if (wire->cap - wire->len >= STEP)
        return;
    wire->cap = wire->len + STEP;
    wire->at = realloc(wire->at, wire->cap);
    CHECK(wire->at != NULL);
}

/* The word that the tunnel stands comes first. */
static void opened(struct bt_wire *wire)
{
    static const char end[] = "\r\n\r\n";
    const char *head = memmem(wire->at, wire->len, end, sizeof end - 1);

    if (head == NULL)
        return;
    wire->state = BT_WIRE_OPEN;
    wire->len -= (size_t)(head - wire->at) + sizeof end - 1;
    memmove(wire->at, head + sizeof end - 1, wire->len);
}

static void wire_read(struct bt_wire *wire)
{
    ssize_t n = 1;

    while (n > 0 && wire->len < HELD_MAX) {
        grow(wire);
        n = stream_read(&wire->stream, wire->at + wire->len, STEP);
        if (n > 0)
            wire->len += (size_t)n;
    }
    if (wire->state == BT_WIRE_OPENING && wire->len > 0)
        opened(wire);
    if (n == BT_IO_EOF || n == BT_IO_ERROR) {
        if (wire->state == BT_WIRE_OPENING && wire->error == NULL)
            wire->error = "cut";
        wire->state = wire->state == BT_WIRE_OPENING ? BT_WIRE_FAILED : BT_WIRE_ENDED;
    } else {
        stream_watch(&wire->stream);
    }
}

static void wire_ready(struct stream *stream)
{
    struct bt_wire *wire = LIST_OF(stream, struct bt_wire, stream);

    if (wire->state == BT_WIRE_OPENING || wire->state == BT_WIRE_OPEN)
        wire_read(wire);
    wire->telling = true;
    wire->ready(wire->arg);
    wire->telling = false;
    if (wire->closed)
        wire_free(wire);
}

/* The end of the socket follows, and tells. */
static void wire_over(void *wire_, const char *error)
{
    struct bt_wire *wire = wire_;

    wire->fetch = NULL;
    if (wire->error == NULL)
        wire->error = error;
}

/* ---- bt_net.h ---- */

struct bt_wire *bt_wire_open(bt_str host, unsigned port, enum bt_initiator by,
                             void (*ready)(void *arg), void *arg, const char **why)
{
    char target[300];
    bool v6 = str_find_char(host, ':') >= 0 && host.len > 0 && host.at[0] != '[';
    int n = snprintf(target, sizeof target, v6 ? "[%.*s]:%u" : "%.*s:%u", BT_STR_ARGS(host), port);
    struct bt_fetch_request request = {.method = BT_STR("CONNECT"), .by = by};
    struct bt_wire *wire;
    int pair[2];

    *why = "that is no host and port";
    if (host.len == 0 || n < 0 || (size_t)n >= sizeof target || port == 0 || port > 65535)
        return NULL;
    request.url = (bt_str){target, (size_t)n};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) != 0) {
        *why = "there are no descriptors left";
        return NULL;
    }
    wire = calloc(1, sizeof *wire);
    CHECK(wire != NULL);
    wire->ready = ready;
    wire->arg = arg;
    wire->fetch = fetch_connect(session_own(pair[1]), &request, wire_over, wire, why);
    if (wire->fetch == NULL) {
        close(pair[0]);
        wire_free(wire);
        return NULL;
    }
    stream_init(&wire->stream, pair[0], wire_ready);
    stream_watch(&wire->stream);
    return wire;
}

enum bt_wire_state bt_wire_state(const struct bt_wire *wire)
{
    return wire->state;
}

const char *bt_wire_error(const struct bt_wire *wire)
{
    return wire->error != NULL ? wire->error : "cut";
}

bt_str bt_wire_bytes(const struct bt_wire *wire)
{
    return wire->state == BT_WIRE_OPENING ? BT_STR("") : (bt_str){wire->at, wire->len};
}

void bt_wire_used(struct bt_wire *wire, size_t n)
{
    bool full = wire->len >= HELD_MAX;

    CHECK(n <= wire->len);
    wire->len -= n;
    if (n > 0 && wire->len > 0)
        memmove(wire->at, wire->at + n, wire->len);
    if (full && wire->state == BT_WIRE_OPEN)
        stream_again(&wire->stream); /* there may be more than was read */
}

bool bt_wire_send(struct bt_wire *wire, bt_str bytes)
{
    if (wire->state != BT_WIRE_OPEN || stream_pending(&wire->stream) + bytes.len > PENDING_MAX)
        return false;
    return bytes.len == 0 || stream_put(&wire->stream, bytes.at, bytes.len);
}

void bt_wire_close(struct bt_wire *wire)
{
    struct bt_fetch *fetch = wire->fetch;

    wire->fetch = NULL;
    if (fetch != NULL)
        fetch_leave(fetch, wire->state == BT_WIRE_OPENING);
    if (stream_pending(&wire->stream) > 0)
        stream_close_lingering(&wire->stream);
    else
        stream_close(&wire->stream);
    wire->closed = true;
    if (!wire->telling)
        wire_free(wire);
}
