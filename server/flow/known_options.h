/* known_options.h - a piece of known.c: the options of lines that are not built.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

/* Nothing is stored, so no offset; the line itself says what becomes of it. */
#define OPTION(its_name, grammar)                                                                  \
    {                                                                                              \
        .name = its_name, .args = grammar, .doc = "As in Squid.", .status = BT_IGNORED             \
    }
#define FLAG(its_name) OPTION(its_name, NULL)

/* Numbers of helper processes. */
static const struct bt_option children_options[] = {
    OPTION("startup", "int(0..)"),
    OPTION("idle", "int(0..)"),
    OPTION("concurrency", "int(0..)"),
    OPTION("queue-size", "int(0..)"),
    OPTION("on-persistent-overload", "die|ERR"),
    OPTION("reservation-timeout", "int(0..)"),
};

/* TLS towards servers, in the spellings of today and of old. */
#define TLS_CLIENT_OPTIONS                                                                         \
    OPTION("cert", "path"), OPTION("sslcert", "path"), OPTION("tls-cert", "path"),                 \
        OPTION("key", "path"), OPTION("sslkey", "path"), OPTION("tls-key", "path"),                \
        OPTION("cipher", "word"), OPTION("sslcipher", "word"), OPTION("tls-cipher", "word"),       \
        OPTION("min-version", "1.0|1.1|1.2|1.3"), OPTION("tls-min-version", "1.0|1.1|1.2|1.3"),    \
        OPTION("version", "int(1..6)"), OPTION("sslversion", "int(1..6)"),                         \
        OPTION("options", "word"), OPTION("ssloptions", "word"), OPTION("tls-options", "word"),    \
        OPTION("cafile", "path"), OPTION("sslcafile", "path"), OPTION("tls-cafile", "path"),       \
        OPTION("capath", "path"), OPTION("sslcapath", "path"), OPTION("tls-capath", "path"),       \
        OPTION("crlfile", "path"), OPTION("sslcrlfile", "path"), OPTION("tls-crlfile", "path"),    \
        OPTION("flags", "word"), OPTION("sslflags", "word"), OPTION("tls-flags", "word"),          \
        OPTION("default-ca", "[on|off]"), OPTION("tls-default-ca", "[on|off]"),                    \
        OPTION("domain", "word"), OPTION("ssldomain", "word"), OPTION("tls-domain", "word"),       \
        FLAG("tls-no-npn")

static const struct bt_option tls_outgoing_options[] = {
    FLAG("disable"),
    TLS_CLIENT_OPTIONS,
};

static const struct bt_option port_options[] = {
    OPTION("name", "word"),
    FLAG("ssl-bump"),
    FLAG("require-proxy-header"),
    FLAG("worker-queues"),
    FLAG("ftp-track-dirs"),
    OPTION("tcpkeepalive", "[word]"),
    OPTION("connection-auth", "[on|off]"),
    OPTION("disable-pmtu-discovery", "off|always|transparent"),
    OPTION("defaultsite", "host"),
    FLAG("vhost"),
    FLAG("no-vhost"),
    OPTION("vport", "[port]"),
    OPTION("protocol", "word"),
    FLAG("ignore-cc"),
    FLAG("allow-direct"),
    FLAG("act-as-origin"),
    OPTION("generate-host-certificates", "[on|off]"),
    OPTION("dynamic_cert_mem_cache_size", "size"),
    OPTION("cert", "path"),
    OPTION("tls-cert", "path"),
    OPTION("key", "path"),
    OPTION("tls-key", "path"),
    OPTION("cipher", "word"),
    OPTION("options", "word"),
    OPTION("version", "int(1..6)"),
    OPTION("tls-min-version", "1.0|1.1|1.2|1.3"),
    OPTION("clientca", "path"),
    OPTION("cafile", "path"),
    OPTION("tls-cafile", "path"),
    OPTION("capath", "path"),
    OPTION("crlfile", "path"),
    OPTION("dhparams", "path"),
    OPTION("tls-dh", "word"),
    OPTION("sslflags", "word"),
    OPTION("sslcontext", "word"),
    OPTION("tls-default-ca", "[on|off]"),
    FLAG("tls-no-npn"),
};

static const struct bt_option cache_dir_options[] = {
    OPTION("min-size", "int(0..)"),
    OPTION("max-size", "int(-1..)"),
    FLAG("no-store"),
    FLAG("read-only"),
    OPTION("slot-size", "int(1..)"),
    OPTION("swap-timeout", "int(0..)"),
    OPTION("max-swap-rate", "int(0..)"),
    OPTION("Q1", "int(1..)"),
    OPTION("Q2", "int(1..)"),
    OPTION("overwrite-percent", "int(0..100)"),
    OPTION("max-stripe-waste", "int"),
    OPTION("membufs", "int(0..)"),
    OPTION("maxfullbufs", "int(0..)"),
};

static const struct bt_option adaptation_options[] = {
    OPTION("bypass", "on|off|1|0"),
    OPTION("routing", "on|off|1|0"),
    OPTION("uri", "word"),
    OPTION("on-overload", "block|bypass|wait|force"),
    OPTION("max-conn", "int(0..)"),
    OPTION("ipv6", "[on|off]"),
    OPTION("connection-encryption", "on|off"),
    OPTION("tls-cert", "path"),
    OPTION("tls-key", "path"),
    OPTION("tls-cipher", "word"),
    OPTION("tls-min-version", "1.0|1.1|1.2|1.3"),
    OPTION("tls-options", "word"),
    OPTION("tls-cafile", "path"),
    OPTION("tls-capath", "path"),
    OPTION("tls-crlfile", "path"),
    OPTION("tls-flags", "word"),
    OPTION("tls-default-ca", "[on|off]"),
    OPTION("tls-domain", "word"),
    FLAG("tls-disable"),
};

static const struct bt_option affinity_options[] = {
    OPTION("process_numbers", "word"),
    OPTION("cores", "word"),
};

static const struct bt_option wccp2_service_options[] = {
    OPTION("password", "word"),
};

static const struct bt_option wccp2_info_options[] = {
    OPTION("protocol", "word"),
    OPTION("flags", "word"),
    OPTION("priority", "int(0..255)"),
    OPTION("ports", "word"),
};

static const struct bt_option log_options[] = {
    OPTION("logformat", "word"),
    OPTION("buffer-size", "size"),
    OPTION("on-error", "die|drop"),
    OPTION("rotate", "int(0..)"),
};

static const struct bt_option cache_log_message_options[] = {
    OPTION("id", "int(0..)"),
    OPTION("severity", "word"),
    OPTION("level", "int(0..9)"),
    OPTION("limit", "int(0..)"),
};

#undef OPTION
#undef FLAG
