/* resolve.c - names to addresses, and back: what is remembered, and who waits for what.
 *
 * One entry a name. It is asked about (entry->pending), with those who wait in its list; then it is
 * known until it expires. A and AAAA are asked together; when one has addresses, the other gets a
 * moment more (RFC 8305, section 3), and what comes after that is added to the memory, not to
 * answers already given. Those who wait are told from the loop, never from within resolve_start().
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#define BT_LOG_TAG "resolve"
#include "net/resolve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/addr.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "base/table.h"
#include "net/hosts.h"
#include "net/nameserver.h"
#include "stat/counts.h"

enum {
    NAME_MOST = 253,
    LABEL_MOST = 63,
    MAX_NAMES = 16384,
    TIMEOUT_MS = 30000,
    POSITIVE_MS = 6 * 3600 * 1000,
    NEGATIVE_MS = 60 * 1000,
    FAILURE_MS = 5000,   /* a name server that recovers is not held against its names for long */
    A_GRACE_MS = 50,     /* addresses of IPv4 are there, AAAA is missing */
    AAAA_GRACE_MS = 300, /* the other way round: IPv6 alone may lead nowhere, so rather wait */
    EVICT_LOOKS = 16
};

struct resolve_entry {
    bt_str key;               /* what a name server is asked; ended by NUL; stands in text */
    struct addresses *set;    /* NULL: none */
    struct addresses *got[3]; /* of the last question, by kind */
    enum resolve_why why, why_of[3];
    int64_t expires_us, began_us, ttl_s;
    uint8_t asked; /* bits of kinds whose answers are still to come */
    bool pending;  /* somebody may wait */
    struct list waiters;
    struct list_link in_age; /* least lately used first */
    struct deferred tell;
    struct timeout deadline, grace;
    char text[];
};

static struct {
    bt_str append_domain;
    int64_t positive_us, negative_us;
    size_t max_names;
    bool strict;
    bool on;
} conf;
static struct table names, reverses; /* key -> entry */
static struct list age;
static size_t n_entries, n_pending;
static struct timeout_class deadlines, graces;
static struct addresses *localhost;

const char *resolve_why_text(enum resolve_why why)
{
    static const char *const text[] = {
        [RESOLVE_FINE] = "resolved",
        [RESOLVE_NO_NAME] = "no such name",
        [RESOLVE_NO_ADDRESS] = "the name has no address",
        [RESOLVE_TIMEOUT] = "name servers do not answer",
        [RESOLVE_BROKEN] = "name servers cannot tell",
    };

    return text[why];
}

/* ---- names ---- */

/* RFC 1123 section 2.1, and the underscore that people use all the same. */
static bool name_is_valid(bt_str name)
{
    bt_str label;

    if (name.len == 0 || name.len > NAME_MOST)
        return false;
    while (str_cut(&name, '.', &label)) {
        if (label.len == 0 || label.len > LABEL_MOST || label.at[0] == '-' ||
            label.at[label.len - 1] == '-')
            return false;
        for (size_t i = 0; i < label.len; i++)
            if (!str_is(label.at[i], STR_ALPHA | STR_DIGIT) && label.at[i] != '-' &&
                (label.at[i] != '_' || conf.strict))
                return false;
    }
    return true;
}

/* Lower case, without trailing dot, with the domain for names without a dot; ended by NUL. */
static bool name_settle(bt_str name, char out[NAME_MOST + 1], bt_str *bare, bt_str *whole)
{
    bool rooted = name.len > 0 && name.at[name.len - 1] == '.';
    size_t len = name.len - rooted;

    if (len > NAME_MOST)
        return false;
    for (size_t i = 0; i < len; i++)
        out[i] = str_lower(name.at[i]);
    *bare = *whole = (bt_str){out, len};
    if (!name_is_valid(*bare))
        return false;
    if (!rooted && conf.append_domain.len > 0 && str_find_char(*bare, '.') < 0) {
        if (len + conf.append_domain.len > NAME_MOST)
            return false;
        for (size_t i = 0; i < conf.append_domain.len; i++)
            out[len++] = str_lower(conf.append_domain.at[i]);
        whole->len = len;
        if (!name_is_valid(*whole))
            return false;
    }
    out[len] = '\0';
    return true;
}

/* What a name server is asked about an address; `out` takes 73 bytes. */
static bt_str reverse_name(const struct sockaddr *addr, char out[80])
{
    int len = 0;

    if (addr->sa_family == AF_INET) {
        const uint8_t *b =
            (const void *)&((const struct sockaddr_in *)(const void *)addr)->sin_addr;

        len = snprintf(out, 80, "%u.%u.%u.%u.in-addr.arpa", b[3], b[2], b[1], b[0]);
    } else {
        const uint8_t *b = ((const struct sockaddr_in6 *)(const void *)addr)->sin6_addr.s6_addr;

        for (int i = 15; i >= 0; i--)
            len += snprintf(out + len, 80 - (size_t)len, "%x.%x.", b[i] & 15u, b[i] >> 4);
        len += snprintf(out + len, 80 - (size_t)len, "ip6.arpa");
    }
    return (bt_str){out, (size_t)len};
}

