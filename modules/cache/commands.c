/* commands.c - what bobtailctl asks of the cache: a summary, what it knows of a URL, purging.
 *
 * Looking at all records takes a while: a slice of them at a time, in between other work.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands.h"

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "epoch.h"
#include "visit.h"

enum { NEXT_SLICE_MS = 1, NOTE = 512, ID_LEN = 16 };

/* ---- one walk over all records ---- */

struct walk {
    struct bt_call *call;
    uint64_t place;
    bt_str text; /* of the command: stands as long as the call */
    regex_t pattern;
    bool (*fits)(struct walk *, bt_str key);
    bool remove, has_pattern;
    unsigned long found;
};

/* The URL, or the store id, of a key. */
static bt_str name_of(bt_str key)
{
    const char *end;

    if (key.len > VISIT_NAMED && memcmp(key.at, "\nid\n", VISIT_NAMED) == 0)
        key = (bt_str){key.at + VISIT_NAMED, key.len - VISIT_NAMED};
    end = memchr(key.at, '\n', key.len);
    return end == NULL ? key : (bt_str){key.at, (size_t)(end - key.at)};
}

static bool fits_prefix(struct walk *walk, bt_str key)
{
    bt_str name = name_of(key);

    return name.len >= walk->text.len && memcmp(name.at, walk->text.at, walk->text.len) == 0;
}

static bool fits_pattern(struct walk *walk, bt_str key)
{
    bt_str name = name_of(key);
    regmatch_t where = {.rm_so = 0, .rm_eo = (regoff_t)name.len};

    return regexec(&walk->pattern, name.at, 1, &where, REG_STARTEND) == 0;
}

/* Any variant of it. */
static bool fits_variant(struct walk *walk, bt_str key)
{
    return key.len > walk->text.len && key.at[walk->text.len] == '\n' &&
           memcmp(key.at, walk->text.at, walk->text.len) == 0;
}

static const char *life_text(const struct fresh_life *life, char note[NOTE])
{
    int64_t now = bt_wall_ms(), left = fresh_left(life, now) / 1000;
    const char *guess = (life->flags & FRESH_HEURISTIC) != 0 ? ", a guess by refresh_pattern" : "";
    const char *error = (life->flags & FRESH_NEGATIVE) != 0 ? ", an error (negative_ttl)" : "";
    const char *must = (life->flags & FRESH_MUST) != 0 ? ", never served stale" : "";
    const char *with = (life->flags & FRESH_VALIDATOR) != 0 ? "" : ", cannot be validated";

    if ((life->flags & FRESH_ASK) != 0)
        snprintf(note, NOTE, "age %lld s, validated each time (no-cache)",
                 (long long)fresh_age_seconds(life, now));
    else
        snprintf(note, NOTE, "age %lld s, %s %lld s%s%s%s%s",
                 (long long)fresh_age_seconds(life, now),
                 left >= 0 ? "fresh for another" : "stale for",
                 (long long)(left >= 0 ? left : -left), guess, error, must, with);
    return note;
}

static void print_record(struct bt_call *call, const struct store_ref *ref)
{
    struct fresh_life life;
    char note[NOTE];

    key_meta_life(ref->meta, &life);
    bt_call_print(call, "status %u, %lld bytes, %s\n", ref->meta->status, (long long)ref->length,
                  life_text(&life, note));
}

/* The values that select a variant: the lines behind its id. */
static void print_variant(struct walk *walk, const struct store_ref *ref)
{
    size_t skip = walk->text.len + 1 + ID_LEN + 1;
    bt_str values = BT_STR("");

    if (ref->key.len > skip)
        values = (bt_str){ref->key.at + skip, ref->key.len - skip};
    bt_call_print(walk->call, "variant:\n");
    while (values.len > 0) {
        const char *end = memchr(values.at, '\n', values.len);
        size_t len = end == NULL ? values.len : (size_t)(end - values.at);
        bt_call_print(walk->call, "  %.*s\n", (int)len, values.at);
        len += end != NULL;
        values = (bt_str){values.at + len, values.len - len};
    }
    bt_call_print(walk->call, "  ");
    print_record(walk->call, ref);
}

static bool visit_record(void *arg, const struct store_ref *ref)
{
    struct walk *walk = arg;

    if (!walk->fits(walk, ref->key))
        return false;
    walk->found += (ref->meta->flags & META_MARKER) == 0;
    if (!walk->remove)
        print_variant(walk, ref);
    else if ((ref->meta->flags & META_MARKER) == 0)
        bt_count(purged);
    return walk->remove;
}

