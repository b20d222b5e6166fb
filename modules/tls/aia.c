/* aia.c - certificates that origins forget to send, fetched from where the certificates say.
 *
 * Any origin can name any URL, so that little is promised: plain HTTP, hosts of the public internet alone
 * unless it is said otherwise, what http_access lets pass (transaction_initiator certificate-fetching),
 * 64 KB, ten seconds, four in one handshake. What came is trusted no more than if the origin had sent
 * it. It is remembered by URL, in each worker by itself; so is that nothing came.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "aia.h"

#include <stdlib.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/pkcs7.h>
#include <openssl/x509v3.h>

#include "counts.h"
#include "tls.h"

enum {
    PLACES = 256,  /* URLs that are remembered */
    BYTES = 65536, /* of an answer */
    CERTS = 8,     /* of one answer that are kept */
    URL_MAX = 2048,
    TRIES = 4, /* of one handshake */
    TIMEOUT_MS = 10 * 1000,
    GOOD_MS = 24 * 3600 * 1000,
    BAD_MS = 5 * 60 * 1000
};

struct aia_place {
    char *url;              /* NULL: empty */
    struct bt_fetch *fetch; /* NULL: not under way */
    STACK_OF(X509) * certs; /* NULL: nothing came */
    struct aia_wait *waits;
    int64_t until_ms; /* as long as that is so */
};

static struct aia_place places[PLACES];
static size_t n_places; /* that were ever used */

/* ---- what came ---- */

static void keep(STACK_OF(X509) * certs, X509 *cert)
{
    (void)X509_check_purpose(cert, -1, 0); /* OpenSSL reads extensions when first asked */
    if (sk_X509_num(certs) >= CERTS || sk_X509_push(certs, cert) <= 0)
        X509_free(cert);
}

/* All of a message without signature, PKCS#7 "certs-only". */
static void keep_all(STACK_OF(X509) * certs, PKCS7 *message)
{
    STACK_OF(X509) *all = NULL;

    if (message != NULL && PKCS7_type_is_signed(message) && message->d.sign != NULL)
        all = message->d.sign->cert;
    for (int i = 0; i < sk_X509_num(all) && i < CERTS; i++) {
        X509 *cert = sk_X509_value(all, i);

        if (X509_up_ref(cert) == 1)
            keep(certs, cert);
    }
    PKCS7_free(message);
}

static void read_pem(STACK_OF(X509) * certs, bt_str body)
{
    BIO *in = BIO_new_mem_buf(body.at, (int)body.len);
    X509 *cert;

    while (in != NULL && sk_X509_num(certs) < CERTS &&
           (cert = PEM_read_bio_X509(in, NULL, NULL, NULL)) != NULL)
        keep(certs, cert);
    if (in != NULL && sk_X509_num(certs) == 0 && BIO_reset(in) == 1)
        keep_all(certs, PEM_read_bio_PKCS7(in, NULL, NULL, NULL));
    BIO_free(in);
}

static void read_der(STACK_OF(X509) * certs, bt_str body)
{
    const unsigned char *at = (const unsigned char *)body.at;
    X509 *cert = d2i_X509(NULL, &at, (long)body.len);

    if (cert != NULL) {
        keep(certs, cert);
        return;
    }
    at = (const unsigned char *)body.at;
    keep_all(certs, d2i_PKCS7(NULL, &at, (long)body.len));
}

static STACK_OF(X509) * certs_read(bt_str body)
{
    STACK_OF(X509) *certs = sk_X509_new_null();

    if (certs == NULL)
        return NULL;
    if (body.len > 10 && memcmp(body.at, "-----BEGIN", 10) == 0)
        read_pem(certs, body);
    else
        read_der(certs, body);
    ERR_clear_error();
    if (sk_X509_num(certs) > 0)
        return certs;
    sk_X509_free(certs);
    return NULL;
}

static void wake(struct aia_place *place)
{
    struct aia_wait *wait;

    while ((wait = place->waits) != NULL) {
        place->waits = wait->next;
        wait->place = NULL;
        bt_resume(wait->txn);
    }
}

static void failed(const struct aia_place *place, const char *why, const char *detail)
{
    bt_count(aia_failed);
    bt_log_limited(NULL, BT_WARN, 60,
                   "a certificate that an origin did not send could not be had from %s: %s%s%s%s",
                   place->url, why, *detail != '\0' ? ": " : "", detail,
                   strcmp(why, "denied") == 0
                       ? "; the ACL type transaction_initiator certificate-fetching tells such "
                         "requests, for http_access"
                       : "");
}

static void arrived(void *place_, const struct bt_fetch_reply *reply)
{
    struct aia_place *place = place_;

    place->fetch = NULL;
    if (reply->error == NULL && reply->status == 200)
        place->certs = certs_read(reply->body);
    place->until_ms = bt_wall_ms() + (place->certs != NULL ? GOOD_MS : BAD_MS);
    if (place->certs != NULL)
        bt_count(aia_fetched);
    else if (reply->error != NULL)
        failed(place, reply->error, reply->detail);
    else
        failed(place, reply->status != 200 ? "another status than 200" : "no certificate", "");
    wake(place);
}

