/* nameserver.c - one question to the name servers, by c-ares: the only file that knows it.
 *
 * c-ares is used for what it is best at: resolv.conf, several servers, retries, TCP when an answer is
 * too long. Its own hosts file, search lists and sorting are off; resolve.c does that its way. Its
 * sockets and its timer are the loop's.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#define BT_LOG_TAG "resolve"
#include "net/nameserver.h"

#include <ares.h>
#include <arpa/nameser.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "base/addr.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"

enum {
    DNS_TIMEOUT_MS = 30000,
    RETRANSMIT_MS = 5000,
    PACKET = 1232, /* EDNS: what passes everywhere without fragments */
    PTR_TTL = 3600 /* c-ares does not tell it */
};

static ares_channel channel;
static bool running, searching;
static struct event timer;
static struct list sockets;

struct socket_watch {
    struct watch watch;
    struct list_link link;
};
struct question {
    enum nameserver_kind kind;
    void (*answered)(void *arg, const struct nameserver_answer *);
    void *arg;
};

/* ---- c-ares in the loop ---- */

static void timer_set(void)
{
    struct timeval tv;

    if (ares_timeout(channel, NULL, &tv) != NULL)
        evtimer_add(&timer, &tv);
    else
        evtimer_del(&timer);
}

static void timer_event(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    (void)arg;
    clock_refresh();
    ares_process_fd(channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
    timer_set();
}

static void socket_ready(struct watch *w, unsigned what)
{
    int fd = w->fd; /* w may go while c-ares closes its socket */

    ares_process_fd(channel, what & WATCH_READ ? fd : ARES_SOCKET_BAD,
                    what & WATCH_WRITE ? fd : ARES_SOCKET_BAD);
    timer_set();
}

static void socket_state(void *arg, ares_socket_t fd, int readable, int writable)
{
    struct socket_watch *found = NULL;

    (void)arg;
    LIST_EACH(&sockets, struct socket_watch, link, s)
        if (s->watch.fd == fd)
            found = s;
    if (!readable && !writable) {
        if (found != NULL) {
            loop_unwatch(&found->watch);
            list_remove(&found->link);
            free(found);
        }
        return;
    }
    if (found == NULL) {
        found = calloc(1, sizeof *found);
        CHECK(found != NULL);
        list_add_tail(&sockets, &found->link);
    }
    loop_watch(&found->watch, fd, (readable ? WATCH_READ : 0u) | (writable ? WATCH_WRITE : 0u),
               socket_ready, NULL);
}

/* ---- answers ---- */

static enum resolve_why why_of(int status)
{
    switch (status) {
    case ARES_SUCCESS:
        return RESOLVE_FINE;
    case ARES_ENODATA:
        return RESOLVE_NO_ADDRESS;
    case ARES_ENOTFOUND:
    case ARES_EBADNAME:
        return RESOLVE_NO_NAME;
    case ARES_ETIMEOUT:
        return RESOLVE_TIMEOUT;
    default:
        return RESOLVE_BROKEN;
    }
}

static void ttl_take(struct nameserver_answer *answer, int ttl)
{
    if (ttl < 0)
        ttl = 0;
    if (answer->ttl_s < 0 || ttl < answer->ttl_s)
        answer->ttl_s = ttl;
}

static int read_a(struct nameserver_answer *answer, const unsigned char *reply, int len)
{
    struct ares_addrttl got[NAMESERVER_MOST];
    int n = NAMESERVER_MOST;
    int status = ares_parse_a_reply(reply, len, NULL, got, &n);

    for (int i = 0; status == ARES_SUCCESS && i < n; i++) {
        union address *addr = &answer->addr[answer->n++];

        memset(addr, 0, sizeof *addr);
        addr->v4.sin_family = AF_INET;
        addr->v4.sin_addr = got[i].ipaddr;
        ttl_take(answer, got[i].ttl);
    }
    return status;
}

static int read_aaaa(struct nameserver_answer *answer, const unsigned char *reply, int len)
{
    struct ares_addr6ttl got[NAMESERVER_MOST];
    int n = NAMESERVER_MOST;
    int status = ares_parse_aaaa_reply(reply, len, NULL, got, &n);

    for (int i = 0; status == ARES_SUCCESS && i < n; i++) {
        union address *addr = &answer->addr[answer->n++];

        memset(addr, 0, sizeof *addr);
        addr->v6.sin6_family = AF_INET6;
        memcpy(&addr->v6.sin6_addr, &got[i].ip6addr, 16);
        ttl_take(answer, got[i].ttl);
    }
    return status;
}

static void answered(void *arg, int status, int timeouts, unsigned char *reply, int len)
{
    struct question *question = arg;
    struct nameserver_answer answer; /* 2 KB, of which only what is filled in is read */
    struct hostent *host = NULL;

    (void)timeouts;
    answer.kind = question->kind;
    answer.n = 0;
    answer.ttl_s = -1;
    answer.name = BT_STR_NONE;
    if (status == ARES_SUCCESS && question->kind == NAMESERVER_A)
        status = read_a(&answer, reply, len);
    else if (status == ARES_SUCCESS && question->kind == NAMESERVER_AAAA)
        status = read_aaaa(&answer, reply, len);
    else if (status == ARES_SUCCESS) {
        status = ares_parse_ptr_reply(reply, len, NULL, 0, AF_INET, &host);
        if (status == ARES_SUCCESS && host->h_name != NULL)
            answer.name = str_from(host->h_name);
        answer.ttl_s = PTR_TTL;
    }
    answer.why = why_of(status);
    if (answer.why == RESOLVE_FINE && answer.n == 0 && answer.name.len == 0)
        answer.why = RESOLVE_NO_ADDRESS;
    if (running)
        question->answered(question->arg, &answer);
    if (host != NULL)
        ares_free_hostent(host);
    free(question);
}

void nameserver_ask(const char *name, enum nameserver_kind kind,
                    void (*call)(void *arg, const struct nameserver_answer *), void *arg)
{
    static const int type_of[] = {
        [NAMESERVER_AAAA] = ns_t_aaaa, [NAMESERVER_A] = ns_t_a, [NAMESERVER_PTR] = ns_t_ptr};
    struct question *question = malloc(sizeof *question);

    CHECK(question != NULL);
    question->kind = kind;
    question->answered = call;
    question->arg = arg;
    (searching ? ares_search : ares_query)(channel, name, ns_c_in, type_of[kind], answered,
                                           question);
    timer_set();
}

/* ---- beginning and end ---- */

/* Enough tries that c-ares does not give up before dns_timeout; each waits twice as long. */
static int tries_for(int64_t timeout, int64_t retransmit)
{
    int tries = 1;

    for (int64_t sum = retransmit; sum < timeout && tries < 10; tries++)
        sum += retransmit << tries;
    return tries;
}

static bool servers_set(const struct resolve_opts *opts)
{
    char text[64 * 64];
    struct str_builder list;
    int status;

    if (opts->n_servers == 0)
        return true;
    str_builder_init(&list, text, sizeof text);
    for (size_t i = 0; i < opts->n_servers; i++) {
        uint8_t bare[16];

        if (i > 0)
            str_add_char(&list, ',');
        /* In a list with ports a bare IPv6 address must stand in brackets. */
        if (str_find_char(opts->servers[i], ':') >= 0 && opts->servers[i].at[0] != '[' &&
            addr_parse(opts->servers[i], bare))
            str_add_format(&list, "[%.*s]", BT_STR_ARGS(opts->servers[i]));
        else
            str_add(&list, opts->servers[i]);
    }
    status = list.over ? ARES_ENOMEM : ares_set_servers_ports_csv(channel, str_built(&list).at);
    if (status != ARES_SUCCESS)
        bt_log(NULL, BT_ERROR, "dns_nameservers %s: %s", str_built(&list).at,
               ares_strerror(status));
    return status == ARES_SUCCESS;
}

bool nameserver_init(const struct resolve_opts *opts)
{
    int64_t timeout = opts->timeout.ms > 0 ? opts->timeout.ms : DNS_TIMEOUT_MS;
    int64_t retransmit = opts->retransmit.ms > 0 ? opts->retransmit.ms : RETRANSMIT_MS;
    char dns_only[] = "b";
    struct ares_options options = {.flags = (opts->search ? 0 : ARES_FLAG_NOSEARCH) |
                                            ARES_FLAG_NOALIASES | ARES_FLAG_EDNS,
                                   .timeout = (int)(retransmit < timeout ? retransmit : timeout),
                                   .tries = tries_for(timeout, retransmit),
                                   .lookups = dns_only,
                                   .ednspsz = PACKET,
                                   .sock_state_cb = socket_state};
    int status = ares_library_init(ARES_LIB_INIT_ALL);

    searching = opts->search;
    list_init(&sockets);
    if (status == ARES_SUCCESS)
        status = ares_init_options(&channel, &options,
                                   ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES |
                                       ARES_OPT_LOOKUPS | ARES_OPT_EDNSPSZ |
                                       ARES_OPT_SOCK_STATE_CB);
    if (status != ARES_SUCCESS) {
        bt_log(NULL, BT_ERROR, "name look-ups cannot be set up: %s", ares_strerror(status));
        return false;
    }
    evtimer_assign(&timer, loop_base(), timer_event, NULL);
    running = true;
    if (servers_set(opts))
        return true;
    nameserver_fini();
    return false;
}

void nameserver_cancel(void)
{
    ares_cancel(channel);
    timer_set();
}

void nameserver_fini(void)
{
    if (!running)
        return;
    running = false;
    ares_destroy(channel);
    evtimer_del(&timer);
    ares_library_cleanup();
}
