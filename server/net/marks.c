/* marks.c - class of service and firewall mark of a socket.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#define BT_LOG_TAG "marks"
#include "net/marks.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "bt_log.h"
#include "stat/counts.h"

static bool tos_put(int fd, int family, int tos)
{
    /* A socket of IPv6 may carry IPv4. */
    bool v4 = setsockopt(fd, IPPROTO_IP, IP_TOS, &tos, sizeof tos) == 0;

    return family == AF_INET6 ? setsockopt(fd, IPPROTO_IPV6, IPV6_TCLASS, &tos, sizeof tos) == 0
                              : v4;
}

void marks_put(int fd, int family, struct marks was, struct marks now)
{
    if (was.tos != now.tos && !tos_put(fd, family, (int)now.tos)) {
        count(marks_failed);
        bt_log_limited(NULL, BT_WARN, 60, "the class of service 0x%x cannot be set: %s", now.tos,
                       strerror(errno));
    }
    if (was.mark != now.mark &&
        setsockopt(fd, SOL_SOCKET, SO_MARK, &now.mark, sizeof now.mark) != 0) {
        count(marks_failed);
        bt_log_limited(
            NULL, BT_WARN, 60,
            "the mark 0x%x cannot be set: %s; it needs CAP_NET_RAW (CAP_NET_ADMIN before "
            "Linux 5.17): start as root",
            now.mark, strerror(errno));
    }
}
