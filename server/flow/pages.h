/* pages.h - the error pages: read once in the master, filled in for each error.
 *
 * A page has a name, ERR_SOMETHING. Its text is the file of that name in error_directory, else in
 * the folder that comes with the server. Text that begins with a line `Title: ...` is a part of a
 * page and is set into the file BASE; other text is a page by itself. etc/error/README tells more.
 *
 * Whoever prefers JSON to HTML (Accept) gets application/problem+json (RFC 9457) instead.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FLOW_PAGES_H
#define FLOW_PAGES_H

#include "base/table.h"
#include "bt_module.h"

struct bt_txn;
struct deny;

/* The server's own rows about pages and about what refused clients get. */
extern const struct bt_module pages_module;

struct pages_conf {
    /* filled from the rows */
    bt_str folder;     /* error_directory; NONE: ours alone */
    struct bt_word at; /* where it was given, for complaints */
    bt_str html_text;  /* err_html_text */
    bt_str language;   /* error_default_language */
    struct bt_word language_word;
    bt_str stylesheet_at; /* err_page_stylesheet */
    struct bt_word stylesheet_word;
    bool show_rule;    /* error_show_rule */
    struct deny *deny; /* deny_info lines in order; deny.c */
    struct deny **deny_end;
    struct table deny_acls; /* name of an ACL -> the first that speaks of it */

    /* worked out by setup */
    bt_str stylesheet;    /* text */
    struct table by_name; /* struct page */
    const struct page *unknown;
};
#define pages ((const struct pages_conf *)pages_module.self->conf)

/* So long may a page be, read or filled in. */
enum { PAGES_MAX = 64 * 1024 };

/* The status that goes with a name when nobody says another; 403 for names that are not ours. */
int pages_status(bt_str name);
/* There is a page of that name, the server's own or another. */
bool pages_loaded(bt_str name);

/* Whether a page of that name comes with the server, or is at least known to Squid; *near, when it
 * is not, is the one that was perhaps meant, or NULL. */
bool pages_known(bt_str name, const char **near);

/* Setup only: have the page ready. `at` names it in the configuration. Warns when there is no such
 * page, complains when it cannot be read; false then. */
BT_MUST bool pages_want(struct pages_conf *, const struct bt_word *at, bt_str name,
                        struct bt_arena *, struct bt_error *);

/* The body for txn->deny_page ("ERR_X", or "451:ERR_X"), and what is to be said about it. The text
 * lies in a buffer of the worker: send it before another is made. */
struct pages_answer {
    bt_str body, type;
    bt_str language; /* NONE: not known */
};
struct pages_answer pages_answer(struct bt_txn *);

/* "ERR_X" of "451:ERR_X". */
bt_str pages_name(const char *page);

#endif
