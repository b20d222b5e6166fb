/* admin.c - the control socket: connections, and the words that they say.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#define BT_LOG_TAG "proc"
#include "proc/admin.h"

#include <errno.h>
#include <fcntl.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/check.h"
#include "base/str.h"
#include "base/suggest.h"
#include "bt.h"
#include "proc/admin_rules.h"
#include "proc/calls.h"
#include "proc/told.h"
#include "proc/version.h"
#include "stat/counter.h"
#include "stat/counts.h"
#include "stat/render.h"

enum { CALLS_MAX = 64, LINE_MAX_BYTES = 4096, WORDS = 64 };

struct admin_call {
    struct hub_item item; /* first, so that an item leads to it */
    struct admin *admin;
    struct admin_call *next;
    enum { ASKING, WAITING, ANSWERING } stage;
    char line[LINE_MAX_BYTES];
    size_t len;
    FILE *out; /* writes to `text` */
    char *text;
    size_t text_len, sent;
    char error[200]; /* "": the answer is ok */
};

/* ---- a connection's life ---- */

static void call_free(struct admin_call *call)
{
    struct admin *admin = call->admin;

    for (struct admin_call **at = &admin->calls; *at != NULL; at = &(*at)->next)
        if (*at == call) {
            *at = call->next;
            break;
        }
    admin->n_calls--;
    if (call->stage != WAITING)
        hub_remove(&admin->hub, &call->item);
    if (call->item.fd >= 0)
        close(call->item.fd);
    fclose(call->out);
    free(call->text);
    free(call);
}

static void send_more(struct admin_call *call)
{
    while (call->sent < call->text_len) {
        ssize_t n = send(call->item.fd, call->text + call->sent, call->text_len - call->sent,
                         MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n < 0)
            break;
        call->sent += (size_t)n;
    }
    call_free(call);
}

static void answer(struct admin_call *call)
{
    char *body = NULL;
    size_t body_len = 0;

    /* The first line tells how it went, and that is known last. */
    fclose(call->out);
    body = call->text;
    body_len = call->text_len;
    call->text = NULL;
    call->out = open_memstream(&call->text, &call->text_len);
    CHECK(call->out != NULL);
    if (call->error[0] != '\0')
        fprintf(call->out, "error: %s\n", call->error);
    else
        fputs("ok\n", call->out);
    fwrite(body, 1, body_len, call->out);
    fflush(call->out);
    free(body);
    if (call->stage == WAITING)
        hub_add(&call->admin->hub, &call->item, EPOLLOUT);
    else
        hub_change(&call->admin->hub, &call->item, EPOLLOUT);
    call->stage = ANSWERING;
    send_more(call);
}

FILE *admin_out(struct admin_call *call)
{
    return call->out;
}

const struct admin_owner *admin_owner_of(const struct admin_call *call)
{
    return call->admin->owner;
}

int admin_fd(const struct admin_call *call)
{
    return call->item.fd;
}

void admin_over(struct admin_call *call)
{
    call_free(call);
}

void admin_done(struct admin_call *call)
{
    answer(call);
}

void admin_failed(struct admin_call *call, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(call->error, sizeof call->error, format, args);
    va_end(args);
    answer(call);
}

/* ---- what only looks ---- */

static void do_stats(struct admin_call *call, bt_str *word, size_t n)
{
    struct render_filter filter = {.kind = -1};
    enum render_form form = RENDER_TEXT;

    for (size_t i = 0; i < n; i++) {
        if (str_eq_literal(word[i], "--json")) {
            form = RENDER_JSON;
        } else if (str_eq_literal(word[i], "--openmetrics")) {
            form = RENDER_OPENMETRICS;
        } else if (str_eq_literal(word[i], "--kind")) {
            filter.kind = i + 1 < n ? render_kind_of(word[++i].at) : -1;
            if (filter.kind < 0) {
                admin_failed(call, "--kind is one of count, gauge, histogram");
                return;
            }
        } else if (str_starts(word[i], BT_STR("-"))) {
            admin_failed(call,
                         "stats has no option %s; there are --json, --openmetrics, --kind KIND",
                         word[i].at);
            return;
        } else if (filter.pattern != NULL) {
            admin_failed(call, "stats takes one pattern");
            return;
        } else {
            filter.pattern = word[i].at;
        }
    }
    render_counters(call->out, call->admin->owner->segment(), form, &filter);
    admin_done(call);
}

struct listing {
    FILE *out;
    bool json, some;
};

