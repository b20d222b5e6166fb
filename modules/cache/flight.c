/* flight.c - fetches under way, in a table that all workers see.
 *
 * An entry is claimed without a lock: who wants to lead takes a free entry near the place of its
 * key's hash, says so (CLAIMING), and then looks whether somebody else does so for the same key. Of two,
 * the one at the lower place may throw the other one out as long as that one has not become the
 * leader; so there is one in the end. Each state is one word, and whoever died in one is found by the
 * number in it.
 *
 * An entry has a bit a member: somebody there follows. The leader keeps what it writes pinned until
 * all those bits are gone, or until it dies; those who follow to the end pin it themselves.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>

#include "flight.h"
#include "ram.h"

enum state { FREE, SETUP, CLAIMING, WAITING, GROWING, WHOLE, PRIVATE, FAILED };
enum { WINDOW = 16, TRIES = 64, SPINS = 2000, LEFT = 1 << 4, BITS_WORDS = BT_MEMBERS_MAX / 64 };

struct entry {
    _Alignas(64) _Atomic uint64_t word; /* turn << 16 | leader << 5 | LEFT | state */
    _Atomic uint64_t hash[2];
    _Atomic uint64_t place;
    _Atomic int64_t written, length;
    _Atomic int64_t until; /* PRIVATE: wall clock, ms */
    uint64_t spare;
    _Atomic uint64_t followers[BITS_WORDS];
    uint64_t spares[4];
};

/* What this process has to do with an entry. */
struct node {
    struct flight *first;
    struct store_writer *writer;
    struct store_ref mine; /* of the leader */
    uint32_t extents;
    uint64_t seen; /* by the followers here */
    int64_t seen_written;
    bool linked;
    bool lingers;        /* its leader has left, others still read */
    bool telling;        /* its followers are being told, and are in another list for that */
    uint32_t next, prev; /* of those that are linked; number + 1 */
};
static struct node *nodes;
static uint32_t linked;

size_t flight_bytes(uint32_t entries)
{
    return entries * sizeof(struct entry);
}

static struct entry *entry_at(uint32_t i)
{
    return &((struct entry *)(void *)ram.flights)[i];
}
static enum state word_state(uint64_t word)
{
    return (enum state)(word & 15);
}
static unsigned word_leader(uint64_t word)
{
    return (unsigned)(word >> 5 & 1023);
}
static uint64_t word_turn(uint64_t word)
{
    return word >> 16;
}
static uint64_t word_make(enum state state, unsigned leader, uint64_t turn)
{
    return turn << 16 | (uint64_t)leader << 5 | (uint64_t)state;
}
static uint64_t word_with(uint64_t word, enum state state)
{
    return (word & ~UINT64_C(15)) | (uint64_t)state;
}

/* ---- followers ---- */

static bool followed(const struct entry *entry)
{
    for (unsigned i = 0; i < BITS_WORDS; i++)
        if (atomic_load_explicit(&entry->followers[i], memory_order_acquire) != 0)
            return true;
    return false;
}

static void notify(const struct entry *entry)
{
    for (unsigned i = 0; i < BITS_WORDS; i++)
        for (uint64_t bits = atomic_load(&entry->followers[i]); bits != 0; bits &= bits - 1)
            bt_wake(i * 64 + (unsigned)__builtin_ctzll(bits));
}

/* When it is over, its leader is gone and nobody follows, it is nobody's. A private one stays
 * for its time, and goes when somebody needs the place. */
static void entry_free(struct entry *entry, uint64_t word)
{
    atomic_thread_fence(memory_order_seq_cst);
    if ((word & LEFT) && word_state(word) == FAILED && !followed(entry))
        atomic_compare_exchange_strong(&entry->word, &word,
                                       word_make(FREE, BT_MEMBERS_MAX, word_turn(word)));
}

static void node_link(uint32_t i)
{
    struct node *node = &nodes[i];

    if (node->linked)
        return;
    node->linked = true;
    node->prev = 0;
    node->next = linked;
    if (linked != 0)
        nodes[linked - 1].prev = i + 1;
    linked = i + 1;
}

static bool node_empty(const struct node *node)
{
    return node->first == NULL && !node->telling;
}

