/* core.c - the server's own rows about exchanges, written as a module writes them.
 *
 * Directives here, fields in fields.c, ports in ports.c. Setup works out what would else be worked
 * out for each exchange.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/core.h"

#include <string.h>
#include <unistd.h>

#include "base/addr.h"
#include "bt.h"
#include "flow/limits.h"
#include "flow/outgoing.h"
#include "flow/ports.h"
#include "flow/upgrade.h"

/* An address, or an address and a port: tests have name servers that cannot have port 53. */
static bool nameservers_set(void *conf_, const struct bt_line *line, struct bt_error *err)
{
    struct core_conf *conf = conf_;
    struct bt_word *all = bt_alloc(line->arena, (conf->nameservers.n + line->args.n) * sizeof *all);

    if (conf->nameservers.n > 0)
        memcpy(all, conf->nameservers.word, conf->nameservers.n * sizeof *all);
    for (size_t i = 0; i < line->args.n; i++) {
        const struct bt_word *at = &line->args.word[i];
        struct sockaddr_storage with_port;
        uint8_t bare[16];
        if (addr_parse(at->text, bare) || addr_parse_with_port(at->text, &with_port))
            all[conf->nameservers.n++] = *at;
        else
            bt_caution(err, at, "an IP address expected, not '%s': it is ignored", at->text.at);
    }
    conf->nameservers.word = all;
    return true;
}

#define CONF struct core_conf
#define DURATION(field, its_name, its_unit, otherwise, text)                                       \
    {                                                                                              \
        .name = its_name, .args = "duration", .unit = its_unit, .preset = otherwise, .doc = text,  \
        .offset = offsetof(CONF, field)                                                            \
    }
#define SIZE(field, its_name, its_unit, otherwise, text)                                           \
    {                                                                                              \
        .name = its_name, .args = "size", .unit = its_unit, .preset = otherwise, .doc = text,      \
        .offset = offsetof(CONF, field)                                                            \
    }
#define ALIAS(its_name, meant)                                                                     \
    {                                                                                              \
        .name = its_name, .same_as = meant                                                         \
    }

