/* fuzz_exchange.c - whole conversations: clients, the server's own loop and sessions, and origins.
 *
 * The input is a script. Its bytes are said by whoever has the word; `~` and a letter are orders:
 *
 *   ~n  a new client; it has the word     ~0 .. ~3  that client has the word
 *   ~o  the last origin has the word      ~p        the origin before it
 *   ~t  let the server run                ~~        a tilde
 *   ~h  end what it sends                 ~x        close
 *   ~s  stop reading, or read again       ~z        say 64 KB
 *   ~k  half a minute passes              ~f        the next connection to an origin is refused
 *
 * What an origin says before anybody has connected waits for the next one. At the end all that was
 * said is delivered, everybody leaves, and then it must hold that nothing is left open, that gauges
 * are zero, and that every byte that a client or an origin got is proper HTTP, one message behind the
 * other.
 *
 * The clients are socketpairs. So are the origins: connect() is our own here. No name is asked for
 * but those of a hosts file.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/log.h"
#include "conf/complain.h"
#include "flow/fields.h"
#include "flow/flow.h"
#include "flow/logs.h"
#include "flow/marks.h"
#include "flow/pages.h"
#include "flow/session.h"
#include "http/parse.h"
#include "net/loop.h"
#include "plug/acl.h"
#include "plug/generation.h"
#include "stat/counter.h"

enum {
    CLIENTS = 4,
    ORIGINS = 24,
    INPUT_MAX = 8192,
    SAY = 65536,
    HEARD_MAX = 4 << 20,
    FIELDS = 300,
    DESCRIPTORS = 400
};

/* One end of a conversation. */
struct end {
    int fd; /* -1: closed, or not there */
    bool mute, deaf, seen_end;
    char *say, *heard; /* all that it says, all that it got */
    size_t said, to_say, cap, got, got_cap;
};

static struct end client[CLIENTS], origin[ORIGINS], early; /* early: for the next origin */
static unsigned n_clients, n_origins;
static bool refuse_next;
static struct segment segment;

static void grow(char **bytes, size_t *cap, size_t need)
{
    if (need <= *cap)
        return;
    *cap = need * 2;
    *bytes = realloc(*bytes, *cap);
    MUST(*bytes != NULL);
}

static void end_say(struct end *e, const char *bytes, size_t n)
{
    if (n == 0 || e->mute || e->to_say + n > HEARD_MAX)
        return;
    grow(&e->say, &e->cap, e->to_say + n);
    memcpy(e->say + e->to_say, bytes, n);
    e->to_say += n;
}

static void end_open(struct end *e, int fd)
{
    *e = (struct end){.fd = fd};
}

static void end_close(struct end *e)
{
    if (e->fd >= 0)
        close(e->fd);
    e->fd = -1;
}

static void end_forget(struct end *e)
{
    end_close(e);
    free(e->say);
    free(e->heard);
    *e = (struct end){.fd = -1};
}

/* Say and hear what can be; true: something was. */
static bool end_move(struct end *e)
{
    bool moved = false;
    ssize_t n;

    if (e->fd < 0)
        return false;
    while (e->said < e->to_say) {
        n = send(e->fd, e->say + e->said, e->to_say - e->said, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n <= 0)
            break;
        e->said += (size_t)n;
        moved = true;
    }
    while (!e->deaf && e->got < HEARD_MAX) {
        grow(&e->heard, &e->got_cap, e->got + SAY);
        n = recv(e->fd, e->heard + e->got, SAY, MSG_DONTWAIT);
        if (n <= 0) {
            moved |= !e->seen_end && n == 0;
            e->seen_end |= n == 0;
            break;
        }
        e->got += (size_t)n;
        moved = true;
    }
    return moved;
}

/* ---- in place of the network ---- */

