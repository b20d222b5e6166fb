/* check.c - the panic page: what was wrong, where, in which worker and exchange.
 *
 * Runs in a process that is known to be broken, so it allocates nothing, takes no lock and writes with
 * bare write(). A bug met while the page is written ends the process without a second page.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#if defined(__GLIBC__)
#include <execinfo.h>
#define HAVE_BACKTRACE 1
#endif

int check_fd = 2;
unsigned check_worker;
size_t (*check_describe)(char *buf, size_t cap);
void (*check_on_panic)(void);

static void page_write(const char *text, size_t len)
{
    if (write(check_fd, text, len) < 0 && check_fd != 2)
        (void)!write(2, text, len);
}

void check_failed(const char *what, const char *file, int line)
{
    static volatile bool under_way;
    char page[2048];
    int len;

    if (under_way)
        abort();
    under_way = true;

    len = snprintf(
        page, sizeof(page),
        "PANIC: this is a bug in the server; please report it with the lines that follow\n"
        "PANIC: condition: %s\nPANIC: place:     %s:%d\nPANIC: process:   %d, worker %u\n",
        what, file, line, (int)getpid(), check_worker);
    if (len > 0)
        page_write(page, (size_t)len < sizeof(page) ? (size_t)len : sizeof(page) - 1);

    if (check_describe != NULL) {
        static const char head[] = "PANIC: exchange:  ";
        size_t n = check_describe(page, sizeof(page) - 1);

        if (n > 0 && n < sizeof(page)) {
            page[n] = '\n';
            page_write(head, sizeof(head) - 1);
            page_write(page, n + 1);
        }
    }
    if (check_on_panic != NULL)
        check_on_panic();
#ifdef HAVE_BACKTRACE
    /* Last, since its first call may allocate: all that matters is written by now. */
    void *frame[32];
    backtrace_symbols_fd(frame, backtrace(frame, 32), check_fd);
#endif
    abort();
}
