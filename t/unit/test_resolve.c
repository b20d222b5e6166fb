/* test_resolve.c - names to addresses and back: hosts file, memory, a scripted name server.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "sockets.h"

#include <stdio.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/addr.h"
#include "net/resolve.h"
#include "stat/counts.h"

/* ---- the name server: answers what the script says, counts what it is asked ---- */

enum { A = 1, PTR = 12, AAAA = 28 };
enum { SILENT = -1, FINE = 0, SERVFAIL = 2, NXDOMAIN = 3 };

struct script {
    const char *name;
    int type, rcode;
    unsigned ttl;
    const char *data[3]; /* addresses, or the name of a PTR; none and FINE: no data */
    unsigned asked;
};
static struct script *script;
static struct watch server;
static unsigned asked_all;
static uint8_t kept[512]; /* the last question that was not answered, to be answered late */
static size_t kept_len;
static struct sockaddr_in kept_from;

static size_t put_name(uint8_t *out, const char *name)
{
    size_t n = 0;

    while (*name != '\0') {
        size_t len = strcspn(name, ".");

        out[n++] = (uint8_t)len;
        memcpy(out + n, name, len);
        n += len;
        name += len + (name[len] == '.');
    }
    out[n++] = 0;
    return n;
}

static size_t put_record(uint8_t *out, const struct script *row, const char *data)
{
    static const uint8_t head[] = {0xc0, 12, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0};
    uint8_t *at = out + sizeof head;
    size_t len;

    memcpy(out, head, sizeof head);
    out[3] = (uint8_t)row->type;
    out[6] = (uint8_t)(row->ttl >> 24);
    out[7] = (uint8_t)(row->ttl >> 16);
    out[8] = (uint8_t)(row->ttl >> 8);
    out[9] = (uint8_t)row->ttl;
    if (row->type == A)
        len = inet_pton(AF_INET, data, at) == 1 ? 4 : 0;
    else if (row->type == AAAA)
        len = inet_pton(AF_INET6, data, at) == 1 ? 16 : 0;
    else
        len = put_name(at, data);
    out[11] = (uint8_t)len;
    return sizeof head + len;
}

/* Behind the question in `packet` of `len` bytes up to its end; sends. */
static void answer(uint8_t *packet, size_t question_end, const struct script *row,
                   const struct sockaddr_in *to)
{
    size_t len = question_end;
    uint8_t n = 0;

    packet[2] |= 0x80;
    packet[3] = (uint8_t)(0x80 | (row == NULL ? NXDOMAIN : row->rcode));
    for (; row != NULL && n < 3 && row->data[n] != NULL; n++)
        len += put_record(packet + len, row, row->data[n]);
    packet[7] = n;
    memset(packet + 8, 0, 4); /* no authority, no EDNS */
    (void)!sendto(server.fd, packet, len, 0, (const struct sockaddr *)to, sizeof *to);
}

static void asked(struct watch *w, unsigned what)
{
    uint8_t packet[1024];
    char name[256] = "";
    struct sockaddr_in from;
    socklen_t from_len = sizeof from;
    ssize_t got = recvfrom(w->fd, packet, 512, MSG_DONTWAIT, (struct sockaddr *)&from, &from_len);
    size_t at = 12, len = 0;
    int type;

    (void)what;
    if (got < 17)
        return;
    for (; packet[at] != 0 && at < (size_t)got; at += packet[at] + 1u) {
        memcpy(name + len, packet + at + 1, packet[at]);
        len += packet[at];
        name[len++] = '.';
    }
    name[len > 0 ? len - 1 : 0] = '\0';
    type = packet[at + 2];
    at += 5;
    asked_all++;
    for (struct script *row = script; row != NULL && row->name != NULL; row++)
        if (strcasecmp(row->name, name) == 0 && row->type == type) {
            row->asked++;
            if (row->rcode != SILENT) {
                answer(packet, at, row, &from);
            } else {
                memcpy(kept, packet, at);
                kept_len = at;
                kept_from = from;
            }
            return;
        }
    answer(packet, at, NULL, &from);
}

static char server_text[32];
static bt_str servers[1];
static char hosts_path[] = "/tmp/test_resolve.XXXXXX";

static void hosts_write(const char *text, int mtime)
{
    struct timespec times[2] = {{.tv_sec = mtime}, {.tv_sec = mtime}};
    int fd = open(hosts_path, O_WRONLY | O_TRUNC);

    say(fd, text);
    futimens(fd, times);
    close(fd);
}

