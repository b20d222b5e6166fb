/* manual.c - the manual of hooks and functions, out of their rows: `bobtail --reference lua`.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <string.h>

#include "state.h"

static const char *const usages[HOOK_END] = {
    [HOOK_INIT] = "function on_init()",
    [HOOK_WORKER] = "function on_worker(id)",
    [HOOK_ACCEPT] = "function on_accept(txn)",
    [HOOK_HELLO] = "function on_hello(txn)",
    [HOOK_REQUEST] = "function on_request(txn)",
    [HOOK_LOOKUP] = "function on_lookup(txn)",
    [HOOK_UPSTREAM] = "function on_upstream(txn)",
    [HOOK_RESPONSE] = "function on_response(txn)",
    [HOOK_ERROR] = "function on_error(txn, page, status)",
    [HOOK_FINISH] = "function on_finish(txn)",
    [HOOK_ACL] = "function NAME(txn, ...)",
    [HOOK_TIMER] = "bt.every(seconds, function() ... end)",
    [HOOK_TEST] = "function test_NAME()",
};

static const char *const docs[HOOK_END] = {
    [HOOK_INIT] =
        "Called once, in the master, when the configuration is read; an error refuses it. So does "
        "one while the file is loaded.",
    [HOOK_WORKER] = "Called when a worker starts, and when the scripts were loaded again.",
    [HOOK_ACCEPT] =
        "A client has connected; only its address is known. bt.deny() closes the connection. "
        "Each connection then takes memory for an exchange, before it has said a word.",
    [HOOK_HELLO] =
        "The client's TLS hello was seen, in a CONNECT that ssl_bump looks into. bt.deny() closes "
        "the connection.",
    [HOOK_REQUEST] =
        "A request head is complete; http_access was not asked yet, and will not be after "
        "bt.allow().",
    [HOOK_LOOKUP] = "The request may pass; the cache was not asked yet.",
    [HOOK_UPSTREAM] = "It goes to the origin or to a parent; neither was chosen yet.",
    [HOOK_RESPONSE] =
        "The head of an answer is there, out of the cache or of an origin; also of what a script "
        "has put in the place of another.",
    [HOOK_ERROR] = "No answer came; the page of that name is about to be sent with that status.",
    [HOOK_FINISH] =
        "The exchange is over; its log line is written next. A table that is returned has values "
        "for %{name}lua.",
    [HOOK_ACL] =
        "What `acl NAME lua FUNCTION [args...]` calls, with the exchange and the arguments as texts; "
        "what is true matches. FUNCTION may stand in a table: lib.name.",
    [HOOK_TIMER] = "Called again and again in each worker.",
    [HOOK_TEST] = "Called by bobtail --lua-test FILE; a test that raises an error has failed.",
};

static void hook_row(size_t i, struct bt_manual_row *row)
{
    row->section = "Hooks: functions that a script may define.";
    row->usage = usages[i];
    row->doc = docs[i];
    row->where = NULL;
    row->example = NULL;
}

/* "In on_request, on_lookup." */
static const char *where_text(unsigned where)
{
    static char text[400];
    size_t n = 0;

    if (where == IN_ANY)
        return NULL;
    if (where == IN_EXCHANGE)
        return "Wherever there is an exchange.";
    if (where == (IN_ANY & ~IN(INIT)))
        return "Everywhere but in on_init, and while a script is loaded.";
    if (where == IN_WAITING)
        return "Waits: everywhere but in on_init and on_finish.";
    for (enum hook hook = 0; hook < HOOK_END && n < sizeof text; hook++)
        if ((where & (1u << hook)) != 0)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", n == 0 ? "In " : ", ",
                                  hook_name(hook));
    if (n < sizeof text - 1)
        strcpy(text + n, ".");
    return text;
}

bool manual(size_t i, struct bt_manual_row *row)
{
    const struct library *const *library;
    size_t n = bind_libraries(&library);

    if (i < HOOK_END) {
        hook_row(i, row);
        return true;
    }
    i -= HOOK_END;
    for (size_t l = 0; l < n; l++)
        for (size_t k = 0; k < library[l]->n; k++) {
            const struct binding *binding = &library[l]->row[k];
            if (binding->doc == NULL || i-- > 0)
                continue;
            *row = (struct bt_manual_row){library[l]->doc, binding->usage, binding->doc,
                                          where_text(binding->where), binding->example};
            return true;
        }
    return false;
}
