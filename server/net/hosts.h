/* hosts.h - /etc/hosts: names to addresses and back, read again when the file changes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NET_HOSTS_H
#define NET_HOSTS_H

#include "net/addresses.h"

/* `path` must live on. "none": there is no such file for us. A file that cannot be read is one
 * warning, and empty. */
void hosts_open(bt_str path);
void hosts_close(void);
/* Look whether the file has changed, at most once a second; `now`: at once. */
void hosts_check(bool now);
/* Borrowed until the next hosts_check(); NULL: not there. `name` in lower case. */
struct addresses *hosts_find(bt_str name);
/* The first name of the last line with that address; BT_STR_NONE: none. Borrowed likewise. */
bt_str hosts_name_of(const struct sockaddr *);

#endif
