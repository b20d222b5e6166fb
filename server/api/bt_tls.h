/* bt_tls.h - TLS as the core asks for it, of the one module that does TLS.
 *
 * The core moves bytes, dials, waits, keeps limits of time and knows what an exchange is; the module
 * speaks TLS and knows certificates. What the core calls is struct bt_tls; what it tells the module
 * beside bt_txn.h stands below. All in one thread, nothing blocks.
 *
 * A CONNECT on a port with ssl-bump walks so (flow/bump.c):
 *
 *   decide(1)        SPLICE: a plain tunnel. TERMINATE: closed. Else "200" is said, and
 *   hello()          fed with what the client says, until it is a whole ClientHello; when it is none,
 *                    on_unsupported_protocol says whether a tunnel is made of it. After PEEK or STARE:
 *   decide(2)        the name that the client asks for is known
 *     SPLICE         a tunnel; the hello goes to the origin as it came
 *     PEEK           the origin is dialled, gets the hello as it came, and what it says is given to
 *                    peek() until that has seen what there is to see; then decide(3)
 *     STARE, BUMP    the origin is dialled; connect(), shake(); after STARE decide(3)
 *   forge()          makes a certificate in the origin's place; bump() is the client's side with it. From then on
 *                    the connection is the same session as before, over TLS, with https URLs.
 *
 * After BUMP in step 1 no origin is dialled before the first request. When no origin can be reached,
 * or is not what it should be, the certificate is made for the name alone, and the client gets a page
 * that says so over TLS.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BT_TLS_H
#define BT_TLS_H

#include "bt_module.h"
#include "bt_route.h"
#include "bt_transport.h"
#include "bt_txn.h"

/* One side of one TLS connection: the state of the module's transport, and the stream's from
 * stream_via() on, which ends it by the transport's close(). */
struct bt_tls_side;

enum bt_tls_state {
    BT_TLS_WAIT, /* for its socket (shake), or until bt_resume() (all others) */
    BT_TLS_READY,
    BT_TLS_FAILED /* why() says why */
};

enum bt_tls_hello {
    BT_HELLO_MORE,
    BT_HELLO_WHOLE,
    BT_HELLO_NONE, /* no TLS at all: plain text, SSLv2, another protocol */
    BT_HELLO_BAD   /* TLS, and malformed or too long: nobody can make anything of it */
};

enum bt_bump {
    BT_BUMP_WAIT, /* until bt_resume() */
    BT_BUMP_SPLICE,
    BT_BUMP_PEEK,
    BT_BUMP_STARE,
    BT_BUMP_BUMP,
    BT_BUMP_TERMINATE
};

struct bt_tls {
    const struct bt_transport *transport; /* its states are struct bt_tls_side */

    /* https_port: the proxy's side towards a client of port number `port` (bt_tls_ports()). The
     * handshake is done within the first reads. `early`: what the client has said so far; copied. NULL: no
     * memory. */
    struct bt_tls_side *(*accept)(unsigned port, int fd, bt_str early);

    /* ---- a CONNECT on a port with ssl-bump ---- */

    /* Whether there is any rule about it; without one, ports with ssl-bump are plain ones. */
    bool (*bumps)(void);
    /* The first line that holds and can be done now; the default when none does. Remembers the answer as
     * the connection's mode. `step` 1 to 3. */
    enum bt_bump (*decide)(struct bt_txn *, int step);
    /* All that the client has said so far, from its first byte on (each call may see more of it). */
    enum bt_tls_hello (*hello)(struct bt_txn *, bt_str bytes);
    /* The host that the hello asks for, lower case; NONE: none, or an address, or an odd one. Lives as
     * long as the connection. */
    bt_str (*name)(struct bt_txn *);
    /* All that the origin has said so far to the client's own hello. READY: nothing more is to be seen. FAILED:
     * it is no TLS; splice all the same, it is the client's to complain. WAIT here: feed more. */
    enum bt_tls_state (*peek)(struct bt_txn *, bt_str bytes);
    /* Have a certificate ready for the client, in place of that of `origin` (whose shake() was READY), or
     * of `host` alone (NULL: there is no origin). FAILED: none can be made; why(origin) says why. */
    enum bt_tls_state (*forge)(struct bt_txn *, bt_str host, struct bt_tls_side *origin);
    /* The proxy's side towards that client, with that certificate. `early`: what the client has said so
     * far; copied. NULL: no memory. */
    struct bt_tls_side *(*bump)(struct bt_txn *, int fd, bt_str early);

