/* kept.h - sessions with origins, to be resumed, and who the origin was then.
 *
 * Of this process, for so many origins as there are places; of each a few sessions, since those of
 * TLS 1.3 are for one use (RFC 8446 C.4) and origins give several at once.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TLS_KEPT_H
#define TLS_KEPT_H

#include "tls.h"

/* Takes the reference to `session` that the caller has; holds `peer`. false: it is not kept, and the
 * reference is the caller's still. */
BT_MUST bool kept_put(const char *key, SSL_SESSION *session, struct tls_peer *peer);
/* References of both are the caller's. false: there is none that is good still. */
BT_MUST bool kept_get(const char *key, SSL_SESSION **session, struct tls_peer **peer);

#endif