/* ---- entries ---- */

static bool is_reverse(const struct resolve_entry *e)
{
    return table_find(&reverses, e->key) == e;
}

static void got_forget(struct resolve_entry *e, unsigned kinds)
{
    for (unsigned kind = 0; kind < 3; kind++)
        if (kinds & 1u << kind) {
            addresses_unref(e->got[kind]);
            e->got[kind] = NULL;
        }
}

static void entry_free(struct resolve_entry *e)
{
    (void)table_remove(is_reverse(e) ? &reverses : &names, e->key);
    list_remove(&e->in_age);
    deferred_cancel(&e->tell);
    timeout_clear(&e->deadline);
    timeout_clear(&e->grace);
    got_forget(e, 7);
    addresses_unref(e->set);
    n_entries--;
    free(e);
}

static bool is_free(const struct resolve_entry *e)
{
    return !e->pending && e->asked == 0 && list_empty(&e->waiters) && !deferred_is_set(&e->tell);
}

/* Room for one more; false: all that are looked at are being asked about. */
static bool make_room(void)
{
    unsigned looks = 0;

    if (n_entries < conf.max_names)
        return true;
    LIST_EACH(&age, struct resolve_entry, in_age, e) {
        if (is_free(e)) {
            entry_free(e);
            return true;
        }
        if (++looks == EVICT_LOOKS)
            break;
    }
    bt_log_limited(NULL, BT_WARN, 30,
                   "%zu names are being asked about; no more until some are "
                   "answered",
                   n_entries);
    return false;
}

static struct resolve_entry *entry_get(struct table *table, bt_str key)
{
    struct resolve_entry *e = table_find(table, key);

    if (e != NULL) {
        list_move_tail(&age, &e->in_age);
        return e;
    }
    if (!make_room())
        return NULL;
    e = calloc(1, sizeof *e + key.len + 1);
    CHECK(e != NULL);
    memcpy(e->text, key.at, key.len);
    e->key = (bt_str){e->text, key.len};
    list_init(&e->waiters);
    list_add_tail(&age, &e->in_age);
    (void)table_put(table, e->key, e);
    n_entries++;
    return e;
}

/* ---- answers ---- */

static void give(struct resolve *r, struct addresses *set, enum resolve_why why)
{
    r->why = why;
    if (set == NULL)
        return;
    r->set = addresses_ref(set);
    r->addrs = set->list;
    r->n = set->n;
    r->name = set->name;
}

static void tell(struct deferred *d)
{
    struct resolve_entry *e = LIST_OF(d, struct resolve_entry, tell);
    struct addresses *set = e->set == NULL ? NULL : addresses_ref(e->set);
    enum resolve_why why = e->why;
    struct list now;
    struct resolve *r;

    /* done() may ask again, cancel others, or push the entry out of memory: work on a list of our
     * own, and do not look at the entry again. */
    list_init(&now);
    while ((r = LIST_FIRST(&e->waiters, struct resolve, link)) != NULL)
        list_move_tail(&now, &r->link);
    while ((r = LIST_FIRST(&now, struct resolve, link)) != NULL) {
        list_remove(&r->link);
        r->from_network = true;
        r->took_us = clock_us() - r->took_us;
        give(r, set, why);
        r->done(r);
    }
    addresses_unref(set);
}

static int64_t keep_for(const struct resolve_entry *e)
{
    int64_t us = e->ttl_s < 0 ? conf.positive_us : e->ttl_s * 1000000;

    if (e->why == RESOLVE_FINE)
        us = us > conf.positive_us   ? conf.positive_us
             : us < conf.negative_us ? conf.negative_us
                                     : us;
    else if (e->why == RESOLVE_NO_NAME || e->why == RESOLVE_NO_ADDRESS)
        us = conf.negative_us;
    else
        us = conf.negative_us < FAILURE_MS * 1000 ? conf.negative_us : FAILURE_MS * 1000;
    return us;
}

/* Of several failures the one that says most. That there is no AAAA is not worth telling when A was
 * not answered. */
static enum resolve_why failure_of(const struct resolve_entry *e)
{
    static const enum resolve_why order[] = {RESOLVE_NO_NAME, RESOLVE_TIMEOUT, RESOLVE_BROKEN};

    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        for (unsigned kind = 0; kind < 3; kind++)
            if (e->why_of[kind] == order[i])
                return order[i];
    return RESOLVE_NO_ADDRESS;
}

