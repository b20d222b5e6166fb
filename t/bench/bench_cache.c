/* bench_cache.c - what the RAM store costs and how well it chooses: `make bench-cache` prints the figures;
 * nothing is compared or failed here.
 *
 *   hits       nanoseconds of CPU for find and release, by objects and processes
 *   overhead   bytes beside head and body, by object
 *   choice     misses of S3-FIFO and of LRU, beside those of an exact LRU that wastes no byte
 *   writes     100 KB objects into memory that was never touched, and into a zone that is full
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../modules/cache/flight.c"
#include "../../modules/cache/ram.c"
#include "../../modules/cache/ram_evict.c"
#include "../../modules/cache/ram_hash.c"
#include "../../modules/cache/ram_index.c"
#include "../../modules/cache/ram_read.c"
#include "../../modules/cache/ram_segment.c"
#include "../../modules/cache/ram_write.c"

#include "stat/member.h"

static const struct store *const store = &store_ram;
static char bytes[1 << 20];
static char head[200];

static double seconds(clockid_t clock)
{
    struct timespec at;

    clock_gettime(clock, &at);
    return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

static uint64_t state = 88172645463325252;
static uint64_t dice(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * 0x2545f4914f6cdd1d;
}
static double unit(void)
{
    return (double)(dice() >> 11) / 9007199254740992.0;
}

/* 60 bytes, as a URL has. */
static bt_str key_of(char at[64], uint64_t n)
{
    memcpy(at, "http://www.example.org/images/products/large/0000000000000000", 60);
    for (int i = 59; i > 43; i--, n >>= 4)
        at[i] = "0123456789abcdef"[n & 15];
    return (bt_str){at, 60};
}

static bool put(uint64_t n, size_t size)
{
    char at[64];
    struct store_meta meta = {.status = 200, .stored = 1};
    bt_str piece = {bytes, size};
    struct store_writer *w = store->begin(key_of(at, n), &meta, (bt_str){head, sizeof head},
                                          (int64_t)size);

    if (w == NULL)
        return false;
    if (store->write(w, &piece, 1))
        return store->commit(w);
    store->cancel(w);
    return false;
}

static bool get(uint64_t n)
{
    char at[64];
    struct store_ref ref;

    if (store->find(key_of(at, n), &ref, NULL, NULL) != STORE_HIT)
        return false;
    store->release(&ref);
    return true;
}

static void setup(int64_t size, enum ram_policy policy)
{
    if (!member_make(16, NULL) || !ram_setup(size, -1, policy, NULL) || !member_claim() ||
        !ram_start()) {
        puts("no memory for that");
        exit(1);
    }
}

/* Each measurement has a process of its own, and so a zone. */
static void apart(void (*run)(int64_t, int64_t), int64_t a, int64_t b)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        run(a, b);
        fflush(stdout);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
}

/* ---- hits ---- */

enum { OBJECT = 318, PROCESSES = 8 };

static void hits_of(double *ns, uint64_t objects)
{
    double begin, end = 0;
    uint64_t n = 0, missed = 0;

    state ^= (uint64_t)getpid() << 20;
    for (int i = 0; i < 300000; i++)
        get(dice() % objects);
    begin = seconds(CLOCK_PROCESS_CPUTIME_ID);
    do {
        for (int i = 0; i < 10000; i++, n++)
            missed += !get(dice() % objects);
        end = seconds(CLOCK_PROCESS_CPUTIME_ID);
    } while (end - begin < 0.3);
    *ns = (end - begin) / (double)n * 1e9;
    if (missed > n / 100)
        printf("(missed %lu of %lu) ", (unsigned long)missed, (unsigned long)n);
}

/* The least that memory takes: a word of the index, and two lines of a record that depend on it. */
static double memory_alone(void)
{
    uint64_t slots = (uint64_t)ram.buckets * BUCKET_SLOTS, sum = 0;
    uint64_t words, n = 1000000;
    uint32_t used = 0;

    while (used < ram.segments && ram.notes[used].used > WORD)
        used++;
    words = (uint64_t)used * ram.segment_size / WORD - 16;
    double begin = seconds(CLOCK_PROCESS_CPUTIME_ID);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t at = dice() % slots, value = ram.index[at] & 1;
        const uint64_t *line = (const uint64_t *)place_at((dice() + value) % words / 8 * 8);
        sum += line[0] + line[8];
        state += sum & 1; /* one after the other, as requests come */
    }
    bytes[0] = (char)(sum == 42 ? 'c' : 'b'); /* so that it is not left out */
    return (seconds(CLOCK_PROCESS_CPUTIME_ID) - begin) / (double)n * 1e9;
}

