/* rules_index.c - a list of rules compiled: built in the master, searched by the workers.
 *
 * A search looks at the first line that may hold: its terms in order of cost, and of those that cost
 * alike the one that leaves fewest lines. The first few failures are cheaper than any intersection;
 * then the kinds that have been asked by now are intersected, and the search goes on with what is
 * left. So a kind is asked only for a line that all the others leave, at most once, and its lines
 * are only gone through when that pays.
 *
 * A line does not hold when one of its terms does not, whatever the others would say: one that is
 * broken, or waits, counts only when the rest of its line holds.
 *
 * Lines with a term that has a side effect are walked by rules.c as they are written. Only their
 * terms before it can rule them out here.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "plug/rules_index.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "bt_sets.h"
#include "bt_txn.h"

/* Lines, as bits: `top` has a bit for each word that is not 0; others need not be filled. */
struct lines {
    uint64_t *top, *word;
};
struct term {
    uint32_t bit; /* of its kind; ALONE: its place in alone[] */
    uint8_t dim;
    bool negated, slow;
};
enum { ALONE = RULES_DIMS };

/* Lines that name an ACL: numbers in the pool of the dimension, or a set when there are many. */
struct post {
    uint32_t from;
    uint32_t n; /* MANY: `from` is the number of a set */
};
#define MANY UINT32_MAX
#define LINE (UINT32_C(1) << 31)
struct slot {
    struct post with, without; /* that name it, that name it negated */
};
struct dim {
    const struct acl_kind *kind;
    uint32_t size; /* ACLs of the kind */
    uint32_t slots;
    uint32_t *bit;  /* of each slot */
    uint32_t *slot; /* of each bit, + 1, or LINE + line when it leads to that one alone; NULL: there
                       are few slots, go through them */
    struct slot *of;
    uint32_t *pool;
    uint64_t **many;
    struct lines free; /* lines that none of its ACLs must match for */
    uint32_t n_free;
    bool is_free_mostly, has_negated;
    unsigned price; /* failures after which intersecting pays */
};
enum { LINE_FAST = 1, LINE_FRESH = 2, LINE_DENIES = 4, LINE_TERMS = 3 };

/* All of a line that a search needs, in one place of memory: most lines have few terms. */
struct line {
    uint32_t n;
    uint8_t flags;
    union {
        struct term term[LINE_TERMS];
        uint32_t from; /* there are more: where in index->term they begin */
    };
};
_Static_assert(sizeof(struct line) == 32, "two to a cache line");
struct rules_index {
    uint32_t n, words, tops, slots;
    unsigned n_dims, due;
    struct dim dim[RULES_DIMS];
    struct line *line;
    struct term *term; /* of long lines */
    const struct acl **alone;
    struct lines alive; /* lines that can hold at all */
    size_t memory;
};

/* ---- sets of lines ---- */

static inline void line_set(struct lines *lines, uint32_t line)
{
    uint32_t w = line / 64;

    if (!bt_bit_get(lines->top, w)) {
        bt_bit_set(lines->top, w);
        lines->word[w] = 0;
    }
    bt_bit_set(&lines->word[w], line % 64);
}

/* A word that is not 0, from `from` on, or one of the 32 before it. Most are 0, and there may be
 * thousands. */
static inline uint32_t word_next(const uint64_t *bits, uint32_t words, uint32_t from)
{
    typedef uint64_t two __attribute__((vector_size(16), aligned(8), may_alias));

    for (; from + 32 <= words && bits[from] == 0; from += 32) {
        const two *at = (const two *)&bits[from];
        two some = (at[0] | at[1] | at[2] | at[3]) | (at[4] | at[5] | at[6] | at[7]);
        two more = (at[8] | at[9] | at[10] | at[11]) | (at[12] | at[13] | at[14] | at[15]);
        some |= more;
        if ((some[0] | some[1]) != 0)
            break;
    }
    return from;
}

