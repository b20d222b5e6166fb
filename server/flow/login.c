/* login.c - who is logged in, and when a refusal asks the client to log in.
 *
 * The module that does logins is found by its row; without one nobody can log in, and whoever has to
 * is refused.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/login.h"

#include "base/str.h"
#include "flow/deny.h"
#include "flow/session.h"
#include "plug/generation.h"

static const struct bt_login *login(void)
{
    static const struct bt_login *found;
    static bool looked;

    if (looked)
        return found;
    for (size_t i = 0; i < generation_current->n_modules; i++) {
        const struct bt_module *module = generation_current->modules[i];
        /* A module that was built before logins were a row ends before it. */
        if (module->size > offsetof(struct bt_module, login) && module->login != NULL)
            found = module->login;
    }
    looked = true;
    return found;
}

/* Within a CONNECT that was bumped nobody can: that was for the CONNECT. Who is redirected knows of no
 * proxy, and would give his password for a web server to whoever asks. */
static bool cannot_login(const struct bt_txn *txn)
{
    return txn->fetch != NULL || txn->session->inside != NULL || txn->session->redirected;
}

static int login_status(struct bt_txn *txn)
{
    return bt_as_origin(txn) ? 401 : 407;
}

enum bt_match bt_login(struct bt_txn *txn)
{
    if (!bt_may_wait() || txn->sketched || txn->background || cannot_login(txn))
        return bt_who(txn, BT_WHO_LOGIN).at != NULL ? BT_YES : BT_NO;
    enum bt_match said = login() == NULL ? BT_NO : login()->ask(txn);

    /* Remembered for the refusal that follows. */
    if (said != BT_YES && said != BT_WAIT && login() != NULL)
        txn->deny_status = login_status(txn);
    return said;
}

bool login_is_wanted(struct bt_txn *txn, enum bt_match match)
{
    if (login() == NULL || !login()->offered() || cannot_login(txn))
        return false;
    return (match == BT_BROKEN && txn->deny_status == login_status(txn)) ||
           (match != BT_BROKEN && acl_last_is_login(txn));
}

enum go login_challenge(struct bt_txn *txn)
{
    int status = login_status(txn);
    enum go go = deny_apply(txn, status, "ERR_CACHE_ACCESS_DENIED",
                            "the proxy must know who you are before it lets this pass");

    if (txn->step == STEP_refuse && txn->deny_status == status)
        txn->answer_fields = bt_str_printf(txn->arena, "%.*s%.*s", BT_STR_ARGS(txn->answer_fields),
                                           BT_STR_ARGS(login()->challenge(txn)));
    return go;
}
