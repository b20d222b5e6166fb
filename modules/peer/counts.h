/* counts.h - the module's counters.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PEER_COUNTS_H
#define PEER_COUNTS_H

#include "bt.h"

/* clang-format off */
#define PEER_COUNTERS(X)                                                                          \
    X(failed, "peer.failed", BT_COUNT, "requests", "Times that a parent could not be reached, or said nothing or garbage.") \
    X(refused, "peer.refused", BT_COUNT, "requests", "Times that a parent wanted another login, or would not connect to an https site.") \
    X(full, "peer.full", BT_COUNT, "requests", "Times that a parent was passed over since it had max-conn connections.") \
    X(died, "peer.died", BT_COUNT, "parents", "Times that a parent was left out after connect-fail-limit failures in a row.") \
    X(revived, "peer.revived", BT_COUNT, "parents", "Times that such a parent came back.") \
    X(probes, "peer.probes", BT_COUNT, "probes", "Connections made to see whether a parent is back.") \
    X(checks, "peer.health_checks", BT_COUNT, "requests", "Requests of health-url.") \
    X(unwell, "peer.health_failed", BT_COUNT, "requests", "Those whose answer was none, or not of 200 to 399.") \
    X(advance, "peer.standby", BT_COUNT, "connections", "Connections opened in advance.")
/* clang-format on */

enum { PEER_COUNTERS(BT_ID_) N_end_ };

#endif
