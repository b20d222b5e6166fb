/* log_net.c - log writers syslog, udp and tcp: lines to a daemon of this or of another machine.
 *
 * Each worker has a queue of its own, of bounded size, and a socket that never waits. What does not
 * fit the queue is lost, counted and said; what is in it leaves with the next batch, or by a timer
 * that tries again while something is there. A receiver that is away is tried at growing intervals
 * and costs nothing in between.
 *
 * Sockets of packets (syslog, udp) get one line a packet, many packets a call. A stream (tcp) gets
 * lines with their LF, or each behind its length (RFC 6587) where ?framing=octets is written; what
 * was cut by a connection that broke is sent again from the beginning of its line, so that a line
 * may come twice, but none comes in part. With ?tls the stream is one of TLS, to whoever has a
 * certificate for HOST (tls_outgoing_options); nothing is said to anybody else.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "bt.h"

enum {
    QUEUE_BYTES = 1 << 20, /* as many bytes wait for a receiver, unless buffer-size= says more */
    QUEUE_MOST = 256 << 20,
    PACKETS = 64,   /* that leave in one call */
    AGAIN_MS = 5,   /* until a receiver that is there, but full, is asked again */
    RETRY_MS = 100, /* until one that is away is tried again; then twice as long, and so on */
    RETRY_MOST = 10000,
    SHAKE_MS = 10000, /* a TLS handshake that takes longer is none */
    LAST_MS = 1000,   /* how long a worker that ends waits for what is still in its queue */
    PREFIX = 80       /* what stands in front of a line, at most */
};

enum kind { SYSLOG, UDP, TCP };

struct sink {
    struct sink *next; /* of `sinks` */
    enum kind kind;
    const char *name; /* for messages */
    bool octets, tls;
    bt_str host; /* with tls: who it must be */
    int priority;
    union {
        struct sockaddr any;
        struct sockaddr_un local;
        struct sockaddr_storage room;
    } to;
    socklen_t to_len;

    /* Of the worker. */
    int fd; /* -1: not connected */
    bool connecting;
    struct bt_tls_side *side; /* NULL: no handshake was begun, or it is no TLS */
    bool shaken;              /* it is done */
    int64_t begun_ms;         /* when the handshake was */
    int64_t retry_ms;         /* the next pause */
    struct bt_timer *timer;
    bool closing;
    char *queue;
    size_t cap, from, len; /* whole frames at queue[from..len]; those before have left */
    size_t sent;           /* of a stream: from <= sent <= len */
    time_t stamped;        /* the second that `stamp` is of */
    char stamp[32];
};

static struct sink *sinks; /* of all configurations that are in use */

static void sink_pump(struct sink *);
static bool sink_ready(struct sink *);

/* ---- the queue: frames of a length (4 bytes) and a text ----
 *
 * Streams need no lengths to be sent, but to know where a line begins; they keep the text as it goes
 * out, and packets have the 4 bytes in front. */

static size_t head_of(const struct sink *s)
{
    return s->kind == TCP ? 0 : sizeof(uint32_t);
}

/* Of the frame at queue[at], with its head. */
static size_t frame_len(const struct sink *s, size_t at)
{
    const char *text = s->queue + at;
    uint32_t len;

    if (s->kind != TCP) {
        memcpy(&len, text, sizeof len);
        return sizeof len + len;
    }
    if (s->octets) {
        char *end;
        unsigned long n = strtoul(text, &end, 10);

        return (size_t)(end + 1 - text) + n;
    }
    return (size_t)((const char *)memchr(text, '\n', s->len - at) + 1 - text);
}

static bool queue_room(struct sink *s, size_t n)
{
    if (s->queue == NULL)
        s->queue = malloc(s->cap);
    if (s->queue == NULL)
        return false;
    if (s->from == s->len)
        s->from = s->sent = s->len = 0;
    if (s->cap - s->len >= n)
        return true;
    if (s->cap - (s->len - s->from) < n || s->from < s->cap / 4)
        return false;
    memmove(s->queue, s->queue + s->from, s->len - s->from);
    s->len -= s->from;
    s->sent -= s->from;
    s->from = 0;
    return s->cap - s->len >= n;
}

