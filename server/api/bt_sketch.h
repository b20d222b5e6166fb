/* bt_sketch.h - an exchange that nobody sent: for tests of policy.
 *
 * It has a request, a client and perhaps a response, so that functions of bt_txn.h can be asked; it
 * goes nowhere, and names are not looked up. Kept until the process ends.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BT_SKETCH_H
#define BT_SKETCH_H

#include "bt_txn.h"

struct bt_sketch {
    bt_str method, url;
    bt_str client;     /* an address; NONE: 127.0.0.1 */
    bt_str user;       /* who is logged in; NONE: nobody is */
    bt_str fields;     /* of the request: whole lines, each ended by CRLF */
    int status;        /* of the response; 0: there is none */
    bt_str rep_fields; /* its fields */
};
/* NULL: *why says what is wrong with it. */
BT_API struct bt_txn *bt_sketch(const struct bt_sketch *, const char **why);

#endif
