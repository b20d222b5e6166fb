/* test_log.c - the diagnostics log, and the panic page that ends up in it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#define BT_LOG_TAG "unit"
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "unit.h"

static char folder[] = "/tmp/bobtail-log-XXXXXX";
static char path[64];
static char page[20000];

static const char *content(const char *name)
{
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    ssize_t n;

    assert_true(fd >= 0);
    n = read(fd, page, sizeof(page) - 1);
    assert_true(n >= 0);
    page[n] = '\0';
    close(fd);
    return page;
}

/* The only line of the file, after its time, which is checked. */
static const char *line(void)
{
    const char *text = content(path), *end = strchr(text, '\n');

    assert_non_null(end);
    assert_string_equal(end, "\n");
    assert_int_equal(strspn(text, "0123456789/ :."), 24);
    assert_int_equal(text[4], '/');
    assert_int_equal(text[19], '.');
    return text + 24;
}

static int fresh(void **state)
{
    (void)state;
    if (path[0] == '\0' && mkdtemp(folder) == NULL)
        return -1;
    snprintf(path, sizeof(path), "%s/log", folder);
    unlink(path);
    return log_open(path) ? 0 : -1;
}

static size_t prefix(struct bt_txn *txn, char *buf, size_t cap)
{
    return (size_t)snprintf(buf, cap, "w1 #%d ", txn == NULL ? 0 : 12);
}

static void one_line(void **state)
{
    (void)state;
    bt_log(NULL, BT_INFO, "began with %d workers", 2);
    assert_string_equal(line(), "unit| began with 2 workers\n");
}

static void prefix_and_level(void **state)
{
    (void)state;
    log_prefix_fn = prefix;
    bt_log_tagged((struct bt_txn *)path, "geo", BT_WARN, "no database");
    assert_string_equal(line(), "w1 #12 geo| warning: no database\n");
    log_prefix_fn = NULL;
}

static void cannot_be_forged(void **state)
{
    (void)state;
    bt_log(NULL, BT_ERROR, "host %s", "a\n2026/11/30 core| all is well\r\x1b[2J\x7f\tb");
    assert_string_equal(line(),
                        "unit| error: host a\\n2026/11/30 core| all is well\\r\\x1b[2J\\x7f\tb\n");
}

static void long_lines(void **state)
{
    static char text[9000];

    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    bt_log(NULL, BT_INFO, "%s", text);
    assert_in_range(strlen(line()), 3000, 4096);
    memset(text, 1, sizeof(text) - 1); /* each becomes four */
    assert_true(fresh(NULL) == 0);
    bt_log(NULL, BT_INFO, "%s", text);
    assert_in_range(strlen(line()), 3000, 4096);
}

static void levels(void **state)
{
    (void)state;
    bt_log(NULL, BT_DEBUG, "no");
    assert_false(bt_log_on(BT_DEBUG));
    log_debug_tag("other");
    assert_true(bt_log_on(BT_DEBUG));
    bt_log(NULL, BT_DEBUG, "no");
    log_level(BT_WARN);
    assert_false(bt_log_on(BT_INFO));
    bt_log(NULL, BT_INFO, "no");
    log_debug_tag("unit");
    bt_log(NULL, BT_DEBUG, "yes");
    assert_string_equal(line(), "unit| debug: yes\n");
    log_debug_none();
    log_level(BT_INFO);
    assert_false(bt_log_on(BT_DEBUG));
}

static unsigned seen[BT_DEBUG + 1];
static void on_line(enum bt_level level)
{
    seen[level]++;
}

static void limited(void **state)
{
    (void)state;
    log_on_line = on_line;
    for (int i = 0; i < 7; i++) {
        if (i == 6)
            clock_shift(10000);
        bt_log_limited(NULL, BT_WARN, 10, "full");
    }
    log_on_line = NULL;
    const char *second = strchr(content(path), '\n') + 1;
    assert_string_equal(second + 24, "unit| warning: full (5 more like this)\n");
    assert_int_equal(seen[BT_WARN], 2);
    clock_shift(-10000);
}

