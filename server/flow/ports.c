/* ports.c - http_port lines: what they may say, and the addresses that they mean.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/ports.h"

#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "base/addr.h"
#include "base/str.h"
#include "base/units.h"
#include "http/url.h"

#define OPTION(its_name, grammar, field, text)                                                     \
    {                                                                                              \
        .name = its_name, .args = grammar, .doc = text,                                            \
        .offset = offsetof(struct ports_options, field)                                            \
    }
#define TLS(its_name, old_name, grammar, field, text)                                              \
    OPTION(its_name, grammar, tls.field, text),                                                    \
        OPTION(old_name, grammar, tls.field, "Old spelling of " its_name ".")
#define IGNORED(its_name, grammar, field, text)                                                    \
    {                                                                                              \
        .name = its_name, .args = grammar, .doc = text,                                            \
        .offset = offsetof(struct ports_options, field), .status = BT_IGNORED                      \
    }

const struct bt_option ports_options[PORTS_OPTIONS] = {
    OPTION("name", "word", name, "Name of the port, for the ACL type myportname and for logs."),
    OPTION("tcpkeepalive", "[word]", tcpkeepalive,
           "TCP keep-alive on client connections: idle,interval,timeout in seconds."),
    OPTION("intercept", NULL, intercept,
           "Connections that the firewall redirects here by NAT; they go to where they would have "
           "gone."),
    OPTION("transparent", NULL, transparent, "Old spelling of intercept."),
    OPTION("tproxy", NULL, tproxy,
           "Connections that the kernel hands over as they are (TPROXY rules); origins see the "
           "client's own address, as spoof_client_ip says."),
    OPTION("accel", NULL, accel,
           "Requests as an origin gets them: the proxy stands before a site."),
    OPTION("require-proxy-header", NULL, proxy_header,
           "Clients speak the PROXY protocol first, version 1 or 2, before TLS; "
           "proxy_protocol_access says who may."),
    OPTION("defaultsite", "word", defaultsite, "accel: HOST[:PORT] of requests without Host."),
    OPTION("vhost", NULL, vhost, "accel: the site is what Host says, as it is without the option."),
    OPTION("no-vhost", NULL, no_vhost, "accel: Host does not matter, defaultsite counts."),
    OPTION("vport", "[word]", vport,
           "accel: the port that is put into all URLs; without a number that of this line."),
    OPTION("protocol", "word", protocol,
           "accel: the scheme that is put into URLs, http or https; that of the port without it."),
    OPTION("ignore-cc", NULL, ignore_cc,
           "accel: Cache-Control and Pragma of requests are taken out; a reload does not reach the "
           "site."),
    OPTION(
        "allow-direct", NULL, allow_direct,
        "accel: what no parent can be asked goes to the host of the URL; without it only parents "
        "are asked."),
    OPTION("act-as-origin", NULL, act_as_origin,
           "accel: answers of the cache have Date and Expires as if made now, and no Age."),
    OPTION("ssl-bump", NULL, tls.bump, "TLS inside CONNECT is looked into, as ssl_bump says."),
    OPTION("generate-host-certificates", "[word]", generate,
           "ssl-bump: certificates are made for bumped hosts (on, which it is without the option); "
           "off: the port's own one is shown for all."),
    {.name = "dynamic_cert_mem_cache_size",
     .args = "size",
     .preset = "4 MB",
     .doc = "ssl-bump: memory for the certificates that are made, shared by all workers.",
     .offset = offsetof(struct ports_options, tls.cert_memory)},
    TLS("tls-cert", "cert", "path", cert,
        "PEM file: the port's certificate, who signed it, and perhaps its key; with ssl-bump the "
        "authority that signs in the place of others."),
    TLS("tls-key", "key", "path", key, "PEM file: the key, when it is not in the other file."),
    OPTION("cipher", "word", tls.cipher, "Ciphers of TLS up to 1.2, as OpenSSL writes them."),
    OPTION("options", "word", tls.options,
           "Words of OpenSSL: NO_TLSv1_3, NO_TICKET, CIPHER_SERVER_PREFERENCE, ..."),
    OPTION("tls-min-version", "word", tls.min_version, "Oldest version taken: 1.0 to 1.3."),
    OPTION("clientca", "path", tls.clientca,
           "PEM file: clients must have a certificate of one of these authorities."),
    TLS("tls-cafile", "cafile", "path", cafile, "PEM file: more authorities for the same."),
    OPTION("capath", "path", tls.capath, "The same, a folder with hashed names."),
    OPTION("crlfile", "path", tls.crlfile, "PEM file: revocation lists for clients' certificates."),
    TLS("tls-dh", "dhparams", "word", dh, "Diffie-Hellman parameters: [CURVE:]FILE."),
    OPTION("sslflags", "word", tls.flags,
           "VERIFY_CRL, VERIFY_CRL_ALL, NO_SESSION_REUSE, CONDITIONAL_AUTH, DELAYED_AUTH."),
    TLS("sslcontext", "context", "word", context, "Name that sessions of this port belong to."),
    OPTION("tls-default-ca", "[word]", default_ca,
           "The system's authorities count for clients' certificates, too; off without it."),
    IGNORED("tls-no-npn", NULL, ignored, "NPN is gone; ALPN is spoken."),
    IGNORED("version", "int(1..6)", version, "Use tls-min-version."),
    {.name = "connection-auth",
     .args = "on|off",
     .preset = "on",
     .doc =
         "Logins that are bound to a connection (NTLM, Negotiate): the connection to the origin is "
         "kept for that client alone; off: origins' offers of such logins are taken out.",
     .offset = offsetof(struct ports_options, connection_auth)},
    OPTION("no-connection-auth", NULL, no_connection_auth, "As connection-auth=off."),
    {.name = "disable-pmtu-discovery",
     .args = "off|always|transparent",
     .preset = "off",
     .doc = "always: packets to clients may be broken up by routers; transparent: on ports with "
            "intercept or tproxy only.",
     .offset = offsetof(struct ports_options, pmtu)},
    OPTION("ipv4", NULL, ipv4, "No IPv6 where the line has no address."),
    IGNORED("worker-queues", NULL, ignored, "Each worker has a socket of its own in any case."),
};

/* The first address of a name, as it is now: most often one of /etc/hosts. */
static bool port_named(struct flow_port *port, bt_str host, unsigned number,
                       const struct bt_word *word, struct bt_error *err)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *list = NULL;
    char name[256];

    snprintf(name, sizeof name, "%.*s", BT_STR_ARGS(host));
    int failed = getaddrinfo(name, NULL, &hints, &list);
    if (failed != 0)
        return bt_complain(err, word,
                           "\"%s\" is neither an address nor a name that can be looked up now (%s)",
                           name, gai_strerror(failed));
    memcpy(&port->addr, list->ai_addr, list->ai_addrlen);
    addr_set_port((struct sockaddr *)&port->addr, (uint16_t)number);
    freeaddrinfo(list);
    return true;
}

