/* config.h - what words about TLS mean, of ports and of tls_outgoing_options.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TLS_CONFIG_H
#define TLS_CONFIG_H

#include "tls.h"

enum { CONFIG_SECURITY = 2 }; /* of OpenSSL: 112 bits, RSA of 2048 */

enum {
    CONFIG_DONT_VERIFY_PEER = 1,
    CONFIG_DONT_VERIFY_DOMAIN = 2,
    CONFIG_NO_DEFAULT_CA = 4,
    CONFIG_DELAYED_AUTH = 8,
    CONFIG_CONDITIONAL_AUTH = 16,
    CONFIG_NO_SESSION_REUSE = 32,
    CONFIG_VERIFY_CRL = 64,
    CONFIG_VERIFY_CRL_ALL = 128,
};

struct config_words {
    const struct bt_word *at; /* for complaints; may be NULL */
    const char *what;         /* whose words these are */
    bt_str cert, key, cipher, options, min_version, cafile, capath, crlfile, flags;
    int max_version; /* TLS1_2_VERSION, ...; 0: the latest */
    bool default_ca, crl, crl_all;
};

/* TLS1_2_VERSION and the like; 0: it is none. */
int config_version(bt_str text);
/* Flags of `words` that are among `allowed`. */
BT_MUST bool config_flags(const struct config_words *, unsigned allowed, unsigned *bits,
                          struct bt_error *);
/* NULL: complaints were made. */
SSL_CTX *config_context(const SSL_METHOD *, const struct config_words *, struct bt_error *);

/* ---- rows (config_rows.h) ---- */

struct config_outgoing {
    bool disable, no_npn;
    bt_str cert, key, cipher, options, cafile, capath, crlfile, flags, domain, default_ca;
    int64_t version, min_version, tls_min_version;
};
enum { CONFIG_OUTGOING_OPTIONS = 35 };
extern const struct bt_option config_outgoing_options[CONFIG_OUTGOING_OPTIONS];

/* .set of rows. */
typedef bool config_set(void *conf, const struct bt_line *, struct bt_error *);
config_set config_outgoing_set, config_old_set, config_old_version_set;

#endif