/* What all answers so far amount to. */
static void settle(struct resolve_entry *e)
{
    struct addresses **got = e->got;

    addresses_unref(e->set);
    e->set = NULL;
    if (got[NAMESERVER_PTR] != NULL)
        e->set = addresses_ref(got[NAMESERVER_PTR]);
    else if (got[NAMESERVER_AAAA] != NULL || got[NAMESERVER_A] != NULL)
        e->set = addresses_join(got[NAMESERVER_AAAA], got[NAMESERVER_A]);
    e->why = e->set != NULL ? RESOLVE_FINE : failure_of(e);
    e->expires_us = clock_us() + keep_for(e);
}

static void complete(struct resolve_entry *e)
{
    timeout_clear(&e->deadline);
    timeout_clear(&e->grace);
    e->pending = false;
    n_pending--;
    settle(e);
    if (e->why != RESOLVE_FINE)
        count(dns_failed);
    count_observe(dns_time, clock_us() - e->began_us);
    loop_defer(&e->tell, tell);
}

/* Keep one answer. true: it has something. */
static bool take(struct resolve_entry *e, const struct nameserver_answer *answer)
{
    char text[NAME_MOST + 1];
    bt_str name = answer->name;
    unsigned kind = answer->kind;

    e->asked &= (uint8_t) ~(1u << kind);
    e->why_of[kind] = answer->why;
    if (answer->why != RESOLVE_FINE)
        return false;
    if (kind == NAMESERVER_PTR) {
        if (name.len > 0 && name.at[name.len - 1] == '.')
            name.len--;
        /* The name is chosen by whoever owns the address. */
        if (!name_is_valid(name)) {
            e->why_of[kind] = RESOLVE_NO_ADDRESS;
            return false;
        }
        memcpy(text, name.at, name.len);
        str_lower_in_place(text, name.len);
        name.at = text;
    }
    addresses_unref(e->got[kind]);
    e->got[kind] = addresses_new(answer->addr, answer->n, name);
    if (e->ttl_s < 0 || (answer->ttl_s >= 0 && answer->ttl_s < e->ttl_s))
        e->ttl_s = answer->ttl_s;
    return true;
}

static void answered(void *arg, const struct nameserver_answer *answer)
{
    struct resolve_entry *e = arg;
    bool some = take(e, answer);

    if (e->pending && e->asked == 0)
        complete(e);
    else if (e->pending && some)
        timeout_set_after(&graces, &e->grace,
                          (bt_duration){answer->kind == NAMESERVER_A ? A_GRACE_MS : AAAA_GRACE_MS});
    else if (!e->pending && some)
        settle(e); /* late, but good to know */
    if (e->asked == 0)
        got_forget(e, 7);
}

static void grace_expired(struct timeout *t)
{
    complete(LIST_OF(t, struct resolve_entry, grace));
}

static void deadline_expired(struct timeout *t)
{
    complete(LIST_OF(t, struct resolve_entry, deadline));
    if (n_pending == 0)
        nameserver_cancel(); /* nobody waits for what c-ares may still be trying */
}

/* ---- questions ---- */

static void ask(struct resolve_entry *e, unsigned kinds)
{
    e->pending = true;
    n_pending++;
    e->began_us = clock_us();
    e->ttl_s = -1;
    got_forget(e, 7);
    for (unsigned kind = 0; kind < 3; kind++)
        e->why_of[kind] = kinds & 1u << kind ? RESOLVE_TIMEOUT : RESOLVE_FINE;
    count(dns_queries);
    timeout_set(&deadlines, &e->deadline);
    kinds &= ~(unsigned)e->asked; /* those from an earlier round that c-ares still works on */
    e->asked |= (uint8_t)kinds;
    for (unsigned kind = 0; kind < 3; kind++)
        if (kinds & 1u << kind)
            nameserver_ask(e->key.at, kind, answered, e);
}

static enum resolve_result known(struct resolve *r, struct addresses *set, enum resolve_why why)
{
    r->took_us = 0;
    give(r, set, why);
    return why == RESOLVE_FINE ? RESOLVE_DONE : RESOLVE_FAILED;
}

static enum resolve_result look_up(struct resolve *r, struct table *table, bt_str key,
                                   unsigned kinds)
{
    struct resolve_entry *e = entry_get(table, key);

    if (e == NULL)
        return known(r, NULL, RESOLVE_BROKEN);
    if (!e->pending && e->expires_us > clock_us()) {
        count(dns_cached);
        return known(r, e->set, e->why);
    }
    if (!e->pending)
        ask(e, kinds);
    if (!e->pending) /* answered from within: no server could be asked */
        return known(r, e->set, e->why);
    r->entry = e;
    r->took_us = clock_us();
    list_add_tail(&e->waiters, &r->link);
    return RESOLVE_WAIT;
}

