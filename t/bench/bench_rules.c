/* bench_rules.c - what access rules cost: lists of 292 to 100,000 rules, a million domains, thousands of
 * patterns. `make bench-rules` prints the figures; nothing is compared or failed here.
 *
 * The rules come the way they always do: a configuration is written, read and compiled with the real
 * modules. Only the exchange is made up.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <arpa/inet.h>
#include <inttypes.h>
#include <malloc.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/addr.h"
#include "base/arena.h"
#include "base/check.h"
#include "base/regexset.h"
#include "base/str.h"
#include "bt.h"
#include "conf/complain.h"
#include "plug/acl.h"
#include "plug/generation.h"
#include "plug/rules.h"

/* ---- an exchange, as far as rules look at it ---- */

struct bt_txn {
    struct bt_arena *arena;
    struct acl_memo *memo;
    struct sockaddr_in client;
    bt_str host, url, path;
    unsigned port;
};

struct bt_arena *bt_txn_arena(struct bt_txn *txn)
{
    return txn->arena;
}
struct acl_memo **acl_memo_place(struct bt_txn *txn)
{
    return &txn->memo;
}
const struct sockaddr *bt_client_addr(struct bt_txn *txn)
{
    return (const struct sockaddr *)&txn->client;
}
const struct sockaddr *bt_local_addr(struct bt_txn *txn)
{
    return (const struct sockaddr *)&txn->client;
}
bt_str bt_port_name(struct bt_txn *txn)
{
    (void)txn;
    return BT_STR("3128");
}
bt_str bt_method(struct bt_txn *txn)
{
    (void)txn;
    return BT_STR("GET");
}
bt_str bt_scheme(struct bt_txn *txn)
{
    (void)txn;
    return BT_STR("http");
}
bt_str bt_host(struct bt_txn *txn)
{
    return txn->host;
}
unsigned bt_port(struct bt_txn *txn)
{
    return txn->port;
}
bt_str bt_path(struct bt_txn *txn)
{
    return txn->path;
}
bt_str bt_url(struct bt_txn *txn)
{
    return txn->url;
}
const struct sockaddr *bt_host_addr(struct bt_txn *txn)
{
    (void)txn;
    return NULL;
}
/* What modules need to be loaded, and nothing here asks for. */
bt_str bt_req_header(struct bt_txn *txn, bt_str name, size_t n)
{
    (void)txn, (void)name, (void)n;
    return BT_STR_NONE;
}
bt_str bt_rep_header(struct bt_txn *txn, bt_str name, size_t n)
{
    return bt_req_header(txn, name, n);
}
enum bt_match bt_destination(struct bt_txn *txn, const struct sockaddr *const **addrs, size_t *n)
{
    (void)txn, (void)addrs, (void)n;
    return BT_NO;
}
enum bt_match bt_reverse(struct bt_txn *txn, bt_str *name)
{
    (void)txn, (void)name;
    return BT_NO;
}
enum bt_match bt_client_name(struct bt_txn *txn, bt_str *name)
{
    return bt_reverse(txn, name);
}
bool bt_field_get(struct bt_txn *txn, bt_str name, bt_str arg, struct bt_value *out)
{
    (void)txn, (void)name, (void)arg, (void)out;
    return false;
}
bt_str bt_url_login(struct bt_txn *txn)
{
    (void)txn;
    return BT_STR_NONE;
}

/* ---- the server, as far as it is needed ---- */

struct conf {
    struct bt_rules *rules;
};
static struct bt_self self;

static const struct bt_rules *rules(void)
{
    const struct conf *conf = self.conf;
    return conf->rules;
}

static const struct bt_directive rows[] = {
    {.name = "http_access", .args = "allow|deny acls+", .doc = "Rules.", .phase = BT_AT_REQUEST}};
static const struct bt_module bench_module = {.abi_major = BT_ABI_MAJOR,
                                              .abi_minor = BT_ABI_MINOR,
                                              .size = sizeof(struct bt_module),
                                              .name = "bench",
                                              .doc = "Rules.",
                                              .self = &self,
                                              .conf_size = sizeof(struct conf),
                                              .directives = BT_ROWS(rows)};
static const struct bt_module *const statics[] = {&acl_module, &bench_module, &plug_module};

