/* fresh.c - may it be stored, for how long is it fresh, may it be used now (RFC 9111 3, 4.2, 5).
 *
 * Lives are made of seconds and kept in milliseconds, so that a test that moves the clock by one
 * second sees a difference, and a response of a busy second does not lose it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "fresh.h"

#include "vary.h"

#define MS INT64_C(1000)

const struct fresh_rule fresh_rule_preset = {
    .min = 0, .max = INT64_C(3) * 86400, .max_stale = -1, .percent = 20, .options = 0};

/* ---- small parts ---- */

static int64_t max_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t min_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Seconds within 0 .. CONTROL_FOREVER; -1 (no limit) is the latter. */
static int64_t limit_of(int64_t seconds)
{
    return seconds < 0 ? CONTROL_FOREVER : min_of(seconds, CONTROL_FOREVER);
}

static bool among(int status, const int *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (list[i] == status)
            return true;
    return false;
}
#define AMONG(status, list) among((status), (list), sizeof(list) / sizeof *(list))

bool fresh_guesses(int status)
{
    static const int list[] = {200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501};

    return AMONG(status, list);
}

bool fresh_understands(int status)
{
    static const int list[] = {200, 203, 204, 300, 301, 302, 303, 307, 308, 400, 401,
                               403, 404, 405, 406, 409, 410, 411, 413, 414, 415, 417,
                               421, 422, 426, 451, 500, 501, 502, 503, 504, 505};

    return AMONG(status, list);
}

/* Those are about one request or one client, or their RFC says never (6585: 428, 429, 431, 511). */
static bool never_stored(int status)
{
    static const int list[] = {206, 304, 407, 408, 412, 416, 428, 429, 431, 511};

    return status < 200 || status > 599 || AMONG(status, list);
}

/* What negative_ttl is about; the same as Squid's. */
static bool negative(int status)
{
    static const int list[] = {204, 305, 400, 403, 404, 405, 414, 500, 501, 502, 503, 504};

    return AMONG(status, list);
}

bool fresh_method(bt_str method)
{
    return bt_str_eq(method, BT_STR("GET")) || bt_str_eq(method, BT_STR("HEAD"));
}

bool fresh_age_field(const struct fields *reply, int64_t *seconds)
{
    bt_str line = fields_get(reply, BT_STR("Age"), 0), member;

    return line.at != NULL && fields_member(&line, &member) && control_seconds(member, seconds);
}

/* ---- the life of a response ---- */

/* Date, or when it came; seconds. */
static int64_t date_of(const struct fresh_exchange *x)
{
    int64_t date;

    if (fields_date(fields_get(x->reply, BT_STR("Date"), 0), x->received, &date))
        return date;
    return x->received / MS;
}

/* RFC 9111 4.2.3, milliseconds. Date has whole seconds, so the time of arrival is cut to those. */
static int64_t corrected_of(const struct fresh_exchange *x)
{
    int64_t apparent = max_of(0, min_of(x->received / MS - date_of(x), CONTROL_FOREVER));
    int64_t delay = x->sent > 0 ? max_of(0, x->received - x->sent) : 0;
    int64_t age = 0;

    if (!fresh_age_field(x->reply, &age))
        age = 0;
    return max_of(apparent * MS, age * MS + delay);
}

/* Expires minus Date, seconds; false: there is no Expires. One that is no date, and lines that
 * differ, mean that it has expired (RFC 9111 5.3, 4.2.1). */
static bool expires_of(const struct fresh_exchange *x, int64_t *life)
{
    bt_str line = fields_get(x->reply, BT_STR("Expires"), 0), other;
    int64_t at;

    if (line.at == NULL)
        return false;
    *life = 0;
    for (size_t n = 1; (other = fields_get(x->reply, BT_STR("Expires"), n)).at != NULL; n++)
        if (!bt_str_eq(line, other))
            return true;
    if (fields_date(line, x->received, &at))
        *life = max_of(0, min_of(at - date_of(x), CONTROL_FOREVER));
    return true;
}

