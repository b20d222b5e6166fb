/* resolve.h - names to addresses, and back: hosts file, memory, name servers by c-ares.
 *
 * An address in place of a name is answered at once, so is what the hosts file or the memory knows.
 * Many who ask for one name wait for one query. Answers are kept by their TTL, failures too.
 *
 *   r.owner...; switch (resolve_start(&r, host, on_done)) DONE: r.addrs, r.n; FAILED: r.why
 *   ... resolve_end(&r) when the addresses are no longer needed
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NET_RESOLVE_H
#define NET_RESOLVE_H

#include "net/addresses.h"
#include "net/loop.h"

struct resolve_opts {
    const bt_str *servers; /* "ADDR", "ADDR:PORT", "[ADDR]:PORT"; none: resolv.conf's */
    size_t n_servers;
    bt_str hosts_file;        /* BT_STR_NONE: /etc/hosts; "none": not read */
    bt_str append_domain;     /* ".example.com": put behind names without a dot */
    bt_duration timeout;      /* dns_timeout; 0: 30 s */
    bt_duration retransmit;   /* dns_retransmit_interval; 0: 5 s */
    bt_duration positive_ttl; /* at most; 0: 6 h */
    bt_duration negative_ttl; /* of failures, and at least for answers; 0: 1 min */
    size_t max_names;         /* kept in memory; 0: 16384 */
    bool search;       /* dns_defnames: names without a dot are completed by the search list */
    bool strict_names; /* check_hostnames: no underscore */
};
/* Worker, after loop_init(). The texts of `opts` must live on. false: logged why. */
BT_MUST bool resolve_init(const struct resolve_opts *);
void resolve_fini(void);
/* Forget what name servers said; read the hosts file again. */
void resolve_forget(void);

enum resolve_result { RESOLVE_DONE, RESOLVE_FAILED, RESOLVE_WAIT };
enum resolve_why {
    RESOLVE_FINE,
    RESOLVE_NO_NAME,    /* there is no such name, or it cannot be one */
    RESOLVE_NO_ADDRESS, /* there is, but it has no address (reverse: no name) */
    RESOLVE_TIMEOUT,
    RESOLVE_BROKEN /* name servers answer with failures, or not at all */
};
/* A sentence's end: "no such name". */
const char *resolve_why_text(enum resolve_why);

struct resolve_entry;

/* A question. Zero bytes, or after resolve_end(). */
struct resolve {
    /* The answer; stays until resolve_end(), whatever happens to the memory. Port 0. */
    const struct sockaddr *const *addrs;
    size_t n;
    bt_str name; /* of resolve_reverse_start(): lower case, no trailing dot */
    enum resolve_why why;
    bool from_network; /* a name server was asked for this question */
    int64_t took_us;   /* that this question waited */

    void (*done)(struct resolve *);
    void *owner;
    /* resolve.c's */
    struct list_link link;
    struct resolve_entry *entry; /* waited for */
    struct addresses *set;       /* referenced */
    const struct sockaddr *lone_list[1];
    union address lone;
};

/* `name` may have any case and a trailing dot, and need not live on. WAIT: done() is called exactly
 * once, from the loop, with n > 0 or `why`, unless resolve_end() comes first. */
enum resolve_result resolve_start(struct resolve *, bt_str name, void (*done)(struct resolve *));
/* The name of an address: hosts file, else PTR. */
enum resolve_result resolve_reverse_start(struct resolve *, const struct sockaddr *,
                                          void (*done)(struct resolve *));
/* Over with it: cancels when it waits, gives the answer back when it has one. Safe on zero bytes,
 * twice, and inside done(). */
void resolve_end(struct resolve *);
static inline void resolve_cancel(struct resolve *r)
{
    resolve_end(r);
}

#endif