static double now(void)
{
    struct timespec at;

    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

static size_t heap(void)
{
    struct mallinfo2 info = mallinfo2();

    return info.uordblks + info.hblkhd + arena_large_bytes();
}

static uint64_t seed = 88172645463325252;
static uint32_t dice(uint32_t sides)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)((seed >> 32) * sides >> 32);
}

static struct generation *load(const char *path)
{
    struct bt_arena *arena = arena_new(64 * 1024);
    struct bt_error err;

    complain_init(&err, arena);
    struct generation *gen = generation_load(path, statics, sizeof statics / sizeof *statics, &err);
    if (gen == NULL) {
        complain_print(&err, stderr, false);
        exit(1);
    }
    complain_fini(&err);
    return gen;
}

/* ---- words ---- */

static const char *const syllables[] = {"ad",  "ban", "click", "co",  "dex", "e",   "fly",  "ga",
                                        "hot", "in",  "jo",    "kit", "lo",  "mix", "net",  "on",
                                        "pix", "qu",  "ro",    "sy",  "tra", "up",  "view", "web",
                                        "x",   "yo",  "zen",   "am",  "ber", "cat", "di",   "ne"};

/* Number `n` in syllables: the same word each time. */
static const char *word_of(uint32_t n, char out[64])
{
    char *at = out;

    n = n * 2654435761u;
    for (int i = 0; i < 4; i++, n >>= 5)
        at = stpcpy(at, syllables[n & 31]);
    sprintf(at, "%x", n);
    return out;
}

static void host_of(uint32_t n, char *out)
{
    static const char *const tops[] = {"com", "net", "org", "example", "de", "co.uk"};
    char word[64];

    sprintf(out, "%s%" PRIu32 ".%s", word_of(n, word), n % 97, tops[n % 6]);
}

static void pattern_of(uint32_t n, char out[256])
{
    char word[64];

    word_of(n, word);
    switch (n % 5) {
    case 0:
        sprintf(out, "/%s/banner[0-9]*", word);
        break;
    case 1:
        sprintf(out, "^http://(www\\.)?%s\\.(com|net)/", word);
        break;
    case 2:
        sprintf(out, "%s%" PRIu32 "\\.swf$", word, n % 100);
        break;
    case 3:
        sprintf(out, "[?&]%s=[^&]+", word);
        break;
    default:
        sprintf(out, "(^|\\.)%s[0-9]{1,3}\\.", word);
        break;
    }
}

/* A URL that the pattern matches. */
static void match_of(uint32_t n, char out[256])
{
    char word[64];

    word_of(n, word);
    switch (n % 5) {
    case 0:
        sprintf(out, "http://www.shop.example/%s/banner12/a.gif", word);
        break;
    case 1:
        sprintf(out, "http://www.%s.com/index.html", word);
        break;
    case 2:
        sprintf(out, "http://cdn.media.example/files/%s%" PRIu32 ".swf", word, n % 100);
        break;
    case 3:
        sprintf(out, "http://search.example/find?q=1&%s=yes&page=2", word);
        break;
    default:
        sprintf(out, "http://a.%s12.example/x", word);
        break;
    }
}

/* ---- lists of rules ---- */

/* Rule i: a client, and by turns a port, a domain, a pattern. */
enum { PORTS = 1000, PATTERNS = 5000 };

static uint32_t third(uint32_t n, uint32_t most)
{
    return n / 3 + 1 < most ? n / 3 + 1 : most;
}

/* Spread over all of 10/8. */
static uint32_t client_of(uint32_t i)
{
    return i * 2654435761u & 0xffffff;
}