/* What the origin said, seconds; false: nothing. */
static bool explicit_of(const struct fresh_exchange *x, int64_t *life, const char **why)
{
    uint32_t has = x->said->has;

    if ((has & CONTROL_S_MAXAGE) != 0) {
        *life = x->said->s_maxage;
        *why = "s-maxage";
        return true;
    }
    if ((has & CONTROL_MAX_AGE) != 0) {
        *life = x->said->max_age;
        *why = (has & CONTROL_TARGETED) != 0 ? "max-age, targeted" : "max-age";
        return true;
    }
    *why = "Expires";
    return (has & CONTROL_TARGETED) == 0 && expires_of(x, life);
}

/* A guess by refresh_pattern, as Squid makes it: where there is a Last-Modified in the past it
 * alone decides, within MAX; else it is MIN. */
static int64_t guess_of(const struct fresh_exchange *x, const char **why)
{
    const struct fresh_rule *rule = x->rule;
    int64_t max = limit_of(rule->max), modified, since, life;

    *why = "refresh_pattern min";
    if (!fields_date(fields_get(x->reply, BT_STR("Last-Modified"), 0), x->received, &modified))
        return min_of(limit_of(rule->min), max);
    since = min_of(date_of(x) - modified, CONTROL_FOREVER);
    if (since <= 0)
        return min_of(limit_of(rule->min), max);
    *why = "Last-Modified";
    life = min_of(since * (int64_t)rule->percent / 100, max);
    if ((rule->options & FRESH_OVERRIDE_LASTMOD) != 0 && life < rule->min) {
        *why = "override-lastmod";
        life = limit_of(rule->min);
    }
    return life;
}

enum basis { BASIS_NONE, BASIS_EXPLICIT, BASIS_GUESS, BASIS_NEGATIVE };

static enum basis lifetime_of(const struct fresh_exchange *x, struct fresh_verdict *out)
{
    int64_t seconds = 0;
    const char *why = "no life given";
    enum basis basis = BASIS_NONE;

    if (explicit_of(x, &seconds, &why)) {
        basis = BASIS_EXPLICIT;
        if ((x->rule->options & FRESH_OVERRIDE_EXPIRE) != 0 && seconds < x->rule->min) {
            seconds = limit_of(x->rule->min);
            why = "override-expire";
        }
    } else if (x->settings->negative_ttl > 0 && negative(x->status)) {
        basis = BASIS_NEGATIVE;
        seconds = limit_of(x->settings->negative_ttl);
        why = "negative_ttl";
    } else if (fresh_guesses(x->status) || (x->said->has & CONTROL_PUBLIC) != 0) {
        basis = BASIS_GUESS;
        seconds = guess_of(x, &why);
    } else {
        why = "no life given";
    }
    out->why = why;
    out->life.lifetime = seconds * MS;
    /* It counts from now on, however old the error says that it is. */
    if (basis == BASIS_NEGATIVE)
        out->life.lifetime += out->life.corrected;
    return basis;
}

static void stale_of(const struct fresh_exchange *x, struct fresh_life *life)
{
    const struct control *said = x->said;
    int64_t limit = x->rule->max_stale >= 0 ? x->rule->max_stale : x->settings->max_stale;

    if ((life->flags & (FRESH_MUST | FRESH_NEGATIVE)) != 0)
        return;
    limit = limit_of(limit);
    if ((said->has & CONTROL_STALE_ERROR) != 0)
        limit = min_of(limit, said->stale_error);
    life->stale_error = (uint32_t)limit;
    if ((said->has & CONTROL_STALE_WHILE) != 0)
        life->stale_while = (uint32_t)said->stale_while;
}

static enum basis life_of(const struct fresh_exchange *x, struct fresh_verdict *out)
{
    const uint32_t must = CONTROL_MUST_REVALIDATE | CONTROL_PROXY_REVALIDATE | CONTROL_S_MAXAGE |
                          CONTROL_NO_CACHE;
    struct fresh_life *life = &out->life;
    enum basis basis;
    int64_t ignored;