/* The first bit from `from` on; `n` bits; UINT32_MAX: none. */
static inline uint32_t bit_next(const uint64_t *bits, uint32_t n, uint32_t from)
{
    uint32_t w = from / 64, words = (n + 63) / 64;

    if (from >= n)
        return UINT32_MAX;
    uint64_t word = bits[w] & ~UINT64_C(0) << from % 64;
    while (word == 0) {
        w = word_next(bits, words, w + 1);
        if (w >= words)
            return UINT32_MAX;
        word = bits[w];
    }
    return w * 64 + (uint32_t)__builtin_ctzll(word);
}

static inline uint32_t line_next(const struct lines *lines, uint32_t words, uint32_t from)
{
    uint32_t w = from / 64;

    if (w < words && bt_bit_get(lines->top, w)) {
        uint64_t word = lines->word[w] & ~UINT64_C(0) << from % 64;
        if (word != 0)
            return w * 64 + (uint32_t)__builtin_ctzll(word);
    }
    w = bit_next(lines->top, words, w + 1);
    return w == UINT32_MAX ? w : w * 64 + (uint32_t)__builtin_ctzll(lines->word[w]);
}

/* ---- building ---- */

struct use {
    uint32_t line, bit;
    uint8_t dim;
    bool negated, chosen;
};
struct build {
    struct bt_arena *arena;
    struct rules_index *index;
    const struct rules_index_line *line;
    bool in_order;
    struct use *use;
    size_t uses, terms, alones;
};

static void *keep(struct build *build, size_t n)
{
    build->index->memory += n;
    return bt_alloc(build->arena, n);
}

static struct lines lines_new(struct build *build)
{
    const struct rules_index *index = build->index;
    uint64_t *at = keep(build, (index->tops + index->words) * sizeof *at);

    return (struct lines){at, at + index->tops};
}

/* The dimension of a kind; ALONE when there are too many. */
static uint8_t dim_of(struct build *build, const struct acl_kind *kind)
{
    struct rules_index *index = build->index;

    for (unsigned i = 0; i < index->n_dims; i++)
        if (index->dim[i].kind == kind)
            return (uint8_t)i;
    if (index->n_dims == RULES_DIMS)
        return ALONE;
    index->dim[index->n_dims] = (struct dim){.kind = kind, .size = (uint32_t)acl_kind_size(kind)};
    return (uint8_t)index->n_dims++;
}

/* One line into uses and flags. false: it can never hold. */
static bool line_read(struct build *build, uint32_t number)
{
    const struct rules_index_line *line = &build->line[number];
    uint8_t *flags = &build->index->line[number].flags;

    *flags = (uint8_t)((line->fast ? LINE_FAST : 0) | (line->denies ? LINE_DENIES : 0));
    for (uint32_t i = 0; i < line->n; i++) {
        const struct rules_index_term *term = &line->term[i];
        struct acl_form form = acl_form(term->acl);
        if (acl_is_fresh(term->acl) || (build->in_order && acl_is_login(term->acl))) {
            *flags |= LINE_FRESH;
            return true;
        }
        if (form.answers == (term->negated ? ACL_ALWAYS : ACL_NEVER))
            return false;
        if (form.answers != ACL_TOGETHER)
            continue;
        uint8_t dim = dim_of(build, form.kind);
        if (dim != ALONE)
            build->use[build->uses++] = (struct use){number, form.bit, dim, term->negated, false};
    }
    return true;
}

static bool uses_have(const struct use *from, const struct use *to, uint8_t dim)
{
    for (; from < to; from++)
        if (from->dim == dim && !from->negated)
            return true;
    return false;
}

/* Of the ACLs of one kind that a line names, the one that fewest lines name leads to it. */
static void uses_choose(struct build *build)
{
    uint32_t *count[RULES_DIMS];
    struct rules_index *index = build->index;

    for (unsigned i = 0; i < index->n_dims; i++) {
        count[i] = calloc(index->dim[i].size + 1, sizeof **count);
        CHECK(count[i] != NULL);
    }
    for (size_t i = 0; i < build->uses; i++)
        if (!build->use[i].negated)
            count[build->use[i].dim][build->use[i].bit]++;
    for (struct use *use = build->use, *line = use; use < build->use + build->uses; use++) {
        struct use *best = use;
        if (use->line != line->line)
            line = use;
        if (use->negated || uses_have(line, use, use->dim))
            continue;
        for (struct use *at = use; at < build->use + build->uses && at->line == use->line; at++)
            if (at->dim == use->dim && !at->negated &&
                count[at->dim][at->bit] < count[best->dim][best->bit])
                best = at;
        best->chosen = true;
    }
    for (unsigned i = 0; i < index->n_dims; i++)
        free(count[i]);
}

