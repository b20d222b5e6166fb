/* ja.h - fingerprints of clients by their hello: JA3 and JA4, as others compute them.
 *
 * Digests are handed in, so that this knows no TLS library.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TLS_JA_H
#define TLS_JA_H

#include "hello.h"

/* Writes 16 (MD5) or 32 bytes (SHA-256). false: this digest cannot be had here. */
typedef bool ja_digest(bt_str text, uint8_t *out);

/* version,ciphers,extensions,groups,point formats; GREASE left out. */
bt_str ja3_text(const struct hello *, struct bt_arena *);
/* Its MD5 as 32 hexadecimal digits. BT_STR_NONE: no digest. */
bt_str ja3_hash(const struct hello *, struct bt_arena *, ja_digest *md5);

/* "t13d1516h2_8daaf6152771_e5627efa2ab1", for TLS over TCP. BT_STR_NONE: no digest. */
bt_str ja4_text(const struct hello *, struct bt_arena *, ja_digest *sha256);

#endif
