/* staple.c - OCSP responses that came along in a handshake (RFC 6066 8, RFC 6960).
 *
 * Only one that says "revoked" is of interest, so that all the others cost no more than being parsed.
 * Whether it is still timely does not matter: a revocation is not taken back.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "staple.h"

#include <openssl/err.h>
#include <openssl/ocsp.h>

static bool says_revoked(OCSP_BASICRESP *basic, X509 *cert, X509 *issuer)
{
    OCSP_CERTID *id;
    bool revoked = false;

    for (int i = 0; !revoked && i < OCSP_resp_count(basic); i++) {
        OCSP_SINGLERESP *single = OCSP_resp_get0(basic, i);
        ASN1_OBJECT *digest;
        int reason;

        if (OCSP_single_get0_status(single, &reason, NULL, NULL, NULL) != V_OCSP_CERTSTATUS_REVOKED)
            continue;
        /* By the digest that the responder chose. */
        OCSP_id_get0_info(NULL, &digest, NULL, NULL,
                          (OCSP_CERTID *)(uintptr_t)OCSP_SINGLERESP_get0_id(single));
        id = OCSP_cert_to_id(EVP_get_digestbyobj(digest), cert, issuer);
        revoked = id != NULL && OCSP_id_cmp(id, OCSP_SINGLERESP_get0_id(single)) == 0;
        OCSP_CERTID_free(id);
    }
    return revoked;
}

bool staple_revoked(bt_str response, STACK_OF(X509) * chain, X509_STORE *trusted)
{
    const unsigned char *at = (const unsigned char *)response.at;
    OCSP_RESPONSE *whole;
    OCSP_BASICRESP *basic = NULL;
    bool revoked = false;

    if (response.len == 0 || response.len > STAPLE_BYTES_MAX || sk_X509_num(chain) < 2)
        return false;
    whole = d2i_OCSP_RESPONSE(NULL, &at, (long)response.len);
    if (whole != NULL && OCSP_response_status(whole) == OCSP_RESPONSE_STATUS_SUCCESSFUL)
        basic = OCSP_response_get1_basic(whole);
    if (basic != NULL && says_revoked(basic, sk_X509_value(chain, 0), sk_X509_value(chain, 1)))
        revoked = OCSP_basic_verify(basic, chain, trusted, OCSP_PARTIAL_CHAIN) == 1;
    OCSP_BASICRESP_free(basic);
    OCSP_RESPONSE_free(whole);
    ERR_clear_error();
    return revoked;
}