static void list_worker(void *arg, const struct segment *segment, unsigned generation, unsigned row)
{
    static const char *const states[] = {[SEGMENT_ABSENT] = "absent",
                                         [SEGMENT_STARTING] = "starting",
                                         [SEGMENT_ACCEPTING] = "accepting",
                                         [SEGMENT_DRAINING] = "draining"};
    struct listing *listing = arg;
    struct segment_worker *worker = segment_worker(segment, row);
    const char *state = states[worker->state];
    int64_t requests = counter_of_row(segment, row, "client.requests");
    int64_t open = counter_of_row(segment, row, "client.open");

    if (worker->pid == 0)
        state = "waiting"; /* for its start: one that dies soon again is started later */
    if (listing->json)
        fprintf(listing->out,
                "%s\n  {\"worker\": %u, \"pid\": %d, \"generation\": %u, \"state\": \"%s\", "
                "\"since\": %" PRId64 ", \"respawns\": %" PRId64 ", \"requests\": %" PRId64
                ", \"open\": %" PRId64 "}",
                listing->some ? "," : "", row, worker->pid, generation, state, worker->since,
                worker->respawns, requests, open);
    else if (worker->pid == 0)
        fprintf(listing->out,
                "worker %u  no process  generation %u  waiting to be started  respawns %" PRId64
                "  requests %" PRId64 "\n",
                row, generation, worker->respawns, requests);
    else
        fprintf(listing->out,
                "worker %u  pid %d  generation %u  %s  respawns %" PRId64 "  requests %" PRId64
                "  open %" PRId64 "\n",
                row, worker->pid, generation, state, worker->respawns, requests, open);
    listing->some = true;
}

static void do_workers(struct admin_call *call, bt_str *word, size_t n)
{
    struct listing listing = {call->out, n == 1 && str_eq_literal(word[0], "--json"), false};

    if (n > 1 || (n == 1 && !listing.json)) {
        admin_failed(call, "workers takes --json and nothing else");
        return;
    }
    if (listing.json)
        fputc('[', call->out);
    call->admin->owner->workers(list_worker, &listing);
    if (listing.json)
        fputs(listing.some ? "\n]\n" : "]\n", call->out);
    admin_done(call);
}

static void do_segment(struct admin_call *call, bt_str *word, size_t n)
{
    (void)word;
    (void)n;
    fprintf(call->out, "/proc/%d/fd/%d\n", (int)getpid(), call->admin->owner->segment()->fd);
    admin_done(call);
}

static void do_version(struct admin_call *call, bt_str *word, size_t n)
{
    (void)word;
    (void)n;
    version_print(call->out);
    admin_done(call);
}

static void do_rules(struct admin_call *call, bt_str *word, size_t n)
{
    bool json = n == 1 && str_eq_literal(word[0], "--json");

    if (n > 1 || (n == 1 && !json)) {
        admin_failed(call, "rules takes --json and nothing else");
        return;
    }
    admin_rules_print(call->out, json);
    admin_done(call);
}

/* Another process answers; all that is left to do here is to let go of the connection. */
static void do_explain(struct admin_call *call, bt_str *word, size_t n)
{
    struct admin_explain explain;

    if (!admin_explain(call->item.fd, word, n, &explain)) {
        admin_failed(call, "%s", explain.why);
        return;
    }
    admin_wait(call);
    call_free(call);
}

/* ---- what does something ---- */

void admin_wait(struct admin_call *call)
{
    hub_remove(&call->admin->hub, &call->item);
    call->stage = WAITING;
}

static void act(struct admin_call *call, enum admin_act what, int64_t number)
{
    admin_wait(call);
    call->admin->owner->act(call, what, number);
}

static void do_plain(struct admin_call *call, enum admin_act what, size_t n)
{
    if (n > 0)
        admin_failed(call, "nothing may follow this command");
    else
        act(call, what, 0);
}

static void do_reload(struct admin_call *call, bt_str *word, size_t n)
{
    (void)word;
    do_plain(call, ADMIN_RELOAD, n);
}

static void do_reload_lists(struct admin_call *call, bt_str *word, size_t n)
{
    (void)word;
    do_plain(call, ADMIN_LISTS, n);
}

static void do_rotate(struct admin_call *call, bt_str *word, size_t n)
{
    (void)word;
    do_plain(call, ADMIN_ROTATE, n);
}

static void do_drain(struct admin_call *call, bt_str *word, size_t n)
{
    (void)word;
    do_plain(call, ADMIN_DRAIN, n);
}

static void do_stop(struct admin_call *call, bt_str *word, size_t n)
{
    (void)word;
    do_plain(call, ADMIN_STOP, n);
}

static void do_idle(struct admin_call *call, bt_str *word, size_t n)
{
    if (n == 1 && str_eq_literal(word[0], "close"))
        act(call, ADMIN_IDLE_CLOSE, 0);
    else
        admin_failed(call, "say: idle close");
}