    *life = (struct fresh_life){.received = x->received, .corrected = corrected_of(x)};
    life->flags = x->rule->options & FRESH_OPTIONS;
    basis = lifetime_of(x, out);
    if ((x->said->has & must) != 0)
        life->flags |= FRESH_MUST;
    /* What is kept only because ignore-private says so is asked for each time, as Squid does. */
    if ((x->said->has & (CONTROL_NO_CACHE | CONTROL_PRIVATE)) != 0)
        life->flags |= FRESH_ASK | FRESH_MUST;
    if (fields_has(x->reply, BT_STR("ETag")) ||
        fields_date(fields_get(x->reply, BT_STR("Last-Modified"), 0), x->received, &ignored))
        life->flags |= FRESH_VALIDATOR;
    if (basis == BASIS_GUESS)
        life->flags |= FRESH_HEURISTIC;
    if (basis == BASIS_NEGATIVE)
        life->flags |= FRESH_NEGATIVE;
    stale_of(x, life);
    return basis;
}

/* ---- storing ---- */

/* Why not, by what somebody forbids; NULL: nobody does. */
static const char *forbidden(const struct fresh_exchange *x)
{
    const uint32_t shares = CONTROL_PUBLIC | CONTROL_MUST_REVALIDATE | CONTROL_S_MAXAGE;
    uint32_t has = x->said->has, options = x->rule->options;
    struct vary vary;

    if (!bt_str_eq(x->method, BT_STR("GET")) && !x->post_is_get)
        return "method";
    if (never_stored(x->status))
        return "status";
    if ((x->asked->has & CONTROL_NO_STORE) != 0)
        return "no-store of the client";
    if ((has & CONTROL_MUST_UNDERSTAND) != 0) {
        /* Who understands the status may overlook the no-store (RFC 9111 5.2.2.3). */
        if (!fresh_understands(x->status))
            return "must-understand";
    } else if ((has & CONTROL_NO_STORE) != 0 && (options & FRESH_IGNORE_NO_STORE) == 0) {
        return "no-store";
    }
    if ((has & CONTROL_PRIVATE) != 0 && (options & FRESH_IGNORE_PRIVATE) == 0)
        return "private";
    if ((has & shares) == 0 && (x->logs_in || fields_has(x->request, BT_STR("Authorization"))))
        return "Authorization";
    if (vary_read(&vary, x->reply) == VARY_ANY)
        return "Vary";
    return NULL;
}

/* Why it would be of no use; NULL: it is. */
static const char *useless(const struct fresh_exchange *x, const struct fresh_life *life)
{
    int64_t left = life->lifetime - life->corrected;

    if ((life->flags & (FRESH_VALIDATOR | FRESH_STORE_STALE)) != 0 || x->settings->offline)
        return NULL;
    if ((life->flags & FRESH_ASK) != 0)
        return "no-cache, and no validator";
    if (left <= 0 && (life->flags & FRESH_MUST) == 0 &&
        (x->said->has & (CONTROL_STALE_WHILE | CONTROL_STALE_ERROR)) != 0 &&
        -left < MS * max_of(life->stale_while, life->stale_error))
        return NULL;
    if (left <= 0)
        return "stale, and no validator";
    if (left < limit_of(x->settings->min_life) * MS && (life->flags & FRESH_NEGATIVE) == 0)
        return "minimum_expiry_time, and no validator";
    return NULL;
}

void fresh_judge(const struct fresh_exchange *x, struct fresh_verdict *out)
{
    enum basis basis = life_of(x, out);
    const char *no = forbidden(x);

    if (no == NULL && basis == BASIS_NONE)
        no = "no life given";
    if (no == NULL && x->post_is_get && basis != BASIS_EXPLICIT)
        no = "method";
    if (no == NULL)
        no = useless(x, &out->life);
    out->store = no == NULL;
    if (no != NULL)
        out->why = no;
}

/* ---- using ---- */

int64_t fresh_age(const struct fresh_life *life, int64_t now)
{
    return life->corrected + max_of(0, now - life->received);
}

int64_t fresh_age_seconds(const struct fresh_life *life, int64_t now)
{
    return min_of(fresh_age(life, now) / MS, CONTROL_FOREVER);
}

int64_t fresh_left(const struct fresh_life *life, int64_t now)
{
    return life->lifetime - fresh_age(life, now);
}