int connect(int fd, __CONST_SOCKADDR_ARG to, socklen_t len)
{
    const struct sockaddr *addr = to.__sockaddr__;
    int pair[2], type = 0;
    socklen_t size = sizeof type;

    (void)len;
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM ||
        (addr->sa_family != AF_INET && addr->sa_family != AF_INET6) || refuse_next ||
        n_origins == ORIGINS) {
        refuse_next = false;
        errno = ECONNREFUSED;
        return -1;
    }
    MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0);
    MUST(dup3(pair[0], fd, O_CLOEXEC) == fd);
    close(pair[0]);
    end_open(&origin[n_origins], pair[1]);
    end_say(&origin[n_origins], early.say, early.to_say);
    origin[n_origins].mute = early.mute;
    early.to_say = 0;
    early.mute = false;
    n_origins++;
    return 0;
}

static void turn(void)
{
    static const bool never = false;

    (void)loop_run_until(&never, 0);
}

static void run(int turns)
{
    for (int i = 0; i < turns; i++) {
        bool moved = false;

        turn();
        for (unsigned k = 0; k < n_clients; k++)
            moved |= end_move(&client[k]);
        for (unsigned k = 0; k < n_origins; k++)
            moved |= end_move(&origin[k]);
        if (!moved && i > 1)
            break;
    }
}

static void pass_time(int64_t ms)
{
    clock_shift(ms);
    clock_refresh();
    loop_clock_moved();
    turn();
}

/* ---- what must hold of what was heard ---- */

struct asked {
    enum method method[512];
    size_t n;
    bool tunnels;
};

/* The requests that a client sent, as far as they are understood. */
static void asked_look(struct asked *asked, const char *at, const char *to)
{
    static struct head_field field[FIELDS];
    struct head head;
    struct body body;
    bt_str piece;

    asked->n = 0;
    while (at < to && asked->n < 512) {
        size_t scanned = 0, len;

        if (to - at >= 2)
            at += head_skip(at, (size_t)(to - at));
        len = head_end(at, (size_t)(to - at), &scanned);
        if (len == 0 || parse_request(&head, at, len, field, FIELDS) != FAULT_NONE)
            break;
        at += len;
        asked->method[asked->n++] = head.method_id;
        asked->tunnels |= head.method_id == METHOD_CONNECT;
        body_init_request(&body, &head);
        enum body_result result;
        do
            result = body_next(&body, &at, to, &piece);
        while (result == BODY_DATA);
        if (result != BODY_END)
            break;
    }
}

static enum body_result body_skip(struct body *body, const char **at, const char *to)
{
    enum body_result result;
    bt_str piece;

    do
        result = body_next(body, at, to, &piece);
    while (result == BODY_DATA);
    return result;
}

/* What the client got: answers, one behind the other, and nothing else. */
static void answers_look(const struct asked *asked, char *at, const char *to)
{
    static struct head_field field[FIELDS];
    size_t answers = 0;
    struct head head;
    struct body body;

    while (at < to) {
        size_t scanned = 0, len = head_end(at, (size_t)(to - at), &scanned);

        if (len == 0) {
            MUST(head_peek_response(at, (size_t)(to - at)) == FAULT_NONE);
            return;
        }
        MUST(parse_response(&head, at, len, field, FIELDS) == FAULT_NONE);
        at += len;
        if (head.status == 101)
            return;
        if (head.status < 200)
            continue;
        MUST(answers <= asked->n); /* one for each request, and one for what was none */
        enum method method = answers < asked->n ? asked->method[answers] : METHOD_OTHER;
        answers++;
        if (method == METHOD_CONNECT && head.status < 300)
            return;
        body_init_response(&body, &head, method);
        const char *next = at;
        enum body_result result = body_skip(&body, &next, to);
        MUST(result != BODY_BAD);
        if (result == BODY_MORE)
            return;
        at += next - at;
        if (!head.keep_alive)
            MUST(at == to);
    }
}