/* "<134>Nov 30 23:00:00 bobtail[17]: ", as syslog(3) has it. */
static int put_stamp(struct sink *s, char *out)
{
    time_t now = (time_t)(bt_wall_ms() / 1000);
    struct tm tm;

    if (now != s->stamped || s->stamp[0] == '\0') {
        /* English whatever the locale: the server never sets one. */
        if (localtime_r(&now, &tm) == NULL ||
            strftime(s->stamp, sizeof s->stamp, "%b %e %H:%M:%S", &tm) == 0)
            s->stamp[0] = '\0';
        s->stamped = now;
    }
    return snprintf(out, PREFIX, "<%d>%s bobtail[%ld]: ", s->priority, s->stamp, (long)getpid());
}

/* false: no room. `line` is without its end. */
static bool queue_add(struct sink *s, bt_str line)
{
    char prefix[PREFIX];
    int n = 0;
    uint32_t len;
    char *at;

    if (s->kind == SYSLOG)
        n = put_stamp(s, prefix);
    else if (s->octets)
        n = snprintf(prefix, sizeof prefix, "%zu ", line.len);
    if (!queue_room(s, head_of(s) + (size_t)n + line.len + 1))
        return false;
    at = s->queue + s->len;
    len = (uint32_t)n + (uint32_t)line.len;
    if (s->kind != TCP) {
        memcpy(at, &len, sizeof len);
        at += sizeof len;
    }
    memcpy(at, prefix, (size_t)n);
    at += n;
    memcpy(at, line.at, line.len);
    at += line.len;
    if (s->kind == TCP && !s->octets)
        *at++ = '\n';
    s->len = (size_t)(at - s->queue);
    return true;
}

/* ---- connecting ---- */

static void timer_over(void *what)
{
    struct sink *s = what;

    s->timer = NULL;
    if (sink_ready(s)) /* also when no line waits: a handshake goes on */
        sink_pump(s);
}

static void wait_for(struct sink *s, int64_t ms)
{
    if (s->timer == NULL && !s->closing)
        s->timer = bt_timer_start((bt_duration){ms}, timer_over, s);
}

static void hang_up(struct sink *s)
{
    if (s->side != NULL)
        bt_tls_module()->transport->close(s->side);
    s->side = NULL;
    s->shaken = false;
    if (s->fd >= 0)
        close(s->fd);
    s->fd = -1;
    s->connecting = false;
}

/* It is away: later again. What was sent of a line only in part will be sent anew. */
static void sink_away(struct sink *s, const char *why)
{
    bt_log_limited(NULL, BT_ERROR, 60,
                   "%s cannot be reached (%s); lines wait for it as long as there is room", s->name,
                   why);
    hang_up(s);
    s->sent = s->from;
    wait_for(s, s->retry_ms);
    s->retry_ms = s->retry_ms * 2 > RETRY_MOST ? RETRY_MOST : s->retry_ms * 2;
}

static void sink_lost(struct sink *s, int error)
{
    sink_away(s, strerror(error));
}

