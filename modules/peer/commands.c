/* commands.c - bobtailctl peers: how parents are, and what they did.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>

#include "peer.h"

enum { STATE = 64 };

static const char *state_text(const struct peer *peer, const struct state_report *r,
                              char text[STATE])
{
    long long for_s = (long long)((bt_wall_ms() - r->since_ms) / 1000);

    if (peer->type != PEER_PARENT)
        return "never asked";
    if (r->dead)
        snprintf(text, STATE, "dead for %lld s", for_s);
    else if (r->unwell)
        snprintf(text, STATE, "unwell for %lld s, status %d", for_s, r->status);
    else if (r->failures > 0)
        snprintf(text, STATE, "up, %u failures in a row", (unsigned)r->failures);
    else
        return "up";
    return text;
}

static void print_peer(struct bt_call *call, const struct peer *peer)
{
    struct state_report report;
    char state[STATE];

    state_report(peer, &report);
    bt_call_print(call,
                  "%.*s %.*s:%u %s\n"
                  "  answered %llu, silent %llu, refused %llu; connections opened %llu, open %lld",
                  BT_STR_ARGS(peer->parent.name), BT_STR_ARGS(peer->parent.host), peer->parent.port,
                  state_text(peer, &report, state), (unsigned long long)report.answered,
                  (unsigned long long)report.silent, (unsigned long long)report.refused,
                  (unsigned long long)report.opened, (long long)report.open);
    if (peer->max_conn > 0)
        bt_call_print(call, " of %lld", (long long)peer->max_conn);
    if (report.rtt_us > 0)
        bt_call_print(call, "; answers in %lld us", (long long)report.rtt_us);
    bt_call_print(call, "\n");
}

void commands_peers(struct bt_call *call, const bt_str *word, size_t n)
{
    const struct peer *one = n > 0 ? peer_find(peers, word[0]) : NULL;

    if (n > 1 || (n == 1 && one == NULL)) {
        bt_call_done(call, n > 1 ? "say: peers, or peers NAME" : "there is no parent of that name");
        return;
    }
    for (unsigned i = 0; i < peers->n; i++)
        if (one == NULL || peers->peer[i] == one)
            print_peer(call, peers->peer[i]);
    bt_call_done(call, NULL);
}
