/* acl_ask.c - one look-up an ACL, or a type, and exchange; what it said is remembered.
 *
 * What an exchange has learnt is two bits an ACL, or two bits a kind and one bit for each of its
 * ACLs where the type answers for all of them at once. Only the two-bit codes need clearing. Of a kind
 * with thousands of ACLs the few that match are listed.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/hits.h"
#include "bt_sets.h"
#include "bt_txn.h"
#include "plug/acl_inside.h"
#include "plug/rules.h"

/* Codes of a memo: 0 is «not asked yet». */
enum { CODE_NO = 1, CODE_YES = 2, CODE_BROKEN = 3 };

static inline unsigned code_get(const struct acl_memo *memo, uint32_t code)
{
    return memo->word[code / 32] >> (code % 32 * 2) & 3;
}

static inline void code_set(struct acl_memo *memo, uint32_t code, unsigned value)
{
    uint64_t *word = &memo->word[code / 32];
    unsigned at = code % 32 * 2;

    *word = (*word & ~(UINT64_C(3) << at)) | (uint64_t)value << at;
}

static __attribute__((noinline)) struct acl_memo *memo_new(const struct acls *acls,
                                                           struct bt_txn *txn)
{
    struct acl_memo *memo = bt_alloc_raw(bt_txn_arena(txn),
                                         sizeof *memo + acls->words * sizeof *memo->word);

    *memo = (struct acl_memo){.swaps = acls->swaps};
    memset(memo->word, 0, (acls->codes + 31) / 32 * sizeof *memo->word);
    *acl_memo_place(txn) = memo;
    return memo;
}

struct acl_memo *acl_memo(const struct acls *acls, struct bt_txn *txn)
{
    struct acl_memo *memo = *acl_memo_place(txn);

    return memo != NULL && memo->swaps == acls->swaps ? memo : memo_new(acls, txn);
}

static enum bt_match kind_said(const struct acl_kind *kind, struct acl_memo *memo,
                               enum bt_match said)
{
    if (said == BT_WAIT)
        return BT_WAIT;
    bool stands = said == BT_YES || said == BT_NO;
    if ((kind->row->flags & BT_FRESH) == 0)
        code_set(memo, kind->code, stands ? CODE_YES : CODE_BROKEN);
    return stands ? BT_YES : BT_BROKEN;
}

static __attribute__((noinline)) enum bt_match few_ask(const struct acl_kind *kind,
                                                       struct acl_memo *memo, struct bt_txn *txn)
{
    uint64_t *bits = &memo->word[kind->bits];
    size_t words = BT_BITS_WORDS(kind->n);

    for (size_t i = 0; i < words; i++) /* most often one: no call */
        bits[i] = 0;
    return kind_said(kind, memo, kind->row->match_all(kind->compiled, txn, bits));
}

/* ---- kinds of many ACLs ---- */

struct list {
    uint32_t n;
    uint32_t hit[];
};

/* All bits are 0 between two questions; one that is asked within another has bits of its own. */
static struct {
    uint64_t *bits;
    size_t words;
    bool taken;
} desk;

static uint64_t *desk_take(size_t words, struct bt_txn *txn)
{
    if (desk.taken)
        return bt_alloc(bt_txn_arena(txn), words * sizeof(uint64_t));
    if (desk.words < words) {
        free(desk.bits);
        desk.bits = calloc(words, sizeof *desk.bits);
        CHECK(desk.bits != NULL);
        desk.words = words;
    }
    desk.taken = true;
    return desk.bits;
}

static void sort(uint32_t *at, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++) {
        uint32_t one = at[i], to = i;
        for (; to > 0 && at[to - 1] > one; to--)
            at[to] = at[to - 1];
        at[to] = one;
    }
}

/* Those that were noted. */
static struct list *list_noted(struct bt_txn *txn)
{
    struct list *list = bt_alloc_raw(bt_txn_arena(txn), sizeof *list + hits.n * sizeof *list->hit);

    list->n = hits.n;
    memcpy(list->hit, hits.at, hits.n * sizeof *list->hit);
    sort(list->hit, list->n);
    return list;
}

/* Those that are set. */
static struct list *list_set(const uint64_t *bits, size_t words, struct bt_txn *txn)
{
    size_t n = 0;

    for (size_t w = 0; w < words; w++)
        n += (size_t)__builtin_popcountll(bits[w]);
    struct list *list = bt_alloc_raw(bt_txn_arena(txn), sizeof *list + n * sizeof *list->hit);
    list->n = 0;
    for (size_t w = 0; w < words; w++)
        for (uint64_t left = bits[w]; left != 0; left &= left - 1)
            list->hit[list->n++] = (uint32_t)(w * 64) + (uint32_t)__builtin_ctzll(left);
    return list;
}

static __attribute__((noinline)) enum bt_match many_ask(const struct acl_kind *kind,
                                                        struct acl_memo *memo, struct bt_txn *txn)
{
    size_t words = BT_BITS_WORDS(kind->n);
    uint64_t *bits = desk_take(words, txn);
    const struct hits others = hits; /* whoever is asked might ask, too */
    struct list *list;

