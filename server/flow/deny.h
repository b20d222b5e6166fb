/* deny.h - deny_info: what a client that was refused gets instead of the usual page.
 *
 *   deny_info [STATUS:]PAGE acl...    a page of our own, or of error_directory
 *   deny_info [3xx:]URL acl...        sent elsewhere; the URL has % codes (template.h)
 *   deny_info TCP_RESET acl...        no answer: the connection is reset
 *
 * The line is chosen by the ACL that was looked at last; within any-of and all-of that is the
 * innermost one. Of several lines for one ACL the first stands.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FLOW_DENY_H
#define FLOW_DENY_H

#include "flow/pages.h"
#include "flow/txn.h"

/* .set of deny_info; its conf is the struct pages_conf. */
bool deny_set(void *conf, const struct bt_line *, struct bt_error *);
/* Part of the setup of pages: have all pages that lines name. */
BT_MUST bool deny_setup(struct pages_conf *, struct bt_arena *, struct bt_error *);

/* From within a step: the rules refused the exchange; go on with what deny_info says, else with
 * `status` and `page`. A challenge (401, 407) must stay one: of deny_info only a page without a
 * status can replace its page. Returns GO_ON. */
enum go deny_apply(struct bt_txn *, int status, const char *page, const char *detail);

#endif
