/* known_upstream.h - a piece of known.c: parents, outgoing addresses, TLS, other ports, WCCP.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

/* ---- parents and siblings ---- */
KNOWN("neighbor_type_domain", "word parent|sibling word...",
      "siblings are never asked; write cache_peer_access with a dstdomain ACL"),
    KNOWN("minimum_direct_hops", "int(0..)", "nobody measures how far origins are"),
    KNOWN("minimum_direct_rtt", "int(0..)", "nobody measures how far origins are"),

    /* ---- addresses and marks of connections ---- */
    UNBUILT_RULES("mark_client_connection", "word fastacls", NULL, BT_AT_REQUEST,
                  "the firewall may route or allow by the mark that is missing; write "
                  "mark_client_packet and let the firewall copy it (nft: ct mark set meta mark)"),

    /* ---- other ports ---- */
    {.name = "ftp_port",
     .args = "word [intercept|tproxy|accel] options",
     .options = BT_ROWS(port_options),
     .status = BT_UNBUILT,
     .note = "clients would find nobody there"},

    /* ---- TLS ---- */
    UNBUILT_RULES("ssl_bump",
                  "splice|bump|peek|stare|terminate|none|client-first|server-first|peek-and-splice|"
                  "allow|deny acls+",
                  "splice *|none *", BT_AT_RESPONSE,
                  "what is inside CONNECT would pass without being looked at"),
    {.name = "tls_outgoing_options",
     .args = "options",
     .options = BT_ROWS(tls_outgoing_options),
     .status = BT_UNBUILT,
     .note = "origins would be trusted by other rules than these"},
    UNBUILT_RULES("sslproxy_cert_error", "allow|deny fastacls+", "deny *", BT_AT_RESPONSE,
                  "origins would be trusted by other rules than these"),
    UNBUILT_RULES("sslproxy_cert_sign", "signTrusted|signUntrusted|signSelf fastacls+", NULL,
                  BT_AT_RESPONSE, "clients would see other certificates"),
    UNBUILT_RULES("sslproxy_cert_adapt", "word fastacls+", NULL, BT_AT_RESPONSE,
                  "clients would see other certificates"),
    UNBUILT_BUT("sslcrtvalidator_program", "text", "none",
                "certificates that it refuses would be accepted"),
/* Most of these are rows of the module tls, too, which is missing when OpenSSL was. */
#define NO_TLS "this server was built without OpenSSL"
    {.name = "sslcrtvalidator_children",
     .args = "int(0..) options",
     .options = BT_ROWS(children_options),
     .status = BT_IGNORED,
     .note = "there is no sslcrtvalidator_program"},
    KNOWN("sslcrtd_program", "text", NO_TLS),
    {.name = "sslcrtd_children",
     .args = "int(0..) options",
     .options = BT_ROWS(children_options),
     .status = BT_IGNORED,
     .note = NO_TLS},
    KNOWN(
        "sslpassword_program", "text",
        "nobody is asked for passwords of keys; decrypt them: openssl pkey -in FILE -out NEWFILE"),
    KNOWN("sslproxy_cert_sign_hash", "word", NO_TLS),
    KNOWN("sslproxy_foreign_intermediate_certs", "path", NO_TLS),
    KNOWN_UNIT("sslproxy_session_cache_size", "size", "bytes", NO_TLS),
    KNOWN_UNIT("sslproxy_session_ttl", "duration", "seconds", NO_TLS),
    KNOWN("ssl_engine", "word", "OpenSSL computes by itself"),
    KNOWN_BUT("ssl_unclean_shutdown", "on|off", "off", "the end of a connection is always told"),
    {.name = "tls_key_log",
     .args = "word options fastacls",
     .options = BT_ROWS(log_options),
     .phase = BT_AT_FINISH,
     .status = BT_IGNORED,
     .note = "no keys are written down"},
#undef NO_TLS

    /* ---- routers that send traffic here ---- */
    UNBUILT_BUT("wccp_router", "host", "0.0.0.0", "routers would not be told of this proxy"),
    UNBUILT_BUT("wccp2_router", "host", "0.0.0.0", "routers would not be told of this proxy"),
#define NO_WCCP "it speaks of wccp_router and wccp2_router"
    KNOWN("wccp_version", "int", NO_WCCP), KNOWN("wccp2_rebuild_wait", "on|off", NO_WCCP),
    KNOWN("wccp2_forwarding_method", "gre|l2|1|2", NO_WCCP),
    KNOWN("wccp2_return_method", "gre|l2|1|2", NO_WCCP),
    KNOWN("wccp2_assignment_method", "hash|mask|1|2", NO_WCCP),
    {.name = "wccp2_service",
     .args = "standard|dynamic int(0..255) options",
     .options = BT_ROWS(wccp2_service_options),
     .flags = BT_SECRET,
     .status = BT_IGNORED,
     .note = NO_WCCP},
    {.name = "wccp2_service_info",
     .args = "int(0..255) options",
     .options = BT_ROWS(wccp2_info_options),
     .status = BT_IGNORED,
     .note = NO_WCCP},
    KNOWN("wccp2_weight", "int(0..)", NO_WCCP), KNOWN("wccp_address", "host", NO_WCCP),
    KNOWN("wccp2_address", "host", NO_WCCP),
#undef NO_WCCP

/* ---- SNMP: who is not answered learns nothing ---- */
#define NO_SNMP "there is no SNMP; bobtailctl stats has the numbers"
    KNOWN_BUT("snmp_port", "int(0..65535)", "0", NO_SNMP),
    KNOWN_RULES("snmp_access", "allow|deny fastacls+", "deny *", BT_AT_REQUEST, NO_SNMP),
    KNOWN("snmp_incoming_address", "host", NO_SNMP),
    KNOWN("snmp_outgoing_address", "host", NO_SNMP),
#undef NO_SNMP
