/* slots.c - memory of modules for one exchange and for one connection.
 *
 * Modules without memory of a life have no place in its table, so that the table stays a few
 * pointers long however many modules are loaded.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "plug/slots.h"

#include "base/check.h"

struct layout {
    size_t size;    /* bytes of the module's block; 0: it has none */
    unsigned place; /* in the table of pointers */
};

static struct {
    const struct layout *module; /* by bt_self.number */
    size_t n;
    size_t places;
} layouts[SLOTS_LIVES];

static size_t declared(const struct bt_module *module, enum slots_life life)
{
    return life == SLOTS_TXN ? module->txn_size : module->conn_size;
}

void slots_init(const struct bt_module *const *modules, size_t n, struct bt_arena *arena)
{
    for (enum slots_life life = 0; life < SLOTS_LIVES; life++) {
        struct layout *layout = bt_alloc(arena, n * sizeof *layout);
        unsigned places = 0;

        for (size_t m = 0; m < n; m++) {
            layout[m].size = declared(modules[m], life);
            layout[m].place = places;
            places += layout[m].size != 0;
        }
        layouts[life].module = layout;
        layouts[life].n = n;
        layouts[life].places = places;
    }
}

void *slots_get(struct slots *slots, enum slots_life life, unsigned number, struct bt_arena *arena)
{
    CHECK(number < layouts[life].n);
    const struct layout *layout = &layouts[life].module[number];

    if (layout->size == 0)
        return NULL;
    if (slots->block == NULL)
        slots->block = bt_alloc(arena, layouts[life].places * sizeof *slots->block);
    if (slots->block[layout->place] == NULL)
        slots->block[layout->place] = bt_alloc(arena, layout->size);
    return slots->block[layout->place];
}
