/* sketch.h - an exchange that nobody sent: for asking rules what they would say.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FLOW_SKETCH_H
#define FLOW_SKETCH_H

#include "flow/txn.h"

struct sketch {
    bt_str method, url;
    struct sockaddr_storage from; /* family 0: this machine */
    bt_str user;                  /* who is logged in; NONE: nobody is */
    bt_str fields;                /* header lines, each ended by CRLF */
    bool nameless;                /* its host is not looked up */
};
/* For a process that ends when it has asked: nothing is given back, and nothing that would need the
 * loop may be called. Names are looked up at once, by the system's resolver. NULL: *why says what is
 * wrong with the request. */
struct bt_txn *sketch_new(const struct sketch *, const char **why);
/* Whether an ACL can be asked about it: those that wait for helpers cannot. */
bool sketch_askable(const struct acl *);

#endif