/* "3128", "192.0.2.1:3128", "[2001:db8::1]:3128", "proxy.example.com:3128"; port 0 for tests. */
static bool port_address(struct flow_port *port, const struct bt_word *word, struct bt_error *err)
{
    bt_str text = word->text, host = BT_STR_NONE, digits = text;
    struct bt_word at = *word;
    unsigned number;

    if (str_rsplit(text, ':', &host, &digits) && host.len == 0)
        return bt_complain(err, word, "an address or a name is missing before \":\"");
    if (digits.at == NULL || digits.len == text.len) {
        digits = text;
        host = BT_STR_NONE;
    }
    at.text = digits;
    at.column += (uint32_t)(digits.at - text.at);
    if (!addr_parse_port(digits, true, &number))
        return bt_complain(err, &at, "\"%.*s\" is no port: a number from 1 to 65535 is expected",
                           BT_STR_ARGS(digits));
    if (host.at == NULL) {
        struct sockaddr_in6 any = {.sin6_family = AF_INET6};
        any.sin6_port = htons((uint16_t)number);
        memcpy(&port->addr, &any, sizeof any);
        port->dual = true;
        return true;
    }
    if (addr_parse_sockaddr(host, number, &port->addr))
        return true;
    return port_named(port, host, number, word, err);
}