static const struct bt_directive directives[] = {
    {.name = "http_port",
     .args = "word [options]",
     .doc = "Address and port to accept clients on; may be given many times.",
     .set = ports_set,
     .options = {ports_options, PORTS_OPTIONS},
     .option_size = sizeof(struct ports_options)},
    ALIAS("ascii_port", "http_port"),
    {.name = "https_port",
     .args = "word [options]",
     .doc = "The same for clients that speak TLS to the proxy itself. Options as of http_port.",
     .set = ports_set,
     .options = {ports_options, PORTS_OPTIONS},
     .option_size = sizeof(struct ports_options)},
    {.name = "admin_port",
     .args = "word",
     .doc =
         "unix:PATH or ADDRESS:PORT where programs and browsers find /metrics, /status, /healthz, "
         "/readyz and a page for people; it is no proxy, and asks nobody for a password.",
     .set = ports_set_admin},
    {.name = "http_access",
     .args = "allow|deny acls+",
     .doc =
         "Who may ask for what: the first line whose ACLs all hold decides; without a match, the "
         "opposite of the last line; without any line, nobody.",
     .offset = offsetof(CONF, http_access),
     .phase = BT_AT_REQUEST},

    {.name = "adapted_http_access",
     .args = "allow|deny acls+",
     .doc =
         "Asked after http_access, about the request as it will go on. Without any line all pass.",
     .offset = offsetof(CONF, adapted_access),
     .phase = BT_AT_REQUEST},
    ALIAS("http_access2", "adapted_http_access"),
    {.name = "miss_access",
     .args = "allow|deny acls+",
     .doc = "Who may have a request forwarded, when it cannot be answered from here. Without any "
            "line, everybody.",
     .offset = offsetof(CONF, miss_access),
     .phase = BT_AT_UPSTREAM},
    {.name = "http_reply_access",
     .args = "allow|deny acls+",
     .doc = "Which answers may reach the client; the proxy's own error pages are asked about, too, "
            "unless they say that something was refused. Without any line, all.",
     .offset = offsetof(CONF, reply_access),
     .phase = BT_AT_RESPONSE},
    BT_SET_LIVE(
        CONF, access_audit, "http_access_audit", "off",
        "Try out rules: what http_access or adapted_http_access would refuse passes, is counted "
        "(access.audited), and its log line can say which rule it was (field access.audit)."),
    {.name = "follow_x_forwarded_for",
     .args = "allow|deny fastacls+",
     .doc =
         "Whose X-Forwarded-For is believed. The list is asked about the client; when it allows, "
         "about the last address of the header, and so on to the left, at most 64 times. The "
         "first that it does not allow is who the request comes from. Nobody is believed without "
         "a line.",
     .offset = offsetof(CONF, follow),
     .phase = BT_AT_REQUEST},
    BT_SET(CONF, acl_indirect, "acl_uses_indirect_client", "on",
           "ACLs about the client judge the address that follow_x_forwarded_for has found."),
    BT_SET(CONF, log_indirect, "log_uses_indirect_client", "on",
           "Logs name the address that follow_x_forwarded_for has found."),

    BT_SET(CONF, host_strict, "host_verify_strict", "off",
           "Refuse (409) a request whose Host is not where a redirected client went to, or, where "
           "clients are told of the proxy, not the host of its URL. off: the former goes to where "
           "the client went, past the cache; of the latter the URL counts."),
    BT_SET(CONF, dst_passthru, "client_dst_passthru", "on",
           "Requests of redirected clients go to the very address that the client went to; off: to "
           "any address of their host, when that address is one of them."),
    BT_SET(CONF, tproxy_indirect, "tproxy_uses_indirect_client", "off",
           "With tproxy origins see the address that follow_x_forwarded_for has found."),
    {.name = "spoof_client_ip",
     .args = "allow|deny fastacls+",
     .doc = "Whether origins see the address of a client that came by tproxy; without a line they "
            "do.",
     .offset = offsetof(CONF, spoof),
     .phase = BT_AT_UPSTREAM},
    {.name = "on_unsupported_protocol",
     .args = "tunnel|respond acls+",
     .doc =
         "What is done when a client does not speak what its port is for: no TLS after a CONNECT "
         "that is to be looked into, no TLS or no HTTP in the first bytes of a redirected "
         "connection, or nothing for request_start_timeout (ACL type squid_error: "
         "ERR_PROTOCOL_UNKNOWN, ERR_REQUEST_START_TIMEOUT). tunnel it to where it was to go, or "
         "respond, by an error or by closing it, as when no line holds.",
     .offset = offsetof(CONF, unsupported),
     .phase = BT_AT_REQUEST},
    {.name = "proxy_protocol_access",
     .args = "allow|deny fastacls+",
     .doc =
         "Who may connect to a port with require-proxy-header, and say by a PROXY header who the "
         "client is; the list is asked about the connection's own address. Without a line, "
         "nobody.",
     .offset = offsetof(CONF, proxied),
     .phase = BT_AT_ACCEPT},

    {.name = "http_upgrade_request_protocols",
     .args = "word allow|deny fastacls+",
     .doc =
         "Which protocols (or OTHER) a client may upgrade its connection to; without any line, each "
         "where a CONNECT to the same host and port would be allowed.",
     .set = upgrade_set,
     .phase = BT_AT_REQUEST},

    BT_SET(CONF, visible_hostname, "visible_hostname", NULL,
           "The name of this proxy in error pages and Via; the machine's name when absent."),
    BT_SET(CONF, unique_hostname, "unique_hostname", NULL,
           "A name of this proxy alone, for loop detection when several share visible_hostname."),
    BT_SET(CONF, cache_mgr, "cache_mgr", "webmaster",
           "Mail address of whoever runs this proxy, for error pages."),
    BT_SET(CONF, suppress_version, "httpd_suppress_version_string", "off",
           "Leave the version out of Server, Via and error pages."),
    BT_SET_LIVE(CONF, via, "via", "on", "Add Via to requests and answers, as RFC 9110 7.6.3 asks."),
    BT_SET_AS(CONF, forwarded_for, "on|off|transparent|delete|truncate", "forwarded_for", "on",
              "X-Forwarded-For: on adds the client's address, off adds \"unknown\", transparent "
              "leaves it alone, delete removes it, truncate says only the client's address."),
    SIZE(request_header_max, "request_header_max_size", "KB", "64 KB",
         "Largest request head; a larger one is answered 431 (414 when the URL alone is)."),
    SIZE(reply_header_max, "reply_header_max_size", "KB", "64 KB",
         "Largest response head taken from an origin; a larger one is answered 502."),

    {.name = "request_body_max_size",
     .args = "size|none",
     .unit = "bytes",
     .preset = "0",
     .doc = "Largest request body; a larger one is answered 413, before the access rules are asked "
            "when its length is known, else when so much has come. 0 or none: no limit.",
     .offset = offsetof(CONF, request_body_max),
     .flags = BT_LIVE},
    {.name = "reply_body_max_size",
     .args = "size|none fastacls",
     .unit = "bytes",
     .doc =
         "Largest body of an answer, by the first line whose ACLs all hold: 403 with ERR_TOO_BIG "
         "when its length is known to be larger, else it is cut there, so that the client sees "
         "that it is not whole. 0 or none: no limit.",
     .set = limits_reply_set,
     .phase = BT_AT_RESPONSE},
    BT_SET_AS(CONF, client_ip_max, "int(-1..)", "client_ip_max_connections", "-1",
              "How many connections one client address may have at a time, in all workers of one "
              "generation together (those of workers that drain after a reload do not count); more "
              "are closed at once. -1: no limit."),
    SIZE(
        read_ahead_gap, "read_ahead_gap", "KB", "64 KB",
        "How much of an answer is read ahead of a client that takes it slowly: nothing more is held "
        "in memory for it. At least 4 KB and at most 64 KB."),
    BT_SET_LIVE(
        CONF, half_closed, "half_closed_clients", "off",
        "on: a client that closes its half of the connection while it waits still gets its "
        "answer; off: it is taken to be gone, and the exchange ends. Tunnels keep a half-closed "
        "side in any case."),
    BT_SET_AS(
        CONF, relaxed, "on|off|warn", "relaxed_header_parser", "off",
        "on (warn: and say so in the log): what has one meaning only is taken although it is "
        "not written as it should be: several blanks or tabs between the parts of the request "
        "line and behind it, and a request without a body all of whose lines end in a bare "
        "LF, whose connection is not kept. All else is refused as with off."),
    BT_SET_AS(CONF, uri_whitespace, "strip|deny|allow|encode|chop", "uri_whitespace", "deny",
              "Blanks in the path of a URL, when the request line still has but one meaning: strip "
              "takes them out, encode (and allow) makes them %20, chop ends the URL there, deny "
              "refuses the request. Blanks in the host are refused in any case."),

    {.name = "tcp_outgoing_address",
     .args = "addr fastacls",
     .doc = "The address that connections to origins come from: the first line of the origin's "
            "family whose ACLs all hold; without one, the kernel chooses.",
     .set = outgoing_set,
     .phase = BT_AT_UPSTREAM},
    BT_SET_AS(
        CONF, dial_gap, "int(1..)", "happy_eyeballs_connect_timeout", "250",
        "Milliseconds after which the next address of an origin is tried beside one that does "
        "not answer."),
    {.name = "dns_v4_first",
     .args = "on|off",
     .doc = "Obsolete, and still done: on tries the IPv4 addresses of a name before the others.",
     .set = outgoing_v4_first_set},
    {.name = "dns_nameservers",
     .args = "word...",
     .doc = "Name servers to ask instead of those in /etc/resolv.conf: IP, or IP:PORT.",
     .set = nameservers_set},
    BT_SET_AS(CONF, hosts_file, "path", "hosts_file", "/etc/hosts",
              "Names known without asking; none: there is no such file."),
    BT_SET(CONF, append_domain, "append_domain", NULL,
           "A domain, with its leading dot, appended to host names without a dot."),
    BT_SET(CONF, dns_defnames, "dns_defnames", "off",
           "Complete host names without a dot by the search list of /etc/resolv.conf."),
    DURATION(dns_timeout, "dns_timeout", "second", "30 seconds",
             "How long a name may take to be found before the request fails."),
    DURATION(dns_retransmit, "dns_retransmit_interval", "second", "5 seconds",
             "When a name server is asked again."),
    DURATION(dns_positive, "positive_dns_ttl", "second", "6 hours",
             "The longest time an address is remembered, whatever its name server says."),
    DURATION(dns_negative, "negative_dns_ttl", "second", "1 minute",
             "How long it is remembered that a name has no address; also the least an address is."),

    DURATION(connect_timeout, "connect_timeout", "second", "1 minute",
             "How long connecting to an origin may take, all its addresses together."),
    DURATION(read_timeout, "read_timeout", "second", "15 minutes",
             "How long an origin may be silent; 504 when nothing was sent to the client yet."),
    DURATION(write_timeout, "write_timeout", "second", "15 minutes",
             "How long a client may take no byte of what is ready for it."),
    DURATION(request_timeout, "request_timeout", "second", "5 minutes",
             "How long a client may take to send a whole request head."),
    DURATION(request_start_timeout, "request_start_timeout", "second", "5 minutes",
             "How long a new connection may stay without a first byte."),
    DURATION(client_idle_timeout, "client_idle_pconn_timeout", "second", "2 minutes",
             "How long a client connection is kept without a request."),
    ALIAS("persistent_request_timeout", "client_idle_pconn_timeout"),
    DURATION(server_idle_timeout, "server_idle_pconn_timeout", "second", "1 minute",
             "How long an origin connection is kept without a request."),
    ALIAS("pconn_timeout", "server_idle_pconn_timeout"),
    DURATION(pconn_lifetime, "pconn_lifetime", "second", "0",
             "How old a connection, of a client or to an origin, may get and still be kept for "
             "another request; 0: any age."),
    DURATION(client_lifetime, "client_lifetime", "second", "1 day",
             "How long one exchange or tunnel may last."),
    DURATION(forward_timeout, "forward_timeout", "second", "4 minutes",
             "How long new tries to reach an origin may begin after the first."),
    {.name = "forward_max_tries",
     .args = "int(1..100)",
     .preset = "25",
     .doc = "How often a request is tried before the client is told that it cannot be done.",
     .offset = offsetof(CONF, forward_max_tries),
     .flags = BT_LIVE},
    BT_SET(
        CONF, retry_on_error, "retry_on_error", "off",
        "on: an answer of 403, 500, 501 or 503 is taken for a way that leads nowhere, too, so that "
        "the request goes to the next parent; 502 and 504 always are."),
    BT_SET_LIVE(CONF, client_persistent, "client_persistent_connections", "on",
                "Keep client connections for more than one request."),
    BT_SET_LIVE(CONF, server_persistent, "server_persistent_connections", "on",
                "Keep origin connections for more than one request."),
};