/* Is it of use to the index? */
static bool use_counts(const struct use *use, unsigned dim)
{
    return use->dim == dim && (use->negated || use->chosen);
}

/* A slot for each ACL that is named, in order of bits. */
static void slots_make(struct build *build, unsigned number)
{
    struct dim *dim = &build->index->dim[number];
    uint32_t *slot = calloc(dim->size + 1, sizeof *slot), next = 0;

    CHECK(slot != NULL);
    for (size_t i = 0; i < build->uses; i++)
        if (use_counts(&build->use[i], number) && slot[build->use[i].bit]++ == 0)
            dim->slots++;
    if (dim->slots > build->index->slots)
        build->index->slots = dim->slots;
    dim->bit = keep(build, dim->slots * sizeof *dim->bit);
    dim->of = keep(build, dim->slots * sizeof *dim->of);
    for (uint32_t bit = 0; bit < dim->size; bit++)
        if (slot[bit] != 0) {
            dim->bit[next] = bit;
            slot[bit] = ++next;
        }
    /* Four bytes an ACL of the kind, or a test of each that is named: whatever is less. */
    if (dim->slots > BT_BITS_WORDS(dim->size) * 2) {
        dim->slot = keep(build, dim->size * sizeof *slot);
        memcpy(dim->slot, slot, dim->size * sizeof *slot);
    }
    for (size_t i = 0; i < build->uses; i++)
        if (use_counts(&build->use[i], number)) {
            struct slot *of = &dim->of[slot[build->use[i].bit] - 1];
            dim->has_negated |= build->use[i].negated;
            (build->use[i].negated ? &of->without : &of->with)->n++;
        }
    for (size_t i = 0; i < build->uses; i++) /* from bits to slots */
        if (use_counts(&build->use[i], number))
            build->use[i].bit = slot[build->use[i].bit] - 1;
    free(slot);
}

/* Where each list begins, and which are sets. */
static void posts_lay_out(struct build *build, struct dim *dim)
{
    uint32_t at = 0, many = 0;

    for (uint32_t i = 0; i < dim->slots * 2; i++) {
        struct slot *slot = &dim->of[i / 2];
        struct post *post = i % 2 == 0 ? &slot->with : &slot->without;
        if (post->n > build->index->n / 32 && post->n > 4) {
            *post = (struct post){many++, MANY};
        } else {
            post->from = at;
            at += post->n;
            post->n = 0;
        }
    }
    dim->pool = keep(build, at * sizeof *dim->pool);
    dim->many = keep(build, many * sizeof *dim->many);
    for (uint32_t i = 0; i < many; i++)
        dim->many[i] = keep(build, build->index->words * sizeof **dim->many);
}

static void posts_fill(struct build *build, unsigned number)
{
    struct dim *dim = &build->index->dim[number];

    for (size_t i = 0; i < build->uses; i++) {
        const struct use *use = &build->use[i];
        if (!use_counts(use, number))
            continue;
        struct slot *slot = &dim->of[use->bit];
        struct post *post = use->negated ? &slot->without : &slot->with;
        if (post->n == MANY)
            bt_bit_set(dim->many[post->from], use->line);
        else
            dim->pool[post->from + post->n++] = use->line;
    }
}

/* One place of memory less to look at where each client has its own rule. */
static void slots_shorten(struct dim *dim)
{
    for (uint32_t i = 0; dim->slot != NULL && i < dim->slots; i++)
        if (dim->of[i].with.n == 1 && dim->of[i].without.n == 0)
            dim->slot[dim->bit[i]] = LINE | dim->pool[dim->of[i].with.from];
}

