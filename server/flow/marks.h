/* marks.h - marks of packets: tcp_outgoing_tos, tcp_outgoing_mark, clientside_tos, mark_client_packet,
 * qos_flows.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FLOW_MARKS_H
#define FLOW_MARKS_H

#include "flow/txn.h"

extern const struct bt_module marks_module;

/* Of a connection to the origin. Asked once an exchange. */
struct marks marks_out(struct bt_txn *);
/* The request is admitted: what packets to the client carry from now on. */
void marks_admitted(struct bt_txn *);
/* Its answer is about to begin; out of memory, or from an origin or parent. */
void marks_answer(struct bt_txn *, bool hit);
/* Some line wants SO_MARK, for which a right of root has to be kept. */
bool marks_want_right(void);

#endif