static void opts_set(struct resolve_opts *opts)
{
    *opts = (struct resolve_opts){.servers = servers,
                                  .n_servers = 1,
                                  .hosts_file = {hosts_path, sizeof hosts_path - 1},
                                  .negative_ttl = {60000},
                                  .positive_ttl = {3600 * 1000}};
}

static int setup(void **state)
{
    struct resolve_opts opts;
    struct sockaddr_in addr = loopback(0);
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (loop_setup(state) != 0 || bind(fd, (struct sockaddr *)&addr, sizeof addr) != 0)
        return -1;
    loop_watch(&server, fd, WATCH_READ, asked, NULL);
    snprintf(server_text, sizeof server_text, "127.0.0.1:%u", port_of(fd));
    servers[0] = (bt_str){server_text, strlen(server_text)};
    hosts_write("# none\n", 1000);
    opts_set(&opts);
    script = NULL;
    asked_all = 0;
    return resolve_init(&opts) ? 0 : -1;
}

static int teardown(void **state)
{
    resolve_fini();
    loop_unwatch(&server);
    close(server.fd);
    return loop_teardown(state);
}
#define resolving(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

static void again_with(void (*change)(struct resolve_opts *))
{
    struct resolve_opts opts;

    resolve_fini();
    opts_set(&opts);
    change(&opts);
    assert_true(resolve_init(&opts));
}

/* ---- asking ---- */

static struct resolve r;
static bool told;
static unsigned tells;

static void done(struct resolve *question)
{
    assert_ptr_equal(question, &r);
    assert_false(told);
    told = true;
}

static bt_str text_of(const char *name)
{
    return (bt_str){name, strlen(name)};
}

static enum resolve_result start(const char *name)
{
    told = false;
    resolve_end(&r);
    return resolve_start(&r, text_of(name), done);
}

/* All addresses, as text with blanks between; or why there are none. */
static const char *answer_text(void)
{
    static char out[256];
    size_t len = 0;

    if (r.why != RESOLVE_FINE) {
        assert_int_equal(r.n, 0);
        return resolve_why_text(r.why);
    }
    out[0] = '\0';
    for (size_t i = 0; i < r.n; i++) {
        char addr[ADDR_TEXT];

        addr_print_sockaddr(r.addrs[i], addr);
        assert_int_equal(addr_port(r.addrs[i]), 0);
        len += (size_t)snprintf(out + len, sizeof out - len, "%s%s", i > 0 ? " " : "", addr);
    }
    return out;
}

static const char *look_up(const char *name)
{
    enum resolve_result got = start(name);

    if (got == RESOLVE_WAIT) {
        wait_for(told);
        assert_true(r.from_network);
    } else {
        assert_false(r.from_network);
        assert_int_equal(got, r.why == RESOLVE_FINE ? RESOLVE_DONE : RESOLVE_FAILED);
    }
    return answer_text();
}

static const char *reverse(const char *text)
{
    struct sockaddr_storage addr;

    told = false;
    resolve_end(&r);
    assert_true(addr_parse_sockaddr(text_of(text), 80, &addr));
    if (resolve_reverse_start(&r, (struct sockaddr *)&addr, done) == RESOLVE_WAIT)
        wait_for(told);
    return r.why == RESOLVE_FINE ? r.name.at : resolve_why_text(r.why);
}

static void later(int64_t ms)
{
    clock_shift(ms);
    clock_refresh();
    loop_clock_moved();
    turn_for(2);
}

/* ---- tests ---- */

static void addresses_need_nobody(void **state)
{
    (void)state;
    assert_string_equal(look_up("192.0.2.7"), "192.0.2.7");
    assert_string_equal(look_up("2001:db8::7"), "2001:db8::7");
    assert_string_equal(look_up("[2001:db8::7]"), "2001:db8::7");
    assert_int_equal(asked_all, 0);
    resolve_end(&r);
}

