/* config.c - lines of the configuration that need more than a grammar, and what follows from them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <string.h>

#include "fresh.h"
#include "store.h"

enum { MINUTE = 60 /* seconds */ };

/* A word that the grammar has let pass: a number, with a sign perhaps, and % perhaps. */
static int64_t number(const struct bt_word *word)
{
    bool minus = word->text.len > 0 && word->text.at[0] == '-';
    int64_t n = 0;

    for (size_t i = minus; i < word->text.len; i++) {
        if (word->text.at[i] < '0' || word->text.at[i] > '9')
            break;
        n = n > INT64_MAX / 10 - 10 ? n : n * 10 + (word->text.at[i] - '0');
    }
    return minus ? -n : n;
}

static bool is_word(const struct bt_word *word, const char *text)
{
    return bt_str_eq(word->text, (bt_str){text, strlen(text)});
}

/* ---- rules ---- */

/* Is the text these two words? */
static bool says_deny_all(bt_str text)
{
    size_t i = 4;

    if (text.len < 8 || memcmp(text.at, "deny", 4) != 0)
        return false;
    while (i < text.len && (text.at[i] == ' ' || text.at[i] == '\t'))
        i++;
    while (text.len > i && (text.at[text.len - 1] == ' ' || text.at[text.len - 1] == '\t'))
        text.len--;
    return i > 4 && bt_str_eq((bt_str){text.at + i, text.len - i}, BT_STR("all"));
}

bool config_cache(void *conf_, const struct bt_line *line, struct bt_error *err)
{
    struct cache_conf *conf = conf_;

    (void)err;
    if (conf->cache == NULL)
        conf->denies_all = says_deny_all(line->text);
    bt_rules_add(&conf->cache, line, is_word(&line->args.word[0], "deny") ? BT_DENY : BT_ALLOW);
    return true;
}

bool config_range(void *conf_, const struct bt_line *line, struct bt_error *err)
{
    struct cache_conf *conf = conf_;
    struct range_limit *limit = bt_alloc(line->arena, sizeof *limit), **at = &conf->ranges;

    (void)err;
    limit->bytes = number(&line->args.word[0]);
    limit->acls = line->acls;
    while (*at != NULL)
        at = &(*at)->next;
    *at = limit;
    return true;
}

int64_t config_range_limit(struct bt_txn *txn)
{
    for (const struct range_limit *limit = CONF->ranges; limit != NULL; limit = limit->next)
        if (limit->acls == NULL || bt_acls_match(limit->acls, txn) == BT_YES)
            return limit->bytes;
    return 0;
}

/* ---- replacement ---- */

bool config_policy(void *conf_, const struct bt_line *line, struct bt_error *err)
{
    static const char *const kinds[] = {"GDSF", "LFUDA", "LRU", NULL};
    struct cache_conf *conf = conf_;
    const struct bt_word *word = line->args.word;

    conf->policy = RAM_S3FIFO;
    if (is_word(&word[0], "lru")) {
        conf->policy = RAM_LRU;
        return true;
    }
    if (line->args.n < 2)
        return bt_complain(err, &word[0], "heap needs a kind: GDSF, LFUDA or LRU");
    for (size_t i = 0; kinds[i] != NULL; i++)
        if (is_word(&word[1], kinds[i])) {
            bt_caution(err, &line->name,
                       "S3-FIFO takes the place of heap %s: both keep what is used again",
                       word[1].text.at);
            return true;
        }
    return bt_complain(err, &word[1], "GDSF, LFUDA or LRU expected, not %s", word[1].text.at);
}

/* ---- refresh_pattern ---- */

struct pattern_line {
    struct pattern_line *next;
    struct fresh_rule is;
    bt_str regex;
    bool nocase;
};

static uint32_t pattern_flags(const struct pattern_options *o)
{
    return (o->override_expire ? FRESH_OVERRIDE_EXPIRE : 0u) |
           (o->override_lastmod ? FRESH_OVERRIDE_LASTMOD : 0u) |
           (o->reload_into_ims ? FRESH_RELOAD_INTO_IMS : 0u) |
           (o->ignore_reload ? FRESH_IGNORE_RELOAD : 0u) |
           (o->ignore_no_store ? FRESH_IGNORE_NO_STORE : 0u) |
           (o->ignore_private ? FRESH_IGNORE_PRIVATE : 0u) |
           (o->refresh_ims ? FRESH_REFRESH_IMS : 0u) | (o->store_stale ? FRESH_STORE_STALE : 0u);
}

bool config_pattern_set(void *conf_, const struct bt_line *line, struct bt_error *err)
{
    struct cache_conf *conf = conf_;
    struct pattern_line *pattern = bt_alloc(line->arena, sizeof *pattern), **at = &conf->patterns;
    const struct pattern_options *o = line->options;
    const struct bt_word *word = line->args.word;

    (void)err;
    if (is_word(word, "-i") || is_word(word, "+i"))
        pattern->nocase = is_word(word++, "-i");
    pattern->regex = word[0].text;
    pattern->is = (struct fresh_rule){
        .min = number(&word[1]) * MINUTE,
        .percent = (uint32_t)number(&word[2]),
        .max = number(&word[3]) * MINUTE,
        .max_stale = o->max_stale < 0 ? -1 : o->max_stale * MINUTE,
        .options = pattern_flags(o),
    };
    while (*at != NULL)
        at = &(*at)->next;
    *at = pattern;
    conf->n_patterns++;
    return true;
}

