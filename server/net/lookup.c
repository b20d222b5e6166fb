/* lookup.c - names for modules (bt_net.h), over resolve.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>

#include "base/check.h"
#include "bt_net.h"
#include "net/resolve.h"

struct bt_lookup {
    struct resolve resolve;
    struct deferred tell;
    bool reverse;
    void (*done)(void *arg, const struct bt_lookup_reply *);
    void *arg;
};

static void lookup_free(struct bt_lookup *lookup)
{
    deferred_cancel(&lookup->tell);
    resolve_end(&lookup->resolve);
    free(lookup);
}

static void lookup_tell(struct bt_lookup *lookup)
{
    const struct resolve *r = &lookup->resolve;
    struct bt_lookup_reply reply = {.addr = r->addrs, .n = r->n, .name = BT_STR_NONE};

    if (lookup->reverse)
        reply.name = r->name;
    if (reply.n == 0 && reply.name.len == 0)
        reply.why = resolve_why_text(r->why);
    lookup->done(lookup->arg, &reply);
    lookup_free(lookup);
}

static void lookup_over(struct resolve *resolve)
{
    lookup_tell(LIST_OF(resolve, struct bt_lookup, resolve));
}

/* What was known at once is told a little later. */
static void lookup_known(struct deferred *deferred)
{
    lookup_tell(LIST_OF(deferred, struct bt_lookup, tell));
}

static struct bt_lookup *lookup_new(void (*done)(void *arg, const struct bt_lookup_reply *),
                                    void *arg)
{
    struct bt_lookup *lookup = calloc(1, sizeof *lookup);

    CHECK(lookup != NULL);
    lookup->done = done;
    lookup->arg = arg;
    return lookup;
}

struct bt_lookup *bt_lookup_start(bt_str name,
                                  void (*done)(void *arg, const struct bt_lookup_reply *),
                                  void *arg)
{
    struct bt_lookup *lookup = lookup_new(done, arg);

    if (resolve_start(&lookup->resolve, name, lookup_over) != RESOLVE_WAIT)
        loop_defer(&lookup->tell, lookup_known);
    return lookup;
}

struct bt_lookup *bt_lookup_reverse(const struct sockaddr *addr,
                                    void (*done)(void *arg, const struct bt_lookup_reply *),
                                    void *arg)
{
    struct bt_lookup *lookup = lookup_new(done, arg);

    lookup->reverse = true;
    if (resolve_reverse_start(&lookup->resolve, addr, lookup_over) != RESOLVE_WAIT)
        loop_defer(&lookup->tell, lookup_known);
    return lookup;
}

void bt_lookup_cancel(struct bt_lookup *lookup)
{
    lookup_free(lookup);
}