static void rotates(void **state)
{
    char name[80];

    (void)state;
    for (int i = 0; i < 4; i++) {
        bt_log(NULL, BT_INFO, "line %d", i);
        assert_true(log_rotate(2));
    }
    bt_log(NULL, BT_INFO, "line 4");
    assert_string_equal(line(), "unit| line 4\n");
    snprintf(name, sizeof(name), "%s.0", path);
    assert_non_null(strstr(content(name), "line 3\n"));
    snprintf(name, sizeof(name), "%s.1", path);
    assert_non_null(strstr(content(name), "line 2\n"));
    unlink(name);
    snprintf(name, sizeof(name), "%s.2", path);
    assert_int_not_equal(access(name, F_OK), 0);

    /* Somebody else renamed it: rotate 0 opens it anew. */
    snprintf(name, sizeof(name), "%s.0", path);
    assert_int_equal(rename(path, name), 0);
    bt_log(NULL, BT_INFO, "into the renamed one");
    assert_true(log_rotate(0));
    bt_log(NULL, BT_INFO, "new");
    assert_string_equal(line(), "unit| new\n");
    unlink(name);
}

static void bad_place(void **state)
{
    (void)state;
    assert_false(log_open("/nonexistent/folder/log"));
    bt_log(NULL, BT_INFO, "still there");
    assert_string_equal(line(), "unit| still there\n");
    assert_true(log_open("none"));
    bt_log(NULL, BT_INFO, "nowhere");
    assert_true(log_open(path));
    assert_string_equal(line(), "unit| still there\n");
}

static size_t describe(char *buf, size_t cap)
{
    return (size_t)snprintf(buf, cap, "#12 GET http://h/");
}
static void on_panic(void)
{
    (void)!write(check_fd, "counted\n", 8);
}

static void panics(void **state)
{
    pid_t child = fork();
    int status;

    (void)state;
    if (child == 0) {
        signal(SIGABRT, SIG_DFL);
        check_worker = 3;
        check_describe = describe;
        check_on_panic = on_panic;
        CHECK(1 + 1 == 2);
        CHECK(strlen("a") == 2);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
    content(path);
    assert_non_null(strstr(page, "PANIC: "));
    assert_non_null(strstr(page, "strlen(\"a\") == 2"));
    assert_non_null(strstr(page, "test_log.c:"));
    assert_non_null(strstr(page, "worker 3"));
    assert_non_null(strstr(page, "exchange:  #12 GET http://h/\n"));
    assert_non_null(strstr(page, "counted\n"));
}

static int tidy(void **state)
{
    (void)state;
    log_close();
    unlink(path);
    return rmdir(folder);
}

static void system_log(void **state)
{
    (void)state;
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    char got[256], wanted[64];

    snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/syslog", folder);
    assert_false(log_syslog(addr.sun_path));
    assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
    assert_true(log_syslog(addr.sun_path));
    bt_log(NULL, BT_WARN, "hello");
    ssize_t n = recv(fd, got, sizeof(got) - 1, MSG_DONTWAIT);
    assert_true(n > 0);
    got[n] = '\0';
    snprintf(wanted, sizeof(wanted), "<28>bobtail[%d]: ", (int)getpid());
    assert_memory_equal(got, wanted, strlen(wanted));
    assert_non_null(strstr(got, "unit| warning: hello"));
    /* Nobody listens any more: lines are lost, and nothing else happens. */
    close(fd);
    bt_log(NULL, BT_WARN, "lost");
    unlink(addr.sun_path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(one_line, fresh),   cmocka_unit_test_setup(prefix_and_level, fresh),
        cmocka_unit_test_setup(long_lines, fresh), cmocka_unit_test_setup(cannot_be_forged, fresh),
        cmocka_unit_test_setup(levels, fresh),     cmocka_unit_test_setup(limited, fresh),
        cmocka_unit_test_setup(rotates, fresh),    cmocka_unit_test_setup(bad_place, fresh),
        cmocka_unit_test_setup(panics, fresh),     cmocka_unit_test_setup(system_log, fresh),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, tidy);
}
