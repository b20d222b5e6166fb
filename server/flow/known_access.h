/* known_access.h - a piece of known.c: who may do what, logins, headers, helpers, limits.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

/* ---- lists that decide ---- */
KNOWN("adaptation_uses_indirect_client", "on|off", "content adaptation is off"),
    KNOWN_RULES("http_upgrade_request_protocols", "word allow|deny fastacls+", "* deny *",
                BT_AT_REQUEST, "Upgrade is never forwarded"),
    KNOWN_RULES("server_pconn_for_nonretriable", "allow|deny fastacls+", NULL, BT_AT_UPSTREAM,
                "a request that cannot be repeated gets a connection of its own"),
    KNOWN_RULES("broken_posts", "allow|deny fastacls+", "deny *", BT_AT_UPSTREAM,
                "no blank line is added to bodies"),
    KNOWN_RULES("stats_collection", "allow|deny fastacls+", "allow all", BT_AT_FINISH,
                "every exchange is counted"),
    KNOWN_RULES("force_request_body_continuation", "allow|deny fastacls+", NULL, BT_AT_REQUEST,
                "100 Continue comes from whom it should"),

/* ---- logins ---- */
#define NO_LOGIN "logins are remembered as auth_param says"
    KNOWN_RULES("auth_schemes", "word fastacls", NULL, BT_AT_REQUEST, NO_LOGIN),
    KNOWN_UNIT("authenticate_cache_garbage_interval", "duration", "seconds", NO_LOGIN),
    KNOWN_UNIT("authenticate_ttl", "duration", "seconds", NO_LOGIN),
#undef NO_LOGIN

    /* ---- headers ---- */
    KNOWN("check_hostnames", "on|off", "host names are checked in any case"),
    KNOWN("allow_underscore", "on|off", "underscores are letters in host names"),
    KNOWN("hostname_aliases", "word...", "loops are found by visible_hostname"),

    /* ---- limits ---- */
    KNOWN_UNIT("client_request_buffer_max_size", "size", "bytes",
               "request_header_max_size is the limit"),
    /* ---- content adaptation ---- */
    UNBUILT_BUT("icap_enable", "on|off", "off", "nothing would be inspected or blocked"),
    UNBUILT_BUT("ecap_enable", "on|off", "off", "nothing would be inspected or blocked"),
#define NO_ICAP "content adaptation is off"
    {.name = "icap_service",
     .args =
         "word reqmod_precache|reqmod_postcache|respmod_precache|respmod_postcache options [0|1] "
         "word options",
     .options = BT_ROWS(adaptation_options),
     .status = BT_IGNORED,
     .note = NO_ICAP},
    {.name = "ecap_service",
     .args =
         "word reqmod_precache|reqmod_postcache|respmod_precache|respmod_postcache options [0|1] "
         "word options",
     .options = BT_ROWS(adaptation_options),
     .status = BT_IGNORED,
     .note = NO_ICAP},
    KNOWN("loadable_modules", "path...", "modules of Squid cannot be loaded here"),
    KNOWN_RULES("adaptation_access", "word allow|deny acls+", NULL, BT_AT_RESPONSE, NO_ICAP),
    ALIAS("icap_access", "adaptation_access"), KNOWN("icap_class", "word word...", NO_ICAP),
    KNOWN("adaptation_service_set", "word word...", NO_ICAP),
    KNOWN("adaptation_service_chain", "word word...", NO_ICAP),
    KNOWN("adaptation_send_client_ip", "on|off", NO_ICAP),
    ALIAS("icap_send_client_ip", "adaptation_send_client_ip"),
    KNOWN("adaptation_send_username", "on|off", NO_ICAP),
    ALIAS("icap_send_client_username", "adaptation_send_username"),
    KNOWN("adaptation_service_iteration_limit", "int(0..)", NO_ICAP),
    KNOWN("adaptation_masterx_shared_names", "word...", NO_ICAP),
    KNOWN_RULES("adaptation_meta", "word word fastacls", NULL, BT_AT_RESPONSE, NO_ICAP),
    KNOWN("icap_client_username_header", "word", NO_ICAP),
    KNOWN("icap_client_username_encode", "on|off", NO_ICAP),
    KNOWN_UNIT("icap_connect_timeout", "duration", "seconds", NO_ICAP),
    KNOWN_UNIT("icap_io_timeout", "duration", "seconds", NO_ICAP),
    {.name = "icap_service_failure_limit",
     .args = "int(-1..) [word duration]",
     .unit = "seconds",
     .status = BT_IGNORED,
     .note = NO_ICAP},
    KNOWN_UNIT("icap_service_revival_delay", "duration", "seconds", NO_ICAP),
    KNOWN("icap_preview_enable", "on|off", NO_ICAP),
    KNOWN("icap_preview_size", "int(-1..)", NO_ICAP), KNOWN("icap_206_enable", "on|off", NO_ICAP),
    KNOWN_UNIT("icap_default_options_ttl", "duration", "seconds", NO_ICAP),
    KNOWN("icap_persistent_connections", "on|off", NO_ICAP),
    KNOWN_RULES("icap_retry", "allow|deny fastacls+", "deny *", BT_AT_RESPONSE, NO_ICAP),
    KNOWN("icap_retry_limit", "int(0..)", NO_ICAP),
    {.name = "icap_log",
     .args = "word [word] options fastacls",
     .options = BT_ROWS(log_options),
     .phase = BT_AT_FINISH,
     .status = BT_IGNORED,
     .note = NO_ICAP},
#undef NO_ICAP
