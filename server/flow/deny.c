/* deny.c - deny_info: lines, and what comes of them when a rule refused.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/deny.h"

#include "base/str.h"
#include "conf/complain.h"
#include "flow/template.h"
#include "plug/acl.h"
#include "stat/counts.h"

/* More would be refused as a head by many clients; then the usual page has to do. */
enum { LOCATION_MAX = 8 * 1024 };

enum deny_how { DENY_PAGE, DENY_URL, DENY_RESET };

/* A line. */
struct deny {
    struct deny *next; /* in order of the file */
    enum deny_how how;
    int status;        /* 0: not said */
    bool reserved;     /* has no place in a challenge */
    const char *shown; /* "451:ERR_SEIZED", as written */
    struct bt_word at;
    const struct template *url;
};

/* What an ACL's name leads to. */
struct deny_acl {
    const struct deny *first; /* that speaks of it */
    const struct deny *plain; /* that may replace the page of a challenge; NULL: none */
};

/* ---- lines ---- */

/* "STATUS:" off the front of the word. 0: there is none; -1 after a complaint. */
static int status_take(const struct bt_word *word, bt_str *rest, struct bt_error *err)
{
    bt_str digits, behind;
    uint64_t status = 0;

    *rest = word->text;
    if (!str_split(word->text, ':', &digits, &behind) || digits.len == 0 ||
        !str_all(digits, STR_DIGIT))
        return 0;
    *rest = behind;
    if (!str_uint(digits, 599, &status) || status < 200) {
        bt_complain(err, word, "a status from 200 to 599 expected, not '%.*s'",
                    BT_STR_ARGS(digits));
        return -1;
    }
    return (int)status;
}

static bool status_fits(const struct bt_word *word, int status, bt_str what, struct bt_error *err)
{
    bool url = str_find_char(what, ':') >= 0;

    if (what.len == 0)
        return bt_complain(err, word, "the page or URL behind the status is missing");
    if (status == 204 || status == 205 || status == 304)
        return bt_complain(err, word, "an answer of status %d has no body: there is no page for it",
                           status);
    if (status / 100 == 3 && !url && what.at[0] != '/')
        return bt_complain(err, word, "status %d sends the client elsewhere: a URL is needed",
                           status);
    if (status != 0 && status / 100 != 3 && url)
        return bt_complain(err, word,
                           "status %d sends nobody elsewhere: it needs a page, not a URL", status);
    if (status != 0 && str_eq_literal(what, "TCP_RESET"))
        return bt_complain(err, word, "TCP_RESET is no answer and has no status");
    if (status / 100 != 3 && !url && str_find_char(what, '/') >= 0)
        return bt_complain(err, word,
                           "%s is neither a URL nor a page: pages are files of error_directory and "
                           "named without a folder",
                           complain_word(err, what));
    for (size_t i = 0; url && i < what.len; i++)
        if (what.at[i] <= 32 || what.at[i] == 127)
            return bt_complain(err, word, "a blank or control byte in a URL");
    return true;
}

/* The line is about each of these ACLs, which may be defined below it. */
static void acls_note(struct pages_conf *conf, const struct bt_line *line, const struct deny *deny,
                      struct bt_error *err)
{
    for (size_t i = 1; i < line->args.n; i++) {
        const struct bt_word *word = &line->args.word[i];
        bt_str name = word->text;

        if (str_starts(name, BT_STR("!"))) {
            bt_caution(err, word, "%.*s: the page of an ACL does not depend on a !; it is ignored",
                       BT_STR_ARGS(name));
            name = str_skip(name, 1);
        }
        if (acl_find(acl_self.conf, name, word, err) == NULL)
            acl_note_missing(acl_self.conf, word, true);
        struct deny_acl *acl = table_find(&conf->deny_acls, name);
        if (acl == NULL) {
            acl = bt_alloc(line->arena, sizeof *acl);
            table_put(&conf->deny_acls, bt_str_copy(line->arena, name), acl);
        }
        if (acl->first == NULL)
            acl->first = deny;
        if (acl->plain == NULL && !deny->reserved)
            acl->plain = deny;
    }
}

