/* tell.h - what is told about a visit: tags, counters, Cache-Status, fields for logs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CACHE_TELL_H
#define CACHE_TELL_H

#include "visit.h"

/* Count it as that, once an exchange; Squid's tag for it (NULL: as the core says). */
void tell(struct visit *, enum visit_result, const char *tag);

/* Cache-Status: a hit; an answer of the origin; a copy that the origin was asked about. */
void tell_hit(struct visit *);
void tell_forward(struct visit *, int status);
void tell_validated(struct visit *);

/* .get of fields. */
bool tell_result(struct bt_txn *, bt_str arg, struct bt_value *);
bool tell_why(struct bt_txn *, bt_str arg, struct bt_value *);
bool tell_key(struct bt_txn *, bt_str arg, struct bt_value *);
bool tell_stored(struct bt_txn *, bt_str arg, struct bt_value *);
bool tell_age(struct bt_txn *, bt_str arg, struct bt_value *);
bool tell_ttl(struct bt_txn *, bt_str arg, struct bt_value *);

#endif
