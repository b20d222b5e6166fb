/* sockets.h - pairs of connected sockets, and waits that end, for tests of server/net.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef UNIT_SOCKETS_H
#define UNIT_SOCKETS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "net/loop.h"

/* Longest wait of any one step: reached only by a test that fails. */
enum { PATIENCE_MS = 5000 };
#define wait_for(flag) assert_true(loop_run_until(&(flag), PATIENCE_MS))

/* Turn for a while: for things that must not happen. */
static inline void turn_for(int ms)
{
    static const bool never = false;

    (void)loop_run_until(&never, ms);
}

static inline struct sockaddr_in loopback(unsigned port)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};

    addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return addr;
}

static inline unsigned port_of(int fd)
{
    struct sockaddr_in addr;
    socklen_t len = sizeof addr;

    assert_int_equal(getsockname(fd, (struct sockaddr *)&addr, &len), 0);
    return ntohs(addr.sin_port);
}

/* Listens on 127.0.0.1 on a port of the kernel's choice; blocking. */
static inline int listen_any(int backlog)
{
    struct sockaddr_in addr = loopback(0);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof addr), 0);
    assert_int_equal(listen(fd, backlog), 0);
    return fd;
}

/* fd[0]: non-blocking, for a stream; fd[1]: blocking, the test's. */
static inline void tcp_pair(int fd[2])
{
    int lfd = listen_any(1);
    struct sockaddr_in addr = loopback(port_of(lfd));

    fd[1] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd[1], (struct sockaddr *)&addr, sizeof addr), 0);
    fd[0] = accept4(lfd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    assert_true(fd[0] >= 0);
    close(lfd);
}

static inline void say(int fd, const char *text)
{
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

/* Close with a reset. */
static inline void slam(int fd)
{
    struct linger hard = {1, 0};

    setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    close(fd);
}

static inline int loop_setup(void **state)
{
    (void)state;
    return loop_init() ? 0 : -1;
}

static inline int loop_teardown(void **state)
{
    (void)state;
    loop_fini();
    return 0;
}

/* cmocka groups with one loop a test. */
#define looped(test) cmocka_unit_test_setup_teardown(test, loop_setup, loop_teardown)

#endif
