/* leaf_rows.h - a piece of tls.c: rows of directives about forged certificates.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
{.name = "sslproxy_cert_sign",
 .args = "signTrusted|signUntrusted|signSelf fastacls+",
 .doc =
     "How a bumped host's certificate is signed: by the port's CA, by one that nobody trusts, or by "
     "itself. Without a line that holds: as the origin's deserves, by its faults.",
 .set = leaf_set_sign,
 .phase = BT_AT_RESPONSE},
    {.name = "sslproxy_cert_adapt",
     .args = "word fastacls+",
     .doc =
         "What of an origin's certificate is made better: setValidAfter and setValidBefore take the "
         "CA's dates, setCommonName{NAME} the name, or that of the host when there is no {NAME}.",
     .set = leaf_set_adapt,
     .phase = BT_AT_RESPONSE},
    {.name = "sslproxy_cert_sign_hash",
     .args = "sha256|sha384|sha512",
     .preset = "sha256",
     .doc = "Digest that is signed in certificates that are made; clients take no older ones.",
     .offset = offsetof(struct tls_conf, sign_hash)},
    {.name = "sslproxy_leaf_key",
     .args = "ecdsa|rsa",
     .preset = "ecdsa",
     .doc = "Key of the certificates that are made: ECDSA P-256, with RSA for clients that take no "
            "ECDSA; or RSA 2048 for all of them.",
     .offset = offsetof(struct tls_conf, leaf_key)},
    {.name = "sslcrtd_program",
     .args = "text",
     .doc = "Not needed: certificates are made in the process. Such a line is taken, with a word.",
     .set = leaf_set_program},
    {.name = "sslcrtd_children",
     .args = "text",
     .doc = "Not needed, see sslcrtd_program; taken in silence.",
     .set = leaf_set_children},