static void do_clock(struct admin_call *call, bt_str *word, size_t n)
{
    int64_t seconds;

    if (n == 1 && str_starts(word[0], BT_STR("+")) &&
        str_int(str_skip(word[0], 1), 0, INT64_C(100000000), &seconds))
        act(call, ADMIN_CLOCK, seconds);
    else
        admin_failed(call, "say: clock +SECONDS");
}

static const struct {
    const char *word;
    void (*run)(struct admin_call *, bt_str *word, size_t n);
} commands[] = {
    {"stats", do_stats},
    {"workers", do_workers},
    {"segment", do_segment},
    {"version", do_version},
    {"reload", do_reload},
    {"rotate", do_rotate},
    {"rules", do_rules},
    {"explain", do_explain},
    {"drain", do_drain},
    {"stop", do_stop},
    {"idle", do_idle},
    {"clock", do_clock},
    {"reload-lists", do_reload_lists},
    {"status", told_status},
    {"config", told_config},
    {"top", told_top},
    {"kill", told_kill},
    {"set", told_set},
    {"log", told_log},
    {"tail", told_tail},
};

/* As do_explain(). */
static void do_call(struct admin_call *call, const bt_str *word, size_t n)
{
    char text[LINE_MAX_BYTES];
    size_t len = 0;

    for (size_t i = 0; i < n; i++) {
        memcpy(text + len, word[i].at, word[i].len);
        len += word[i].len;
        text[len++] = ' ';
    }
    if (!call->admin->owner->call(call->item.fd, (bt_str){text, len})) {
        admin_failed(call, "no worker serves at the moment");
        return;
    }
    admin_wait(call);
    call_free(call);
}

static void run_line(struct admin_call *call)
{
    struct suggest near;
    bt_str rest = str_trim_space((bt_str){call->line, call->len}), word[WORDS];
    size_t n = 0;

    while (n < WORDS && str_word(&rest, &word[n]))
        n++;
    for (size_t i = 0; i < n; i++) /* where a blank was, or the line ended */
        call->line[(size_t)(word[i].at - call->line) + word[i].len] = '\0';
    if (n == 0) {
        admin_failed(call, "a command is missing");
        return;
    }
    suggest_init(&near, word[0]);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        suggest_try(&near, commands[i].word);
        if (!bt_str_eq(word[0], str_from(commands[i].word)))
            continue;
        commands[i].run(call, word + 1, n - 1);
        return;
    }
    if (calls_known(word[0]))
        do_call(call, word, n);
    else if (near.best != NULL)
        admin_failed(call, "no command \"%s\"; did you mean \"%s\"?", word[0].at, near.best);
    else
        admin_failed(call, "no command \"%s\"", word[0].at);
}

/* ---- connections ---- */

static void call_ready(struct hub_item *item, uint32_t events)
{
    struct admin_call *call = (struct admin_call *)(void *)item;

    (void)events;
    if (call->stage == ANSWERING) {
        send_more(call);
        return;
    }
    ssize_t n = recv(item->fd, call->line + call->len, sizeof call->line - 1 - call->len,
                     MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0)
        call->len += (size_t)n;
    if (n <= 0 && call->len == 0) {
        call_free(call);
        return;
    }
    if (memchr(call->line, '\n', call->len) != NULL || n <= 0)
        run_line(call);
    else if (call->len == sizeof call->line - 1)
        admin_failed(call, "the line is longer than %d bytes", LINE_MAX_BYTES - 2);
}

static struct admin_call *call_new(struct admin *admin, int fd)
{
    struct admin_call *call = calloc(1, sizeof *call);

    CHECK(call != NULL);
    call->out = open_memstream(&call->text, &call->text_len);
    CHECK(call->out != NULL);
    call->item = (struct hub_item){fd, call_ready};
    call->admin = admin;
    call->next = admin->calls;
    admin->calls = call;
    admin->n_calls++;
    return call;
}

/* Kept for the moment when there is no other: whoever waits at the socket is taken in and sent
 * away, since the socket would else be ready for ever. */
static int spare = -1;

static void turn_away(int listener)
{
    if (spare >= 0)
        close(spare);
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0)
        close(fd);
    spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
    bt_log_limited(NULL, BT_WARN, 60,
                   "control socket: no descriptor is free, so one who came was sent away; raise "
                   "max_filedescriptors");
}