static void rules_write(const char *path, uint32_t n)
{
    FILE *out = fopen(path, "w");
    char text[256];

    if (out == NULL)
        exit(1);
    for (uint32_t i = 0; i < n; i++)
        fprintf(out, "acl s%" PRIu32 " src 10.%" PRIu32 ".%" PRIu32 ".%" PRIu32 "\n", i,
                client_of(i) >> 16, client_of(i) >> 8 & 255, client_of(i) & 255);
    for (uint32_t i = 0; i < third(n, PORTS); i++)
        fprintf(out, "acl p%" PRIu32 " port %" PRIu32 "\n", i, 1000 + i * 7);
    for (uint32_t i = 0; i < third(n, UINT32_MAX); i++) {
        host_of(i, text);
        fprintf(out, "acl d%" PRIu32 " dstdomain .%s\n", i, text);
    }
    for (uint32_t i = 0; i < third(n, PATTERNS); i++) {
        pattern_of(i, text);
        fprintf(out, "acl u%" PRIu32 " url_regex -i %s\n", i, text);
    }
    for (uint32_t i = 0; i < n; i++) {
        const char *what = i % 3 == 0 ? "p" : i % 3 == 1 ? "d" : "u";
        uint32_t which = i / 3 % third(n, i % 3 == 0 ? PORTS : i % 3 == 1 ? UINT32_MAX : PATTERNS);
        fprintf(out, "http_access %s s%" PRIu32 " %s%" PRIu32 "\n", i % 2 == 0 ? "deny" : "allow",
                i, what, which);
    }
    fprintf(out, "http_access allow all\n");
    fclose(out);
}

enum { REQUESTS = 4096 };
static int runs = 60;
static struct bt_txn request[REQUESTS];
static char urls[REQUESTS][256];

/* Clients that rules name; half of them ask for what their rule names. */
static void requests_make(uint32_t n)
{
    for (uint32_t k = 0; k < REQUESTS; k++) {
        uint32_t i = dice(n), which = i / 3, hit = dice(2);
        char host[128], *slash;
        request[k] = (struct bt_txn){.port = 80};
        request[k].client.sin_family = AF_INET;
        request[k].client.sin_addr.s_addr = htonl(10u << 24 | client_of(i));
        host_of(hit ? which : dice(1u << 30), host);
        sprintf(urls[k], "http://%s/path/to/some/page.html?id=%" PRIu32, host, dice(1u << 30));
        if (hit && i % 3 == 2)
            match_of(which % third(n, PATTERNS), urls[k]);
        if (hit && i % 3 == 0)
            request[k].port = 1000 + which % third(n, PORTS) * 7;
        slash = strchr(urls[k] + 7, '/');
        request[k].host = str_span(urls[k] + 7, slash);
        request[k].path = str_from(slash);
        request[k].url = str_from(urls[k]);
    }
}

/* Nanoseconds a ruling: the best of some runs, each of all requests. */
static double rules_time(double *matched)
{
    struct bt_arena *arena = arena_new(64 * 1024);
    double best = 1e9;

    for (int run = 0; run < runs; run++) {
        size_t by_line = 0;
        double from = now();
        for (size_t k = 0; k < REQUESTS; k++) {
            request[k].arena = arena;
            request[k].memo = NULL;
            struct bt_ruling ruling = bt_rules_run(rules(), &request[k]);
            by_line += ruling.line != rules_line(rules(), rules_count(rules()) - 1, NULL);
            arena_reset(arena);
        }
        double each = (now() - from) * 1e9 / REQUESTS;
        if (each < best)
            best = each;
        *matched = (double)by_line / REQUESTS;
    }
    arena_free(arena);
    return best;
}

static void rules_of(const char *path, uint32_t n, double *first)
{
    double matched = 0;
    size_t before = heap();

    rules_write(path, n);
    double written = now();
    struct generation *gen = load(path);
    double loaded = now() - written;
    size_t all = heap() - before;
    requests_make(n);
    double each = rules_time(&matched);
    if (*first == 0)
        *first = each;
    printf("%7" PRIu32 " rules: %7.0f ns a ruling (%.2f x the first), %4.1f bytes a rule for the "
           "index, %.0f in all; loaded in %.2f s, %.0f%% by a line\n",
           n, each, each / *first, (double)rules_memory(rules()) / n, (double)all / n, loaded,
           matched * 100);
    fflush(stdout);
    generation_free(gen);
}

/* ---- domains ---- */

enum { DOMAINS = 1000000 };