static void free_lines(struct build *build, unsigned number)
{
    struct rules_index *index = build->index;
    struct dim *dim = &index->dim[number];
    uint64_t *bound = calloc(index->words + 1, sizeof *bound);
    uint32_t full = 0;

    CHECK(bound != NULL);
    for (size_t i = 0; i < build->uses; i++)
        if (use_counts(&build->use[i], number) && !build->use[i].negated)
            bt_bit_set(bound, build->use[i].line);
    dim->free = lines_new(build);
    for (uint32_t line = 0; line < index->n; line++)
        if (!bt_bit_get(bound, line) && bt_bit_get(index->alive.word, line)) {
            line_set(&dim->free, line);
            dim->n_free++;
        }
    free(bound);
    for (uint32_t w = 0; w < index->words; w++)
        full += bt_bit_get(dim->free.top, w);
    dim->is_free_mostly = full > index->words / 4;
    /* Looks at a line that cost as much: a word takes about a fifth of one, or a fiftieth when all
     * are copied, and to find the ACLs that matched a fifth for each that is tested. Not all of it is waited for, since a long list most often has its match further down. */
    dim->price = (unsigned)(3 + full / (dim->is_free_mostly ? 200 : 20) +
                            (dim->slot == NULL ? dim->slots / 20 : 0));
    if (dim->price < index->due)
        index->due = dim->price;
}

/* ---- terms, in the order in which a search asks ---- */

static uint64_t term_rank(const struct rules_index *index, const struct term *term,
                          const struct acl *acl)
{
    uint64_t cost = acl_cost(acl);

    if (term->slow && cost < 3)
        cost = 3;
    if (cost < 2) /* look-ups cost alike: what matters is what they leave */
        cost = 0;
    return cost << 32 | (term->dim == ALONE ? index->n : index->dim[term->dim].n_free);
}

static void line_terms(struct build *build, uint32_t number)
{
    struct rules_index *index = build->index;
    const struct rules_index_line *line = &build->line[number];
    struct line *to_line = &index->line[number];
    bool few = line->n <= LINE_TERMS;
    struct term *first = few ? to_line->term : &index->term[build->terms];
    uint64_t rank[line->n + 1];
    uint32_t n = 0;

    if (!few)
        to_line->from = (uint32_t)build->terms;
    if ((to_line->flags & LINE_FRESH) != 0 || !bt_bit_get(index->alive.word, number))
        return;
    for (uint32_t i = 0; i < line->n; i++) {
        const struct acl *acl = line->term[i].acl;
        struct acl_form form = acl_form(acl);
        struct term term = {form.bit, ALONE, line->term[i].negated, acl_is_slow(acl)};
        if (form.answers == ACL_TOGETHER)
            term.dim = dim_of(build, form.kind);
        else if (form.answers != ACL_ALONE)
            continue; /* always holds here */
        uint64_t its = term_rank(index, &term, acl);
        if (term.dim == ALONE) {
            term.bit = (uint32_t)build->alones;
            index->alone[build->alones++] = acl;
        }
        uint32_t to = n++;
        for (; to > 0 && rank[to - 1] > its; to--) {
            rank[to] = rank[to - 1];
            first[to] = first[to - 1];
        }
        rank[to] = its;
        first[to] = term;
    }
    to_line->n = n;
    /* It may have become short enough to be looked for in here. */
    if (!few && n <= LINE_TERMS)
        memcpy(to_line->term, first, n * sizeof *first);
    else if (!few)
        build->terms += n;
}

/* Those that are asked alone, or all; of long lines. */
static size_t terms_count(const struct build *build, uint32_t n, bool alone, bool all)
{
    size_t sum = 0;

    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; (all || build->line[i].n > LINE_TERMS) && k < build->line[i].n; k++)
            sum += !alone || acl_form(build->line[i].term[k].acl).answers == ACL_ALONE;
    return sum;
}