    /* ---- origins ---- */

    /* The proxy's side towards an origin, for an https URL or a CONNECT that is bumped. `host`: who it must
     * be (a name is said as SNI). NULL: no memory. */
    struct bt_tls_side *(*connect)(struct bt_txn *, int fd, bt_str host);
    /* The same towards a parent of bt_route.h, by parent->tls, whose .context this module has set in its
     * .setup. Nothing is forgiven to it but what its own words forgive. */
    struct bt_tls_side *(*parent)(struct bt_txn *, int fd, const struct bt_parent *);
    /* The same for a connection of the server's own, which no exchange has asked for (logs): rules that
     * forgive are not asked. */
    struct bt_tls_side *(*own)(int fd, bt_str host);
    /* The side, which has said nothing yet, speaks through `outer` from now on, whose shake() was READY, and
     * owns it. */
    void (*within)(struct bt_tls_side *, struct bt_tls_side *outer);
    /* Go on with the handshake, either side. Calls nobody; with WAIT, call it again when the socket is
     * readable or writable. READY stands: the other side is who it must be, or the rules forgive that
     * it is not. */
    enum bt_tls_state (*shake)(struct bt_tls_side *);
    /* What kept connections to `host` must have in common beside their address, so that one exchange may
     * use what another one has opened; in the exchange's arena. */
    bt_str (*key)(struct bt_txn *, bt_str host);

    /* A phrase without a dot, for pages and logs; lives as long as the side. */
    const char *(*why)(const struct bt_tls_side *);
    /* May a client that was bumped ask for that host, too? YES: the origin's certificate, which has no
     * fault, is for it; NO: it is not; BROKEN: there is no such certificate. */
    enum bt_match (*covers)(struct bt_txn *, bt_str host);
    /* Has it proven that it is who it must be, so that what it says may be told to others, too? Not when
     * rules or options only overlook that it has not. Its shake() was READY. */
    bool (*proven)(const struct bt_tls_side *);
};

/* ---- what the core tells ---- */

/* What a port line says about TLS, as written; a text that is not given has .at NULL. */
struct bt_tls_port {
    const struct bt_word *at; /* the line's address, for complaints */
    bool tls;                 /* https_port: the client speaks TLS to the proxy itself */
    bool bump;                /* ssl-bump */
    bool generate;            /* generate-host-certificates; on unless said otherwise */
    bt_size cert_memory;      /* dynamic_cert_mem_cache_size */
    bt_str cert, key;         /* files */
    bt_str cipher, options, min_version, context;
    bt_str clientca, cafile, capath, crlfile, dh, flags;
    bool default_ca; /* tls-default-ca */
};
/* From .setup on: the module that speaks TLS; NULL: none is loaded. */
BT_API const struct bt_tls *bt_tls_module(void);

/* From .setup on. Number i is that of the port in accept(); plain http ports are among them. */
BT_API size_t bt_tls_ports(const struct bt_tls_port **);

/* The number of the port that the exchange's client is connected to, for the above. */
BT_API unsigned bt_tls_port(struct bt_txn *);
/* The client's side, when it speaks TLS with the proxy (https_port, or bumped); NULL: it does not. */
BT_API struct bt_tls_side *bt_tls_client(struct bt_txn *);
/* The side of the origin's connection that is in use; NULL: none, or not over TLS. */
BT_API struct bt_tls_side *bt_tls_origin(struct bt_txn *);
/* The exchange is the CONNECT that is being bumped, or a request within one that was: as the client asked for
 * it, host and port. NONE: neither. */
BT_API bt_str bt_tls_connect_host(struct bt_txn *);
BT_API unsigned bt_tls_connect_port(struct bt_txn *);

#endif
