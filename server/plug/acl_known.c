/* acl_known.c - the rows of acl.c and acl_group.c, and all ACL types of Squid that are not built yet.
 *
 * A configuration that uses one is refused, since a condition that never matches is worse than none;
 * its values are checked all the same, so that its writer hears of every fault at once. A module that
 * provides the type takes the name over without a change here (registry.h), and its row should then
 * go. For such rows .compile only looks at the values: NULL after a complaint.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "base/str.h"
#include "conf/grammar.h"
#include "plug/acl.h"

/* What a check returns when it has nothing to say. */
static char fine;

static void *checked(bool good)
{
    return good ? &fine : NULL;
}

/* ---- checks of values ---- */

/* Words that begin with - are flags of ssl::server_name; the rest are names. */
static void *server_name_check(struct bt_args args, struct bt_arena *arena, struct bt_error *err)
{
    static const char *const flag[] = {"--client-requested", "--server-provided", "--consensus",
                                       NULL};
    bool good = true;

    (void)arena;
    for (size_t i = 0; i < args.n; i++) {
        const struct bt_word *at = &args.word[i];
        bool known = at->quoted || !str_starts(at->text, BT_STR("--"));
        for (size_t k = 0; flag[k] != NULL; k++)
            known = known || bt_str_eq(at->text, str_from(flag[k]));
        if (!known)
            good = bt_complain(err, at,
                               "'%s' is no flag: --client-requested, --server-provided or "
                               "--consensus",
                               at->text.at);
    }
    return checked(good);
}

/* ---- types that are known ---- */

#define KNOWN(its_name, its_args, since, its_flags, check, text)                                   \
    {                                                                                              \
        .name = its_name, .args = its_args, .doc = text, .earliest = since, .flags = its_flags,    \
        .compile = check, .status = BT_UNBUILT                                                     \
    }

static const struct bt_acl_type types[] = {
    {.name = "any-of",
     .args = "word...",
     .doc = "One of these ACLs (each with or without !) matches. It may wait, and is known, as its "
            "members are.",
     .flags = BT_FRESH,
     .compile = acl_group_compile,
     .match = acl_any_match},
    {.name = "all-of",
     .args = "word...",
     .doc =
         "All of these ACLs (each with or without !) match; several lines are alternatives. It may "
         "wait, and is known, as its members are.",
     .flags = BT_FRESH,
     .compile = acl_group_compile,
     .match = acl_all_match},
    KNOWN("ident", "word...", BT_AT_ACCEPT, BT_SLOW | BT_FOLDS, NULL,
          "The user that the client's ident service names."),
    KNOWN("ident_regex", "regex...", BT_AT_ACCEPT, BT_SLOW | BT_FOLDS, NULL,
          "The name that the client's ident service gives matches."),
    KNOWN("ssl::server_name", "word...", BT_AT_HELLO, 0, server_name_check,
          "The name that a TLS client asks for, or the host of CONNECT; .NAME holds all below."),
    KNOWN("ssl::server_name_regex", "regex...", BT_AT_HELLO, BT_FOLDS, NULL,
          "The name that a TLS client asks for, or the host of CONNECT, matches."),
    KNOWN("at_step", "SslBump1|SslBump2|SslBump3|GeneratingCONNECT...", BT_AT_ACCEPT, BT_FRESH,
          NULL, "How far looking into a TLS connection has come."),
    KNOWN("ssl_error", "word...", BT_AT_ACCEPT, 0, NULL,
          "The origin's certificate has one of these faults."),
    KNOWN("user_cert", "word [word...]", BT_AT_ACCEPT, 0, NULL,
          "An attribute of the client's certificate has one of these values."),
    KNOWN("ca_cert", "word [word...]", BT_AT_ACCEPT, 0, NULL,
          "An attribute of the issuer of the client's certificate has one of these values."),
    KNOWN("server_cert_fingerprint", "word...", BT_AT_ACCEPT, 0, NULL,
          "The origin's certificate has one of these SHA1 fingerprints."),
    KNOWN("snmp_community", "word...", BT_AT_ACCEPT, 0, NULL, "The community of an SNMP query."),
    KNOWN("adaptation_service", "word...", BT_AT_REQUEST, BT_FRESH, NULL,
          "An adaptation service was used for the exchange."),
    KNOWN("client_connection_mark clientside_mark", "word...", BT_AT_ACCEPT, 0, NULL,
          "The mark that the kernel's filter has set on the client's connection."),
    KNOWN("src_as", "int...", BT_AT_ACCEPT, 0, NULL, "The client's network, by its number."),
    KNOWN("dst_as", "int...", BT_AT_REQUEST, BT_SLOW, NULL, "The origin's network, by its number."),
};

/* ---- the module ---- */

struct bt_self acl_self;

static const struct bt_directive directives[] = {
    {.name = "acl",
     .args = "word word [word...]",
     .doc = "Names a condition: acl NAME TYPE [flags] VALUES; several values and several lines of "
            "one name are alternatives.",
     .set = acl_define,
     .flags = BT_LISTFILE | GRAMMAR_LIST_NAMES},
    {.name = "acl_list_watch",
     .args = "on|off",
     .preset = "off",
     .doc = "Reads list files of ACLs again when they have changed, about two seconds later, when "
            "nobody writes to them any more; `bobtailctl reload-lists` does it at once.",
     .offset = offsetof(struct acls, watch)},
};

const struct bt_module acl_module = {
    .abi_major = BT_ABI_MAJOR,
    .abi_minor = BT_ABI_MINOR,
    .size = sizeof(struct bt_module),
    .name = "acl",
    .doc = "Named conditions for rules.",
    .self = &acl_self,
    .conf_size = sizeof(struct acls),
    .directives = BT_ROWS(directives),
    .acl_types = BT_ROWS(types),
    .setup = acls_compile,
};