static void hits(int64_t objects, int64_t unused)
{
    double *ns = mmap(NULL, sizeof *ns * PROCESSES, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct ram_sums sums;

    (void)unused;
    setup(objects * 800 + (16 << 20), RAM_S3FIFO);
    for (int64_t n = 0; n < objects; n++)
        if (!put((uint64_t)n, OBJECT))
            puts("put failed");
    printf("%9ld objects:", (long)objects);
    for (int processes = 1; processes <= PROCESSES; processes *= 2) {
        pid_t pid[PROCESSES];
        double sum = 0;
        fflush(stdout);
        for (int i = 0; i < processes; i++) {
            pid[i] = fork();
            if (pid[i] == 0) {
                if (!member_claim() || !ram_start())
                    _exit(1);
                hits_of(&ns[i], (uint64_t)objects);
                ram_stop();
                member_give_back();
                _exit(0);
            }
        }
        for (int i = 0; i < processes; i++) {
            waitpid(pid[i], NULL, 0);
            sum += ns[i];
        }
        printf("  %d: %5.1f ns", processes, sum / processes);
    }
    ram_sums(&sums);
    printf("   memory alone %.1f ns, overhead %.1f bytes\n", memory_alone(),
           (double)(sums.live - sums.bodies) / (double)sums.records + WORD);
}

/* ---- choice ---- */

/* An exact LRU by bytes, to compare with. */
struct item {
    uint32_t older, newer, size;
    bool there;
};
static struct item *items;
static uint32_t newest, oldest; /* number + 1 */
static int64_t lru_used, lru_max;

static void lru_out(uint32_t n)
{
    struct item *item = &items[n];

    *(item->newer != 0 ? &items[item->newer - 1].older : &newest) = item->older;
    *(item->older != 0 ? &items[item->older - 1].newer : &oldest) = item->newer;
    item->there = false;
    lru_used -= item->size;
}

static bool lru_get(uint32_t n, uint32_t size)
{
    struct item *item = &items[n];
    bool hit = item->there;

    if (hit)
        lru_out(n);
    *item = (struct item){.older = newest, .size = size, .there = true};
    *(newest != 0 ? &items[newest - 1].newer : &oldest) = n + 1;
    newest = n + 1;
    lru_used += size;
    while (lru_used > lru_max)
        lru_out(oldest - 1);
    return hit;
}

enum { UNIVERSE = 200000, REQUESTS = 1500000, SCANS = 2000000 };
static float *zipf; /* where each object's share ends */

static void zipf_make(double skew)
{
    double sum = 0;

    zipf = malloc(sizeof *zipf * UNIVERSE);
    double *share = malloc(sizeof *share * UNIVERSE);
    for (int i = 0; i < UNIVERSE; i++)
        share[i] = sum += pow(i + 1, -skew);
    for (int i = 0; i < UNIVERSE; i++)
        zipf[i] = (float)(share[i] / sum);
    free(share);
}

static uint32_t zipf_next(void)
{
    float at = (float)unit();
    uint32_t low = 0, high = UNIVERSE - 1;

    while (low < high) {
        uint32_t mid = (low + high) / 2;
        if (zipf[mid] < at)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* Sizes of an object: most are small, a few are fifty times that. */
static uint32_t size_of(uint32_t n, bool mixed)
{
    uint64_t h = (n + 1) * 0x9e3779b97f4a7c15;

    if (!mixed)
        return 2000;
    return (uint32_t)(200 + (h >> 32) % 2000 + ((h >> 20) % 20 == 0 ? (h >> 40) % 60000 : 0));
}

struct traced {
    double missed, exact;             /* of all requests */
    double again_missed, again_exact; /* of those that are not of a scan */
};

enum { POLLUTED = 1, MIXED = 2, MOVING = 4 };

/* POLLUTED: bursts of 5,000 requests for what was never asked for and never will be, a third of all.
 * MOVING: with each 100,000 requests the 300 objects that were asked for most are asked for least. */
static struct traced trace(double skew, int64_t kind, enum ram_policy policy)
{
    bool mixed = kind & MIXED;
    uint64_t missed = 0, exact = 0, counted = 0, again = 0, again_missed = 0, again_exact = 0;
    uint32_t scan = 0;
    int64_t zone = mixed ? 40 << 20 : 32 << 20;

    state = 42;
    setup(zone, policy);
    zipf_make(skew);
    items = calloc(UNIVERSE + SCANS, sizeof *items);
    lru_max = zone;
    for (int i = 0; i < REQUESTS; i++) {
        bool scans = (kind & POLLUTED) && i % 15000 >= 10000;
        uint32_t moved = kind & MOVING ? (uint32_t)i / 100000 * 300 : 0;
        uint32_t n = scans ? UNIVERSE + scan++ : (zipf_next() + moved) % UNIVERSE;
        uint32_t size = size_of(n, mixed);
        bool hit = get(n), other = lru_get(n, size + (uint32_t)sizeof head + 124);
        if (!hit && !put(n, size))
            puts("put failed");
        if (i < REQUESTS / 3)
            continue;
        counted++;
        missed += !hit;
        exact += !other;
        again += !scans;
        again_missed += !scans && !hit;
        again_exact += !scans && !other;
    }
    return (struct traced){(double)missed / (double)counted, (double)exact / (double)counted,
                           (double)again_missed / (double)again,
                           (double)again_exact / (double)again};
}

static void choice(int64_t skew, int64_t kind)
{
    static const char *const names[] = {"zipf",
                                        "polluted",
                                        "zipf, mixed sizes",
                                        "polluted, mixed sizes",
                                        "zipf that moves",
                                        "polluted, moves"};
    struct traced *traced = mmap(NULL, 2 * sizeof *traced, PROT_READ | PROT_WRITE,
                                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    for (int policy = 0; policy < 2; policy++) {
        pid_t pid = fork();
        if (pid == 0) {
            traced[policy] = trace((double)skew / 10, kind, policy == 0 ? RAM_S3FIFO : RAM_LRU);
            _exit(0);
        }
        waitpid(pid, NULL, 0);
    }
    printf(
        "%-22s %.1f: misses of S3-FIFO %.4f  LRU %.4f  exact LRU %.4f  (%+.1f %%; without the scans' "
        "own %+.1f %%)\n",
        names[kind], (double)skew / 10, traced[0].missed, traced[1].missed, traced[0].exact,
        (traced[0].missed / traced[0].exact - 1) * 100,
        (traced[0].again_missed / traced[0].again_exact - 1) * 100);
}

/* ---- writes ---- */

static void writes(int64_t size, int64_t zone)
{
    double slowest = 0, begin = seconds(CLOCK_PROCESS_CPUTIME_ID), first;
    uint64_t n = 0, all = (uint64_t)(zone / size);

    setup(zone, RAM_S3FIFO);
    for (; n < all * 8 / 10; n++)
        if (!put(n, (size_t)size))
            puts("put failed");
    first = (seconds(CLOCK_PROCESS_CPUTIME_ID) - begin) / (double)n * 1e6;
    begin = seconds(CLOCK_PROCESS_CPUTIME_ID);
    double was = begin, now = 0;
    for (uint64_t i = 0; i < all * 2; i++, was = now) {
        if (i % 3 == 0)
            get(n - 1 - dice() % (n < 500 ? n : 500));
        if (!put(n++, (size_t)size))
            puts("put failed");
        now = seconds(CLOCK_PROCESS_CPUTIME_ID);
        if (now - was > slowest)
            slowest = now - was;
    }
    printf("%7ld bytes into %4ld MB: %7.2f us untouched, %7.2f us full, slowest %.0f us\n",
           (long)size, (long)(zone >> 20), first, (now - begin) / (double)(all * 2) * 1e6,
           slowest * 1e6);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "hits writes choice";

    memset(bytes, 'b', sizeof bytes);
    memset(head, 'h', sizeof head);
    if (strstr(what, "hits") != NULL)
        for (int64_t objects = 1000; objects <= 1000000; objects *= 10)
            apart(hits, objects, 0);
    if (strstr(what, "writes") != NULL) {
        apart(writes, 500, 64 << 20);
        apart(writes, 5000, 64 << 20);
        apart(writes, 100000, 256 << 20);
        apart(writes, 1000000, 1 << 30);
    }
    if (strstr(what, "choice") != NULL)
        for (int64_t kind = 0; kind < 6; kind++)
            for (int64_t skew = 8; skew <= 12; skew += 2)
                apart(choice, skew, kind);
    return 0;
}