static void node_unlink(uint32_t i)
{
    struct node *node = &nodes[i];

    if (!node->linked || !node_empty(node) || node->lingers)
        return;
    node->linked = false;
    if (node->prev != 0)
        nodes[node->prev - 1].next = node->next;
    else
        linked = node->next;
    if (node->next != 0)
        nodes[node->next - 1].prev = node->prev;
}

static void bit_set(struct entry *entry)
{
    atomic_fetch_or(&entry->followers[ram.member / 64], UINT64_C(1) << (ram.member % 64));
}

static void bit_clear(uint32_t i)
{
    struct entry *entry = entry_at(i);
    uint64_t word;

    atomic_fetch_and(&entry->followers[ram.member / 64], ~(UINT64_C(1) << (ram.member % 64)));
    word = atomic_load(&entry->word);
    entry_free(entry, word);
    if ((word & LEFT) && word_state(word) == WHOLE)
        bt_wake(word_leader(word)); /* it may let go */
}

static bool follow(uint32_t i, uint64_t word, struct flight *f)
{
    struct entry *entry = entry_at(i);
    struct node *node = &nodes[i];

    bit_set(entry);
    atomic_thread_fence(memory_order_seq_cst);
    uint64_t now = atomic_load(&entry->word);
    if (word_turn(now) != word_turn(word) || (now & LEFT)) {
        if (node_empty(node))
            bit_clear(i);
        return false;
    }
    if (node_empty(node)) {
        node->seen = word;
        node->seen_written = 0;
        node_link(i);
    }
    if (word_state(now) != WAITING) { /* said already: nobody will wake us for that */
        node->seen = 0;
        bt_wake(ram.member);
    }
    f->next = node->first;
    f->link = &node->first;
    if (f->next != NULL)
        f->next->link = &f->next;
    node->first = f;
    f->at[0] = i + 1;
    f->at[1] = word_turn(word);
    f->role = FLIGHT_FOLLOW;
    return true;
}

/* ---- joining ---- */

static uint32_t window(const uint64_t hash[2], uint32_t n)
{
    return (uint32_t)((hash[0] + n) % ram.flight_entries);
}

/* Its word, when it is of that hash now; 0: it is not. */
static uint64_t entry_of(const struct entry *entry, const uint64_t hash[2])
{
    uint64_t word = atomic_load_explicit(&entry->word, memory_order_acquire);

    if (word_state(word) < CLAIMING || word_state(word) == FAILED || entry->hash[0] != hash[0] ||
        entry->hash[1] != hash[1])
        return 0;
    atomic_thread_fence(memory_order_acquire);
    return word_turn(atomic_load(&entry->word)) == word_turn(word) ? word : 0;
}

static bool private_still(const struct entry *entry)
{
    return atomic_load_explicit(&entry->until, memory_order_relaxed) > bt_wall_ms();
}

enum met { MET_NOBODY, MET_JOINED, MET_PRIVATE, MET_AGAIN };

/* A claim that is not decided soon is that of a dead one, or of one that may begin again. */
static enum met meet_claim(struct entry *entry, uint64_t word, unsigned *spins)
{
    if (++*spins > SPINS)
        atomic_compare_exchange_strong(&entry->word, &word,
                                       word_make(FREE, BT_MEMBERS_MAX, word_turn(word)));
    return MET_AGAIN;
}

static enum met meet(const uint64_t hash[2], struct flight *f, unsigned *spins)
{
    for (uint32_t n = 0; n < WINDOW; n++) {
        uint32_t i = window(hash, n);
        struct entry *entry = entry_at(i);
        uint64_t word = entry_of(entry, hash);
        switch (word_state(word)) {
        case CLAIMING:
            return meet_claim(entry, word, spins);
        case WAITING:
        case GROWING:
        case WHOLE:
            if (word & LEFT)
                continue;
            return follow(i, word, f) ? MET_JOINED : MET_AGAIN;
        case PRIVATE:
            if (private_still(entry))
                return MET_PRIVATE;
            continue;
        default:
            continue;
        }
    }
    return MET_NOBODY;
}