struct rules_index *rules_index_new(struct bt_arena *arena, const struct rules_index_line *line,
                                    uint32_t n, bool in_order)
{
    struct rules_index *index = bt_alloc(arena, sizeof *index);
    struct build build = {.arena = arena, .index = index, .line = line, .in_order = in_order};
    size_t terms = terms_count(&build, n, false, true);

    *index = (struct rules_index){.n = n,
                                  .words = (uint32_t)BT_BITS_WORDS(n),
                                  .tops = (uint32_t)BT_BITS_WORDS(BT_BITS_WORDS(n)),
                                  .due = UINT32_MAX,
                                  .memory = sizeof *index};
    build.use = malloc((terms + 1) * sizeof *build.use);
    CHECK(build.use != NULL && n < LINE);
    index->line = keep(&build, n * sizeof *index->line + 64);
    index->line = (struct line *)(void *)(((uintptr_t)index->line + 63) & ~(uintptr_t)63);
    index->alive = lines_new(&build);
    for (uint32_t i = 0; i < n; i++) {
        size_t uses = build.uses;
        if (line_read(&build, i))
            line_set(&index->alive, i);
        else
            build.uses = uses;
    }
    uses_choose(&build);
    for (unsigned i = 0; i < index->n_dims; i++) {
        slots_make(&build, i);
        posts_lay_out(&build, &index->dim[i]);
        posts_fill(&build, i);
        slots_shorten(&index->dim[i]);
        free_lines(&build, i);
    }
    free(build.use);
    index->term = keep(&build, terms_count(&build, n, false, false) * sizeof *index->term);
    /* Kinds that are too many to have a dimension are asked one by one, too. */
    size_t alone = index->n_dims == RULES_DIMS ? terms : terms_count(&build, n, true, true);
    index->alone = keep(&build, alone * sizeof(struct acl *));
    for (uint32_t i = 0; i < n; i++)
        line_terms(&build, i);
    return index;
}

size_t rules_index_memory(const struct rules_index *index)
{
    return index->memory;
}

/* ---- searching ---- */

enum { UNASKED, STANDS, PARTLY, BROKEN, APPLIED };

/* Two sets of lines, and the ACLs of a kind that matched, for one search at a time; a worker is one thread, but an ACL that is asked might
 * ask a list itself: that one takes its own from the exchange. */
static struct {
    uint64_t *at;
    size_t room;
    bool taken;
} desk;

static uint64_t *desk_take(struct rules_search *search)
{
    const struct rules_index *index = search->index;
    size_t want = 2 * (size_t)(index->tops + index->words) + index->slots / 2 + 1;

    if (desk.taken)
        return bt_alloc_raw(bt_txn_arena(search->txn), want * sizeof(uint64_t));
    if (desk.room < want) {
        free(desk.at);
        desk.at = malloc(want * sizeof *desk.at);
        CHECK(desk.at != NULL);
        desk.room = want;
    }
    search->shared = desk.taken = true;
    return desk.at;
}

void rules_search_init(struct rules_search *search, const struct rules_index *index,
                       struct acl_memo *memo, struct bt_txn *txn, uint32_t from)
{
    search->index = index;
    search->memo = memo;
    search->txn = txn;
    search->next = from;
    search->fails = 0;
    search->due = index->due;
    search->set = NULL;
    search->shared = false;
    memset(search->said, UNASKED, index->n_dims);
}

void rules_search_fini(struct rules_search *search)
{
    if (search->shared)
        desk.taken = false;
}

static struct lines set_lines(const struct rules_search *search)
{
    return (struct lines){search->set, search->set + search->index->tops};
}