static void listener_ready(struct hub_item *item, uint32_t events)
{
    struct admin *admin = (struct admin *)(void *)((char *)item - offsetof(struct admin, listener));
    int fd = accept4(item->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    (void)events;
    if (fd < 0) {
        if (errno == EMFILE || errno == ENFILE)
            turn_away(item->fd);
        return;
    }
    if (admin->n_calls >= CALLS_MAX) {
        close(fd);
        bt_log_limited(NULL, BT_WARN, 60,
                       "control socket: more than %d connections at once; one was closed",
                       CALLS_MAX);
        return;
    }
    hub_add(&admin->hub, &call_new(admin, fd)->item, EPOLLIN);
}

int admin_give(struct admin_call *call)
{
    int fd = call->item.fd;

    call->item.fd = -1;
    call_free(call);
    return fd;
}

struct admin_call *admin_take(struct admin *admin, int fd)
{
    struct admin_call *call = call_new(admin, fd);

    call->stage = WAITING;
    return call;
}

bool admin_is_quiet(const struct admin *admin, const struct admin_call *but)
{
    for (const struct admin_call *call = admin->calls; call != NULL; call = call->next)
        if (call != but && (call->stage != ASKING || call->len > 0))
            return false;
    return true;
}

int admin_give_silent(struct admin *admin)
{
    for (struct admin_call *call = admin->calls; call != NULL; call = call->next) {
        if (call->stage != ASKING || call->len > 0)
            continue;
        hub_remove(&admin->hub, &call->item); /* while it has its descriptor */
        return admin_give(call);
    }
    return -1;
}

void admin_take_silent(struct admin *admin, int fd)
{
    hub_add(&admin->hub, &call_new(admin, fd)->item, EPOLLIN);
}

/* ---- the socket ---- */

static bool unable(struct admin_why *why, const char *path, const char *text)
{
    snprintf(why->text, sizeof why->text,
             "control socket %.100s: %s; name another with control_socket, or none", path, text);
    return false;
}

/* false: somebody listens there, or it is no socket. */
static bool clear_place(const struct sockaddr_un *addr, struct admin_why *why)
{
    struct stat st;

    if (lstat(addr->sun_path, &st) != 0)
        return true;
    if (!S_ISSOCK(st.st_mode))
        return unable(why, addr->sun_path, "there is a file that is no socket");
    int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool live = probe >= 0 && (connect(probe, (const struct sockaddr *)addr, sizeof *addr) == 0 ||
                               errno == EAGAIN);
    if (probe >= 0)
        close(probe);
    if (live)
        return unable(why, addr->sun_path, "another server listens there");
    return unlink(addr->sun_path) == 0 || unable(why, addr->sun_path, strerror(errno));
}

static bool begin(struct admin *admin, const char *path, int fd, const struct admin_owner *owner)
{
    if (!hub_open(&admin->hub)) {
        close(fd);
        return false;
    }
    snprintf(admin->path, sizeof admin->path, "%s", path);
    admin->listener = (struct hub_item){fd, listener_ready};
    admin->owner = owner;
    if (spare < 0)
        spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
    hub_add(&admin->hub, &admin->listener, EPOLLIN);
    return true;
}

bool admin_open(struct admin *admin, const char *path, bool make_folder,
                const struct admin_owner *owner, struct admin_why *why)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    char folder[sizeof addr.sun_path];

    if (strlen(path) >= sizeof addr.sun_path)
        return unable(why, path, "the path is too long for a socket (107 bytes at most)");
    strcpy(addr.sun_path, path);
    strcpy(folder, path);
    if (make_folder)
        (void)mkdir(dirname(folder), 0755); /* if it is missing still, bind() says so */
    if (!clear_place(&addr, why))
        return false;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return unable(why, path, strerror(errno));
    /* Nobody but the owner, from the first moment on. */
    mode_t mask = umask(0177);
    bool bound = bind(fd, (const struct sockaddr *)&addr, sizeof addr) == 0;
    umask(mask);
    if (!bound || listen(fd, 16) != 0) {
        int error = errno;
        close(fd);
        return unable(why, path, strerror(error));
    }
    return begin(admin, path, fd, owner) || unable(why, path, strerror(errno));
}

bool admin_adopt(struct admin *admin, const char *path, int fd, const struct admin_owner *owner)
{
    return begin(admin, path, fd, owner);
}

void admin_turn(struct admin *admin)
{
    hub_turn(&admin->hub, 0);
}

static void let_go(struct admin *admin)
{
    close(admin->listener.fd);
    hub_close(&admin->hub);
    admin->path[0] = '\0';
}

void admin_leave(struct admin *admin)
{
    if (admin->path[0] == '\0')
        return;
    for (struct admin_call *call = admin->calls; call != NULL; call = call->next)
        close(call->item.fd);
    let_go(admin);
}

void admin_close(struct admin *admin)
{
    if (admin->path[0] == '\0')
        return;
    while (admin->calls != NULL)
        call_free(admin->calls);
    if (unlink(admin->path) != 0 && errno != ENOENT)
        bt_log(NULL, BT_INFO, "control socket %s cannot be removed: %s; the next start replaces it",
               admin->path, strerror(errno));
    let_go(admin);
}