/* Is there another one of that hash, and does it stand before ours? Later ones are thrown out. */
static bool claim_yields(uint32_t mine, const uint64_t hash[2])
{
    bool before = true;

    for (uint32_t n = 0; n < WINDOW; n++) {
        uint32_t i = window(hash, n);
        struct entry *entry = entry_at(i);
        if (i == mine) {
            before = false;
            continue;
        }
        uint64_t word = entry_of(entry, hash);
        enum state state = word_state(word);
        if (state == FREE || (word & LEFT && state != PRIVATE) ||
            (state == PRIVATE && !private_still(entry)))
            continue;
        if (state != CLAIMING || before)
            return true;
        if (!atomic_compare_exchange_strong(&entry->word, &word,
                                            word_make(FREE, BT_MEMBERS_MAX, word_turn(word))))
            n--; /* it has become something else: look again */
    }
    return false;
}

/* An entry that nobody needs; NO_SEGMENT: there is none. Its word is then SETUP, and ours. */
static uint32_t claim_free(const uint64_t hash[2], uint64_t *word)
{
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t n = 0; n < WINDOW; n++) {
            uint32_t i = window(hash, n);
            struct entry *entry = entry_at(i);
            uint64_t was = atomic_load(&entry->word);
            bool old = pass == 1 || !private_still(entry);
            if (word_state(was) != FREE &&
                !(word_state(was) == PRIVATE && (was & LEFT) && old && !followed(entry)))
                continue;
            *word = word_make(SETUP, ram.member, word_turn(was) + 1);
            if (atomic_compare_exchange_strong(&entry->word, &was, *word))
                return i;
        }
    return NO_SEGMENT;
}

enum claimed { CLAIMED, CLAIM_AGAIN, CLAIM_FULL };

static enum claimed claim_entry(const uint64_t hash[2], struct flight *f)
{
    uint64_t word, claiming;
    uint32_t i = claim_free(hash, &word);

    if (i == NO_SEGMENT)
        return CLAIM_FULL;
    struct entry *entry = entry_at(i);
    entry->hash[0] = hash[0];
    entry->hash[1] = hash[1];
    atomic_store(&entry->place, 0);
    atomic_store(&entry->written, 0);
    atomic_store(&entry->length, -1);
    atomic_store(&entry->until, 0);
    claiming = word_with(word, CLAIMING);
    atomic_store(&entry->word, claiming);
    atomic_thread_fence(memory_order_seq_cst);
    if (claim_yields(i, hash)) {
        atomic_compare_exchange_strong(&entry->word, &claiming,
                                       word_make(FREE, BT_MEMBERS_MAX, word_turn(word)));
        return CLAIM_AGAIN;
    }
    if (!atomic_compare_exchange_strong(&entry->word, &claiming, word_with(word, WAITING)))
        return CLAIM_AGAIN;
    f->at[0] = i + 1;
    f->at[1] = word_turn(word);
    f->role = FLIGHT_LEAD;
    return CLAIMED;
}

enum flight_role flight_join(struct flight *f, bt_str key, void (*wake)(void *), void *arg)
{
    uint64_t hash[2];
    unsigned spins = 0;

    *f = (struct flight){.role = FLIGHT_ALONE, .wake = wake, .arg = arg};
    if (ram.row == NULL || nodes == NULL)
        return FLIGHT_ALONE;
    ram_hash_long(key, hash);
    for (int tries = 0; tries < TRIES;) {
        enum met met = meet(hash, f, &spins);
        if (met == MET_JOINED)
            return FLIGHT_FOLLOW;
        if (met == MET_PRIVATE)
            return FLIGHT_ALONE;
        if (met == MET_AGAIN) {
            tries += spins == 0 || spins > SPINS;
            continue;
        }
        tries++;
        enum claimed claimed = claim_entry(hash, f);
        if (claimed == CLAIMED)
            return FLIGHT_LEAD;
        if (claimed == CLAIM_FULL)
            break;
    }
    ram_count(COUNT_flights_full, 1);
    return FLIGHT_ALONE;
}

/* ---- looking ---- */

/* Its entry, and the word of it; NULL: it is no longer about us. */
static struct entry *entry_now(const struct flight *f, uint64_t *word)
{
    struct entry *entry;

    if (f->at[0] == 0)
        return NULL;
    entry = entry_at((uint32_t)f->at[0] - 1);
    *word = atomic_load_explicit(&entry->word, memory_order_acquire);
    return word_turn(*word) == f->at[1] ? entry : NULL;
}

enum flight_state flight_state(const struct flight *f)
{
    uint64_t word;

