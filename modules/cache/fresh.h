/* fresh.h - may it be stored, for how long is it fresh, may it be used now (RFC 9111 3, 4.2, 5).
 *
 * Pure functions: all that they know is in their arguments, all that they say in their results.
 * Points in time are wall clock in milliseconds; settings and directives are in seconds.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CACHE_FRESH_H
#define CACHE_FRESH_H

#include "control.h"

/* ---- what the configuration says ---- */

/* Options of a refresh_pattern line. (ignore-no-cache, ignore-must-revalidate and ignore-auth
 * are gone from Squid's language: accepted with a warning, without effect.) */
enum {
    FRESH_OVERRIDE_EXPIRE = 1 << 0,
    FRESH_OVERRIDE_LASTMOD = 1 << 1,
    FRESH_RELOAD_INTO_IMS = 1 << 2,
    FRESH_IGNORE_RELOAD = 1 << 3,
    FRESH_IGNORE_NO_STORE = 1 << 4,
    FRESH_IGNORE_PRIVATE = 1 << 5,
    FRESH_REFRESH_IMS = 1 << 6,
    FRESH_STORE_STALE = 1 << 7,
    FRESH_OPTIONS = (1 << 8) - 1
};

/* One refresh_pattern line; Squid writes MIN, MAX and max-stale= in minutes, here they are
 * seconds. */
struct fresh_rule {
    int64_t min, max;
    int64_t max_stale; /* -1: that of the settings */
    uint32_t percent;
    uint32_t options; /* FRESH_... */
};
/* What counts for a URL that no pattern matches: "refresh_pattern . 0 20% 4320". */
extern const struct fresh_rule fresh_rule_preset;

struct fresh_settings {
    int64_t max_stale; /* max_stale, seconds; -1: without limit */
    int64_t min_life; /* minimum_expiry_time where the configuration has that line, else 0: with its
                             preset of a minute Squid stores short lives all the same */
    int64_t negative_ttl; /* seconds */
    bool offline;         /* offline_mode */
    bool reload_into_ims, refresh_all_ims;
};

/* ---- storing ---- */

/* One exchange whose response head is complete, or a stored response that a 304 has just validated
 * (then `reply` is the merged head, `status` the stored one, the times those of the 304). */
struct fresh_exchange {
    bt_str method;
    int status;
    const struct fields *request, *reply;
    const struct control *asked,
        *said;              /* control_request(), control_response() / control_targeted() */
    int64_t sent, received; /* bt_sent_ms(), bt_received_ms() */
    const struct fresh_rule *rule;
    const struct fresh_settings *settings;
    /* A POST whose answer has a Content-Location equal to the URL: then it is what a GET would get
     * (RFC 9110 9.3.3), if it says for how long. */
    bool post_is_get;
    bool logs_in; /* bt_req_logs_in() */
};

/* Flags of a stored response: the options of its rule (FRESH_OPTIONS), and these. Fits
 * store_meta.flags; the bits from 16 on are the caller's. */
enum {
    FRESH_MUST = 1 << 8, /* never stale: must-revalidate, proxy-revalidate, s-maxage, no-cache */
    FRESH_ASK = 1 << 9,  /* validated each time: no-cache */
    FRESH_VALIDATOR = 1 << 10, /* has an ETag or a Last-Modified */
    FRESH_HEURISTIC = 1 << 11, /* its life is a guess */
    FRESH_NEGATIVE = 1 << 12,  /* negative_ttl: TCP_NEGATIVE_HIT */
    FRESH_FLAGS = 0xffff
};

struct fresh_life {
    int64_t received;  /* when the response was received (store_meta.stored) */
    int64_t corrected; /* corrected_initial_age, milliseconds (store_meta.corrected) */
    int64_t lifetime;  /* freshness_lifetime, milliseconds; store_meta.expires is
                          received + lifetime - corrected */
    uint32_t flags;
    uint32_t stale_while; /* seconds that it may be served stale while it is being validated */
    uint32_t stale_error; /* seconds that it may be served stale when the origin fails */
};

struct fresh_verdict {
    bool store;
    const char *why; /* a short phrase, whichever way it went: "no-store", "max-age", "vary *" */
    struct fresh_life life; /* set in any case */
};
/* RFC 9111 3: may this response be stored by a shared cache; and its life. Vary is looked at for
 * "*". */
void fresh_judge(const struct fresh_exchange *, struct fresh_verdict *);

/* Could the answer to such a request be stored at all, could a stored answer serve it? For GET
 * and HEAD; only GET's are stored. Before the answer is known: for collapsing. */
bool fresh_method(bt_str method);

/* ---- using ---- */

/* current_age in milliseconds (RFC 9111 4.2.3); never negative, whatever the clock does. */
int64_t fresh_age(const struct fresh_life *, int64_t now);
/* What Age says: whole seconds, at most 2^31. */
int64_t fresh_age_seconds(const struct fresh_life *, int64_t now);
/* Milliseconds that it is still fresh; negative: how long it has been stale. */
int64_t fresh_left(const struct fresh_life *, int64_t now);

enum fresh_use {
    FRESH_HIT,        /* use it */
    FRESH_HIT_STALE,  /* it is stale, use it: max-stale of the client, or offline_mode */
    FRESH_HIT_WHILE,  /* it is stale, use it, and validate it in the background */
    FRESH_VALIDATE,   /* ask the origin, with its validators if it has some (FRESH_VALIDATOR) */
    FRESH_RELOAD,     /* ask the origin without conditions: a reload */
    FRESH_UNAVAILABLE /* only-if-cached, and it would have to be asked: 504 */
};
struct fresh_asking {
    const struct control *asked; /* of this request */
    const struct fresh_settings *settings;
    int64_t now;
    bool conditional; /* the client sent If-Modified-Since or If-None-Match */
};
/* *why (may be NULL) says why, in a short phrase: "fresh", "min-fresh of the client". */
enum fresh_use fresh_use(const struct fresh_life *, const struct fresh_asking *, const char **why);

/* The validation failed: status of the origin's answer (5xx), or 0 when there was none. May the
 * stale copy be served? A status below 500 is no failure: false. */
bool fresh_on_error(const struct fresh_life *, const struct fresh_asking *, int status);

/* ---- parts, for tests and for `bobtailctl cache` ---- */

/* Age by its first line and its first member; false: none, or not a number. Seconds. */
BT_MUST bool fresh_age_field(const struct fields *, int64_t *seconds);
/* The status codes that this cache understands (must-understand), and those whose answers have a
 * life without saying so (RFC 9110 15.1). */
bool fresh_understands(int status);
bool fresh_guesses(int status);

#endif