/* A reload: what becomes of it. FRESH_HIT: it is ignored. */
static enum fresh_use reload(const struct fresh_life *life, const struct fresh_asking *a)
{
    if ((a->asked->has & CONTROL_NO_CACHE) == 0 || (life->flags & FRESH_IGNORE_RELOAD) != 0)
        return FRESH_HIT;
    if ((life->flags & FRESH_RELOAD_INTO_IMS) != 0 || a->settings->reload_into_ims)
        return FRESH_VALIDATE;
    return FRESH_RELOAD;
}

/* Why a fresh response may not be used as it is; NULL: it may. */
static const char *unwanted(const struct fresh_life *life, const struct fresh_asking *a)
{
    const struct control *asked = a->asked;
    /* ignore-reload is about the other way to say "reload", too. */
    bool heard = asked->max_age > 0 || (life->flags & FRESH_IGNORE_RELOAD) == 0;

    if ((life->flags & FRESH_ASK) != 0)
        return "no-cache";
    if (a->conditional && ((life->flags & FRESH_REFRESH_IMS) != 0 || a->settings->refresh_all_ims))
        return "refresh-ims";
    if ((asked->has & CONTROL_MAX_AGE) != 0 && heard &&
        (asked->max_age == 0 || fresh_age(life, a->now) > asked->max_age * MS))
        return "max-age of the client";
    if ((asked->has & CONTROL_MIN_FRESH) != 0 && fresh_left(life, a->now) < asked->min_fresh * MS)
        return "min-fresh of the client";
    return NULL;
}

/* It is stale by `stale` milliseconds. */
static enum fresh_use use_stale(const struct fresh_life *life, const struct fresh_asking *a,
                                int64_t stale, const char **why)
{
    const struct control *asked = a->asked;

    *why = "stale";
    if ((life->flags & FRESH_MUST) != 0)
        return FRESH_VALIDATE;
    if ((asked->has & CONTROL_MAX_STALE) != 0 &&
        (asked->max_stale == CONTROL_FOREVER || stale <= asked->max_stale * MS) &&
        stale <= limit_of(a->settings->max_stale) * MS) {
        *why = "max-stale of the client";
        return FRESH_HIT_STALE;
    }
    if (stale <= (int64_t)life->stale_while * MS && life->stale_while > 0) {
        *why = "stale-while-revalidate";
        return FRESH_HIT_WHILE;
    }
    return FRESH_VALIDATE;
}

static enum fresh_use use(const struct fresh_life *life, const struct fresh_asking *a,
                          const char **why)
{
    enum fresh_use reloaded = reload(life, a);
    int64_t left = fresh_left(life, a->now);

    *why = "no-cache of the client";
    if (reloaded != FRESH_HIT)
        return reloaded;
    if (a->settings->offline) {
        *why = "offline_mode";
        return left > 0 ? FRESH_HIT : FRESH_HIT_STALE;
    }
    if ((*why = unwanted(life, a)) != NULL)
        return FRESH_VALIDATE;
    *why = "fresh";
    return left > 0 ? FRESH_HIT : use_stale(life, a, -left, why);
}

enum fresh_use fresh_use(const struct fresh_life *life, const struct fresh_asking *a,
                         const char **why)
{
    const char *reason;
    enum fresh_use found = use(life, a, &reason);

    if ((found == FRESH_VALIDATE || found == FRESH_RELOAD) &&
        (a->asked->has & CONTROL_ONLY_IF_CACHED) != 0)
        found = FRESH_UNAVAILABLE;
    if (why != NULL)
        *why = reason;
    return found;
}

bool fresh_on_error(const struct fresh_life *life, const struct fresh_asking *a, int status)
{
    int64_t left = fresh_left(life, a->now), allowed = life->stale_error;

    if (status != 0 && (status < 500 || status > 599))
        return false;
    if ((life->flags & FRESH_ASK) != 0)
        return false;
    if (left > 0)
        return true;
    if ((life->flags & (FRESH_MUST | FRESH_NEGATIVE)) != 0)
        return false;
    if ((a->asked->has & CONTROL_STALE_ERROR) != 0)
        allowed = max_of(allowed, a->asked->stale_error);
    return allowed > 0 && -left <= allowed * MS;
}
