/* phase.c - the hooks of each phase, flat in the order of modules, and how they are run.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#define BT_LOG_TAG "modules"
#include "plug/phase.h"

#include "base/check.h"
#include "bt_log.h"
#include "stat/counts.h"

struct phase_list phase_lists[BT_PHASE_END];

#define PHASE_ROW_(name, doc) {#name, doc},
static const struct {
    const char *name, *doc;
} phases[] = {BT_PHASES(PHASE_ROW_)};

const char *phase_name(enum bt_phase phase)
{
    return phases[phase].name;
}

const char *phase_doc(enum bt_phase phase)
{
    return phases[phase].doc;
}

static bool wanted(const struct bt_module *module, enum bt_phase phase)
{
    return module->size <= offsetof(struct bt_module, phases) || module->phases == NULL ||
           (module->phases() & 1u << phase) != 0;
}

static size_t count_hooks(const struct bt_module *const *modules, size_t n, enum bt_phase phase)
{
    size_t sum = 0;

    for (size_t m = 0; m < n; m++)
        for (size_t i = 0; i < modules[m]->hooks.n; i++)
            sum += modules[m]->hooks.row[i].phase == phase && wanted(modules[m], phase);
    return sum;
}

static void fill_list(struct phase_hook *hook, const struct bt_module *const *modules, size_t n,
                      enum bt_phase phase)
{
    for (size_t m = 0; m < n; m++)
        for (size_t i = 0; i < modules[m]->hooks.n; i++)
            if (modules[m]->hooks.row[i].phase == phase && wanted(modules[m], phase))
                *hook++ = (struct phase_hook){modules[m]->hooks.row[i].run, modules[m]};
}

void phase_init(const struct bt_module *const *modules, size_t n, struct bt_arena *arena)
{
    for (enum bt_phase phase = 0; phase < BT_PHASE_END; phase++) {
        size_t hooks = count_hooks(modules, n, phase);
        struct phase_hook *list = bt_alloc(arena, hooks * sizeof *list);

        fill_list(list, modules, n, phase);
        phase_lists[phase] = (struct phase_list){list, hooks};
    }
}

/* A module's mistake must not let anybody pass. */
static enum bt_verdict stray(enum bt_phase phase, struct bt_txn *txn, const struct phase_hook *hook,
                             enum bt_verdict said)
{
    count(bad_verdicts);
    bt_log_limited(txn, BT_ERROR, 10,
                   "module %s said %d in phase %s, which is no verdict there; taken as a refusal "
                   "where there is something to refuse; report it to the module's author",
                   hook->module->name, (int)said, phase_name(phase));
    return BT_REFUSE;
}

static void look_only(const struct phase_list *list, struct bt_txn *txn)
{
    for (size_t i = 0; i < list->n; i++) {
        enum bt_verdict said = list->hook[i].run(txn);
        if (said != BT_PASS)
            stray(BT_AT_FINISH, txn, &list->hook[i], said);
    }
}

enum bt_verdict phase_walk(enum bt_phase phase, struct bt_txn *txn, unsigned *next)
{
    const struct phase_list *list = &phase_lists[phase];

    if (phase == BT_AT_FINISH) {
        look_only(list, txn);
        return BT_PASS;
    }
    CHECK(*next <= list->n);
    for (unsigned i = *next; i < list->n; i++) {
        enum bt_verdict said = list->hook[i].run(txn);

        if (said == BT_PASS)
            continue;
        if ((int)said < BT_PASS || said > BT_DROP)
            said = stray(phase, txn, &list->hook[i], said);
        *next = said == BT_PAUSE ? i : 0;
        return said;
    }
    *next = 0;
    return BT_PASS;
}
