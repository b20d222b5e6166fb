/* fields.h - the server's own fields: named values of an exchange, for logs, rules, pages and Lua.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FLOW_FIELDS_H
#define FLOW_FIELDS_H

#include "bt_module.h"

struct bt_txn;
struct origin;

/* A module of the server, of fields only. */
extern const struct bt_module fields_module;

/* The URL as logs have it: whole; the target as received where that is no URL; "error:..." where
 * there is not even that. */
bt_str fields_url(struct bt_txn *);

/* Set at setup when a log wants our address on the side of the origin, which costs a call. */
extern bool fields_need_local;
/* While a line is written: which bits of a client's address may be seen. */
extern uint32_t fields_mask;
/* The exchange has a connection to an origin: remember where it leads, which logs are asked when it
 * is gone. */
void fields_note_server(struct bt_txn *, const struct origin *);

#endif
