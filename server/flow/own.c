/* own.c - is that one of our own ports, and is that asked of this server itself?
 *
 * A port without an address listens on all that this machine has; what those are is asked of the
 * kernel, at most every ten seconds, and only when somebody wants to go to a port of that number.
 *
 * Two ways lead to the pages of this server: an admin_port, where everything is for them, and the
 * paths of Squid's cache manager on a port of clients, which http_access decides about. The latter
 * come as /squid-internal-mgr/ACTION, as the whole URL of it with one of our names or addresses and
 * our port, or as cache_object://ANYBODY/ACTION. What is for another host, by name, is not for us.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/own.h"

#include <ifaddrs.h>
#include <string.h>

#include "base/addr.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/str.h"
#include "bt_pages.h"
#include "bt_sets.h"
#include "flow/core.h"
#include "flow/session.h"
#include "plug/acl.h"
#include "plug/generation.h"

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

/* ---- what is asked of this server itself ---- */

#define OWN_MANAGER "/squid-internal-mgr/"

struct own_ask {
    struct bt_page_ask ask;
};

static const struct bt_pages *own_pages(void)
{
    static const struct bt_pages *found;
    static bool looked;

    for (size_t i = 0; !looked && i < generation_current->n_modules; i++) {
        const struct bt_module *module = generation_current->modules[i];
        if (module->size > offsetof(struct bt_module, pages) && module->pages != NULL)
            found = module->pages;
    }
    looked = true;
    return found;
}

/* Is that URL's host, with its port, one that the client has connected to? */
static bool own_host(struct bt_txn *txn)
{
    const struct url *url = &txn->url;

    if (url->port != addr_port(session_local(txn->session)))
        return false;
    if (url->host_is_addr)
        return addr_is_any(&url->addr.any) || is_machine(&url->addr.any) ||
               addr_same(&url->addr.any, session_local(txn->session), false);
    return bt_str_eq_nocase(url->host, core->visible_hostname) ||
           bt_str_eq_nocase(url->host, core->unique_hostname) ||
           str_eq_literal(url->host, "localhost");
}

/* ACTION[@PASSWORD][?...], as Squid has it. */
static void own_action(struct own_ask *asked, bt_str text)
{
    bt_str rest;

    (void)str_split(text, '?', &text, &rest);
    (void)str_split(text, '@', &text, &asked->ask.password);
    asked->ask.manager = true;
    asked->ask.path = text;
}

/* The URL of the page, without the password: as rules and logs see it. */
static void own_url(struct bt_txn *txn, bt_str path)
{
    struct url *url = &txn->url;
    unsigned port = addr_port(session_local(txn->session));
    bt_str host = port == 0 ? core->visible_hostname
                            : bt_str_printf(txn->arena, "%.*s:%u",
                                            BT_STR_ARGS(core->visible_hostname), port);

    if (url_complete(txn->arena, BT_STR("http"), host, url) != FAULT_NONE)
        *url = (struct url){.scheme = BT_STR("http"),
                            .host = BT_STR("localhost"),
                            .port = 80,
                            .authority = BT_STR("localhost")};
    url->form = URL_ABSOLUTE;
    url->userinfo = BT_STR_NONE;
    url->path = path;
    url->text = bt_str_printf(txn->arena, "http://%.*s%.*s", BT_STR_ARGS(url->authority),
                              BT_STR_ARGS(path));
}

bt_str own_target(struct bt_txn *txn)
{
    bt_str target = txn->req.target, host;

    /* No URL by any standard, for the "_". */
    if (!str_starts(target, BT_STR("cache_object://")))
        return target;
    target = str_skip(target, sizeof "cache_object://" - 1);
    return str_split(target, '/', &host, &target)
               ? bt_str_printf(txn->arena, OWN_MANAGER "%.*s", BT_STR_ARGS(target))
               : BT_STR(OWN_MANAGER);
}

void own_look(struct bt_txn *txn)
{
    const struct url *url = &txn->url;
    bool manager = str_starts(url->path, BT_STR(OWN_MANAGER));
    bt_str path = url->path;
    struct own_ask *asked;

    if (!manager && !txn->session->admin)
        return;
    if (txn->session->inside != NULL ||
        (!txn->session->admin && url->form == URL_ABSOLUTE && !own_host(txn)))
        return;
    if (url->form != URL_ABSOLUTE && url->form != URL_ORIGIN)
        return;
    txn->own = asked = bt_alloc(txn->arena, sizeof *asked);
    asked->ask.path = path;
    if (manager) {
        own_action(asked, str_skip(path, sizeof OWN_MANAGER - 1));
        path = bt_str_printf(txn->arena, OWN_MANAGER "%.*s", BT_STR_ARGS(asked->ask.path));
    }
    own_url(txn, path);
}

enum go own_answer_now(struct bt_txn *txn)
{
    const struct bt_pages *pages = own_pages();

    if (txn->own == NULL)
        return txn_refuse(txn, 400, "ERR_INVALID_REQ", "this port has pages, and is no proxy");
    if (txn->req.method_id != METHOD_GET && txn->req.method_id != METHOD_HEAD)
        return txn_refuse(txn, 405, "ERR_INVALID_REQ", "pages of this server are only read");
    if (pages == NULL || pages->answer(txn, &txn->own->ask) != BT_ANSWER)
        return txn_refuse(txn, 404, "ERR_INVALID_URL", "this server has no such page");
    txn->step = STEP_refuse;
    return GO_ON;
}

void own_tell(struct bt_txn *txn)
{
    const struct bt_pages *pages = own_pages();

    if (pages != NULL && pages->over != NULL)
        pages->over(txn, txn->bytes.reply);
}