static void domains(void)
{
    struct bt_arena *arena = arena_new(64 * 1024);
    size_t before = heap();
    double from = now();
    struct bt_domains *set = bt_domains_new(arena);
    static char name[REQUESTS][140];
    uint64_t bits = 0;
    char host[128];

    for (uint32_t i = 0; i < DOMAINS; i++) {
        host[0] = '.';
        host_of(i, host + 1);
        (void)bt_domains_add(set, str_from(host), 0);
    }
    bt_domains_seal(set);
    double loaded = now() - from;
    size_t memory = heap() - before;
    for (int k = 0; k < REQUESTS; k++) {
        host_of(k % 2 == 0 ? dice(DOMAINS) : dice(1u << 30) + DOMAINS, host);
        sprintf(name[k], "www.%s", host);
    }
    double best = 1e9;
    size_t found = 0;
    for (int run = 0; run < 9; run++) {
        from = now();
        found = 0;
        for (int k = 0; k < REQUESTS; k++)
            found += bt_domains_find(set, str_from(name[k]), &bits);
        double each = (now() - from) * 1e9 / REQUESTS;
        best = each < best ? each : best;
    }
    printf("%7d domains: built in %.2f s, %.1f bytes each, %.0f ns a look-up (%.0f%% found)\n",
           DOMAINS, loaded, (double)memory / DOMAINS, best, (double)found * 100 / REQUESTS);
    arena_free(arena);
}

static void domains_file(const char *path)
{
    char list[4096], host[128];

    snprintf(list, sizeof list, "%s.list", path);
    FILE *out = fopen(list, "w");
    for (uint32_t i = 0; out != NULL && i < DOMAINS; i++) {
        host_of(i, host);
        fprintf(out, ".%s\n", host);
    }
    if (out == NULL || fclose(out) != 0 || (out = fopen(path, "w")) == NULL)
        exit(1);
    fprintf(out, "acl many dstdomain \"%s\"\nhttp_access deny many\n", list);
    fclose(out);
    size_t before = heap();
    double from = now();
    struct generation *gen = load(path);
    double loaded = now() - from;
    printf(
        "        the same as a list file: configuration loaded in %.2f s, %.1f bytes each in all\n",
        loaded, (double)(heap() - before) / DOMAINS);
    generation_free(gen);

    unlink(list);
}

/* ---- patterns ---- */

static void patterns(uint32_t n, unsigned how)
{
    struct bt_arena *arena = arena_new(64 * 1024);
    struct regexset *set = regexset_new(arena);
    uint64_t *bits = calloc(n / 64 + 1, sizeof *bits);
    struct regex_error err;
    double from = now(), best = 1e9;
    char text[256];

    for (uint32_t i = 0; i < n; i++) {
        pattern_of(i, text);
        if (bits == NULL || !regexset_add(set, str_from(text), REGEX_NOCASE, i, &err))
            exit(1);
    }
    regexset_seal(set, how);
    double built = now() - from;
    struct regexset_about about = regexset_about(set);
    requests_make(n * 3);
    for (int run = 0; run < 9; run++) {
        from = now();
        for (size_t k = 0; k < REQUESTS; k++)
            (void)regexset_find(set, request[k].url, bits);
        double each = (now() - from) * 1e9 / REQUESTS;
        best = each < best ? each : best;
    }
    printf("%7" PRIu32 " patterns (%zu by the automaton, %zu behind literals, %zu always run): "
           "%.0f ns a URL; built in %.2f s, %.0f KB\n",
           n, about.automaton, about.filtered, about.always, best, built,
           (double)about.memory / 1024);
    free(bits);
    arena_free(arena);
}

/* With an argument: lists of that many rules alone, for a profiler. */
int main(int argc, char **argv)
{
    char path[] = "/tmp/bench-rules-XXXXXX";
    int fd = mkstemp(path);
    double first = 0;

    if (fd < 0)
        return 1;
    close(fd);
    check_worker = 1; /* as one who serves */
    if (argc > 1) {
        runs = 300;
        rules_of(path, (uint32_t)atoi(argv[1]), &first);
        unlink(path);
        return 0;
    }
    static const uint32_t sizes[] = {292, 1000, 10000, 100000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        rules_of(path, sizes[i], &first);
    domains();
    domains_file(path);
    patterns(5000, 0);
    patterns(5000, REGEXSET_PLAIN);
    patterns(5000, REGEXSET_AUTOMATON);
    patterns(100, 0);
    patterns(100, REGEXSET_PLAIN);
    patterns(100, REGEXSET_AUTOMATON);
    unlink(path);
    return 0;
}
