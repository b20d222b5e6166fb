/* notes.h - what modules find out about an exchange: notes, and who the client is (bt_txn.h).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FLOW_NOTES_H
#define FLOW_NOTES_H

#include "bt_module.h"

/* A module of the server, of fields and memory only. */
extern const struct bt_module notes_module;

/* Who the client of `from` is, and all notes there are of it, for an exchange in its place. */
void notes_copy(struct bt_txn *to, struct bt_txn *from);

#endif
