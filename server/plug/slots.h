/* slots.h - memory of modules for one exchange and for one connection.
 *
 * The owner (exchange or connection) holds one struct slots, cleared: one pointer, and all that an
 * exchange pays that no module asks anything of. At the first question a table of pointers is taken
 * from the owner's arena, one for each module that declared memory of that life; at a module's own
 * first question, its block, zeroed. All goes with the arena.
 *
 *   void *bt_txn_memory(struct bt_txn *txn, const struct bt_self *self)
 *   {
 *       return slots_get(&txn->slots, SLOTS_TXN, self->number, txn->arena);
 *   }
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PLUG_SLOTS_H
#define PLUG_SLOTS_H

#include "bt_module.h"

enum slots_life { SLOTS_TXN, SLOTS_CONN, SLOTS_LIVES };

struct slots {
    void **block; /* NULL until a module asks */
};

/* Master, when all modules are there: reads txn_size and conn_size of each. */
void slots_init(const struct bt_module *const *modules, size_t n, struct bt_arena *);

/* The block of module `number` (bt_self.number); the same each time; NULL when it declared none. */
void *slots_get(struct slots *, enum slots_life, unsigned number, struct bt_arena *);

#endif