/* What an origin got: requests, one behind the other. */
static void requests_look(const char *at, const char *to)
{
    static struct head_field field[FIELDS];
    struct head head;
    struct body body;

    while (at < to) {
        size_t scanned = 0, len = head_end(at, (size_t)(to - at), &scanned);

        if (len == 0) {
            MUST(head_peek(at, (size_t)(to - at)) == FAULT_NONE);
            return;
        }
        MUST(parse_request(&head, at, len, field, FIELDS) == FAULT_NONE);
        if (head.upgrade)
            return;
        at += len;
        body_init_request(&body, &head);
        enum body_result result = body_skip(&body, &at, to);
        MUST(result != BODY_BAD);
        if (result == BODY_MORE)
            return;
    }
}

static void heard_look(void)
{
    bool tunnels = false;

    for (unsigned i = 0; i < n_clients; i++) {
        struct end *e = &client[i];
        struct asked asked = {.tunnels = false};

        if (e->said > 0)
            asked_look(&asked, e->say, e->say + e->said);
        if (e->got > 0)
            answers_look(&asked, e->heard, e->heard + e->got);
        tunnels |= asked.tunnels;
    }
    for (unsigned i = 0; i < n_origins && !tunnels; i++)
        if (origin[i].got > 0)
            requests_look(origin[i].heard, origin[i].heard + origin[i].got);
}

static void gauge_look(void *arg, const struct counter_value *value)
{
    (void)arg;
    if (value->kind != BT_GAUGE || value->value == 0)
        return;
    fprintf(stderr, "gauge %s is %lld\n", value->name, (long long)value->value);
    MUST(value->value == 0);
}

/* Sockets only: a fuzzer opens pipes of its own (to a symbolizer), and ours have their gauge. */
static int descriptors(void)
{
    struct stat about;
    int n = 0;

    for (int fd = 0; fd < DESCRIPTORS; fd++)
        n += fstat(fd, &about) == 0 && S_ISSOCK(about.st_mode);
    return n;
}

/* Nothing may be open that was not before; a look-up may take its time. */
static void descriptors_look(int before)
{
    for (int i = 0; i < 5 && descriptors() > before; i++)
        pass_time(60000);
    if (descriptors() <= before)
        return;
    for (int fd = 0; fd < DESCRIPTORS; fd++) {
        char path[40], to[100];
        ssize_t n;

        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        n = readlink(path, to, sizeof to);
        if (n > 0)
            fprintf(stderr, "%d is open: %.*s\n", fd, (int)n, to);
    }
    MUST(descriptors() <= before);
}

/* ---- the script ---- */

static struct end *word; /* who has it */

static void new_client(void)
{
    struct sockaddr_in peer = {.sin_family = AF_INET, .sin_port = htons(40000)};
    int pair[2];

    if (n_clients == CLIENTS)
        return;
    peer.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0);
    end_open(&client[n_clients], pair[1]);
    word = &client[n_clients++];
    session_open(0, pair[0], (struct sockaddr *)&peer, sizeof peer);
}

static void origin_word(unsigned back)
{
    word = n_origins > back ? &origin[n_origins - 1 - back] : &early;
}

static void order(char what)
{
    static char much[SAY];

    switch (what) {
    case 'n':
        run(8);
        new_client();
        break;
    case '0':
    case '1':
    case '2':
    case '3':
        if ((unsigned)(what - '0') < n_clients)
            word = &client[what - '0'];
        break;
    case 'o':
    case 'p':
        run(8);
        origin_word(what == 'p');
        break;
    case 't':
        run(8);
        break;
    case 'h':
        run(8);
        word->mute = true;
        if (word->fd >= 0)
            shutdown(word->fd, SHUT_WR);
        break;
    case 'x':
        end_close(word);
        break;
    case 's':
        word->deaf = !word->deaf;
        break;
    case 'z':
        memset(much, 'z', sizeof much);
        end_say(word, much, sizeof much);
        break;
    case 'k':
        pass_time(30000);
        break;
    case 'f':
        refuse_next = true;
        break;
    case '~':
        end_say(word, "~", 1);
        break;
    default:
        break;
    }
}