static enum resolve_result lone(struct resolve *r, const struct sockaddr *addr)
{
    address_from(&r->lone, addr);
    r->lone_list[0] = &r->lone.any;
    r->addrs = r->lone_list;
    r->n = 1;
    r->why = RESOLVE_FINE;
    r->took_us = 0;
    return RESOLVE_DONE;
}

enum resolve_result resolve_start(struct resolve *r, bt_str name, void (*done)(struct resolve *))
{
    char text[NAME_MOST + 1];
    struct sockaddr_storage addr;
    struct addresses *set;
    bt_str bare, whole;

    resolve_end(r);
    r->done = done;
    if (addr_parse_sockaddr(name, 0, &addr))
        return lone(r, (const struct sockaddr *)&addr);
    if (!name_settle(name, text, &bare, &whole))
        return known(r, NULL, RESOLVE_NO_NAME);
    hosts_check(false);
    set = hosts_find(bare);
    if (set == NULL && whole.len != bare.len)
        set = hosts_find(whole);
    /* RFC 6761, section 6.3: never a name server's business. */
    if (set == NULL && (str_eq_literal(bare, "localhost") || str_ends(bare, BT_STR(".localhost"))))
        set = localhost;
    if (set != NULL) {
        count(dns_cached);
        return known(r, set, RESOLVE_FINE);
    }
    return look_up(r, &names, whole, 1u << NAMESERVER_AAAA | 1u << NAMESERVER_A);
}

enum resolve_result resolve_reverse_start(struct resolve *r, const struct sockaddr *addr,
                                          void (*done)(struct resolve *))
{
    char text[80];
    bt_str name;

    resolve_end(r);
    r->done = done;
    hosts_check(false);
    name = hosts_name_of(addr);
    if (name.at != NULL) {
        struct addresses *set = addresses_new(NULL, 0, name);
        enum resolve_result got = known(r, set, RESOLVE_FINE);

        addresses_unref(set);
        count(dns_cached);
        return got;
    }
    return look_up(r, &reverses, reverse_name(addr, text), 1u << NAMESERVER_PTR);
}

void resolve_end(struct resolve *r)
{
    list_remove(&r->link);
    addresses_unref(r->set);
    r->entry = NULL;
    r->set = NULL;
    r->addrs = NULL;
    r->n = 0;
    r->name = BT_STR_NONE;
    r->from_network = false;
}

/* ---- beginning and end ---- */

static int64_t us_or(bt_duration given, int64_t otherwise_ms)
{
    return (given.ms > 0 ? given.ms : otherwise_ms) * 1000;
}

static struct addresses *localhost_new(void)
{
    union address addr[2] = {{.v4 = {.sin_family = AF_INET}},
                             {.v6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT}}};

    addr[0].v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return addresses_new(addr, 2, BT_STR("localhost"));
}

bool resolve_init(const struct resolve_opts *opts)
{
    conf.append_domain = opts->append_domain;
    conf.positive_us = us_or(opts->positive_ttl, POSITIVE_MS);
    conf.negative_us = us_or(opts->negative_ttl, NEGATIVE_MS);
    conf.max_names = opts->max_names > 0 ? opts->max_names : MAX_NAMES;
    conf.strict = opts->strict_names;
    table_init(&names, NULL, false);
    table_init(&reverses, NULL, false);
    list_init(&age);
    n_entries = n_pending = 0;
    timeout_class_init(&deadlines, (bt_duration){us_or(opts->timeout, TIMEOUT_MS) / 1000},
                       deadline_expired);
    timeout_class_init(&graces, (bt_duration){A_GRACE_MS}, grace_expired);
    localhost = localhost_new();
    hosts_open(opts->hosts_file.at == NULL ? BT_STR("/etc/hosts") : opts->hosts_file);
    conf.on = nameserver_init(opts);
    if (!conf.on)
        hosts_close();
    return conf.on;
}

void resolve_forget(void)
{
    LIST_EACH(&age, struct resolve_entry, in_age, e)
        e->expires_us = 0;
    hosts_check(true);
}

void resolve_fini(void)
{
    if (!conf.on)
        return;
    conf.on = false;
    nameserver_fini();
    hosts_close();
    while (!list_empty(&age)) {
        struct resolve_entry *e = LIST_FIRST(&age, struct resolve_entry, in_age);

        while (!list_empty(&e->waiters))
            resolve_end(LIST_FIRST(&e->waiters, struct resolve, link));
        entry_free(e);
    }
    table_fini(&names);
    table_fini(&reverses);
    timeout_class_fini(&deadlines);
    timeout_class_fini(&graces);
    addresses_unref(localhost);
    localhost = NULL;
}
