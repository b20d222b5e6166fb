/* hash.c - digests, by OpenSSL.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "hash.h"

#include <openssl/err.h>
#include <openssl/evp.h>

static bool digest(const EVP_MD *md, bt_str text, uint8_t *out)
{
    if (EVP_Digest(text.at, text.len, out, NULL, md, NULL) == 1)
        return true;
    ERR_clear_error();
    return false;
}

bool hash_md5(bt_str text, uint8_t *out)
{
    return digest(EVP_md5(), text, out);
}

bool hash_sha256(bt_str text, uint8_t *out)
{
    return digest(EVP_sha256(), text, out);
}
