/* dict.h - dictionaries that all workers share: bt_shared.h has what is asked of them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef STAT_DICT_H
#define STAT_DICT_H

/* All go, before zone_forget() (tests). */
void dict_forget(void);

#endif
