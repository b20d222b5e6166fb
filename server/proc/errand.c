/* errand.c - answers that wait until all workers have done something.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "proc/errand.h"

#include <unistd.h>

enum { ERRANDS = 16 };

static struct errand {
    struct admin_call *call; /* NULL: free */
    uint32_t stamp;
    int gathered;
    admin_tell *tell;
} errands[ERRANDS];

void errand_begin(struct admin_call *call, uint32_t stamp, int gathered, admin_tell *tell)
{
    for (unsigned i = 0; i < ERRANDS; i++)
        if (errands[i].call == NULL) {
            errands[i] = (struct errand){call, stamp, gathered, tell};
            return;
        }
    if (gathered >= 0)
        close(gathered);
    admin_failed(call, "too much is under way; ask again");
}

void errand_look(const struct crew *newest)
{
    for (unsigned i = 0; i < ERRANDS; i++) {
        struct errand errand = errands[i];
        if (errand.call == NULL || !crew_all_did(newest, errand.stamp))
            continue;
        errands[i].call = NULL;
        if (errand.gathered < 0) {
            admin_done(errand.call);
            continue;
        }
        errand.tell(errand.call, errand.gathered);
        close(errand.gathered);
    }
}