/* For the words of a set that are not 0. */
#define WORDS_EACH(set, tops, w)                                                                   \
    for (uint32_t w##_top_ = 0, w = 0; w##_top_ < (tops); w##_top_++)                              \
        for (uint64_t w##_left_ = (set).top[w##_top_];                                             \
             w##_left_ != 0 && (w = w##_top_ * 64 + (uint32_t)__builtin_ctzll(w##_left_), true);   \
             w##_left_ &= w##_left_ - 1)

/* The slots of a dimension whose ACLs matched, and LINE + line. */
struct matched {
    uint32_t *slot, n;
};

static inline void matched_add(struct matched *matched, uint32_t slot)
{
    if (slot != 0)
        matched->slot[matched->n++] = (slot & LINE) != 0 ? slot : slot - 1;
}

static struct matched matched_find(const struct rules_search *search, const struct dim *dim,
                                   const struct acl_answer *answer)
{
    const struct rules_index *index = search->index;
    const uint64_t *bits = answer->bits;
    struct matched matched = {(uint32_t *)(void *)(search->set + 2 * (index->tops + index->words)),
                              0};

    if (dim->slot == NULL) {
        for (uint32_t i = 0; i < dim->slots; i++) {
            matched.slot[matched.n] = i;
            matched.n += acl_answer_has(answer, dim->bit[i]);
        }
        return matched;
    }
    for (uint32_t i = 0; bits == NULL && i < answer->n; i++)
        matched_add(&matched, dim->slot[answer->hit[i]]);
    if (bits == NULL)
        return matched;
    uint32_t words = (uint32_t)BT_BITS_WORDS(dim->size);
    for (uint32_t w = word_next(bits, words, 0); w < words; w = word_next(bits, words, w + 1))
        for (uint64_t left = bits[w]; left != 0; left &= left - 1) {
            matched_add(&matched, dim->slot[w * 64 + (uint32_t)__builtin_ctzll(left)]);
        }
    return matched;
}

/* All lines that the kind leaves, into the set. */
static void lines_begin(const struct rules_search *search, const struct dim *dim,
                        struct matched matched, struct lines set)
{
    const struct rules_index *index = search->index;

    memcpy(set.top, dim->free.top, index->tops * sizeof *set.top);
    if (dim->is_free_mostly)
        memcpy(set.word, dim->free.word, index->words * sizeof *set.word);
    else
        WORDS_EACH(dim->free, index->tops, w)
    set.word[w] = dim->free.word[w];
    for (uint32_t h = 0; h < matched.n; h++) {
        if ((matched.slot[h] & LINE) != 0) {
            line_set(&set, matched.slot[h] & ~LINE);
            continue;
        }
        const struct post *post = &dim->of[matched.slot[h]].with;
        if (post->n != MANY) {
            for (uint32_t i = 0; i < post->n; i++)
                line_set(&set, dim->pool[post->from + i]);
            continue;
        }
        for (uint32_t w = 0; w < index->words; w++) {
            uint64_t more = dim->many[post->from][w];
            if (more != 0)
                set.word[w] = bt_bit_get(set.top, w) ? set.word[w] | more : more;
            if (more != 0)
                bt_bit_set(set.top, w);
        }
    }
}

static inline void word_and(struct lines set, uint32_t w, uint64_t with)
{
    set.word[w] &= with;
    if (set.word[w] == 0)
        set.top[w / 64] &= ~(UINT64_C(1) << w % 64);
}

/* What the set and the kind both leave. */
static void lines_and(const struct rules_search *search, const struct dim *dim,
                      struct matched matched, struct lines set)
{
    const struct rules_index *index = search->index;
    struct lines also = {set.word + index->words, set.word + index->words + index->tops};

    memset(also.top, 0, index->tops * sizeof *also.top);
    for (uint32_t h = 0; h < matched.n; h++) {
        if ((matched.slot[h] & LINE) != 0) {
            line_set(&also, matched.slot[h] & ~LINE);
            continue;
        }
        const struct post *post = &dim->of[matched.slot[h]].with;
        if (post->n != MANY)
            for (uint32_t i = 0; i < post->n; i++)
                line_set(&also, dim->pool[post->from + i]);
        else
            WORDS_EACH(set, index->tops, w)
            {
                uint64_t more = dim->many[post->from][w];
                also.word[w] = bt_bit_get(also.top, w) ? also.word[w] | more : more;
                bt_bit_set(also.top, w);
            }
    }
    WORDS_EACH(set, index->tops, w)
    {
        uint64_t left = bt_bit_get(dim->free.top, w) ? dim->free.word[w] : 0;
        word_and(set, w, bt_bit_get(also.top, w) ? left | also.word[w] : left);
    }
}

/* Without lines that name an ACL negated that matched. */
static void lines_less(const struct rules_search *search, const struct dim *dim,
                       struct matched matched, struct lines set)
{
    for (uint32_t h = 0; h < matched.n; h++) {
        if ((matched.slot[h] & LINE) != 0)
            continue;
        const struct post *post = &dim->of[matched.slot[h]].without;
        if (post->n != MANY) {
            for (uint32_t i = 0; i < post->n; i++) {
                uint32_t line = dim->pool[post->from + i];
                if (bt_bit_get(set.top, line / 64))
                    word_and(set, line / 64, ~(UINT64_C(1) << line % 64));
            }
        } else {
            WORDS_EACH(set, search->index->tops, w)
            word_and(set, w, ~dim->many[post->from][w]);
        }
    }
}

/* Intersect what the kinds that have been asked leave: of those that pay by now, the one that leaves
 * fewest first. */
static __attribute__((noinline)) void search_narrow(struct rules_search *search)
{
    const struct rules_index *index = search->index;

    for (;;) {
        const struct dim *best = NULL;
        for (unsigned i = 0; i < index->n_dims; i++)
            if (search->said[i] == STANDS && index->dim[i].price <= search->fails &&
                (best == NULL || index->dim[i].n_free < best->n_free))
                best = &index->dim[i];
        if (best == NULL)
            break;
        bool first = search->set == NULL;
        if (first)
            search->set = desk_take(search);
        struct matched matched = matched_find(search, best, &search->answer[best - index->dim]);
        if (first)
            lines_begin(search, best, matched, set_lines(search));
        else
            lines_and(search, best, matched, set_lines(search));
        if (best->has_negated)
            lines_less(search, best, matched, set_lines(search));
        search->said[best - index->dim] = APPLIED;
    }
    search->due = search->fails + index->due;
}

static enum bt_match dim_ask(struct rules_search *search, const struct term *term)
{
    uint8_t *said = &search->said[term->dim];

    if (*said == UNASKED)
        switch (acl_kind_ask(search->index->dim[term->dim].kind, search->memo, search->txn,
                             &search->answer[term->dim])) {
        case BT_YES:
        case BT_NO:
            *said = STANDS;
            break;
        case BT_WAIT:
            *said = PARTLY;
            break;
        case BT_BROKEN:
            *said = BROKEN;
            break;
        }
    if (acl_answer_has(&search->answer[term->dim], term->bit))
        return BT_YES;
    return *said == PARTLY ? BT_WAIT : *said == BROKEN ? BT_BROKEN : BT_NO;
}

/* Does the line hold? NO of one term is enough; what is dear and would wait is not even asked when
 * another one waits already. */
static enum bt_match search_line(struct rules_search *search, uint32_t line)
{
    const struct rules_index *index = search->index;
    const struct line *its = &index->line[line];
    const struct term *term = its->n <= LINE_TERMS ? its->term : &index->term[its->from];
    const struct term *end = term + its->n;
    enum bt_match is = BT_YES;

    for (; term < end; term++) {
        enum bt_match said;
        if (is == BT_WAIT && term->slow &&
            (term->dim == ALONE || search->said[term->dim] == UNASKED))
            continue;
        bool fast = (its->flags & LINE_FAST) != 0, was = acl_hurry(fast && term->slow);
        if (term->dim == ALONE)
            said = acl_ask(index->alone[term->bit], search->memo, search->txn);
        else
            said = dim_ask(search, term);
        acl_hurry(was);
        if (fast && (term->slow || said == BT_WAIT))
            said = acl_hurried(said, term->negated, (its->flags & LINE_DENIES) != 0);
        if (said == (term->negated ? BT_YES : BT_NO))
            return BT_NO;
        if (said == BT_WAIT)
            is = BT_WAIT;
        else if (said != BT_YES && said != BT_NO && is != BT_WAIT)
            is = BT_BROKEN;
    }
    return is;
}

struct rules_found rules_search_next(struct rules_search *search)
{
    const struct rules_index *index = search->index;

    for (;;) {
        struct lines left = search->set == NULL ? index->alive : set_lines(search);
        uint32_t line = line_next(&left, index->words, search->next);
        if (line == UINT32_MAX)
            return (struct rules_found){BT_NO, RULES_NO_LINE, false};
        search->next = line + 1;
        if ((index->line[line].flags & LINE_FRESH) != 0)
            return (struct rules_found){BT_YES, line, true};
        enum bt_match said = search_line(search, line);
        if (said != BT_NO)
            return (struct rules_found){said, line, false};
        if (++search->fails >= search->due)
            search_narrow(search);
    }
}
