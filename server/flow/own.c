/* own.c - is that one of our own ports?
 *
 * A port without an address listens on all that this machine has; what those are is asked of the
 * kernel, at most every ten seconds, and only when somebody wants to go to a port of that number.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/own.h"

#include <ifaddrs.h>
#include <string.h>

#include "base/addr.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/str.h"
#include "bt_sets.h"
#include "flow/session.h"
#include "plug/acl.h"

enum { OWN_MAX = 256, MACHINE_MAX = 256, PRIVATE_MAX = 32, MACHINE_US = 10 * 1000 * 1000 };

static union session_addr own[OWN_MAX];
static size_t n_own;

/* Addresses of this machine. */
static uint8_t machine[MACHINE_MAX][16];
static size_t n_machine;
static int64_t machine_us;

void own_note(int fd)
{
    socklen_t len = sizeof own[0];

    if (n_own < OWN_MAX && getsockname(fd, &own[n_own].any, &len) == 0)
        n_own++;
}

static void machine_read(void)
{
    struct ifaddrs *list = NULL;

    if (n_machine > 0 && clock_us() - machine_us < MACHINE_US)
        return;
    machine_us = clock_us();
    if (getifaddrs(&list) != 0)
        return;
    n_machine = 0;
    for (const struct ifaddrs *one = list; one != NULL && n_machine < MACHINE_MAX;
         one = one->ifa_next)
        if (one->ifa_addr != NULL && bt_addr_bytes(one->ifa_addr, machine[n_machine]))
            n_machine++;
    freeifaddrs(list);
}

static bool is_machine(const struct sockaddr *addr)
{
    uint8_t bytes[16];

    if (addr_is_loopback(addr))
        return true;
    if (!bt_addr_bytes(addr, bytes))
        return false;
    machine_read();
    for (size_t i = 0; i < n_machine; i++)
        if (memcmp(machine[i], bytes, sizeof bytes) == 0)
            return true;
    return false;
}

bool own_is(const struct sockaddr *addr)
{
    for (size_t i = 0; i < n_own; i++) {
        if (addr_port(&own[i].any) != addr_port(addr))
            continue;
        /* To connect to 0.0.0.0 or [::] is to connect to this machine. */
        if (addr_is_any(addr) || addr_same(addr, &own[i].any, true))
            return true;
        if (addr_is_any(&own[i].any) && is_machine(addr))
            return true;
    }
    return false;
}

bool own_is_private(const struct bt_txn *txn)
{
    static struct addr_range range[PRIVATE_MAX];
    static size_t n;
    bt_str rest = str_from(ACL_PRIVATE), word;
    uint8_t bytes[16];

    if (n == 0) {
        while (n < PRIVATE_MAX && str_word(&rest, &word))
            CHECK(addr_parse_range(word, &range[n++], NULL) == ADDR_FINE);
    }
    for (size_t i = 0; i < txn->n_addrs; i++) {
        if (!bt_addr_bytes(txn->addrs[i], bytes))
            return true;
        for (size_t k = 0; k < n; k++)
            if (memcmp(bytes, range[k].from, 16) >= 0 && memcmp(bytes, range[k].to, 16) <= 0)
                return true;
    }
    return false;
}