static void walk_slice(void *arg)
{
    struct walk *walk = arg;

    STORE->walk(&walk->place, visit_record, walk);
    if (walk->place != 0) {
        (void)bt_timer_start((bt_duration){NEXT_SLICE_MS}, walk_slice, walk);
        return;
    }
    bt_call_print(walk->call, "%lu %s\n", walk->found, walk->remove ? "dropped" : "variants");
    bt_call_done(walk->call, NULL);
    if (walk->has_pattern)
        regfree(&walk->pattern);
    free(walk);
}

static struct walk *walk_new(struct bt_call *call, bt_str text, bool (*fits)(struct walk *, bt_str))
{
    struct walk *walk = calloc(1, sizeof *walk);

    if (walk == NULL) {
        bt_call_done(call, "there is no memory");
        return NULL;
    }
    walk->call = call;
    walk->text = text;
    walk->fits = fits;
    return walk;
}

/* ---- bobtailctl purge ---- */

static void purge_url(struct bt_call *call, bt_str url)
{
    bool was;

    epoch_end(url);
    was = STORE->remove(url);
    if (was)
        bt_count(purged);
    bt_call_print(call, was ? "1 dropped\n" : "0 dropped\n");
    bt_call_done(call, NULL);
}

static void purge_pattern(struct bt_call *call, bt_str text)
{
    struct walk *walk = walk_new(call, text, fits_pattern);
    int fault = walk == NULL ? 0 : regcomp(&walk->pattern, text.at, REG_EXTENDED);
    char why[NOTE];

    if (walk == NULL)
        return;
    if (fault != 0) {
        regerror(fault, &walk->pattern, why, sizeof why);
        bt_call_done(call, why);
        free(walk);
        return;
    }
    walk->remove = walk->has_pattern = true;
    epoch_end_all();
    walk_slice(walk);
}

void commands_purge(struct bt_call *call, const bt_str *word, size_t n)
{
    struct walk *walk;

    if (!CONF->on) {
        bt_call_done(call, "there is no cache (cache_mem 0, or cache deny all)");
    } else if (n == 1) {
        purge_url(call, word[0]);
    } else if (n == 2 && bt_str_eq(word[0], BT_STR("regex"))) {
        purge_pattern(call, word[1]);
    } else if (n == 2 && bt_str_eq(word[0], BT_STR("prefix"))) {
        walk = walk_new(call, word[1], fits_prefix);
        if (walk != NULL) {
            walk->remove = true;
            epoch_end_all();
            walk_slice(walk);
        }
    } else {
        bt_call_done(call, "say: purge URL, purge prefix URL, or purge regex PATTERN");
    }
}

/* ---- bobtailctl cache ---- */

static void summary(struct bt_call *call)
{
    struct ram_sums sums = {0};

    ram_sums(&sums);
    bt_call_print(call, "memory    %lld bytes (cache_mem)\n", (long long)sums.size);
    bt_call_print(call, "used      %lld bytes\n", (long long)sums.used);
    bt_call_print(call, "live      %lld bytes\n", (long long)sums.live);
    bt_call_print(call, "content   %lld bytes of heads and bodies\n", (long long)sums.bodies);
    bt_call_print(call, "objects   %lld\n", (long long)sums.records);
    bt_call_print(call, "pinned    %lld segments\n", (long long)sums.pinned);
    bt_call_print(call, "flights   %u\n", flight_open());
    if (sums.oldest > 0)
        bt_call_print(call, "oldest    %lld s ago\n",
                      (long long)(bt_wall_ms() - sums.oldest) / 1000);
    bt_call_done(call, NULL);
}

static void look(struct bt_call *call, bt_str url)
{
    struct store_ref ref;
    struct walk *walk;

    if (STORE->find(url, &ref, NULL, NULL) != STORE_HIT) {
        bt_call_done(call, "nothing is kept under that URL; they stand as in access logs, with "
                           "their path (bobtailctl cache http://example.com/)");
        return;
    }
    if ((ref.meta->flags & META_MARKER) == 0) {
        print_record(call, &ref);
        STORE->release(&ref);
        bt_call_done(call, NULL);
        return;
    }
    bt_call_print(call, "varies: id, count, fields are %.*s\n", BT_STR_ARGS(ref.head));
    STORE->release(&ref);
    walk = walk_new(call, url, fits_variant);
    if (walk != NULL)
        walk_slice(walk);
}

void commands_cache(struct bt_call *call, const bt_str *word, size_t n)
{
    if (!CONF->on)
        bt_call_done(call, "there is no cache (cache_mem 0, or cache deny all)");
    else if (n == 0)
        summary(call);
    else if (n == 1)
        look(call, word[0]);
    else
        bt_call_done(call, "say: cache, or cache URL");
}
