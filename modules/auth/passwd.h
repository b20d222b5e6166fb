/* passwd.h - a password file as htpasswd writes it, read and searched in a thread beside the loop.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PASSWD_H
#define PASSWD_H

#include "bt.h"

struct passwd;
enum passwd_said { PASSWD_GOOD, PASSWD_WRONG, PASSWD_BROKEN };

/* On the heap; nothing is read yet. */
struct passwd *passwd_new(const char *path);
void passwd_free(struct passwd *);
/* From one thread at a time. Reads the file again when it is not the one that was read. */
enum passwd_said passwd_check(struct passwd *, const char *user, const char *password);
/* The hash of a password file against a password; false for a hash of an unknown kind, too. */
bool passwd_fits(const char *hash, const char *password);

#endif
