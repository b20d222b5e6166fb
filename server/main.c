/* main.c - reads the command line, and becomes what it asks for.
 *
 * From here: proc/options.c (the words), proc/tasks.c (what is not serving), proc/start.c (all that
 * can go wrong), proc/master.c (the process that watches), proc/worker.c (the ones that serve).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "proc/alone.h"
#include "proc/master.h"
#include "proc/options.h"
#include "proc/tasks.h"

/* Whoever starts us may have closed them, and what is opened next would take their numbers: a port
 * that messages are written to, and that a daemon lets go of. */
static void fill_standard_streams(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", O_RDWR) < 0)
            return;
}

int main(int argc, char **argv)
{
    struct options options;

    fill_standard_streams();
    tzset();
    clock_refresh();
    if (!options_read(&options, argc, argv))
        return EXIT_FAILURE;
    if (options.check)
        return tasks_check_start(&options);
    if (options.task != TASK_RUN)
        return tasks_run(&options);
    return options.alone ? alone_run(&options) : master_run(&options);
}