static int dial(const struct sink *s)
{
    int type = s->kind == TCP ? SOCK_STREAM : SOCK_DGRAM;
    int fd = socket(s->to.any.sa_family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -1;
    if (connect(fd, &s->to.any, s->to_len) == 0 || errno == EINPROGRESS)
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

/* The handshake, which goes on by the timer. true: it is done. */
static bool sink_secure(struct sink *s)
{
    const struct bt_tls *tls = bt_tls_module();

    if (!s->tls || s->shaken)
        return true;
    if (s->side == NULL) {
        s->begun_ms = bt_wall_ms();
        s->side = tls->own(s->fd, s->host);
        if (s->side == NULL) {
            sink_lost(s, ENOMEM);
            return false;
        }
    }
    switch (tls->shake(s->side)) {
    case BT_TLS_READY:
        s->shaken = true;
        s->retry_ms = RETRY_MS;
        return true;
    case BT_TLS_WAIT:
        if (bt_wall_ms() - s->begun_ms > SHAKE_MS)
            sink_away(s, "its TLS handshake takes too long");
        else
            wait_for(s, AGAIN_MS);
        return false;
    case BT_TLS_FAILED:
        break;
    }
    sink_away(s, tls->why(s->side));
    return false;
}

/* true: there is a connection that can be written to, perhaps. */
static bool sink_ready(struct sink *s)
{
    int error = 0;
    socklen_t len = sizeof error;
    struct pollfd p;

    if (s->fd < 0) {
        if (s->timer != NULL)
            return false;
        s->fd = dial(s);
        if (s->fd < 0) {
            sink_lost(s, errno);
            return false;
        }
        s->connecting = s->kind == TCP;
    }
    if (!s->connecting)
        return sink_secure(s);
    p = (struct pollfd){.fd = s->fd, .events = POLLOUT};
    if (poll(&p, 1, 0) == 0) {
        wait_for(s, AGAIN_MS * 4);
        return false;
    }
    if (getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0 || error != 0) {
        sink_lost(s, error != 0 ? error : errno);
        return false;
    }
    s->connecting = false;
    if (!s->tls) /* else it has come half of the way */
        s->retry_ms = RETRY_MS;
    return sink_secure(s);
}

/* ---- sending ---- */

/* Has the other side closed? It sends nothing, and if it does, nobody reads it. */
static bool stream_over(const struct sink *s)
{
    char waste[512];
    ssize_t n;

    if (s->side != NULL) {
        n = bt_tls_module()->transport->read(s->side, waste, sizeof waste);
        return n == BT_IO_EOF || n == BT_IO_ERROR;
    }
    n = recv(s->fd, waste, sizeof waste, MSG_DONTWAIT);
    return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

/* As send(). */
static ssize_t stream_send(struct sink *s, const char *at, size_t len)
{
    struct iovec piece = {(char *)at, len};
    ssize_t n;

    if (s->side == NULL)
        return send(s->fd, at, len, MSG_NOSIGNAL);
    n = bt_tls_module()->transport->write(s->side, &piece, 1);
    if (n < 0)
        errno = n == BT_IO_AGAIN ? EAGAIN : errno != 0 ? errno : ECONNRESET;
    return n < 0 ? -1 : n;
}

static void pump_stream(struct sink *s)
{
    if (s->sent == s->from && stream_over(s)) {
        sink_lost(s, ECONNRESET);
        return;
    }
    while (s->sent < s->len) {
        ssize_t n = stream_send(s, s->queue + s->sent, s->len - s->sent);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EAGAIN) {
            sink_lost(s, errno);
            return;
        }
        if (n < 0) {
            wait_for(s, AGAIN_MS);
            break;
        }
        s->sent += (size_t)n;
    }
    if (s->sent == s->len) {
        s->from = s->len;
        return;
    }
    while (s->from < s->sent && s->from + frame_len(s, s->from) <= s->sent)
        s->from += frame_len(s, s->from);
}

/* One call. What it says is sendmmsg()'s. */
static int send_packets(struct sink *s, size_t *first)
{
    struct mmsghdr packet[PACKETS] = {0};
    struct iovec piece[PACKETS];
    size_t at = s->from;
    unsigned n = 0;

    for (; n < PACKETS && at < s->len; n++) {
        size_t len = frame_len(s, at);

        piece[n] = (struct iovec){s->queue + at + sizeof(uint32_t), len - sizeof(uint32_t)};
        packet[n].msg_hdr.msg_iov = &piece[n];
        packet[n].msg_hdr.msg_iovlen = 1;
        at += len;
    }
    *first = s->from + frame_len(s, s->from);
    return sendmmsg(s->fd, packet, n, MSG_NOSIGNAL);
}

static void pump_packets(struct sink *s)
{
    unsigned refused = 0;

    while (s->from < s->len) {
        size_t second;
        int n = send_packets(s, &second);

        if (n > 0) {
            for (; n > 0; n--)
                s->from += frame_len(s, s->from);
            s->retry_ms = RETRY_MS;
        } else if (errno == EMSGSIZE) {
            s->from = second;
            bt_log_lost(1);
        } else if (errno == EAGAIN || errno == ENOBUFS) {
            wait_for(s, AGAIN_MS);
            return;
        } else if (errno != EINTR && !(s->kind == UDP && errno == ECONNREFUSED && ++refused < 3)) {
            /* Of UDP that is what became of an earlier packet; the next call may go. */
            sink_lost(s, errno);
            return;
        }
    }
}

static void sink_pump(struct sink *s)
{
    if (s->from == s->len || !sink_ready(s))
        return;
    if (s->kind == TCP)
        pump_stream(s);
    else
        pump_packets(s);
}

static bool sink_write(void *what, const char *lines, size_t len)
{
    struct sink *s = what;
    const char *at = lines, *last = lines + len, *end;
    unsigned lost = 0;

    for (; at < last && (end = memchr(at, '\n', (size_t)(last - at))) != NULL; at = end + 1) {
        if (queue_add(s, (bt_str){at, (size_t)(end - at)}))
            continue;
        if (lost == 0)
            sink_pump(s); /* that may make room */
        if (lost > 0 || !queue_add(s, (bt_str){at, (size_t)(end - at)}))
            lost++;
    }
    sink_pump(s);
    if (lost > 0)
        bt_log_lost(lost);
    return true;
}

static void sink_close(void *what)
{
    struct sink *s = what;
    unsigned lost = 0;

    bt_timer_cancel(s->timer);
    s->timer = NULL;
    s->closing = true;
    for (int turn = 0; turn < LAST_MS / AGAIN_MS && s->from < s->len; turn++) {
        sink_pump(s);
        if (s->fd < 0)
            break;
        if (s->from < s->len)
            poll(NULL, 0, AGAIN_MS);
    }
    for (; s->from < s->len; lost++)
        s->from += frame_len(s, s->from);
    if (lost > 0)
        bt_log_lost(lost);
    hang_up(s);
    free(s->queue);
    s->queue = NULL;
}

/* ---- opening: in the master, where only the address is found ---- */

static void sink_gone(void *what)
{
    struct sink **link = &sinks;

    while (*link != what)
        link = &(*link)->next;
    *link = (*link)->next;
}

static struct sink *sink_new(enum kind kind, const struct bt_word *place,
                             const struct bt_log_options *options, struct bt_arena *arena)
{
    static const char *const names[] = {"syslog", "udp", "tcp"};
    struct sink *s = bt_alloc(arena, sizeof *s);
    int64_t most = options->buffer_size.bytes * 4;

    s->kind = kind;
    s->name = bt_str_printf(arena, "%s:%.*s", names[kind], BT_STR_ARGS(place->text)).at;
    s->fd = -1;
    s->next = sinks;
    sinks = s;
    bt_defer(arena, sink_gone, s);
    s->retry_ms = RETRY_MS;
    s->cap = most < QUEUE_BYTES ? QUEUE_BYTES : most > QUEUE_MOST ? QUEUE_MOST : (size_t)most;
    return s;
}

struct code {
    const char *name;
    int value;
};
static const struct code facilities[] = {
    {"auth", LOG_AUTH},     {"authpriv", LOG_AUTHPRIV}, {"cron", LOG_CRON},
    {"daemon", LOG_DAEMON}, {"ftp", LOG_FTP},           {"kern", LOG_KERN},
    {"lpr", LOG_LPR},       {"mail", LOG_MAIL},         {"news", LOG_NEWS},
    {"syslog", LOG_SYSLOG}, {"user", LOG_USER},         {"uucp", LOG_UUCP},
    {"local0", LOG_LOCAL0}, {"local1", LOG_LOCAL1},     {"local2", LOG_LOCAL2},
    {"local3", LOG_LOCAL3}, {"local4", LOG_LOCAL4},     {"local5", LOG_LOCAL5},
    {"local6", LOG_LOCAL6}, {"local7", LOG_LOCAL7},     {NULL, 0},
};
static const struct code severities[] = {
    {"emerg", LOG_EMERG},
    {"alert", LOG_ALERT},
    {"crit", LOG_CRIT},
    {"err", LOG_ERR},
    {"error", LOG_ERR},
    {"warning", LOG_WARNING},
    {"warn", LOG_WARNING},
    {"notice", LOG_NOTICE},
    {"info", LOG_INFO},
    {"debug", LOG_DEBUG},
    {NULL, 0},
};

/* Also as C spells it: LOG_LOCAL4. */
static bool code_find(const struct code *codes, bt_str name, int *out)
{
    if (name.len > 4 && memcmp(name.at, "LOG_", 4) == 0)
        name = (bt_str){name.at + 4, name.len - 4};
    for (; codes->name != NULL; codes++)
        if (bt_str_eq_nocase(name, (bt_str){codes->name, strlen(codes->name)})) {
            *out |= codes->value;
            return true;
        }
    return false;
}

/* What stands before and after the first such byte; the latter absent when there is none. */
static bt_str cut(bt_str *text, char at)
{
    const char *found = memchr(text->at, at, text->len);
    bt_str rest = BT_STR_NONE;

    if (found != NULL) {
        rest = (bt_str){found + 1, (size_t)(text->at + text->len - found - 1)};
        text->len = (size_t)(found - text->at);
    }
    return rest;
}

/* FACILITY.PRIORITY, FACILITY or nothing, and @/a/socket. "|" is of the time before options. */
static void *syslog_open(const struct bt_word *place, const struct bt_log_options *options,
                         struct bt_arena *arena, struct bt_error *err)
{
    struct sink *s = sink_new(SYSLOG, place, options, arena);
    bt_str facility = place->text, severity, path = cut(&facility, '@');
    int value = 0;

    severity = cut(&facility, '.');
    if (severity.at == NULL)
        severity = cut(&facility, '|');
    if (facility.len == 0) {
        value = LOG_LOCAL4;
    } else if (!code_find(facilities, facility, &value)) {
        bt_complain(err, place, "'%.*s' is no facility of syslog; write daemon, local0 or the like",
                    BT_STR_ARGS(facility));
        return NULL;
    }
    if (severity.len == 0) {
        value |= LOG_INFO;
    } else if (!code_find(severities, severity, &value)) {
        bt_complain(err, place, "'%.*s' is no priority of syslog; write info, notice or the like",
                    BT_STR_ARGS(severity));
        return NULL;
    }
    s->priority = value;
    if (path.len == 0)
        path = BT_STR("/dev/log");
    if (path.len >= sizeof s->to.local.sun_path) {
        bt_complain(err, place, "the path of a socket has at most %zu bytes",
                    sizeof s->to.local.sun_path - 1);
        return NULL;
    }
    s->to.local.sun_family = AF_UNIX;
    memcpy(s->to.local.sun_path, path.at, path.len);
    s->to_len = sizeof s->to.local;
    return s;
}

/* tls and framing=octets, with & between. */
static bool take_options(struct sink *s, bt_str options, const struct bt_word *place,
                         struct bt_error *err)
{
    while (options.len > 0) {
        bt_str one = options;

        options = cut(&one, '&');
        if (s->kind == TCP && bt_str_eq(one, BT_STR("framing=octets")))
            s->octets = true;
        else if (s->kind == TCP && bt_str_eq(one, BT_STR("tls")))
            s->tls = true;
        else
            return bt_complain(err, place,
                               "'%.*s' is nothing that a log can have; tcp knows ?framing=octets, "
                               "?tls, and ?tls&framing=octets",
                               BT_STR_ARGS(one));
    }
    return !s->tls || bt_tls_module() != NULL ||
           bt_complain(err, place, "for ?tls the module tls must be there, and is not");
}

/* //HOST:PORT, found once, when the configuration is read. */
static bool find_host(struct sink *s, const struct bt_word *place, struct bt_arena *arena,
                      struct bt_error *err)
{
    bt_str text = place->text, options = cut(&text, '?'), host = text, port = BT_STR_NONE;
    struct addrinfo hints = {.ai_socktype = s->kind == TCP ? SOCK_STREAM : SOCK_DGRAM,
                             .ai_flags = AI_NUMERICSERV},
                    *found;
    int error;

    if (!take_options(s, options, place, err))
        return false;
    while (host.len > 0 && host.at[0] == '/')
        host = (bt_str){host.at + 1, host.len - 1};
    for (size_t i = host.len; i > 0 && port.at == NULL; i--)
        if (host.at[i - 1] == ':') {
            port = (bt_str){host.at + i, host.len - i};
            host.len = i - 1;
        }
    if (host.len > 2 && host.at[0] == '[' && host.at[host.len - 1] == ']')
        host = (bt_str){host.at + 1, host.len - 2};
    if (host.len == 0 || port.len == 0)
        return bt_complain(err, place,
                           "a host and its port should follow, as in udp://loghost:514");
    s->host = bt_str_copy(arena, host);
    error = getaddrinfo(s->host.at, bt_str_copy(arena, port).at, &hints, &found);
    if (error != 0)
        return bt_complain(err, place, "%.*s:%.*s cannot be found: %s; write its address",
                           BT_STR_ARGS(host), BT_STR_ARGS(port), gai_strerror(error));
    memcpy(&s->to.room, found->ai_addr, found->ai_addrlen);
    s->to_len = found->ai_addrlen;
    freeaddrinfo(found);
    return true;
}

static void *udp_open(const struct bt_word *place, const struct bt_log_options *options,
                      struct bt_arena *arena, struct bt_error *err)
{
    struct sink *s = sink_new(UDP, place, options, arena);

    return find_host(s, place, arena, err) ? s : NULL;
}

static void *tcp_open(const struct bt_word *place, const struct bt_log_options *options,
                      struct bt_arena *arena, struct bt_error *err)
{
    struct sink *s = sink_new(TCP, place, options, arena);

    return find_host(s, place, arena, err) ? s : NULL;
}

/* Worker: whoever is away is told of now, not with the first line. */
static bool start(void *conf)
{
    (void)conf;
    for (struct sink *s = sinks; s != NULL; s = s->next)
        if (!s->closing && s->fd < 0)
            (void)sink_ready(s);
    return true;
}

static const struct bt_log_writer writers[] = {
    {.name = "syslog",
     .place = "[FACILITY[.PRIORITY]][@SOCKET]",
     .doc =
         "Lines to the syslog daemon of this machine, by /dev/log or another SOCKET; without more "
         "said, as local4.info.",
     .open = syslog_open,
     .write = sink_write,
     .close = sink_close},
    {.name = "udp",
     .place = "//HOST:PORT",
     .doc = "A packet a line, without its end; whether it arrives nobody knows.",
     .open = udp_open,
     .write = sink_write,
     .close = sink_close},
    {.name = "tcp",
     .place = "//HOST:PORT[?tls][?framing=octets]",
     .doc = "Lines over a connection, which is made anew when it breaks; each ends with LF, or has "
            "its length in front (RFC 6587). With tls (?tls&framing=octets for both) over TLS, to "
            "whoever has a certificate for HOST.",
     .open = tcp_open,
     .write = sink_write,
     .close = sink_close},
};

BT_MODULE(log_net, "Access logs to syslog, and to other machines over UDP and TCP.", .start = start,
          .log_writers = BT_ROWS(writers));
