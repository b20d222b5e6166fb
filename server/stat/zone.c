/* zone.c - named memory that all workers share.
 *
 * Each is a memfd, so that it can be handed across an exec, and sparse, so that a large one costs
 * what is used of it. Nothing of it goes into a core: caches are large, and logins are in there.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "stat/zone.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/check.h"
#include "bt_module.h"

struct bt_zone {
    struct zone_paper paper;
    void *memory;
    bool kept;
    struct bt_zone *next;
};
struct left {
    struct zone_paper paper;
    bool used;
    struct left *next;
};

static struct bt_zone *zones;
static struct left *lefts;
static bool settled;

void zone_left(const struct zone_paper *paper)
{
    struct left *left = calloc(1, sizeof *left);

    CHECK(left != NULL);
    left->paper = *paper;
    left->next = lefts;
    lefts = left;
}

static bool has_size(int fd, uint64_t size)
{
    struct stat st;

    return fstat(fd, &st) == 0 && (uint64_t)st.st_size == size;
}

static struct left *left_like(const struct zone_paper *paper)
{
    for (struct left *left = lefts; left != NULL; left = left->next)
        if (!left->used && left->paper.size == paper->size && left->paper.layout == paper->layout &&
            strcmp(left->paper.name, paper->name) == 0 && has_size(left->paper.fd, paper->size))
            return left;
    return NULL;
}

/* Memory that the machine does not have is granted all the same, and kills whoever touches it. */
static bool machine_has(uint64_t size)
{
    struct sysinfo info;

    if (sysinfo(&info) != 0)
        return true;
    if (size <= ((uint64_t)info.totalram + info.totalswap) * info.mem_unit)
        return true;
    errno = ENOMEM;
    return false;
}

static bool zone_new(struct zone_paper *paper)
{
    char name[ZONE_NAME + 8];

    strcpy(stpcpy(name, "bobtail-"), paper->name);
    if (!machine_has(paper->size))
        return false;
    paper->fd = memfd_create(name, MFD_CLOEXEC);
    if (paper->fd < 0)
        return false;
    if (ftruncate(paper->fd, (off_t)paper->size) == 0)
        return true;
    int why = errno;
    close(paper->fd);
    errno = why;
    return false;
}

static bool zone_map(struct bt_zone *zone, unsigned flags)
{
    void *at = mmap(NULL, zone->paper.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                    zone->paper.fd, 0);

    if (at == MAP_FAILED)
        return false;
    (void)madvise(at, zone->paper.size, MADV_DONTDUMP);
    if ((flags & BT_ZONE_HUGE) != 0)
        (void)madvise(at, zone->paper.size, MADV_HUGEPAGE);
    zone->memory = at;
    return true;
}

static bool name_fine(const char *name)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    size_t len = strlen(name);

    return len > 0 && len < ZONE_NAME && strspn(name, letters) == len;
}

static bool is_made(const char *name)
{
    for (const struct bt_zone *zone = zones; zone != NULL; zone = zone->next)
        if (strcmp(zone->paper.name, name) == 0)
            return true;
    return false;
}

struct bt_zone *bt_zone_make(const char *name, uint64_t size, uint64_t layout, unsigned flags,
                             struct bt_error *err)
{
    CHECK(name_fine(name) && size > 0 && size <= INT64_MAX && !is_made(name));
    struct bt_zone *zone = calloc(1, sizeof *zone);
    CHECK(zone != NULL);
    zone->paper = (struct zone_paper){.size = size, .layout = layout, .fd = -1};
    strcpy(zone->paper.name, name);
    struct left *left = left_like(&zone->paper);
    zone->kept = left != NULL;
    if (left != NULL)
        zone->paper.fd = left->paper.fd;
    if ((left != NULL || zone_new(&zone->paper)) && zone_map(zone, flags)) {
        if (left != NULL)
            left->used = true;
        zone->next = zones;
        zones = zone;
        return zone;
    }
    (void)bt_complain(err, NULL,
                      "no shared memory of %llu bytes for %s: %s; configure less, or give the "
                      "system more room",
                      (unsigned long long)size, name, strerror(errno));
    if (left == NULL && zone->paper.fd >= 0)
        close(zone->paper.fd);
    free(zone);
    return NULL;
}

void *bt_zone_memory(const struct bt_zone *zone)
{
    return zone->memory;
}

uint64_t bt_zone_size(const struct bt_zone *zone)
{
    return zone->paper.size;
}

bool bt_zone_kept(const struct bt_zone *zone)
{
    return zone->kept;
}

/* ---- for the master ---- */

static void drop_lefts(void)
{
    while (lefts != NULL) {
        struct left *left = lefts;
        lefts = left->next;
        if (!left->used)
            close(left->paper.fd);
        free(left);
    }
}

void zone_settle(void)
{
    drop_lefts();
    settled = true;
}

void zone_each(void (*each)(void *arg, const struct zone_paper *), void *arg)
{
    if (settled)
        for (const struct bt_zone *zone = zones; zone != NULL; zone = zone->next)
            each(arg, &zone->paper);
    else
        for (const struct left *left = lefts; left != NULL; left = left->next)
            each(arg, &left->paper);
}

static void count_one(void *arg, const struct zone_paper *paper)
{
    (void)paper;
    ++*(size_t *)arg;
}

size_t zone_count(void)
{
    size_t n = 0;

    zone_each(count_one, &n);
    return n;
}

int zone_fd(const struct bt_zone *zone)
{
    return zone->paper.fd;
}

void zone_leave(void)
{
    for (struct bt_zone *zone = zones; zone != NULL; zone = zone->next) {
        if (zone->paper.fd >= 0)
            close(zone->paper.fd);
        zone->paper.fd = -1;
    }
}

void zone_forget(void)
{
    drop_lefts();
    zone_leave();
    while (zones != NULL) {
        struct bt_zone *zone = zones;
        zones = zone->next;
        munmap(zone->memory, zone->paper.size);
        free(zone);
    }
    settled = false;
}