/* tcpkeepalive=idle,interval,timeout */
static bool port_keepalive(struct flow_port *port, bt_str text, const struct bt_word *word,
                           struct bt_error *err)
{
    int *part[] = {&port->keep_idle, &port->keep_interval, &port->keep_count};
    bt_str rest = text, one;

    port->keepalive = text.at != NULL;
    for (size_t i = 0; rest.len > 0 && str_cut(&rest, ',', &one); i++) {
        uint64_t n;
        if (i == 3 || !str_uint(one, 32767, &n))
            return bt_complain(err, word, "tcpkeepalive is idle,interval,timeout in seconds");
        *part[i] = (int)n;
    }
    /* Squid's third number is a time; the kernel wants how many probes fit into it. */
    if (port->keep_interval > 0 && port->keep_count > 0)
        port->keep_count = (port->keep_count + port->keep_interval - 1) / port->keep_interval;
    return true;
}

/* The line that has this address already; NULL: none. Only one of the two can be bound: the first, as
 * in Squid. */
static const struct flow_port *port_same(const struct core_conf *conf, const struct flow_port *port,
                                         struct bt_error *err)
{
    for (size_t i = 0; i < conf->n_ports; i++) {
        const struct flow_port *other = &conf->ports[i];
        if (port->addr.ss_family == AF_UNIX
                ? memcmp(&port->addr, &other->addr, sizeof port->addr) == 0
                : addr_port((const struct sockaddr *)&port->addr) != 0 &&
                      addr_same((const struct sockaddr *)&port->addr,
                                (const struct sockaddr *)&other->addr, true)) {
            bt_caution(err, port->at,
                       "\"%.*s\" is given twice: line %u has it, and this one is ignored",
                       BT_STR_ARGS(port->at->text), (unsigned)other->at->line);
            return other;
        }
    }
    return NULL;
}

/* The client knows nothing of us. */
static bool port_redirected(enum port_mode mode)
{
    return mode == PORT_INTERCEPT || mode == PORT_TPROXY;
}

static bool is_off(bt_str text)
{
    return bt_str_eq_nocase(text, BT_STR("off"));
}

static bool port_tls(struct flow_port *port, const struct bt_line *line, struct bt_error *err)
{
    const struct ports_options *options = line->options;
    struct bt_tls_port *tls = bt_alloc(line->arena, sizeof *tls);

    *tls = options->tls;
    tls->at = port->at;
    tls->tls = str_eq_literal(line->name.text, "https_port");
    tls->generate = !is_off(options->generate);
    tls->default_ca = options->default_ca.at != NULL && !is_off(options->default_ca);
    port->tls = tls;
    if (tls->tls && port_redirected(port->mode) != tls->bump)
        return bt_complain(err, port->at,
                           tls->bump
                               ? "ssl-bump on an https_port is for connections that the firewall "
                                 "redirects: add intercept or tproxy; for clients that are told of "
                                 "the proxy write http_port ... ssl-bump"
                               : "TLS of connections that the firewall redirects is between client "
                                 "and origin: add ssl-bump, and tell by ssl_bump lines what to do "
                                 "with it");
    if ((tls->tls || tls->bump) && tls->cert.len == 0)
        return bt_complain(err, port->at, "TLS needs a certificate: add tls-cert=FILE%s",
                           tls->bump ? ", an authority's with its key (bobtailctl ca init FILE "
                                       "makes one)"
                                     : "");
    return true;
}