    hits.bits = (kind->row->flags & BT_SETS) != 0 ? bits : NULL;
    hits.n = 0;
    enum bt_match said = kind->row->match_all(kind->compiled, txn, bits);
    if (hits.bits == bits && hits.n <= HITS_KEPT)
        list = list_noted(txn);
    else
        list = list_set(bits, words, txn);
    for (uint32_t i = 0; i < list->n; i++)
        bits[list->hit[i] / 64] = 0;
    if (bits == desk.bits)
        desk.taken = false;
    hits.bits = others.bits;
    if (others.bits != NULL)
        hits = others;
    memcpy(&memo->word[kind->bits], &list, sizeof(struct list *));
    return kind_said(kind, memo, said);
}

enum bt_match acl_kind_ask(const struct acl_kind *kind, struct acl_memo *memo, struct bt_txn *txn,
                           struct acl_answer *answer)
{
    unsigned code = code_get(memo, kind->code);
    bool many = kind->n > ACL_MANY;
    enum bt_match said = code == CODE_YES ? BT_YES : BT_BROKEN;

    if (code == 0)
        said = many ? many_ask(kind, memo, txn) : few_ask(kind, memo, txn);
    if (many) {
        const struct list *list;
        memcpy(&list, &memo->word[kind->bits], sizeof(struct list *));
        *answer = (struct acl_answer){NULL, list->hit, list->n};
    } else {
        answer->bits = &memo->word[kind->bits];
    }
    return said;
}

/* ---- lists that cannot wait ---- */

static bool hurried;

bool bt_may_wait(void)
{
    return !hurried;
}

bool acl_hurry(bool on)
{
    bool was = hurried;

    hurried = on;
    return was;
}

enum bt_match acl_hurried(enum bt_match said, bool negated, bool denies)
{
    if (said == BT_BROKEN || said == BT_WAIT)
        return negated != denies ? BT_YES : BT_NO;
    return said;
}

/* ---- one ACL ---- */

static enum bt_match set_ask(const struct acl *acl, struct acl_memo *memo, struct bt_txn *txn)
{
    struct acl_answer answer;
    enum bt_match said = acl_kind_ask(acl->kind, memo, txn, &answer);

    if (acl_answer_has(&answer, acl->index)) /* sure, even while others are not */
        return BT_YES;
    return said == BT_YES ? BT_NO : said;
}

/* One of the lines is enough. */
static enum bt_match lines_ask(const struct acl *acl, struct bt_txn *txn)
{
    bool waits = false, broken = false;

    for (size_t i = 0; i < acl->lines; i++) {
        enum bt_match said = acl->type->row->match(acl->compiled[i], txn);
        if (said == BT_YES)
            return BT_YES;
        waits |= said == BT_WAIT;
        broken |= said != BT_NO && said != BT_WAIT;
    }
    return waits ? BT_WAIT : broken ? BT_BROKEN : BT_NO;
}

static enum bt_match one_ask(const struct acl *acl, struct acl_memo *memo, struct bt_txn *txn)
{
    static const enum bt_match means[] = {
        [CODE_NO] = BT_NO, [CODE_YES] = BT_YES, [CODE_BROKEN] = BT_BROKEN};
    unsigned code = code_get(memo, acl->code);

    if (code != 0)
        return means[code];
    enum bt_match said = lines_ask(acl, txn);
    memo->knows_login |= acl->login && (said == BT_YES || said == BT_NO);
    if (said == BT_WAIT || (acl->type->row->flags & BT_FRESH) != 0)
        return said;
    if (said != BT_YES && said != BT_NO && hurried) /* it might be told later */
        return said;
    code_set(memo, acl->code, said == BT_YES ? CODE_YES : said == BT_NO ? CODE_NO : CODE_BROKEN);
    return said;
}

enum bt_match acl_ask(const struct acl *acl, struct acl_memo *memo, struct bt_txn *txn)
{
    memo->last = acl;
    switch (acl->how) {
    case HOW_SET:
        return set_ask(acl, memo, txn);
    case HOW_ALL:
        return BT_YES;
    case HOW_ONE:
        return one_ask(acl, memo, txn);
    case HOW_NEVER:
    case HOW_BAD:
        break;
    }
    return BT_NO;
}

/* What a list was decided by without a walk is only walked when somebody wants to know. */
static const struct acl *last_of(struct bt_txn *txn)
{
    struct acl_memo *memo = *acl_memo_place(txn);

    if (memo == NULL)
        return NULL;
    if (memo->decided != NULL)
        rules_look_again(memo->decided, memo, txn);
    memo->decided = NULL;
    return memo->last;
}

bool acl_last_is_login(struct bt_txn *txn)
{
    const struct acl *last = last_of(txn);

    return last != NULL && last->login;
}

bt_str acl_last(struct bt_txn *txn)
{
    const struct acl *last = last_of(txn);

    return last == NULL ? BT_STR_NONE : last->name.text;
}

void acl_forget(struct bt_txn *txn)
{
    /* The arena takes a new one when somebody asks; a rewritten request is rare. */
    *acl_memo_place(txn) = NULL;
}
