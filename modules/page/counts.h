/* counts.h - the counters of the module page: what each worker says about itself.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PAGE_COUNTS_H
#define PAGE_COUNTS_H

#include "bt.h"

/* clang-format off */
#define COUNTERS(X) \
    X(pages, "admin.requests", BT_COUNT, "requests", "Pages of this server that were asked for.") \
    X(refused, "admin.refused", BT_COUNT, "requests", "Of these, those without the password that they want.") \
    X(cpu_user, "worker.cpu_user", BT_COUNT, "microseconds", "Processor time of workers outside the kernel, looked at each second.") \
    X(cpu_system, "worker.cpu_system", BT_COUNT, "microseconds", "Processor time of workers in the kernel.") \
    X(page_faults, "worker.page_faults", BT_COUNT, "faults", "Pages that workers had to read from a disk.") \
    X(rss, "worker.resident", BT_GAUGE, "bytes", "Memory of workers that is resident, with what they share.") \
    X(rss_max, "worker.resident_max", BT_GAUGE, "bytes", "The most that it was.") \
    X(descriptors, "worker.descriptors", BT_GAUGE, "descriptors", "Descriptors that workers have open.") \
    X(descriptors_max, "worker.descriptors_max", BT_GAUGE, "descriptors", "Descriptors that they may have open.") \
    X(busy, "worker.busy", BT_GAUGE, "permille", "Share of the last second that workers were busy.") \
    X(lag, "worker.lag", BT_HISTOGRAM, "microseconds", "How late a timer of each second was: how long others waited for the loop.")
/* clang-format on */

#endif