/* Ports of clients come first, whatever the order of the lines. */
static void port_add(struct core_conf *conf, const struct flow_port *port, struct bt_arena *arena)
{
    size_t at = port->admin ? conf->n_ports : conf->n_ports - conf->n_admin;

    if (conf->n_ports == conf->cap_ports) {
        size_t cap = conf->cap_ports == 0 ? 4 : conf->cap_ports * 2;
        struct flow_port *more = bt_alloc(arena, cap * sizeof *more);
        if (conf->n_ports > 0)
            memcpy(more, conf->ports, conf->n_ports * sizeof *more);
        conf->ports = more;
        conf->cap_ports = cap;
    }
    memmove(conf->ports + at + 1, conf->ports + at, (conf->n_ports - at) * sizeof *port);
    conf->ports[at] = *port;
    conf->n_ports++;
    conf->n_admin += port->admin;
}

static bool port_mode(struct flow_port *port, const struct ports_options *options,
                      struct bt_error *err)
{
    bool intercept = options->intercept || options->transparent;

    if (intercept + options->tproxy + options->accel > 1)
        return bt_complain(err, port->at, "a port is either intercept, tproxy or accel");
    port->mode = intercept         ? PORT_INTERCEPT
                 : options->tproxy ? PORT_TPROXY
                 : options->accel  ? PORT_ACCEL
                                   : PORT_FORWARD;
    if (port->mode == PORT_FORWARD && options->vhost) {
        bt_caution(err, port->at, "vhost alone means accel: write accel");
        port->mode = PORT_ACCEL;
    }
    if (port_redirected(port->mode) && options->proxy_header)
        return bt_complain(err, port->at,
                           "require-proxy-header is for clients that a load balancer connects, not "
                           "for those that the firewall redirects");
    if (port->mode == PORT_ACCEL && options->tls.bump)
        return bt_complain(err, port->at,
                           "ssl-bump is for CONNECT, which a port with accel does not take; write "
                           "https_port ... accel for a site with TLS");
    port->proxied = options->proxy_header;
    /* In the order of its words: off, always, transparent. */
    port->no_pmtu = options->pmtu == 1 || (options->pmtu == 2 && port_redirected(port->mode));
    return true;
}

/* defaultsite=, vport= and the others make sense with accel only. */
static bool port_site(struct flow_port *port, const struct bt_line *line, struct bt_error *err)
{
    const struct ports_options *options = line->options;
    struct port_site *site;
    unsigned number = 0;
    struct url url = {.form = URL_ORIGIN};

    if (port->mode != PORT_ACCEL) {
        if (options->defaultsite.len == 0 && options->vport.at == NULL &&
            options->protocol.len == 0 && !options->no_vhost && !options->ignore_cc &&
            !options->allow_direct && !options->act_as_origin)
            return true;
        return bt_complain(err, port->at,
                           "defaultsite, vport, no-vhost, protocol, ignore-cc, allow-direct and "
                           "act-as-origin are for ports with accel");
    }
    site = bt_alloc(line->arena, sizeof *site);
    site->vhost = !options->no_vhost;
    site->scheme = options->protocol.len > 0 ? options->protocol
                   : port->tls->tls          ? BT_STR("https")
                                             : BT_STR("http");
    site->defaultsite = options->defaultsite;
    site->act_as_origin = options->act_as_origin;
    site->ignore_cc = options->ignore_cc;
    site->allow_direct = options->allow_direct;
    if (bt_str_eq_nocase(site->scheme, BT_STR("https")))
        site->scheme = BT_STR("https");
    else if (bt_str_eq_nocase(site->scheme, BT_STR("http")))
        site->scheme = BT_STR("http");
    else
        return bt_complain(err, port->at, "protocol is http or https");
    if (site->defaultsite.len > 0 &&
        url_complete(line->arena, site->scheme, site->defaultsite, &url) != FAULT_NONE)
        return bt_complain(err, port->at, "defaultsite is the host of the site, HOST or HOST:PORT");
    if (!site->vhost && site->defaultsite.len == 0)
        return bt_complain(err, port->at, "no-vhost needs a defaultsite, to know the site");
    if (options->vport.len > 0 && !addr_parse_port(options->vport, false, &number))
        return bt_complain(err, port->at, "vport is a number from 1 to 65535");
    if (options->vport.at != NULL)
        site->vport = options->vport.len > 0 ? (int)number
                                             : (int)addr_port((struct sockaddr *)&port->addr);
    port->site = site;
    return true;
}