    if (f->whole.store != NULL)
        return FLIGHT_WHOLE;
    if (f->role == FLIGHT_ALONE)
        return FLIGHT_PRIVATE;
    if (entry_now(f, &word) == NULL)
        return FLIGHT_FAILED;
    switch (word_state(word)) {
    case WAITING:
        return FLIGHT_WAITING;
    case GROWING:
        return FLIGHT_GROWING;
    case WHOLE:
        return FLIGHT_WHOLE;
    case PRIVATE:
        return FLIGHT_PRIVATE;
    default:
        return FLIGHT_FAILED;
    }
}

/* The state first: when it is over, what was written stands; read the other way round, an old length
 * would pass for the last one. And it must be about us still when that was read. */
enum flight_state flight_progress(const struct flight *f, int64_t *written, int64_t *length)
{
    enum flight_state state = flight_state(f);
    uint64_t word;
    const struct entry *entry = entry_now(f, &word);

    *written = 0;
    *length = -1;
    if (f->whole.store != NULL) {
        *written = *length = f->whole.length;
        return FLIGHT_WHOLE;
    }
    if (entry == NULL)
        return f->role == FLIGHT_ALONE ? state : FLIGHT_FAILED;
    *written = atomic_load_explicit(&entry->written, memory_order_acquire);
    *length = atomic_load_explicit(&entry->length, memory_order_acquire);
    atomic_thread_fence(memory_order_acquire);
    return f->role == FLIGHT_ALONE || entry_now(f, &word) != NULL ? state : FLIGHT_FAILED;
}

static bool readable(uint64_t word, uint64_t turn)
{
    return word_turn(word) == turn && (word_state(word) == GROWING || word_state(word) == WHOLE);
}

/* Pinned first and looked at again before anything of it is believed; then its extents likewise. */
static bool entry_pin(struct entry *entry, uint64_t turn, struct store_ref *ref)
{
    for (int tries = 0; tries < TRIES; tries++) {
        int64_t written = atomic_load_explicit(&entry->written, memory_order_acquire);
        uint64_t place = atomic_load_explicit(&entry->place, memory_order_acquire);
        uint32_t segment = place_segment(place);
        bool same = false;
        if (!readable(atomic_load(&entry->word), turn) || place == 0 || segment >= ram.segments)
            return false;
        pin(segment);
        pin_fence();
        if (atomic_load(&entry->place) == place && readable(atomic_load(&entry->word), turn) &&
            ram_pin_place(place, UINT32_MAX, ref)) {
            same = atomic_load(&entry->place) == place && readable(atomic_load(&entry->word), turn);
            ref->length = written;
            if (!same)
                ram_release(ref);
        }
        unpin(segment);
        if (same)
            return true;
    }
    return false;
}

bool flight_ref(const struct flight *f, struct store_ref *ref)
{
    uint64_t word;
    struct entry *entry = entry_now(f, &word);

    ref->store = NULL;
    if (f->whole.store != NULL) {
        ram_hold(&f->whole, ref);
        return true;
    }
    return entry != NULL && entry_pin(entry, f->at[1], ref);
}

unsigned flight_followers(const struct flight *f)
{
    uint64_t word;
    const struct entry *entry = entry_now(f, &word);
    unsigned n = 0;

    if (entry == NULL || f->role != FLIGHT_LEAD)
        return 0;
    for (unsigned i = 0; i < BT_MEMBERS_MAX; i++)
        n += i != ram.member && (atomic_load(&entry->followers[i / 64]) >> (i % 64) & 1);
    for (const struct flight *at = nodes[f->at[0] - 1].first; at != NULL; at = at->next)
        n++;
    return n;
}

/* ---- the leader ---- */

/* The leader's entry, as long as it has not said how it went. */
static struct entry *leading(const struct flight *f, uint64_t *word)
{
    struct entry *entry = f->role == FLIGHT_LEAD ? entry_now(f, word) : NULL;

    if (entry == NULL || word_leader(*word) != ram.member ||
        (word_state(*word) != WAITING && word_state(*word) != GROWING))
        return NULL;
    return entry;
}

static void say(struct entry *entry, uint64_t word, enum state state)
{
    atomic_store(&entry->word, word_with(word, state));
    atomic_thread_fence(memory_order_seq_cst);
    notify(entry);
}

