/* regex.c - single patterns: translated from POSIX (regex_text.c), compiled and run by PCRE2.
 *
 * PCRE2 is compiled to machine code and has a step limit, which the C library's regexec() has not.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/regex_text.h"
#include "base/str.h"

struct regex {
    pcre2_code *code;
    bt_str literal;
};

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
    found = pcre2_match(regex->code, (PCRE2_SPTR)(text.at != NULL ? text.at : ""), text.len, 0, 0,
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