static void a_name_is_asked_once_and_remembered(void **state)
{
    struct script rows[] = {{"www.example.com", A, FINE, 300, {"192.0.2.1", "192.0.2.2"}, 0},
                            {"www.example.com", AAAA, FINE, 300, {"2001:db8::1"}, 0},
                            {NULL, 0, 0, 0, {NULL}, 0}};
    int64_t queries = atomic_load(&count_row[COUNT_dns_queries]);
    int64_t cached = atomic_load(&count_row[COUNT_dns_cached]);

    (void)state;
    script = rows;
    assert_string_equal(look_up("www.example.com"), "2001:db8::1 192.0.2.1 192.0.2.2");
    assert_string_equal(look_up("WWW.Example.COM."), "2001:db8::1 192.0.2.1 192.0.2.2");
    assert_int_equal(rows[0].asked + rows[1].asked, 2);
    assert_int_equal(atomic_load(&count_row[COUNT_dns_queries]), queries + 1);
    assert_int_equal(atomic_load(&count_row[COUNT_dns_cached]), cached + 1);
    later(299 * 1000);
    (void)look_up("www.example.com");
    assert_int_equal(rows[0].asked, 1);
    later(2 * 1000);
    (void)look_up("www.example.com");
    assert_int_equal(rows[0].asked, 2);
    resolve_forget();
    (void)look_up("www.example.com");
    assert_int_equal(rows[0].asked, 3);
    resolve_end(&r);
}

static void times_are_kept_within_limits(void **state)
{
    struct script rows[] = {{"short.example", A, FINE, 1, {"192.0.2.1"}, 0},
                            {"long.example", A, FINE, 1000000, {"192.0.2.2"}, 0},
                            {NULL, 0, 0, 0, {NULL}, 0}};

    (void)state;
    script = rows;
    (void)look_up("short.example");
    (void)look_up("long.example");
    later(50 * 1000); /* negative_dns_ttl is the least for answers, too */
    (void)look_up("short.example");
    assert_int_equal(rows[0].asked, 1);
    later(20 * 1000);
    (void)look_up("short.example");
    assert_int_equal(rows[0].asked, 2);
    later(3500 * 1000);
    (void)look_up("long.example");
    assert_int_equal(rows[1].asked, 1);
    later(100 * 1000);
    (void)look_up("long.example");
    assert_int_equal(rows[1].asked, 2);
    resolve_end(&r);
}

static void failures_are_told_and_remembered(void **state)
{
    struct script rows[] = {{"empty.example", A, FINE, 300, {NULL}, 0},
                            {"empty.example", AAAA, FINE, 300, {NULL}, 0},
                            {"broken.example", A, SERVFAIL, 0, {NULL}, 0},
                            {"broken.example", AAAA, SERVFAIL, 0, {NULL}, 0},
                            {"half.example", A, FINE, 300, {"192.0.2.3"}, 0},
                            {"half.example", AAAA, SERVFAIL, 0, {NULL}, 0},
                            {NULL, 0, 0, 0, {NULL}, 0}};
    int64_t failed = atomic_load(&count_row[COUNT_dns_failed]);
    unsigned so_far;

    (void)state;
    script = rows;
    assert_string_equal(look_up("none.example"), "no such name");
    assert_string_equal(look_up("empty.example"), "the name has no address");
    assert_string_equal(look_up("broken.example"), "name servers cannot tell");
    assert_string_equal(look_up("half.example"), "192.0.2.3");
    assert_int_equal(atomic_load(&count_row[COUNT_dns_failed]), failed + 3);
    so_far = asked_all;
    assert_int_equal(start("none.example"), RESOLVE_FAILED);
    assert_int_equal(r.why, RESOLVE_NO_NAME);
    assert_int_equal(start("broken.example"), RESOLVE_FAILED);
    assert_int_equal(asked_all, so_far);
    later(6 * 1000);
    so_far = asked_all;
    assert_int_equal(start("none.example"), RESOLVE_FAILED);
    assert_int_equal(start("broken.example"), RESOLVE_WAIT); /* it may have recovered */
    wait_for(told);
    later(60 * 1000);
    assert_int_equal(start("none.example"), RESOLVE_WAIT);
    resolve_end(&r);
}