bool ports_set(void *conf_, const struct bt_line *line, struct bt_error *err)
{
    struct core_conf *conf = conf_;
    const struct ports_options *options = line->options;
    const struct bt_word *word = &line->args.word[0];
    struct flow_port port = {.at = word, .name = options->name};

    conf->ports_tried = true;
    if (!port_address(&port, word, err) || !port_keepalive(&port, options->tcpkeepalive, word, err))
        return false;
    if (port_same(conf, &port, err) != NULL)
        return true;
    if (options->ipv4 && port.dual) {
        const struct sockaddr_in6 *any = (const struct sockaddr_in6 *)(const void *)&port.addr;
        struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = any->sin6_port};
        memcpy(&port.addr, &v4, sizeof v4);
        port.dual = false;
    }
    port.no_connection_auth = !options->connection_auth || options->no_connection_auth;
    if (!port_mode(&port, options, err) || !port_tls(&port, line, err) ||
        !port_site(&port, line, err))
        return false;
    if (port.name.len == 0)
        port.name = word->text;
    port_add(conf, &port, line->arena);
    return true;
}

/* unix:PATH */
static bool port_local(struct flow_port *port, const struct bt_word *word, struct bt_error *err)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    bt_str path = str_skip(word->text, 5);

    if (!str_starts(path, BT_STR("/")) || path.len >= sizeof addr.sun_path)
        return bt_complain(err, word, "a whole path of at most %zu bytes should follow unix:",
                           sizeof addr.sun_path - 1);
    memcpy(addr.sun_path, path.at, path.len);
    memcpy(&port->addr, &addr, sizeof addr);
    return true;
}

bool ports_set_admin(void *conf_, const struct bt_line *line, struct bt_error *err)
{
    static const struct bt_tls_port plain;
    struct core_conf *conf = conf_;
    const struct bt_word *word = &line->args.word[0];
    struct flow_port port = {.at = word, .name = BT_STR("admin"), .admin = true, .tls = &plain};

    if (str_starts(word->text, BT_STR("unix:"))) {
        if (!port_local(&port, word, err))
            return false;
    } else if (!port_address(&port, word, err)) {
        return false;
    } else if (!addr_is_loopback((const struct sockaddr *)&port.addr)) {
        bt_caution(err, word,
                   "whoever can reach this address can read what this server does; "
                   "127.0.0.1:PORT or unix:PATH keep it on this machine");
    }
    if (port_same(conf, &port, err) != NULL)
        return true;
    port_add(conf, &port, line->arena);
    return true;
}

bool ports_setup(struct core_conf *conf, struct bt_arena *arena, struct bt_error *err)
{
    (void)arena;
    for (size_t i = 0; i < conf->n_ports; i++)
        if (conf->ports[i].proxied && conf->proxied == NULL)
            bt_caution(err, conf->ports[i].at,
                       "nobody may connect to this port: name your load balancers, as in "
                       "\"proxy_protocol_access allow balancers\"");
    if (conf->n_ports > conf->n_admin || conf->ports_tried)
        return true;
    return bt_complain(err, NULL,
                       "no http_port line: there is nothing to listen on; \"http_port "
                       "3128\" is the usual one");
}

size_t flow_ports(const struct flow_port **ports)
{
    *ports = core->ports;
    return core->n_ports;
}

bool flow_spoofs(void)
{
    for (size_t i = 0; i < core->n_ports; i++)
        if (core->ports[i].mode == PORT_TPROXY)
            return true;
    return false;
}