/* ---- the memory ---- */

static void place_empty(struct aia_place *place)
{
    sk_X509_pop_free(place->certs, X509_free);
    free(place->url);
    *place = (struct aia_place){.url = NULL};
}

/* NULL: that URL is not remembered, or no longer. */
static struct aia_place *place_find(const char *url)
{
    for (size_t i = 0; i < n_places; i++) {
        if (places[i].url == NULL || strcmp(places[i].url, url) != 0)
            continue;
        if (places[i].fetch != NULL || places[i].until_ms > bt_wall_ms())
            return &places[i];
        place_empty(&places[i]);
        return NULL;
    }
    return NULL;
}

/* An empty one, or that which would be forgotten first. NULL: all are being fetched. */
static struct aia_place *place_new(const char *url)
{
    struct aia_place *best = NULL;

    for (size_t i = 0; i < PLACES && (best == NULL || best->url != NULL); i++)
        if (places[i].fetch == NULL &&
            (best == NULL || places[i].url == NULL || places[i].until_ms < best->until_ms))
            best = &places[i];
    if (best == NULL)
        return NULL;
    place_empty(best);
    best->url = strdup(url);
    if (best->url != NULL && n_places <= (size_t)(best - places))
        n_places = (size_t)(best - places) + 1;
    return best->url != NULL ? best : NULL;
}

/* ---- where to ask ---- */

/* Calls `fn` with each URL of the issuer's certificate, until it says true. */
static bool each_url(const X509 *cert, bool (*fn)(const char *url, void *arg), void *arg)
{
    AUTHORITY_INFO_ACCESS *all = X509_get_ext_d2i(cert, NID_info_access, NULL, NULL);
    bool done = false;

    for (int i = 0; i < sk_ACCESS_DESCRIPTION_num(all) && i < CERTS && !done; i++) {
        const ACCESS_DESCRIPTION *one = sk_ACCESS_DESCRIPTION_value(all, i);
        char url[URL_MAX] = "";
        int len;

        if (OBJ_obj2nid(one->method) != NID_ad_ca_issuers || one->location->type != GEN_URI)
            continue;
        len = ASN1_STRING_length(one->location->d.uniformResourceIdentifier);
        if (len < 8 || len >= URL_MAX)
            continue;
        memcpy(url, ASN1_STRING_get0_data(one->location->d.uniformResourceIdentifier), (size_t)len);
        if (strlen(url) == (size_t)len && strncasecmp(url, "http://", 7) == 0)
            done = fn(url, arg);
    }
    AUTHORITY_INFO_ACCESS_free(all);
    ERR_clear_error();
    return done;
}

static bool url_known(const char *url, void *certs)
{
    const struct aia_place *place = place_find(url);

    if (place == NULL || place->certs == NULL)
        return false;
    *(STACK_OF(X509) **)certs = place->certs;
    return true;
}

STACK_OF(X509) * aia_known(const X509 *cert)
{
    STACK_OF(X509) *certs = NULL;

    (void)each_url(cert, url_known, &certs);
    return certs;
}

bool aia_any(void)
{
    return n_places > 0;
}

static bool url_fetch(const char *url, void *wait_)
{
    const struct bt_fetch_request request = {.url = {url, strlen(url)},
                                             .timeout = {TIMEOUT_MS},
                                             .max = {BYTES},
                                             .by = BT_BY_CERTIFICATES,
                                             .public_only = tls_conf->aia != AIA_ANY};
    struct aia_place *place = place_find(url);
    struct aia_wait *wait = wait_;
    const char *why;

    if (place != NULL && place->fetch == NULL)
        return false; /* it did not help, or nothing came */
    if (place == NULL) {
        place = place_new(url);
        if (place == NULL)
            return false;
        place->fetch = bt_fetch_start(&request, arrived, place, &why);
        if (place->fetch == NULL) {
            place->until_ms = bt_wall_ms() + BAD_MS;
            failed(place, why, "");
            return false;
        }
    }
    wait->place = place;
    wait->next = place->waits;
    place->waits = wait;
    return true;
}

bool aia_fetch(struct aia_wait *wait, const X509 *cert, struct bt_txn *txn)
{
    if (wait->place != NULL)
        return true;
    if (txn == NULL || tls_conf->aia == AIA_OFF || wait->tries >= TRIES || cert == NULL)
        return false;
    wait->txn = txn;
    wait->tries++;
    return each_url(cert, url_fetch, wait);
}

void aia_leave(struct aia_wait *wait)
{
    struct aia_wait **at;

    if (wait->place == NULL)
        return;
    for (at = &wait->place->waits; *at != wait; at = &(*at)->next)
        continue;
    *at = wait->next;
    wait->place = NULL;
}

void aia_stop(void)
{
    for (size_t i = 0; i < n_places; i++) {
        if (places[i].fetch != NULL)
            bt_fetch_cancel(places[i].fetch);
        place_empty(&places[i]);
    }
    n_places = 0;
}
