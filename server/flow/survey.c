/* survey.c - who is being served: exchanges under way, told and ended.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/survey.h"

#include <inttypes.h>

#include "base/addr.h"
#include "base/clock.h"
#include "base/str.h"
#include "bt.h"
#include "flow/fields.h"
#include "flow/session.h"
#include "flow/txn.h"

#define STEP_NAME_(name, doc) [STEP_##name] = #name,
static const char *const steps[] = {STEPS(STEP_NAME_)};

struct survey {
    FILE *out;
    const struct survey_who *who;
};

/* Columns end in a tab: what clients sent must not make one, nor a line, nor bytes that are no text. */
static void column(FILE *out, bt_str text)
{
    for (size_t i = 0; i < text.len && i < SURVEY_TEXT; i++)
        fputc(text.at[i] <= ' ' || text.at[i] > '~' ? '?' : text.at[i], out);
    if (text.len == 0)
        fputc('-', out);
    fputc('\t', out);
}

static bt_str user_of(struct bt_txn *txn)
{
    bt_str login = bt_who(txn, BT_WHO_LOGIN);

    return login.len > 0 ? login : bt_who(txn, BT_WHO_EXTERNAL);
}

static void tell(void *arg, struct session *session)
{
    const struct survey *survey = arg;
    struct bt_txn *txn = session->txn;
    FILE *out = survey->out;
    char addr[ADDR_TEXT] = "-";

    if (txn == NULL)
        return;
    if (!session->ghost)
        addr_print_sockaddr(bt_client_addr(txn), addr);
    fprintf(out, "%u.%u.%" PRIu64 "\t%" PRId64 "\t", survey->who->generation, survey->who->worker,
            txn->number, txn->time.start == 0 ? 0 : (clock_us() - txn->time.start) / 1000);
    column(out, str_from(addr));
    column(out, user_of(txn));
    column(out, str_from(steps[txn->step]));
    fprintf(out, "%" PRId64 "\t%" PRId64 "\t", txn->bytes.request, txn->bytes.reply);
    column(out, txn->req.method);
    column(out, txn->time.head == 0 ? BT_STR("") : fields_url(txn));
    fputc('\n', out);
}

void survey_tell(FILE *out, const struct survey_who *who)
{
    struct survey survey = {out, who};

    session_each(tell, &survey);
}

struct hunt {
    uint64_t number;
    struct bt_txn *found;
};

static void look(void *arg, struct session *session)
{
    struct hunt *hunt = arg;

    if (session->txn != NULL && session->txn->number == hunt->number)
        hunt->found = session->txn;
}

bool survey_kill(uint64_t number)
{
    struct hunt hunt = {number, NULL};

    session_each(look, &hunt);
    if (hunt.found != NULL)
        txn_abort(hunt.found, END_TIMEOUT);
    return hunt.found != NULL;
}
