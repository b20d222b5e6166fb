/* regex.c - single patterns: translated from POSIX (regex_text.c), compiled and run by PCRE2.
 *
 * PCRE2 is compiled to machine code and has a step limit, which the C library's regexec() has not.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/check.h"
#include "base/regex_text.h"
#include "base/str.h"

struct regex {
    pcre2_code *code;
    bt_str literal;
    const struct bt_arena *shared; /* NULL: the code is ours alone */
    uint32_t number;               /* in there */
};

/* Of the patterns in a shared arena, this process's own code, once it was needed. There are as many
 * arenas at a time as there are generations of lists: two. */
static struct twins {
    const struct bt_arena *arena;
    pcre2_code **code;
    uint32_t n;
} twins[2];

enum {
    STEPS = 1000000, /* about 10 ms; honest patterns need some thousands */
    HEAP_KB = 8192,
    SURELY_SHORT = 8192,
    JIT_STACK = 512 * 1024
};

/* ---- compiling ---- */

static pcre2_code *compile(bt_str pattern, unsigned flags, struct regex_error *err)
{
    uint32_t options = PCRE2_DOTALL | PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_UTF | PCRE2_NEVER_UCP;
    pcre2_code *code;
    PCRE2_SIZE offset;
    int number;

    if ((flags & REGEX_NOCASE) != 0)
        options |= PCRE2_CASELESS;
    code = pcre2_compile((PCRE2_SPTR)pattern.at, pattern.len, options, &number, &offset, NULL);
    if (code == NULL) {
        err->offset = 0; /* its offset is one of our text, not of the user's */
        pcre2_get_error_message(number, (PCRE2_UCHAR *)err->text, sizeof(err->text));
        return NULL;
    }
    return code;
}

static void make_machine_code(pcre2_code *code)
{
    (void)pcre2_jit_compile(code, PCRE2_JIT_COMPLETE); /* without it, it is slower, not wrong */
}

/* ---- in a shared arena ---- */

/* Patterns are numbered as they come: what the first one says of the arena stands there. */
struct numbers {
    struct bt_arena *arena;
    uint32_t n;
};
static struct numbers *numbers; /* of the arena that this process fills */

/* Another generation of lists begins here, in this process. */
static void twins_begin(void *what)
{
    const struct numbers *its = what;
    struct twins *at = &twins[0];

    for (size_t i = 0; i < sizeof twins / sizeof *twins; i++)
        if (twins[i].arena == its->arena || (at->arena != its->arena && twins[i].arena == NULL))
            at = &twins[i];
    for (uint32_t i = 0; i < at->n; i++)
        pcre2_code_free(at->code[i]);
    free(at->code);
    *at = (struct twins){its->arena, calloc(its->n, sizeof(pcre2_code *)), its->n};
    CHECK(at->code != NULL);
}

/* Flat, and without pointers of its own but to tables that are part of the library. */
static void share(struct regex *regex, struct bt_arena *arena)
{
    size_t size = 0;

    if (numbers == NULL || numbers->arena != arena) {
        numbers = bt_alloc(arena, sizeof *numbers);
        numbers->arena = arena;
        arena_on_adopt(arena, twins_begin, numbers);
    }
    (void)pcre2_pattern_info(regex->code, PCRE2_INFO_SIZE, &size);
    pcre2_code *flat = bt_alloc_raw(arena, size);
    memcpy((void *)flat, (const void *)regex->code, size);
    pcre2_code_free(regex->code);
    regex->code = flat;
    regex->shared = arena;
    regex->number = numbers->n++;
}

static __attribute__((noinline)) const pcre2_code *twin_of(const struct regex *regex)
{
    for (size_t i = 0; i < sizeof twins / sizeof *twins; i++) {
        if (twins[i].arena != regex->shared || regex->number >= twins[i].n)
            continue;
        pcre2_code **twin = &twins[i].code[regex->number];
        if (*twin == NULL && (*twin = pcre2_code_copy(regex->code)) != NULL)
            make_machine_code(*twin);
        if (*twin != NULL)
            return *twin;
    }
    return regex->code;
}

static void regex_fini(void *what)
{
    struct regex *regex = what;

    pcre2_code_free(regex->code);
    regex->code = NULL;
}