static bool setup(void *conf_, struct bt_arena *arena, struct bt_error *err)
{
    struct core_conf *conf = conf_;
    char name[256] = "localhost";

    if (conf->visible_hostname.len == 0) {
        /* Never fatal: a proxy that cannot learn its own name still has one to say. */
        if (gethostname(name, sizeof name - 1) != 0 || name[0] == '\0')
            strcpy(name, "localhost");
        conf->visible_hostname = bt_str_copy(arena, (bt_str){name, strlen(name)});
    }
    if (conf->unique_hostname.len == 0)
        conf->unique_hostname = conf->visible_hostname;
    conf->server_text = conf->suppress_version ? BT_STR("bobtail")
                                               : BT_STR("bobtail/" PACKAGE_VERSION);
    conf->via_text = bt_str_printf(arena, "%.*s (%.*s)", BT_STR_ARGS(conf->visible_hostname),
                                   BT_STR_ARGS(conf->server_text));
    return ports_setup(conf, arena, err);
}

static struct bt_self self;
const struct bt_module flow_module = {
    .abi_major = BT_ABI_MAJOR,
    .abi_minor = BT_ABI_MINOR,
    .size = sizeof(struct bt_module),
    .name = "core",
    .doc = "Forward requests, and what every exchange needs.",
    .self = &self,
    .conf_size = sizeof(struct core_conf),
    .directives = BT_ROWS(directives),
    .setup = setup,
};
