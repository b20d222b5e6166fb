/* template.h - text with % codes, as Squid's error pages and deny_info URLs have it, compiled once.
 *
 *   %X             a code of one letter; the table is in template.c, its manual in etc/error/README
 *   @Squid{%code}  a value as logs have it (any logformat code)
 *   @Page{title}   } in a layout: the two parts of a page that is set into it
 *   @Page{body}    }
 *
 * In a page each value is made harmless for HTML; in a URL it is percent-encoded. What is no code
 * stands as it is.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FLOW_TEMPLATE_H
#define FLOW_TEMPLATE_H

#include "base/str.h"
#include "bt_module.h"

struct template;

enum template_for { TEMPLATE_PAGE, TEMPLATE_URL };

/* A text and where it stands, so that complaints about it have a place. */
struct template_text {
    bt_str text; /* must live as long as the template */
    const char *file;
    uint32_t line, column; /* of its first byte */
};

/* Before the registry is sealed (.set, setup). Complains about a bad @Squid{}, and warns of letters
 * that are no code. `title` and `body` are what @Page{} stands for; NULL: it stands for itself.
 * NULL after a complaint. */
struct template_page {
    struct template_text title, body;
};
const struct template *template_compile(enum template_for, const struct template_text *,
                                        const struct template_page *, struct bt_arena *,
                                        struct bt_error *);

/* Adds the text as it is for this exchange. */
void template_render(const struct template *, struct bt_txn *, struct str_builder *out);

#endif
