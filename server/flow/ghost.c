/* ghost.c - exchanges without a client.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "bt_cache.h"

struct bt_txn *bt_background(struct bt_txn *txn)
{
    (void)txn;
    return NULL;
}

bool bt_without_client(struct bt_txn *txn)
{
    (void)txn;
    return false;
}