static void what_is_no_name_is_not_asked(void **state)
{
    static const char *const bad[] = {"",    ".",    "a..b",     ".a",   "-a.example",
                                      "a b", "a/b",  "a\\.b",    "a-",   "exa\nmple",
                                      "*",   "a%20", "\303\244", "[::1", "a:80"};
    char label[70], name[300] = "";

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(start(bad[i]), RESOLVE_FAILED);
    memset(label, 'a', 64);
    label[64] = '\0';
    assert_int_equal(start(label), RESOLVE_FAILED);
    for (int i = 0; i < 127; i++)
        strcat(name, "a.");
    assert_int_equal(start(name), RESOLVE_WAIT); /* 253 and the dot */
    strcat(name, "a");
    assert_int_equal(start(name), RESOLVE_FAILED);
    assert_int_equal(r.why, RESOLVE_NO_NAME);
    assert_int_equal(resolve_start(&r, (bt_str){"a\0b", 3}, done), RESOLVE_FAILED);
    resolve_end(&r);
}

static struct resolve many[4];

static void one_of_many(struct resolve *question)
{
    tells++;
    assert_int_equal(question->n, 1);
    if (question == &many[0])
        resolve_end(&many[2]);  /* it shall not be called any more */
    if (question == &many[1]) { /* ask the same from within */
        assert_int_equal(resolve_start(&r, BT_STR("many.example"), done), RESOLVE_DONE);
        assert_string_equal(answer_text(), "192.0.2.9");
    }
    assert_ptr_not_equal(question, &many[2]);
}

static void many_wait_for_one_question(void **state)
{
    struct script rows[] = {{"many.example", A, FINE, 300, {"192.0.2.9"}, 0},
                            {NULL, 0, 0, 0, {NULL}, 0}};

    (void)state;
    script = rows;
    tells = 0;
    for (int i = 0; i < 4; i++)
        assert_int_equal(resolve_start(&many[i], BT_STR("many.example"), one_of_many),
                         RESOLVE_WAIT);
    for (int i = 0; i < 1000 && tells < 3; i++)
        turn_for(1);
    turn_for(5);
    assert_int_equal(tells, 3);
    assert_int_equal(rows[0].asked, 1);
    for (int i = 0; i < 4; i++)
        resolve_end(&many[i]);
    resolve_end(&r);
}

static void one_who_left_is_not_told(void **state)
{
    struct script rows[] = {{"left.example", A, FINE, 300, {"192.0.2.9"}, 0},
                            {NULL, 0, 0, 0, {NULL}, 0}};

    (void)state;
    script = rows;
    assert_int_equal(start("left.example"), RESOLVE_WAIT);
    resolve_cancel(&r);
    resolve_cancel(&r);
    turn_for(20);
    assert_false(told);
    assert_int_equal(rows[0].asked, 1);
    assert_int_equal(start("left.example"), RESOLVE_DONE); /* the answer was kept all the same */
    resolve_end(&r);
}

static void a_missing_family_is_not_waited_for(void **state)
{
    struct script rows[] = {{"v4.example", A, FINE, 300, {"192.0.2.4"}, 0},
                            {"v4.example", AAAA, SILENT, 300, {"2001:db8::4"}, 0},
                            {NULL, 0, 0, 0, {NULL}, 0}};

    (void)state;
    script = rows;
    assert_int_equal(start("v4.example"), RESOLVE_WAIT);
    for (int i = 0; i < 1000 && rows[0].asked + rows[1].asked < 2; i++)
        turn_for(1);
    turn_for(10);
    assert_false(told); /* a moment for the other */
    wait_for(told);
    assert_string_equal(answer_text(), "192.0.2.4");
    assert_int_equal(start("v4.example"), RESOLVE_DONE);
    answer(kept, kept_len, &rows[1], &kept_from); /* late: for those who ask next */
    turn_for(10);
    assert_string_equal(answer_text(), "192.0.2.4");
    assert_int_equal(start("v4.example"), RESOLVE_DONE);
    assert_string_equal(answer_text(), "2001:db8::4 192.0.2.4");
    resolve_end(&r);
}

static void silence_ends_by_time(void **state)
{
    struct script rows[] = {{"silent.example", A, SILENT, 300, {NULL}, 0},
                            {"silent.example", AAAA, SILENT, 300, {NULL}, 0},
                            {NULL, 0, 0, 0, {NULL}, 0}};

    (void)state;
    script = rows;
    assert_int_equal(start("silent.example"), RESOLVE_WAIT);
    turn_for(20);
    later(29 * 1000);
    assert_false(told);
    later(2 * 1000);
    wait_for(told);
    assert_string_equal(answer_text(), "name servers do not answer");
    assert_int_equal(start("silent.example"), RESOLVE_FAILED);
    later(10 * 1000);
    assert_int_equal(start("silent.example"), RESOLVE_WAIT);
    resolve_end(&r);
}