static void script(const char *at, const char *to)
{
    new_client();
    while (at < to) {
        const char *tilde = memchr(at, '~', (size_t)(to - at));
        const char *end = tilde == NULL ? to : tilde;

        if (end > at) {
            end_say(word, at, (size_t)(end - at));
            (void)end_move(word);
        }
        at = end;
        if (to - at >= 2)
            order(at[1]);
        at = to - at >= 2 ? at + 2 : to;
    }
}

static void everybody_leaves(void)
{
    for (unsigned i = 0; i < n_clients; i++)
        client[i].deaf = false;
    for (unsigned i = 0; i < n_origins; i++)
        origin[i].deaf = false;
    run(60);
    heard_look();
    for (unsigned i = 0; i < n_clients; i++)
        end_close(&client[i]);
    run(20);
    for (unsigned i = 0; i < n_origins; i++)
        end_close(&origin[i]);
    for (int i = 0; i < 6; i++) {
        turn();
        turn();
        pass_time(1000); /* those that linger */
    }
    flow_close_idle();
    turn();
}

/* ---- the server ---- */

static char conf_path[] = "/tmp/bobtail-fuzz-conf-XXXXXX",
            hosts_path[] = "/tmp/bobtail-fuzz-hosts-XXXXXX";

static void files_end(void)
{
    (void)!unlink(conf_path);
    (void)!unlink(hosts_path);
}

static void file_write(char *path, const char *text, const char *more)
{
    int fd = mkstemp(path);

    MUST(fd >= 0 && dprintf(fd, text, more) > 0 && close(fd) == 0);
}

static void server_begin(void)
{
    static const struct bt_module *const statics[] = {&flow_module,  &fields_module, &logs_module,
                                                      &pages_module, &acl_module,    &plug_module,
                                                      &known_module, &marks_module};
    struct bt_error err;
    struct bt_arena *arena = arena_new(64 * 1024);

    setenv("BOBTAIL_MODULES", "/nonexistent", 1);
    atexit(files_end);
    file_write(hosts_path, "127.0.0.1 a o %s\n", "origin.test");
    file_write(conf_path,
               "http_port 127.0.0.1:3128\nhttp_access allow all\naccess_log none\nhosts_file %s\n"
               "visible_hostname proxy.test\nrelaxed_header_parser off\nuri_whitespace deny\n"
               "dns_nameservers 127.0.0.1\nrequest_body_max_size 1 MB\n",
               hosts_path);
    complain_init(&err, arena);
    bool good = generation_load(conf_path, statics, sizeof statics / sizeof *statics, &err) != NULL;
    if (!good)
        complain_print(&err, stderr, false);
    MUST(good);
    complain_fini(&err);
    MUST(counter_make(&segment, 1));
    counter_use(&segment, 1);
    MUST(flow_share(1) && loop_init() && generation_start(generation_current) && flow_start());
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int before = -1;
    static bool begun;

    if (!begun) {
        begun = true;
        server_begin();
        early.fd = -1;
        LLVMFuzzerTestOneInput((const uint8_t *)"GET http://a/ HTTP/1.0\r\n\r\n", 26);
        before = descriptors();
    }
    if (size > INPUT_MAX)
        return 0;
    script((const char *)data, (const char *)data + size);
    everybody_leaves();
    counter_walk(&segment, gauge_look, NULL);
    if (before >= 0)
        descriptors_look(before);
    for (unsigned i = 0; i < n_clients; i++)
        end_forget(&client[i]);
    for (unsigned i = 0; i < n_origins; i++)
        end_forget(&origin[i]);
    end_forget(&early);
    n_clients = n_origins = 0;
    refuse_next = false;
    return 0;
}
