/* config_rows.h - a piece of rewrite.c: the directives.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#define CONF_T struct rewrite_conf
#define ALIAS(its_name, meant)                                                                     \
    {                                                                                              \
        .name = its_name, .same_as = meant                                                         \
    }

static const struct bt_option children_options[] = {
    {"startup", "int(0..)", "0", "Processes started with each worker.",
     offsetof(struct children, startup), BT_BUILT},
    {"idle", "int(0..)", "1", "Processes kept free beside those that are busy.",
     offsetof(struct children, idle), BT_BUILT},
    {"concurrency", "int(0..)", "0", "Questions that a process can have at once.",
     offsetof(struct children, concurrency), BT_BUILT},
    {"queue-size", "int(-1..)", "-1", "Questions that may wait; twice the children if not given.",
     offsetof(struct children, queue), BT_BUILT},
    {"on-persistent-overload", "die|ERR", "ERR",
     "Nothing ever dies of overload; see url_rewrite_bypass.", offsetof(struct children, overload),
     BT_BUILT},
    {"reservation-timeout", "int(0..)", "60", "No effect: nobody holds a process.",
     offsetof(struct children, reservation), BT_BUILT},
};

static const struct bt_directive directives[] = {
    {.name = "url_rewrite_program",
     .args = "word...",
     .doc = "A helper that is asked about each request that http_access let pass: it answers OK "
            "rewrite-url=\"...\", OK status=302 url=\"...\" to redirect the client, or ERR.",
     .set = config_program},
    ALIAS("redirect_program", "url_rewrite_program"),
    {.name = "url_rewrite_children",
     .args = "int(0..) options",
     .doc = "Processes of each worker, at most, and their options.",
     .preset = "20",
     .set = config_children,
     .options = BT_ROWS(children_options),
     .option_size = sizeof(struct children)},
    ALIAS("redirect_children", "url_rewrite_children"),
    {.name = "url_rewrite_access",
     .args = "allow|deny acls+",
     .doc = "Which requests url_rewrite_map and url_rewrite_program see; all without a line.",
     .offset = offsetof(CONF_T, access),
     .phase = BT_AT_ADAPT},
    ALIAS("redirector_access", "url_rewrite_access"),
    BT_SET(CONF_T, bypass, "url_rewrite_bypass", "off",
           "on: a request that the helper does not answer, for overload, death or time, goes on as "
           "it is; off: it is refused."),
    ALIAS("redirector_bypass", "url_rewrite_bypass"),
    BT_SET(CONF_T, host_header, "url_rewrite_host_header", "on",
           "on: the origin gets the new URL's host in Host; off: what the client sent."),
    ALIAS("redirect_rewrites_host_header", "url_rewrite_host_header"),
    {.name = "url_rewrite_extras",
     .args = "format",
     .doc = "What follows the URL in a question to the helper.",
     .preset = "\"%>a/%>A %un %>rm myip=%la myport=%lp\"",
     .offset = offsetof(CONF_T, extras_text)},
    {.name = "url_rewrite_timeout",
     .args = "duration [text]",
     .unit = "seconds",
     .doc =
         "How long an answer of the helper may take, waiting included; a minute without a line. "
         "Behind it may stand on_timeout= with what becomes of a request without an answer: fail "
         "(it is refused, the default), bypass (its URL stays), retry (ask again, twice at most), "
         "or use_configured_response with response=\"OK ...\", which is taken for the answer.",
     .set = config_timeout},
    {.name = "url_rewrite_map",
     .args = "path",
     .doc = "A file that says what URLs become, without a process, and is asked before "
            "url_rewrite_program. Each line has two words. What is to be replaced: a URL, a URL "
            "that ends in /*, a host or host:port, a .domain, ~ PATTERN (~* without case). What it "
            "becomes: a URL, in which a last * keeps what stood there, or [scheme://]host[:port], "
            "which keeps the path; 301: (302, 303, 307, 308) in front redirects. The file is read "
            "with the configuration.",
     .set = config_map},
};

#undef ALIAS
#undef CONF_T