/* On the heap the literal text follows the struct. */
static struct regex *regex_make(struct bt_arena *arena, bt_str text)
{
    size_t size = sizeof(struct regex) + text.len + 1;
    struct regex *regex = arena != NULL ? bt_alloc_raw(arena, size) : malloc(size);
    char *at;

    CHECK(regex != NULL);
    at = (char *)(regex + 1);
    memcpy(at, text.at, text.len);
    at[text.len] = '\0';
    regex->literal = (bt_str){at, text.len};
    regex->shared = NULL;
    regex->number = 0;
    return regex;
}

struct regex *regex_new(struct bt_arena *arena, bt_str pattern, unsigned flags,
                        struct regex_error *err)
{
    struct regex *regex = NULL;
    struct regex_text text;
    pcre2_code *code;

    if (!regex_text_init(&text, pattern, flags, err))
        return NULL;
    code = compile(text.text, flags, err);
    if (code != NULL) {
        (void)pcre2_jit_compile(code, PCRE2_JIT_COMPLETE); /* without it, it is slower, not wrong */
        regex = regex_make(arena, text.n_literals == 1 ? text.literal[0] : BT_STR(""));
        regex->code = code;
        if (arena != NULL && arena_is_shared(arena))
            share(regex, arena);
        else
            make_machine_code(code);
        if (arena != NULL)
            bt_defer(arena, regex_fini, regex);
    }
    regex_text_fini(&text);
    return regex;
}

/* A list may have a million patterns, and most of them are plain text, which PCRE2 would take: it
 * stops at about 64 KB. */
bool regex_fine(bt_str pattern, unsigned flags, struct regex_error *err)
{
    struct regex_text text;
    pcre2_code *code = NULL;
    bool fine;

    if (!regex_text_init(&text, pattern, flags, err))
        return false;
    fine = text.plain && pattern.len < SURELY_SHORT;
    if (!fine) {
        code = compile(text.text, flags, err);
        fine = code != NULL;
    }
    pcre2_code_free(code);
    regex_text_fini(&text);
    return fine;
}

void regex_free(struct regex *regex)
{
    if (regex == NULL)
        return;
    regex_fini(regex);
    free(regex);
}

bt_str regex_literal(const struct regex *regex)
{
    return regex->literal;
}

/* ---- matching ---- */

/* One set a process: a worker is one thread. */
static pcre2_match_data *match_data;
static pcre2_match_context *match_context;

static bool match_prepare(void)
{
    pcre2_jit_stack *stack;

    match_data = pcre2_match_data_create(REGEX_GROUPS, NULL);
    match_context = pcre2_match_context_create(NULL);
    stack = pcre2_jit_stack_create(32 * 1024, JIT_STACK, NULL);
    if (match_data == NULL || match_context == NULL)
        return false;
    pcre2_set_match_limit(match_context, STEPS);
    pcre2_set_heap_limit(match_context, HEAP_KB);
    if (stack != NULL)
        pcre2_jit_stack_assign(match_context, NULL, stack);
    return true;
}

enum bt_match regex_match(const struct regex *regex, bt_str text)
{
    int found;

    if (__builtin_expect(match_context == NULL, 0) && !match_prepare())
        return BT_BROKEN;
    const pcre2_code *code = regex->shared == NULL ? regex->code : twin_of(regex);
    found = pcre2_match(code, (PCRE2_SPTR)(text.at != NULL ? text.at : ""), text.len, 0, 0,
                        match_data, match_context);
    if (found >= 0)
        return BT_YES;
    return found == PCRE2_ERROR_NOMATCH ? BT_NO : BT_BROKEN;
}

enum bt_match regex_match_groups(const struct regex *regex, bt_str text, bt_str group[REGEX_GROUPS])
{
    enum bt_match match = regex_match(regex, text);
    const PCRE2_SIZE *place;
    uint32_t known;

    for (unsigned i = 0; i < REGEX_GROUPS; i++)
        group[i] = BT_STR_NONE;
    if (match != BT_YES)
        return match;
    place = pcre2_get_ovector_pointer(match_data);
    (void)pcre2_pattern_info(regex->code, PCRE2_INFO_CAPTURECOUNT, &known);
    for (unsigned i = 0; i < REGEX_GROUPS && i <= known; i++)
        if (place[2 * i] != PCRE2_UNSET)
            group[i] = str_slice(text, place[2 * i], place[2 * i + 1]);
    return match;
}