static bool patterns_seal(struct cache_conf *conf, struct bt_arena *arena, struct bt_error *err)
{
    const char *why;
    size_t offset, n = 0;

    conf->pattern = bt_alloc(arena, (conf->n_patterns + 1) * sizeof *conf->pattern);
    conf->regexes = bt_regexes_new(arena);
    for (const struct pattern_line *line = conf->patterns; line != NULL; line = line->next) {
        if (!bt_regexes_add(conf->regexes, line->regex, line->nocase, (uint32_t)n, &why, &offset))
            return bt_complain(err, NULL, "refresh_pattern %s: %s", line->regex.at, why);
        conf->pattern[n++] = line->is;
    }
    conf->pattern[n] = fresh_rule_preset;
    bt_regexes_seal(conf->regexes);
    return true;
}

const struct fresh_rule *config_pattern(bt_str key)
{
    const struct cache_conf *conf = CONF;
    size_t words = BT_BITS_WORDS(conf->n_patterns + 1);
    uint64_t few[4] = {0}, *bits = few;

    if (conf->n_patterns == 0)
        return &conf->pattern[0];
    if (words > sizeof few / sizeof *few) {
        bits = conf->bits;
        memset(bits, 0, words * sizeof *bits);
    }
    /* One that cannot be told is passed over: freshness is no matter of access. / */
    (void)bt_regexes_find(conf->regexes, key, bits);
    for (size_t i = 0; i < words; i++)
        if (bits[i] != 0)
            return &conf->pattern[i * 64 + (size_t)__builtin_ctzll(bits[i])];
    return &conf->pattern[conf->n_patterns];
}

/* ---- store_id_program ---- */

/* Words of a line from the first on; `none` alone is none. */
bool config_store_id_program(void *conf_, const struct bt_line *line, struct bt_error *err)
{
    static const struct bt_grammar command = {.args = "command"};
    struct cache_conf *conf = conf_;
    struct bt_fit fit;

    conf->store_id_program = (struct bt_args){NULL, 0};
    if (line->args.n == 1 && is_word(&line->args.word[0], "none"))
        return true;
    conf->store_id_program = line->args;
    return bt_fit(&command, line->args, &line->name, line->arena, err, &fit);
}

bool config_store_id_children(void *conf_, const struct bt_line *line, struct bt_error *err)
{
    struct cache_conf *conf = conf_;

    (void)err;
    conf->store_id_max = number(&line->args.word[0]);
    conf->store_id = *(const struct store_id_children *)line->options;
    return true;
}

static bool store_ids_make(struct cache_conf *conf, struct bt_arena *arena, struct bt_error *err)
{
    struct bt_helper_options options = {
        .name = "store_id",
        .command = conf->store_id_program,
        .children = conf->store_id_max,
        .startup = conf->store_id.startup,
        .idle = conf->store_id.idle,
        .concurrency = conf->store_id.concurrency,
        .queue = conf->store_id.queue,
    };

    if (conf->store_id_program.n == 0 || conf->store_id_max == 0)
        return true;
    conf->store_id_extras = bt_format_new(arena, NULL, conf->store_id_extras_text, err);
    conf->store_ids = bt_helper_new(arena, &options);
    return conf->store_id_extras != NULL;
}

/* ---- all of it ---- */

static int64_t least(int64_t a, int64_t b)
{
    return a < 0 ? b : b < 0 || a < b ? a : b;
}

bool config_setup(struct cache_conf *conf, struct bt_arena *arena, struct bt_error *err)
{
    int64_t most = conf->mem.bytes / 8;

    conf->fresh = (struct fresh_settings){
        .max_stale = conf->max_stale.ms < 0 ? -1 : conf->max_stale.ms / 1000,
        .min_life = conf->minimum_expiry.ms / 1000,
        .negative_ttl = conf->negative_ttl.ms / 1000,
        .offline = conf->offline,
        .reload_into_ims = conf->reload_into_ims,
        .refresh_all_ims = conf->refresh_all_ims,
    };
    conf->on = conf->mem.bytes > 0 && !conf->denies_all;
    if (!patterns_seal(conf, arena, err) || !store_ids_make(conf, arena, err))
        return false;
    conf->bits = bt_alloc(arena, BT_BITS_WORDS(conf->n_patterns + 1) * sizeof *conf->bits);
    conf->largest = least(least(conf->object_max.bytes, conf->memory_object_max.bytes), most);
    conf->purge = bt_acl_has("method", BT_STR("PURGE"));
    return !conf->on ||
           ram_setup(conf->mem.bytes, conf->largest, (enum ram_policy)conf->policy, err);
}
