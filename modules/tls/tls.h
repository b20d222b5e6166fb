/* tls.h - what the files of the module share: its configuration, and what it knows of a connection.
 *
 *   tls.c       the module: its tables, setup and start; struct bt_tls of bt_tls.h
 *   config.c    directives and what their words mean (versions, options, flags, names of errors)
 *   side.c      the transport: one side of a connection over OpenSSL, reads, writes, handshakes
 *   serve.c     towards clients: a context a port, tickets and sessions that all workers share
 *   origin.c    towards origins: contexts, verification, sslproxy_cert_error, sessions that are resumed
 *   kept.c      sessions with origins, for the next connection
 *   share.c     sessions of clients, for any worker
 *   staple.c    OCSP responses that come in the handshake
 *   aia.c       certificates that origins do not send, fetched
 *   keylog.c    secrets in a file, for who must read a capture
 *   verify.c    what is wrong with a certificate: names of errors, whom it is for
 *   leaf.c      forged certificates: made beside the loop, kept for all workers; leaf.h lists its files
 *   ca/         bobtailctl ca, a program of its own
 *   bump.c      ssl_bump and its steps
 *   server.c    what an origin says in clear to a hello that was only passed on, by serverhello.c
 *   acl.c       ACL types        fields.c  fields of logs
 *   hello.c, ja.c, hash.c, forge.c, pem.c: see their headers
 *
 * OpenSSL appears in this folder only. Whatever an error queue holds is cleared by who meets it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TLS_TLS_H
#define TLS_TLS_H

#include <openssl/ssl.h>

#include "bt.h"

#include "forge.h"
#include "hello.h"
#include "pem.h"

/* ---- configuration ---- */

/* tls_outgoing_options; words as written, which config.c has checked. */
struct tls_outgoing {
    const struct bt_word *at; /* for complaints; NULL: there is no such line */
    bt_str cert, key, cipher, options, cafile, capath, crlfile, flags, domain, min_version;
    int64_t version; /* old: 4 to 6 only TLS 1.0, 1.1, 1.2; 0, 1: not said */
    bool disable, no_default_ca;
    /* By origin_setup(): */
    bool dont_verify_peer, dont_verify_domain; /* out of `flags` */
    bool
        parent; /* these are a parent's (bt_route.h), to whom sslproxy_cert_error forgives nothing */
    SSL_CTX *ctx; /* NULL: switched off */
    int auth_level;
};

struct tls_conf {
    struct bt_rules *bump;        /* ssl_bump ACTION ACLS; actions: bump.c's words */
    struct bt_rules *cert_error;  /* sslproxy_cert_error allow|deny */
    struct leaf_rule *cert_sign;  /* sslproxy_cert_sign, line by line: leaf.h */
    struct leaf_rule *cert_adapt; /* sslproxy_cert_adapt */
    struct tls_outgoing outgoing;
    int64_t sign_hash;        /* sslproxy_cert_sign_hash: 0 sha256, 1 sha384, 2 sha512 */
    int64_t leaf_key;         /* sslproxy_leaf_key: 0 ecdsa, 1 rsa */
    bt_str intermediates;     /* sslproxy_foreign_intermediate_certs: a file */
    bt_size session_cache;    /* sslproxy_session_cache_size */
    bt_duration session_ttl;  /* sslproxy_session_ttl */
    int64_t aia;              /* sslproxy_fetch_intermediates: enum aia_mode */
    struct key_log *key_logs; /* tls_key_log: keylog.c */
};
extern struct tls_conf *tls_conf; /* from .setup on */

/* ---- what is known of one client connection (bt_conn_memory) ---- */

enum tls_action { TLS_SPLICE, TLS_PEEK, TLS_STARE, TLS_BUMP, TLS_TERMINATE };

enum { TLS_ERRORS_MAX = 8 };
/* One thing that is wrong with an origin's certificate: X509_V_ERR_..., which one of the chain. */
struct tls_error {
    int code, depth;
    bool forgiven; /* sslproxy_cert_error let it pass */
};

/* Who the origin of a connection is, as its certificate says. Counted: sides, connections and leaves share
 * it, and it outlives the origin's connection. One process, the loop's thread alone. */
struct tls_peer {
    unsigned uses;
    X509 *cert;             /* NULL: none is known */
    STACK_OF(X509) * chain; /* as it was sent, the certificate first; may be NULL */
    struct tls_error error[TLS_ERRORS_MAX];
    unsigned errors;
    bool flooded;           /* there were more errors than that */
    bt_str version, cipher; /* "TLSv1.3"; literals of OpenSSL */
    uint8_t sha1[20], sha256[32];
};
struct tls_peer *tls_peer_new(X509 *cert, STACK_OF(X509) * chain); /* takes references of its own */
/* Another one of the same, for another exchange's verdict on its errors. NULL: no memory. */
struct tls_peer *tls_peer_copy(const struct tls_peer *);
struct tls_peer *tls_peer_hold(struct tls_peer *);
void tls_peer_release(struct tls_peer *); /* NULL: nothing */