bool deny_set(void *conf_, const struct bt_line *line, struct bt_error *err)
{
    struct pages_conf *conf = conf_;
    const struct bt_word *word = &line->args.word[0];
    struct deny *deny = bt_alloc(line->arena, sizeof *deny);
    bt_str what;

    deny->status = status_take(word, &what, err);
    if (deny->status < 0 || !status_fits(word, deny->status, what, err))
        return false;
    deny->shown = word->text.at;
    deny->at = *word;
    deny->at.text = what;
    deny->at.column += (uint32_t)(word->text.len - what.len);
    deny->how = str_eq_literal(what, "TCP_RESET")                          ? DENY_RESET
                : str_find_char(what, ':') >= 0 || deny->status / 100 == 3 ? DENY_URL
                                                                           : DENY_PAGE;
    deny->reserved = deny->how != DENY_PAGE || deny->status != 0;
    if (deny->how == DENY_URL) {
        struct template_text text = {what, deny->at.file, deny->at.line,
                                     deny->at.column + word->quoted};
        deny->url = template_compile(TEMPLATE_URL, &text, NULL, line->arena, err);
        if (deny->url == NULL)
            return false;
    }
    if (conf->deny_acls.arena == NULL)
        table_init(&conf->deny_acls, line->arena, true);
    acls_note(conf, line, deny, err);
    if (conf->deny_end == NULL)
        conf->deny_end = &conf->deny;
    *conf->deny_end = deny;
    conf->deny_end = &deny->next;
    return true;
}

bool deny_setup(struct pages_conf *conf, struct bt_arena *arena, struct bt_error *err)
{
    bool good = true;

    for (const struct deny *deny = conf->deny; deny != NULL; deny = deny->next)
        if (deny->how == DENY_PAGE)
            good &= pages_want(conf, &deny->at, deny->at.text, arena, err);
    return good;
}

/* ---- refusals ---- */

static enum go deny_reset(struct bt_txn *txn)
{
    count(deny_resets);
    txn->deny_page = "TCP_RESET"; /* for logs */
    txn->client->cut(txn);
    txn->keep_client = txn->keep_origin = false;
    txn->upload_over = true; /* whatever else the client sends, nobody waits for it */
    txn->step = STEP_finish;
    return GO_ON;
}

/* 302 makes many a client turn its POST into a GET. */
static int elsewhere_status(const struct bt_txn *txn)
{
    enum method method = txn->req.method_id;

    return method == METHOD_GET || method == METHOD_HEAD || txn->req.minor == 0 ? 302 : 307;
}

static bool deny_elsewhere(struct bt_txn *txn, const struct deny *deny)
{
    struct str_builder url;
    int status = deny->status != 0 ? deny->status : elsewhere_status(txn);

    str_builder_arena(&url, txn->arena, 512);
    template_render(deny->url, txn, &url);
    if (url.len > LOCATION_MAX)
        return false;
    count(deny_redirects);
    txn->deny_status = status;
    txn->deny_page = NULL;
    txn->answer_fields = bt_str_printf(txn->arena,
                                       "Content-Type: text/html;charset=utf-8\r\n"
                                       "Cache-Control: no-store\r\n"
                                       "Location: %.*s\r\n"
                                       "X-Squid-Error: %d Access Denied\r\n",
                                       BT_STR_ARGS(str_built(&url)), status);
    txn->answer_body = BT_STR_NONE;
    txn->step = STEP_refuse;
    return true;
}

/* The line for this exchange; NULL: there is none. */
static const struct deny *deny_find(struct bt_txn *txn, bool challenge)
{
    bt_str name = pages->deny != NULL ? acl_last(txn) : BT_STR_NONE;
    const struct deny_acl *acl = name.at != NULL ? table_find(&pages->deny_acls, name) : NULL;

    return acl == NULL ? NULL : challenge ? acl->plain : acl->first;
}

enum go deny_apply(struct bt_txn *txn, int status, const char *page, const char *detail)
{
    const struct deny *deny = deny_find(txn, status == 401 || status == 407);

    if (deny == NULL)
        return txn_refuse(txn, status, page, detail);
    if (deny->how == DENY_RESET)
        return deny_reset(txn);
    if (deny->how == DENY_URL)
        return deny_elsewhere(txn, deny) ? GO_ON : txn_refuse(txn, status, page, detail);
    count(deny_pages);
    /* A tunnel that is not one must not look like one. */
    if (deny->status != 0 && (deny->status >= 300 || txn->req.method_id != METHOD_CONNECT))
        status = deny->status;
    return txn_refuse(txn, status, deny->shown, detail);
}