/* The leader's own pins cover what it tells others of. false: it cannot be shared. */
static bool publish(struct entry *entry, struct node *node)
{
    struct writer_place at = ram_writer_place(node->writer);

    if (node->mine.store == NULL || node->mine.at[0] != at.place || node->extents != at.extents) {
        struct store_ref old = node->mine;
        if (!ram_peek(node->writer, &node->mine)) {
            node->mine = old;
            return false;
        }
        node->extents = at.extents;
        atomic_store(&entry->place, at.place);
        atomic_thread_fence(memory_order_seq_cst);
        ram_release(&old);
    }
    atomic_store_explicit(&entry->length, at.length, memory_order_relaxed);
    atomic_store_explicit(&entry->written, at.written, memory_order_release);
    return true;
}

void flight_growing(struct flight *f, struct store_writer *writer)
{
    uint64_t word;
    struct entry *entry = leading(f, &word);

    if (entry == NULL)
        return;
    nodes[f->at[0] - 1].writer = writer;
    if (publish(entry, &nodes[f->at[0] - 1]))
        say(entry, word, GROWING);
    else
        flight_failed(f);
}

void flight_grown(struct flight *f)
{
    uint64_t word;
    struct entry *entry = leading(f, &word);

    if (entry == NULL || word_state(word) != GROWING)
        return;
    if (publish(entry, &nodes[f->at[0] - 1]))
        notify(entry);
    else
        flight_failed(f);
}

/* What was committed is as long as it says; extents that flight_grown() was not told of are pinned
 * now, and are there if the record can still be found. false: it cannot, it lies elsewhere by now, or
 * less was written than was to come. */
static bool whole_publish(struct entry *entry, struct node *node, bool committed)
{
    int64_t written = atomic_load(&entry->written), length = atomic_load(&entry->length);
    struct store_ref all;

    if (!committed)
        return length < 0 || written == length;
    if (!ram_pin_place(node->mine.at[0], UINT32_MAX, &all))
        return false;
    length = word_kind(ref_record(&all)->word) == RECORD_LONG
                 ? record_extents(ref_record(&all))->length
                 : all.length;
    bool found = (length > 0 && all.at[1] == node->mine.at[1]) ||
                 ram_index_slot(ram_hash(all.key), all.at[0]) != NULL;
    ram_release(&node->mine);
    node->mine = all;
    if (found && length >= written)
        atomic_store(&entry->written, length);
    return found && length >= written;
}

void flight_whole(struct flight *f, bool committed)
{
    uint64_t word;
    struct entry *entry = leading(f, &word);

    if (entry == NULL)
        return;
    struct node *node = &nodes[f->at[0] - 1];
    if (word_state(word) != GROWING || !whole_publish(entry, node, committed)) {
        flight_failed(f);
        return;
    }
    node->writer = NULL;
    atomic_store(&entry->length, atomic_load(&entry->written));
    say(entry, word, WHOLE);
}

void flight_failed(struct flight *f)
{
    uint64_t word;
    struct entry *entry = leading(f, &word);

    if (entry == NULL)
        return;
    say(entry, word, FAILED);
    nodes[f->at[0] - 1].writer = NULL;
    ram_release(&nodes[f->at[0] - 1].mine);
}

void flight_private(struct flight *f, int64_t for_ms)
{
    uint64_t word;
    struct entry *entry = leading(f, &word);

    if (entry == NULL)
        return;
    atomic_store(&entry->until, bt_wall_ms() + for_ms);
    say(entry, word, PRIVATE);
    nodes[f->at[0] - 1].writer = NULL;
    ram_release(&nodes[f->at[0] - 1].mine);
}

/* ---- leaving ---- */

/* What the leader wrote is let go when nobody reads it any more. */
static void linger(uint32_t i)
{
    struct entry *entry = entry_at(i);
    struct node *node = &nodes[i];
    uint64_t word = atomic_load(&entry->word);

    atomic_thread_fence(memory_order_seq_cst);
    if (followed(entry)) {
        node->lingers = true;
        node_link(i);
        return;
    }
    node->lingers = false;
    node_unlink(i);
    ram_release(&node->mine);
    word = word_with(word, FAILED);
    atomic_store(&entry->word, word);
    entry_free(entry, word);
}

static void leave_leader(uint32_t i, struct entry *entry)
{
    uint64_t word = atomic_load(&entry->word) | LEFT;

    nodes[i].writer = NULL;
    atomic_store(&entry->word, word);
    atomic_thread_fence(memory_order_seq_cst);
    if (word_state(word) == WHOLE)
        linger(i);
    else
        entry_free(entry, word);
}

