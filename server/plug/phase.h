/* phase.h - the hooks of each phase, flat in the order of modules, and how they are run.
 *
 * A phase that no module hooks costs one load and one compare.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PLUG_PHASE_H
#define PLUG_PHASE_H

#include "bt_module.h"

struct phase_hook {
    enum bt_verdict (*run)(struct bt_txn *);
    const struct bt_module *module;
};
struct phase_list {
    const struct phase_hook *hook;
    size_t n;
};
/* Read-only after phase_init(). */
extern struct phase_list phase_lists[BT_PHASE_END];

/* Master, when all modules are there. The lists live as long as the arena. */
void phase_init(const struct bt_module *const *modules, size_t n, struct bt_arena *);

/* Use phase_run(). */
enum bt_verdict phase_walk(enum bt_phase, struct bt_txn *, unsigned *next);

/* Run the hooks of a phase for an exchange. `*next` is 0 at first and belongs to the exchange: after
 * BT_PAUSE call again with it untouched, and the hook that paused is asked again; otherwise it is
 * back at 0.
 *
 *   BT_PASS    no hook had anything to say      BT_SETTLE  one decided; the rest was skipped
 *   BT_ANSWER, BT_REFUSE, BT_DROP               as the hook said; the rest was skipped
 *   BT_PAUSE   wait for bt_resume()
 *
 * A value that is no verdict is counted (core.bad_verdicts), logged and becomes BT_REFUSE. In phase
 * FINISH every hook is called and the result is always BT_PASS: there is nothing left to decide. */
static inline enum bt_verdict phase_run(enum bt_phase phase, struct bt_txn *txn, unsigned *next)
{
    if (__builtin_expect(phase_lists[phase].n == 0, 1))
        return BT_PASS;
    return phase_walk(phase, txn, next);
}

/* "REQUEST", and its sentence; for logs and the manual. */
const char *phase_name(enum bt_phase);
const char *phase_doc(enum bt_phase);

#endif
