/* member.h - processes that carry traffic: their numbers, waking them, burying them.
 *
 * The page of members is a zone. A place in it belongs to whoever holds its lock, from member_claim()
 * on for life; so death is what the kernel says of the lock, and no process number is ever trusted.
 *
 *   FREE    nobody's
 *   LIVE    its owner's, who holds the lock
 *   DYING   its owner died; whoever gets the lock buries it, and only then makes it FREE
 *
 * The master makes an eventfd for each of the first places before it forks, and hands them to the
 * next image, so that processes of all generations have the same one for a number.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef STAT_MEMBER_H
#define STAT_MEMBER_H

#include "bt_shared.h"

/* ---- master ---- */

/* An eventfd that the image before us had. */
void member_left(unsigned member, int fd);
/* The page and `n` eventfds; before zone_settle(). false: complained. */
BT_MUST bool member_make(unsigned n, struct bt_error *);
/* The eventfd of that place; -1: none. For handing over. */
int member_fd(unsigned member);

/* ---- worker ---- */

/* A number of our own. false: all are taken. */
BT_MUST bool member_claim(void);
/* At a clean end, when nothing of ours is left in any zone. */
void member_give_back(void);
/* When our eventfd, member_fd(bt_member()), is readable. */
void member_wake(void);
/* Once a second: bury who has died, and see to wakes whose sender could not, or died in the middle. */
void member_tick(void);

/* All is as at first (tests). */
void member_forget(void);

#endif
