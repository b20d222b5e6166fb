/* known_tuning.h - a piece of known.c: processes, connections, DNS, FTP, error pages, logs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

/* ---- processes ---- */
{.name = "cpu_affinity_map",
 .args = "options",
 .options = BT_ROWS(affinity_options),
 .status = BT_IGNORED,
 .note = "the kernel places workers"},
    KNOWN("shared_memory_locking", "on|off", "shared memory is not locked"),
    KNOWN_UNIT("hopeless_kid_revival_delay", "duration", "seconds",
               "a worker that dies is started again in any case"),
    UNBUILT_BUT(
        "chroot", "path", "none",
        "the server would see the whole file system; RootDirectory= of its unit does the same"),
    KNOWN("memory_pools", "on|off", "memory is kept by exchange here"),
    KNOWN_UNIT("memory_pools_limit", "size|none", "bytes", "memory is kept by exchange here"),
    KNOWN("high_response_time_warning", "int(0..)", "bobtailctl stats has the numbers"),
    KNOWN("high_page_fault_warning", "int(0..)", "bobtailctl stats has the numbers"),
    KNOWN_UNIT("high_memory_warning", "size", "bytes", "bobtailctl stats has the numbers"),
    KNOWN("sleep_after_fork", "int(0..)", "nothing sleeps here"),
    KNOWN("windows_ipaddrchangemonitor", "on|off", "this is not Windows"),
#define NO_POLL "the kernel says what is ready"
    KNOWN("incoming_udp_average", "int(0..)", NO_POLL),
    ALIAS("incoming_icp_average", "incoming_udp_average"),
    KNOWN("incoming_tcp_average", "int(0..)", NO_POLL),
    ALIAS("incoming_http_average", "incoming_tcp_average"),
    KNOWN("incoming_dns_average", "int(0..)", NO_POLL),
    KNOWN("min_udp_poll_cnt", "int(0..)", NO_POLL), ALIAS("min_icp_poll_cnt", "min_udp_poll_cnt"),
    KNOWN("min_tcp_poll_cnt", "int(0..)", NO_POLL), ALIAS("min_http_poll_cnt", "min_tcp_poll_cnt"),
    KNOWN("min_dns_poll_cnt", "int(0..)", NO_POLL),
#undef NO_POLL

    /* ---- connections ---- */
    KNOWN("client_db", "on|off", "clients are counted where a rule asks for it"),
    KNOWN("pipeline_prefetch", "on|off|int(0..)", "requests of one connection are done in order"),
    KNOWN("persistent_connection_after_error", "on|off",
          "a connection is kept whenever its framing is certain"),
    KNOWN("detect_broken_pconn", "on|off", "a connection is kept whenever its framing is certain"),
    KNOWN_UNIT("tcp_recv_bufsize", "size", "bytes", "the kernel sizes its buffers"),
    KNOWN("accept_filter", "word", "the kernel's default is good"),
    KNOWN("connect_retries", "int(0..10)", "forward_max_tries counts"),
    KNOWN("happy_eyeballs_connect_gap", "int(-1..)", "RFC 8305 with its own numbers"),
    KNOWN("happy_eyeballs_connect_limit", "int(-1..)", "RFC 8305 with its own numbers"),
    KNOWN("eui_lookup", "on|off", "hardware addresses are not looked up"),

    /* ---- DNS ---- */
    KNOWN_UNIT("dns_packet_max", "size|none", "bytes", "the resolver chooses"),
    KNOWN_BUT("dns_multicast_local", "on|off", "off", "names of the local link are not looked for"),
    KNOWN_BUT("ignore_unknown_nameservers", "on|off", "on", "answers of strangers are dropped"),
    KNOWN("ipcache_size", "int(0..)", "memory for names is sized here"),
    KNOWN("ipcache_low", "int(0..)", "memory for names is sized here"),
    KNOWN("ipcache_high", "int(0..)", "memory for names is sized here"),
    KNOWN("fqdncache_size", "int(0..)", "memory for names is sized here"),

/* ---- FTP ---- */
#define NO_FTP "ftp:// is not spoken"
    KNOWN("ftp_user", "word", NO_FTP), KNOWN("ftp_passive", "on|off", NO_FTP),
    KNOWN("ftp_epsv_all", "on|off", NO_FTP),
    KNOWN_RULES("ftp_epsv", "on|off|allow|deny fastacls", NULL, BT_AT_UPSTREAM, NO_FTP),
    KNOWN("ftp_eprt", "on|off", NO_FTP), KNOWN("ftp_sanitycheck", "on|off", NO_FTP),
    KNOWN("ftp_telnet_protocol", "on|off", NO_FTP),
    KNOWN_UNIT("ftp_client_idle_timeout", "duration", "seconds", NO_FTP),
#undef NO_FTP

/* ---- pages and mails ---- */
#define OWN_PAGES "error pages are made by this server"
    KNOWN("error_log_languages", "on|off", "pages are of one language"),
    KNOWN_BUT("email_err_data", "on|off", "off",
              "links for mail never hold the request, which may have passwords in it"),
    KNOWN("icon_directory", "path", OWN_PAGES), KNOWN("mime_table", "path", OWN_PAGES),
    KNOWN("global_internal_static", "on|off", OWN_PAGES),
    KNOWN("short_icon_urls", "on|off", OWN_PAGES), KNOWN("mail_from", "word", "no mail is sent"),
    KNOWN("mail_program", "text", "no mail is sent"),
    KNOWN("as_whois_server", "host", "no AS numbers are looked up"),
#undef OWN_PAGES

    /* ---- logs ---- */
    KNOWN("logfile_daemon", "text", "logs are written without a helper"),
    {.name = "cache_log_message",
     .args = "options",
     .options = BT_ROWS(cache_log_message_options),
     .status = BT_IGNORED,
     .note = "messages have no numbers here"},
