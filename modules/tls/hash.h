/* hash.h - digests, by OpenSSL.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TLS_HASH_H
#define TLS_HASH_H

#include "bt.h"

/* Fit ja_digest. false: OpenSSL has it not (MD5 where only FIPS algorithms are allowed). */
BT_MUST bool hash_md5(bt_str text, uint8_t *out);    /* 16 bytes */
BT_MUST bool hash_sha256(bt_str text, uint8_t *out); /* 32 bytes */

#endif