struct tls_leaf;
struct serverhello_reader; /* serverhello.h */

struct tls_client {
    struct bt_arena *arena;      /* the connection's; NULL: this memory is new */
    struct hello_reader *reader; /* NULL: no hello was looked at */
    size_t fed;                  /* bytes that it has */
    const struct hello *hello;   /* NULL: not whole yet, or none */
    int step;                    /* of ssl_bump, 1 to 3; 0: it was not asked */
    bool decided;                /* `mode` says what was done last */
    enum tls_action mode;        /* for %ssl::bump_mode and to tell what is possible in step 3 */
    int word;              /* which word of ssl_bump said so: old ones keep their name in logs */
    struct tls_peer *peer; /* the origin; NULL: nobody knows it */
    struct tls_leaf *leaf; /* the forged certificate; NULL: none yet */
    struct leaf_ask *ask;  /* leaf.c: the exchange waits, or was not told yet how it ended */
    bool fake;             /* the leaf stands in place of no origin: errors go to a page */
    struct serverhello_reader *heard; /* what a peek heard of the origin; NULL: there was none */
    size_t heard_bytes;
    const struct tls_names *names; /* acl.c: of the peer's certificate; NULL: nobody has asked */
};
/* Filled in (zeroed, .arena set, released with the connection) when it is first asked for. */
struct tls_client *tls_client(struct bt_txn *);

/* ---- side.c ---- */

struct bt_tls_side {
    SSL *ssl;
    int fd;
    struct bt_tls_side *outer; /* it speaks through that one, and owns it; NULL: through `fd` */
    bool server : 1;           /* we are the server: towards a client */
    bool ready : 1;            /* the handshake is done */
    bool broken : 1;           /* nothing more can be said or read, not even a close-notify */
    bool eof : 1;              /* the other side said that it is done */
    bool fin : 1;              /* the socket has ended */
    bool more : 1; /* the last read of the socket took all that was asked for: there may be more */
    bool unsure : 1;  /* it took something: a reset behind that tells nobody (net/stream.c) */
    bool lenient : 1; /* side_lenient() */
    bool told : 1;    /* the close-notify was said */
    int error;        /* errno of the socket when it broke; 0: a fault of TLS, see why */
    const char *why;  /* a literal, or text of .says; NULL: nothing is wrong */
    char says[128];
    int64_t began_us;
    size_t shaken; /* bytes that the handshake took of the socket */
    /* The handshake is done; false: refused all the same, `why` stands. NULL: always fine. */
    bool (*settled)(struct bt_tls_side *);
    void (*closed)(struct bt_tls_side *); /* before the side is freed; NULL: nothing to do */
    struct tls_peer *peer;                /* origins: who it is, from `ready` (or a refusal) on */
    struct tls_origin *origin;            /* origins: what origin.c knows of it */
    struct tls_leaf *leaf;                /* bumped clients */
    int keys_fd;                          /* where its secrets are written; 0: nowhere */
    char *early;                          /* bytes to be read before the socket's */
    size_t early_at, early_len;
};
extern const struct bt_transport tls_transport;
/* Takes `ssl` (frees it with the side, also when there is no memory: then NULL). NULL of NULL. */
struct bt_tls_side *side_new(SSL *ssl, int fd, bool server);
/* What every context of either kind is like. */
void side_prepare(SSL_CTX *);
/* Sides of it that are made from now on take an end without a close-notify for an end. */
void side_lenient(SSL_CTX *, bool on);
/* Towards an origin, through TLS with a parent: `outer` carries what the side says, and ends with it. */
void side_within(struct bt_tls_side *, struct bt_tls_side *outer);
/* These bytes come before what the socket has. false: no memory. */
BT_MUST bool side_early(struct bt_tls_side *, bt_str bytes);
enum bt_tls_state side_shake(struct bt_tls_side *);
const char *side_why(const struct bt_tls_side *);
/* Sets `why` unless it stands, out of OpenSSL's error queue, which is empty then. */
void side_complain(struct bt_tls_side *, const char *otherwise);

/* ---- serve.c ---- */