static void leave_follower(uint32_t i)
{
    if (!node_empty(&nodes[i]))
        return;
    node_unlink(i);
    bit_clear(i);
}

void flight_leave(struct flight *f)
{
    uint32_t i = (uint32_t)f->at[0] - 1;
    uint64_t word;

    ram_release(&f->whole);
    if (f->at[0] == 0)
        return;
    if (f->role == FLIGHT_LEAD) {
        flight_failed(f);
        struct entry *entry = entry_now(f, &word);
        if (entry != NULL)
            leave_leader(i, entry);
    } else {
        *f->link = f->next;
        if (f->next != NULL)
            f->next->link = f->link;
        leave_follower(i);
    }
    f->at[0] = 0;
    f->role = FLIGHT_ALONE;
}

/* ---- being woken ---- */

/* Those who follow it here are told. They may leave, or others may come, while they are. */
static void tell(uint32_t i)
{
    struct node *node = &nodes[i];
    struct flight *todo = node->first;
    struct entry *entry = entry_at(i);
    bool whole = word_state(node->seen) == WHOLE;

    node->first = NULL;
    node->telling = true;
    if (todo != NULL)
        todo->link = &todo;
    while (todo != NULL) {
        struct flight *f = todo;
        todo = f->next;
        if (todo != NULL)
            todo->link = &todo;
        f->next = node->first;
        f->link = &node->first;
        if (f->next != NULL)
            f->next->link = &f->next;
        node->first = f;
        if (whole && f->whole.store == NULL && !entry_pin(entry, f->at[1], &f->whole))
            f->whole.store = NULL;
        f->wake(f->arg);
    }
    node->telling = false;
    leave_follower(i);
}

static void on_wake(void *arg)
{
    uint32_t next;

    (void)arg;
    for (uint32_t at = linked; at != 0; at = next) {
        struct node *node = &nodes[at - 1];
        struct entry *entry = entry_at(at - 1);
        uint64_t word = atomic_load_explicit(&entry->word, memory_order_acquire);
        int64_t written = atomic_load_explicit(&entry->written, memory_order_acquire);
        if (node->first != NULL && (word != node->seen || written != node->seen_written)) {
            node->seen = word;
            node->seen_written = written;
            tell(at - 1);
        }
        next = node->linked ? node->next : linked;
        if (node->lingers)
            linger(at - 1);
    }
}

void flight_start(void)
{
    free(nodes);
    nodes = calloc(ram.flight_entries, sizeof *nodes);
    linked = 0;
    bt_on_wake(on_wake, NULL);
}

unsigned flight_open(void)
{
    unsigned n = 0;

    for (uint32_t i = 0; ram.row != NULL && i < ram.flight_entries; i++) {
        uint64_t word = atomic_load_explicit(&entry_at(i)->word, memory_order_relaxed);
        n += word_state(word) != FREE && !(word_state(word) == PRIVATE && (word & LEFT));
    }
    return n;
}

/* What it led has failed, and it follows nobody. */
void flight_bury(unsigned member)
{
    for (uint32_t i = 0; i < ram.flight_entries; i++) {
        struct entry *entry = entry_at(i);
        uint64_t word = atomic_load(&entry->word);
        uint64_t bit = UINT64_C(1) << (member % 64);
        if (atomic_load(&entry->followers[member / 64]) & bit) {
            atomic_fetch_and(&entry->followers[member / 64], ~bit);
            word = atomic_load(&entry->word); /* its leader may have left before that bit went */
            if ((word & LEFT) && word_state(word) == WHOLE)
                bt_wake(word_leader(word)); /* it may wait for that one alone */
        }
        if (word_state(word) != FREE && word_leader(word) == member) {
            uint64_t after = word_with(word, FAILED) | LEFT;
            if (word_state(word) == SETUP || word_state(word) == CLAIMING)
                after = word_make(FREE, BT_MEMBERS_MAX, word_turn(word));
            else if (word_state(word) == PRIVATE)
                after = word | LEFT;
            else if (!(word & LEFT))
                ram_count(COUNT_flights_lost, 1);
            if (atomic_compare_exchange_strong(&entry->word, &word, after)) {
                word = after;
                notify(entry);
            }
        }
        entry_free(entry, word);
    }
}
