/* access.h - lists that decide whether an exchange goes on: which is asked when, what a refusal says,
 * and by which rule.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FLOW_ACCESS_H
#define FLOW_ACCESS_H

#include "flow/txn.h"

enum access_list {
    ACCESS_HTTP,    /* http_access */
    ACCESS_ADAPTED, /* adapted_http_access */
    ACCESS_MISS,    /* miss_access */
    ACCESS_REPLY    /* http_reply_access */
};

/* From within a step: ask a list. *pass: go on. Else return what this returns: the list waits, or
 * the exchange is on its way to a refusal. */
enum go access_ask(struct bt_txn *, enum access_list, bool *pass);

/* The same about the origin's answer, in txn->rep. */
enum go access_reply(struct bt_txn *, bool *pass);
/* About an answer of our own, in txn->rep. What says that something was refused passes. */
enum go access_own_answer(struct bt_txn *, bool *pass);

/* Of a rule: "FILE:LINE", and "http_access deny CONNECT !SSL_ports". In the exchange's arena. */
bt_str access_place(struct bt_txn *, const struct bt_line *);
bt_str access_text(struct bt_txn *, const struct bt_line *);

#endif