/* Contexts of all ports; CAs of those that bump. */
BT_MUST bool serve_setup(struct bt_arena *, struct bt_error *);
BT_MUST bool serve_start(void);
struct bt_tls_side *serve_accept(unsigned port, int fd, bt_str early);
/* For a client that is bumped: its context is the port's, its certificate the leaf's. */
struct bt_tls_side *serve_bump(struct bt_txn *, int fd, bt_str early);
/* The CA that signs for that port; NULL: it has none. */
const struct pem *serve_ca(unsigned port);

/* ---- origin.c ---- */

BT_MUST bool origin_setup(struct bt_arena *, struct bt_error *);
BT_MUST bool origin_start(void);
struct bt_tls_side *origin_connect(struct bt_txn *, int fd, bt_str host);
struct bt_tls_side *origin_own(int fd, bt_str host);
struct bt_tls_side *origin_parent(struct bt_txn *, int fd, const struct bt_parent *);
bt_str origin_key(struct bt_txn *, bt_str host);
bool origin_proven(const struct bt_tls_side *);

/* ---- verify.c ---- */

/* "X509_V_ERR_CERT_HAS_EXPIRED" and, for pages, a sentence; `code` as in tls_error. */
const char *verify_name(int code);
const char *verify_says(int code);
/* The code of a name as operators write it, with or without X509_V_ERR_; -1: there is none. */
int verify_code(bt_str name);
/* Codes that OpenSSL lacks: the certificate is for somebody else; the handshake failed for another reason
 * than certificates (only the name of it is known here). */
enum { VERIFY_WRONG_HOST = -2, VERIFY_HANDSHAKE = -3 };
/* Is it for that host, name or address? By alternative names; by the common name only when there are no
 * alternative ones of DNS or address kind. Wildcards stand for one label, the leftmost. */
bool verify_host(X509 *cert, bt_str host);
/* An address in text, IPv6 perhaps in brackets: 4 or 16 bytes of `addr`; 0: it is none. */
size_t verify_address(bt_str text, uint8_t addr[16]);

/* ---- leaf.c ---- */

/* A forged certificate with its key and chain; counted, in the loop's thread alone. */
struct tls_leaf {
    unsigned uses;
    X509 *cert;
    EVP_PKEY *key;
    STACK_OF(X509) * chain; /* the CA, and who signed that */
    const char *verdict;    /* NULL: it is good */
};
BT_MUST bool leaf_setup(struct bt_arena *, struct bt_error *);
BT_MUST bool leaf_start(void);
void leaf_stop(void);
/* As bt_tls.forge; READY: tls_client(txn)->leaf is set. */
enum bt_tls_state leaf_forge(struct bt_txn *, bt_str host, struct bt_tls_side *origin);
struct tls_leaf *leaf_hold(struct tls_leaf *);
void leaf_release(struct tls_leaf *); /* NULL: nothing */
/* .set of sslproxy_cert_sign, sslproxy_cert_adapt, sslcrtd_program, sslcrtd_children */
bool leaf_set_sign(void *conf, const struct bt_line *, struct bt_error *);
bool leaf_set_adapt(void *conf, const struct bt_line *, struct bt_error *);
bool leaf_set_program(void *conf, const struct bt_line *, struct bt_error *);
bool leaf_set_children(void *conf, const struct bt_line *, struct bt_error *);

/* ---- bump.c ---- */

bool bump_any(void);
enum bt_bump bump_decide(struct bt_txn *, int step);
enum bt_tls_hello bump_hello(struct bt_txn *, bt_str bytes);
bt_str bump_name(struct bt_txn *);
/* leaf_forge(), and what was seen of the origin is remembered. */
enum bt_tls_state bump_forge(struct bt_txn *, bt_str host, struct bt_tls_side *origin);
enum bt_match bump_covers(struct bt_txn *, bt_str host);
/* As %ssl::bump_mode says it; NULL: ssl_bump was not asked. */
const char *bump_mode(struct bt_txn *);

/* ---- server.c ---- */

enum bt_tls_state server_peek(struct bt_txn *, bt_str bytes);

/* ---- tables, put together by tls.c ---- */

/* How many rows acl.c and fields.c have; the compiler holds them to it. Rows of directives stand in
 * bump_rows.h, leaf_rows.h and config_rows.h, which tls.c takes in. Counters: counts.h. */
enum { TLS_ACL_TYPES = 7, TLS_FIELDS = 21 };
extern const struct bt_acl_type tls_acl_types[TLS_ACL_TYPES];
extern const struct bt_field tls_fields[TLS_FIELDS];

/* The error of a certificate that is being judged (sslproxy_cert_error, ssl_error), 0: none is; while
 * verification runs the rules, for acl.c. */
extern const struct tls_error *tls_judged;
extern X509 *tls_judged_cert;

#endif
