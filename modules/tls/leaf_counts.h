/* leaf_counts.h - a piece of tls.c: counters, for counts.h, about forged certificates.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#define LEAF_COUNTERS(X)                                                                           \
    X(leaf_forged, "tls.leaves_forged", BT_COUNT, "certificates", "Made for bumped hosts.")        \
    X(leaf_ready, "tls.leaves_ready", BT_COUNT, "handshakes",                                      \
      "Bumped with a certificate that this worker had ready.")                                     \
    X(leaf_shared, "tls.leaves_from_shared", BT_COUNT, "handshakes",                               \
      "Bumped with a certificate that another worker had made.")                                   \
    X(leaf_joined, "tls.leaves_joined", BT_COUNT, "handshakes",                                    \
      "Waited for a certificate that was being made for another client.")                          \
    X(leaf_in_loop, "tls.leaves_made_in_loop", BT_COUNT, "certificates",                           \
      "Made in the event loop, since too many were waiting to be made beside it.")                 \
    X(leaf_time, "tls.leaf_time", BT_HISTOGRAM, "microseconds",                                    \
      "From the order for a certificate to the certificate, with the time in the queue.")          \
    X(leaf_too_big, "tls.leaves_refused_too_big", BT_COUNT, "certificates",                        \
      "Not made: the origin's has too many or too long names.")                                    \
    X(leaf_malformed, "tls.leaves_refused_malformed", BT_COUNT, "certificates",                    \
      "Not made: the origin's has a malformed part, or the host is no host name.")                 \
    X(leaf_nameless, "tls.leaves_refused_nameless", BT_COUNT, "certificates",                      \
      "Not made: there is no name in the origin's.")                                               \
    X(leaf_failed, "tls.leaves_failed", BT_COUNT, "certificates",                                  \
      "Not made: no CA, no memory, or OpenSSL refused.")                                           \
    X(leaves, "tls.leaves", BT_GAUGE, "certificates", "That workers have ready.")                  \
    X(leaf_bytes, "tls.leaf_bytes", BT_GAUGE, "bytes", "Memory of those that workers have ready.") \
    X(shared_leaves, "tls.shared_leaves", BT_GAUGE, "certificates",                                \
      "That all workers know (dynamic_cert_mem_cache_size).")                                      \
    X(shared_leaf_bytes, "tls.shared_leaf_bytes", BT_GAUGE, "bytes",                               \
      "Memory of those, with all that they cost.")                                                 \
    X(shared_leaf_room, "tls.shared_leaf_room", BT_GAUGE, "bytes", "That they may have at most.")  \
    X(ca_days, "tls.ca_days", BT_GAUGE, "days",                                                    \
      "Until the first of the CAs that sign for bumped hosts expires; 0: expired, or there is "    \
      "none.")
