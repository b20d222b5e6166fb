/* counts.h - the counters of the module; tls.c gives their rows to the server.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TLS_COUNTS_H
#define TLS_COUNTS_H

#include "bt.h"

#define SIDE_COUNTERS(X)                                                                           \
    X(client_handshakes, "tls.client_handshakes", BT_COUNT, "handshakes",                          \
      "Finished with clients: of https_port, and of connections that are bumped.")                 \
    X(client_resumed, "tls.client_resumed", BT_COUNT, "handshakes",                                \
      "Of those, the ones that went on with a session of before.")                                 \
    X(client_failed, "tls.client_failed", BT_COUNT, "handshakes",                                  \
      "Begun with clients, and not finished.")                                                     \
    X(client_time, "tls.client_handshake_time", BT_HISTOGRAM, "microseconds",                      \
      "From the first byte of a handshake with a client to its end.")                              \
    X(origin_handshakes, "tls.origin_handshakes", BT_COUNT, "handshakes",                          \
      "Finished with origins.")                                                                    \
    X(origin_resumed, "tls.origin_resumed", BT_COUNT, "handshakes",                                \
      "Of those, the ones that went on with a session of before.")                                 \
    X(origin_failed, "tls.origin_failed", BT_COUNT, "handshakes",                                  \
      "Begun with origins, and not finished: refusals are among them.")                            \
    X(origin_time, "tls.origin_handshake_time", BT_HISTOGRAM, "microseconds",                      \
      "From the first byte of a handshake with an origin to its end.")                             \
    X(client_open, "tls.clients", BT_GAUGE, "connections", "Connections of clients over TLS.")     \
    X(origin_open, "tls.origins", BT_GAUGE, "connections", "Connections to origins over TLS.")     \
    X(truncated, "tls.truncated", BT_COUNT, "connections",                                         \
      "Ended by the other side without the word that TLS has for it, in mid-answer or after it.")

#define SHARE_COUNTERS(X)                                                                          \
    X(ticket_keys, "tls.ticket_keys", BT_COUNT, "keys", "New keys for session tickets.")           \
    X(tickets_unknown, "tls.tickets_unknown", BT_COUNT, "tickets",                                 \
      "Tickets of clients by keys that are gone, or another server's.")                            \
    X(sessions_kept, "tls.sessions_kept", BT_COUNT, "sessions",                                    \
      "Sessions of clients without tickets that were kept for all workers.")

/* By what is wrong with certificates of origins, in the order of verify.c. */
#define VERIFY_COUNTERS(X)                                                                         \
    X(refused, "tls.origins_refused", BT_COUNT, "connections",                                     \
      "To origins that were not who they must be, and were not forgiven (sslproxy_cert_error).")   \
    X(forgiven, "tls.origins_forgiven", BT_COUNT, "connections",                                   \
      "To origins whose faults were all forgiven, or that were not to be verified.")               \
    X(err_expired, "tls.errors_expired", BT_COUNT, "certificates", "Expired.")                     \
    X(err_early, "tls.errors_not_yet_valid", BT_COUNT, "certificates", "Not valid yet.")           \
    X(err_host, "tls.errors_wrong_host", BT_COUNT, "certificates", "For another host.")            \
    X(err_self, "tls.errors_self_signed", BT_COUNT, "certificates", "Signed by nobody else.")      \
    X(err_issuer, "tls.errors_untrusted", BT_COUNT, "certificates",                                \
      "Signed by somebody whom nobody here trusts.")                                               \
    X(err_revoked, "tls.errors_revoked", BT_COUNT, "certificates",                                 \
      "Revoked, or its revocation list cannot be used.")                                           \
    X(err_weak, "tls.errors_weak", BT_COUNT, "certificates", "Too short a key, too old a digest.") \
    X(err_other, "tls.errors_other", BT_COUNT, "certificates", "Any other fault.")

#define AIA_COUNTERS(X)                                                                            \
    X(aia_fetched, "tls.aia_fetched", BT_COUNT, "answers",                                         \
      "Certificates, or bags of them, that origins did not send and that were fetched.")           \
    X(aia_failed, "tls.aia_failed", BT_COUNT, "answers",                                           \
      "Of those, the ones that could not be had, and are not asked for again for five minutes.")   \
    X(aia_completed, "tls.aia_completed", BT_COUNT, "handshakes",                                  \
      "With origins whose chain had no fault with what was fetched, now or before.")

#include "bump_counts.h"
#include "leaf_counts.h"

#define TLS_COUNTERS(X)                                                                            \
    SIDE_COUNTERS(X)                                                                               \
    SHARE_COUNTERS(X) VERIFY_COUNTERS(X) AIA_COUNTERS(X) LEAF_COUNTERS(X) BUMP_COUNTERS(X)
enum { TLS_COUNTERS(BT_ID_) N_end_ };

#endif