static void answers_stay_while_they_are_held(void **state)
{
    struct script rows[] = {{"moves.example", A, FINE, 60, {"192.0.2.1"}, 0},
                            {NULL, 0, 0, 0, {NULL}, 0}};
    static struct resolve other;

    (void)state;
    script = rows;
    (void)look_up("moves.example");
    later(61 * 1000);
    rows[0].data[0] = "192.0.2.99";
    tells = 0;
    assert_int_equal(resolve_start(&other, BT_STR("moves.example"), one_of_many), RESOLVE_WAIT);
    for (int i = 0; i < 1000 && tells == 0; i++)
        turn_for(1);
    assert_string_equal(answer_text(), "192.0.2.1");
    assert_string_equal(look_up("moves.example"), "192.0.2.99");
    resolve_end(&other);
    resolve_end(&r);
}

static void the_hosts_file_comes_first(void **state)
{
    (void)state;
    hosts_write("192.0.2.10 Box.lan box # the box\r\n"
                "2001:db8::10\tbox.lan\n"
                "192.0.2.10 box.lan\n"
                "nonsense here\n"
                "fe80::1%lo0 scoped\n"
                "#192.0.2.11 hidden\n"
                "0.0.0.0 ads.example. other.example",
                2000);
    later(1500);
    assert_string_equal(look_up("box.lan"), "192.0.2.10 2001:db8::10");
    assert_string_equal(look_up("BOX"), "192.0.2.10");
    assert_string_equal(look_up("ads.example"), "0.0.0.0");
    assert_string_equal(look_up("other.example"), "0.0.0.0");
    assert_int_equal(asked_all, 0);
    assert_string_equal(look_up("hidden"), "no such name");
    assert_string_equal(reverse("192.0.2.10"), "box.lan");
    hosts_write("192.0.2.77 box.lan\n192.0.2.77 late.lan later.lan\n", 3000);
    assert_string_equal(look_up("box.lan"),
                        "192.0.2.10 2001:db8::10"); /* looked at once a second */
    later(1500);
    assert_string_equal(look_up("box.lan"), "192.0.2.77");
    assert_string_equal(reverse("192.0.2.77"), "late.lan"); /* the last line */
    resolve_end(&r);
}

static void no_hosts_file(struct resolve_opts *opts)
{
    opts->hosts_file = BT_STR("none");
}

static void localhost_is_never_asked_about(void **state)
{
    (void)state;
    again_with(no_hosts_file);
    assert_string_equal(look_up("localhost"), "127.0.0.1 ::1");
    assert_string_equal(look_up("api.localhost"), "127.0.0.1 ::1");
    assert_int_equal(asked_all, 0);
    assert_string_equal(look_up("notlocalhost"), "no such name");
    assert_true(asked_all > 0);
    resolve_end(&r);
}

static void with_domain(struct resolve_opts *opts)
{
    opts->append_domain = BT_STR(".Corp.example");
}

static void a_domain_is_put_behind_names_without_dot(void **state)
{
    struct script rows[] = {{"wiki.corp.example", A, FINE, 300, {"192.0.2.20"}, 0},
                            {"wiki", A, FINE, 300, {"192.0.2.21"}, 0},
                            {NULL, 0, 0, 0, {NULL}, 0}};

    (void)state;
    script = rows;
    again_with(with_domain);
    assert_string_equal(look_up("wiki"), "192.0.2.20");
    assert_string_equal(look_up("wiki."), "192.0.2.21");
    assert_string_equal(look_up("wiki.corp.example"), "192.0.2.20");
    assert_int_equal(rows[0].asked, 1);
    hosts_write("192.0.2.22 wiki\n192.0.2.23 blog.corp.example\n", 5000);
    later(1500);
    assert_string_equal(look_up("wiki"), "192.0.2.22");
    assert_string_equal(look_up("blog"), "192.0.2.23");
    resolve_end(&r);
}

