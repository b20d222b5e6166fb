/* purge.h - dropping what is there: PURGE, requests that change something, bobtailctl.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CACHE_PURGE_H
#define CACHE_PURGE_H

#include "visit.h"

/* Method PURGE: 200 when there was a copy, 404 when not, 403 where no ACL names the method. */
enum bt_verdict purge_method(struct visit *);
/* An answer to another method: what it has changed is dropped (RFC 9111 4.4). / */
void purge_unsafe(struct visit *, int status);

#endif
