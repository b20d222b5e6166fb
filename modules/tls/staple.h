/* staple.h - what an origin shows of its own certificate's standing: an OCSP response in the handshake.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TLS_STAPLE_H
#define TLS_STAPLE_H

#include "tls.h"

enum { STAPLE_BYTES_MAX = 32 * 1024 };

/* Whether that response, of the certificate's authority, says that it was revoked. `chain` as it was
 * verified, the certificate first; `trusted` as then. What cannot be read, or is by anybody else, says
 * nothing. */
bool staple_revoked(bt_str response, STACK_OF(X509) * chain, X509_STORE *trusted);

#endif
