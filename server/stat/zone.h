/* zone.h - named memory that all workers share: made in the master, handed to its next image.
 *
 * A life: the master is told what the image before it left (zone_left), modules make their zones
 * while the configuration is read (bt_zone_make, bt_shared.h), and when the configuration stands,
 * what nobody made again is closed (zone_settle). A process that only tries a configuration is told
 * of nothing, so that what it makes is its own and costs nothing.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef STAT_ZONE_H
#define STAT_ZONE_H

#include "bt_shared.h"

/* Changes when bt_lock, the page of members or the meaning of a number does: then nothing may be kept
 * of another image. */
enum { ZONE_VERSION = 1, ZONE_NAME = 64 };

/* A zone, as one image of the master hands it to the next. */
struct zone_paper {
    char name[ZONE_NAME];
    uint64_t size, layout;
    int fd;
};

/* One that the image before us had; its descriptor is ours now. */
void zone_left(const struct zone_paper *);
/* The configuration stands: those that nobody made again are closed. */
void zone_settle(void);
/* What the next image is to get. Before zone_settle() that is what was left to us: a configuration
 * that failed hands on nothing of its own. */
void zone_each(void (*each)(void *arg, const struct zone_paper *), void *arg);
size_t zone_count(void);
/* Its descriptor, for handing it to a program of ours; -1 after zone_leave(). */
int zone_fd(const struct bt_zone *);
/* In a worker: the mappings stay, the descriptors go. */
void zone_leave(void);
/* All go (tests). */
void zone_forget(void);

#endif