static void addresses_have_names(void **state)
{
    struct script rows[] = {
        {"5.2.0.192.in-addr.arpa", PTR, FINE, 300, {"Host.Example.COM"}, 0},
        {"6.2.0.192.in-addr.arpa", PTR, FINE, 300, {"evil/b.example"}, 0},
        {"1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa",
         PTR,
         FINE,
         300,
         {"six.example"},
         0},
        {NULL, 0, 0, 0, {NULL}, 0}};

    (void)state;
    script = rows;
    assert_string_equal(reverse("192.0.2.5"), "host.example.com");
    assert_string_equal(reverse("192.0.2.5"), "host.example.com");
    assert_int_equal(rows[0].asked, 1);
    assert_string_equal(reverse("2001:db8::1"), "six.example");
    assert_string_equal(reverse("192.0.2.6"), "the name has no address");
    assert_string_equal(reverse("192.0.2.7"), "no such name");
    /* A host of that name is another matter. */
    assert_string_equal(look_up("5.2.0.192.in-addr.arpa"), "no such name");
    resolve_end(&r);
}

static void few_names(struct resolve_opts *opts)
{
    opts->max_names = 3;
}

static void memory_is_bounded(void **state)
{
    struct script rows[] = {{"a.example", A, FINE, 300, {"192.0.2.1"}, 0},
                            {"b.example", A, FINE, 300, {"192.0.2.2"}, 0},
                            {"c.example", A, FINE, 300, {"192.0.2.3"}, 0},
                            {"d.example", A, FINE, 300, {"192.0.2.4"}, 0},
                            {NULL, 0, 0, 0, {NULL}, 0}};

    (void)state;
    script = rows;
    again_with(few_names);
    (void)look_up("a.example");
    (void)look_up("b.example");
    (void)look_up("c.example");
    (void)look_up("a.example");
    (void)look_up("d.example"); /* the least lately used goes: b */
    (void)look_up("a.example");
    (void)look_up("c.example");
    assert_int_equal(rows[0].asked + rows[2].asked, 2);
    (void)look_up("b.example");
    assert_int_equal(rows[1].asked, 2);
    resolve_end(&r);
    /* Those that are asked about cannot go. */
    for (int i = 0; i < 3; i++) {
        static const char *const name[] = {"w1.example", "w2.example", "w3.example"};

        assert_int_equal(resolve_start(&many[i], text_of(name[i]), one_of_many), RESOLVE_WAIT);
    }
    assert_int_equal(start("w4.example"), RESOLVE_FAILED);
    assert_int_equal(r.why, RESOLVE_BROKEN);
    for (int i = 0; i < 3; i++)
        resolve_end(&many[i]);
}

static void dead_server(struct resolve_opts *opts)
{
    opts->retransmit.ms = 100; /* c-ares hears of the refusal once for two questions */
    snprintf(server_text, sizeof server_text, "127.0.0.1:%d", 1);
    servers[0].len = strlen(server_text);
}

static void a_dead_server_is_noticed(void **state)
{
    (void)state;
    again_with(dead_server);
    (void)look_up("www.example");
    assert_true(r.why == RESOLVE_BROKEN || r.why == RESOLVE_TIMEOUT);
    resolve_end(&r);
}

static void the_end_may_come_while_somebody_waits(void **state)
{
    struct script rows[] = {{"silent.example", A, SILENT, 300, {NULL}, 0},
                            {"silent.example", AAAA, SILENT, 300, {NULL}, 0},
                            {NULL, 0, 0, 0, {NULL}, 0}};

    (void)state;
    script = rows;
    assert_int_equal(start("silent.example"), RESOLVE_WAIT);
    turn_for(5);
    resolve_fini();
    assert_false(told);
    resolve_end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        resolving(addresses_need_nobody),
        resolving(a_name_is_asked_once_and_remembered),
        resolving(times_are_kept_within_limits),
        resolving(failures_are_told_and_remembered),
        resolving(what_is_no_name_is_not_asked),
        resolving(many_wait_for_one_question),
        resolving(one_who_left_is_not_told),
        resolving(a_missing_family_is_not_waited_for),
        resolving(silence_ends_by_time),
        resolving(answers_stay_while_they_are_held),
        resolving(the_hosts_file_comes_first),
        resolving(localhost_is_never_asked_about),
        resolving(a_domain_is_put_behind_names_without_dot),
        resolving(addresses_have_names),
        resolving(memory_is_bounded),
        resolving(a_dead_server_is_noticed),
        resolving(the_end_may_come_while_somebody_waits),
    };
    int fd = mkstemp(hosts_path), failed;

    close(fd);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(hosts_path);
    return failed;
}
