/* rows.h - is a module's table sound in itself? What a compiler cannot see is looked at here.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PLUG_ROWS_H
#define PLUG_ROWS_H

#include "bt_module.h"

/* Every row: a name, a sentence, a grammar that is one, a field that lies within the module's
 * struct and fits its grammar, functions where they are called. All mistakes are complained about,
 * naming module and row. Presets are held to their grammar by conf/bind.h, which fills them in. */
BT_MUST bool rows_vet(const struct bt_module *, struct bt_arena *, struct bt_error *);

#endif
