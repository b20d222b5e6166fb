/* conditional.c - validators: entity tags and dates, on both sides (RFC 9110 13, 9111 4.3).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "conditional.h"

#include <string.h>

/* ---- entity tags ---- */

static bool is_weak(bt_str tag)
{
    return tag.len >= 2 && tag.at[0] == 'W' && tag.at[1] == '/';
}

static bt_str opaque(bt_str tag)
{
    return is_weak(tag) ? (bt_str){tag.at + 2, tag.len - 2} : tag;
}

bool etag_valid(bt_str tag)
{
    bt_str text = opaque(tag);

    if (text.len < 2 || text.at[0] != '"' || text.at[text.len - 1] != '"')
        return false;
    for (size_t i = 1; i < text.len - 1; i++)
        if ((unsigned char)text.at[i] <= ' ' || text.at[i] == '"' || text.at[i] == 0x7f)
            return false;
    return true;
}

bool etag_strong(bt_str a, bt_str b)
{
    return a.len > 0 && !is_weak(a) && !is_weak(b) && bt_str_eq(a, b);
}

bool etag_weak(bt_str a, bt_str b)
{
    return opaque(a).len > 0 && bt_str_eq(opaque(a), opaque(b));
}

/* The next tag of a list; what stands in quotation marks has no escapes here. A list that is broken
 * still has the tags that it has. */
static bool tag_next(bt_str *rest, bt_str *tag)
{
    const char *at = rest->at, *end = at + rest->len;

    while (at < end && (*at == ',' || *at == ' ' || *at == '\t'))
        at++;
    if (at == end)
        return false;
    tag->at = at;
    while (at < end && *at != ',') {
        const char *close = *at == '"' ? memchr(at + 1, '"', (size_t)(end - at) - 1) : NULL;

        at = close != NULL ? close + 1 : at + 1;
    }
    tag->len = (size_t)(at - tag->at);
    *rest = (bt_str){at, (size_t)(end - at)};
    *tag = fields_trim(*tag);
    return true;
}

/* Does any line of the field name this tag, or "*"? */
static bool lists(const struct fields *request, bt_str field, bt_str etag,
                  bool (*same)(bt_str, bt_str))
{
    bt_str line, tag;

    for (size_t n = 0; (line = fields_get(request, field, n)).at != NULL; n++) {
        if (bt_str_eq(fields_trim(line), BT_STR("*")))
            return true;
        while (tag_next(&line, &tag))
            if (same(tag, etag))
                return true;
    }
    return false;
}

/* ---- a stored response and its validators ---- */

void validators_read(struct validators *v, const struct fields *reply, int64_t now_ms)
{
    *v = (struct validators){BT_STR_NONE, BT_STR_NONE, -1, -1};
    v->etag = fields_get(reply, BT_STR("ETag"), 0);
    if (opaque(v->etag).len == 0)
        v->etag = BT_STR_NONE;
    v->last_modified = fields_get(reply, BT_STR("Last-Modified"), 0);
    if (!fields_date(v->last_modified, now_ms, &v->modified)) {
        v->last_modified = BT_STR_NONE;
        v->modified = -1;
    }
    if (!fields_date(fields_get(reply, BT_STR("Date"), 0), now_ms, &v->date))
        v->date = -1;
}

/* ---- the client's conditions ---- */

/* A date of the client against the stored response: -1: there is none that counts; else whether it
 * was not modified since. The century of two-digit years is that of the stored dates. */
static int unmodified_since(const struct fields *request, bt_str field, const struct validators *v)
{
    int64_t modified = v->last_modified.at != NULL ? v->modified : v->date, since;
    int64_t now_ms = (v->date > 0 ? v->date : 0) * 1000;
    bool known = v->last_modified.at != NULL || v->date >= 0;

    if (!known || !fields_date(fields_get(request, field, 0), now_ms, &since))
        return -1;
    return modified <= since;
}

enum condition condition_check(const struct fields *request, const struct validators *v, int status)
{
    if (status < 200 || status > 299)
        return CONDITION_NONE;
    if (fields_has(request, BT_STR("If-Match"))) {
        if (!lists(request, BT_STR("If-Match"), v->etag, etag_strong))
            return CONDITION_FAILED;
    } else if (v->last_modified.at != NULL &&
               unmodified_since(request, BT_STR("If-Unmodified-Since"), v) == 0) {
        return CONDITION_FAILED;
    }
    if (fields_has(request, BT_STR("If-None-Match")))
        return lists(request, BT_STR("If-None-Match"), v->etag, etag_weak) ? CONDITION_NOT_MODIFIED
                                                                           : CONDITION_NONE;
    return unmodified_since(request, BT_STR("If-Modified-Since"), v) == 1 ? CONDITION_NOT_MODIFIED
                                                                          : CONDITION_NONE;
}

bool condition_asked(const struct fields *request)
{
    return fields_has(request, BT_STR("If-None-Match")) ||
           fields_has(request, BT_STR("If-Modified-Since"));
}

bool condition_if_range(const struct fields *request, const struct validators *v)
{
    bt_str value = fields_trim(fields_get(request, BT_STR("If-Range"), 0));
    int64_t at;

    if (value.at == NULL)
        return true;
    if (value.len > 0 && (value.at[0] == '"' || is_weak(value)))
        return etag_valid(value) && v->etag.at != NULL && etag_strong(value, v->etag);
    if (v->last_modified.at == NULL || !fields_date(value, v->date > 0 ? v->date * 1000 : 0, &at))
        return false;
    /* A date is strong when the response was made later than that second (RFC 9110 8.8.2.2). */
    return at == v->modified && v->date > v->modified;
}

/* ---- validating with the origin ---- */

void validation_make(struct validation *out, const struct validators *v)
{
    out->if_none_match = v->etag;
    out->if_modified_since = v->last_modified;
}

bool validation_holds(const struct validators *stored, const struct fields *reply, int64_t now_ms)
{
    struct validators now;

    validators_read(&now, reply, now_ms);
    if (now.etag.at != NULL && stored->etag.at != NULL)
        return is_weak(now.etag) ? etag_weak(now.etag, stored->etag)
                                 : etag_strong(now.etag, stored->etag);
    /* A strong tag that nothing stored has; a weak one says nothing against dates. */
    if (now.etag.at != NULL && !is_weak(now.etag))
        return false;
    /* "Not modified since then", and of a later date: that contradicts itself. An older one does
     * not. */
    if (now.last_modified.at != NULL && stored->last_modified.at != NULL)
        return now.modified <= stored->modified;
    return true;
}

bool validation_head_agrees(const struct validators *stored, int64_t length,
                            const struct fields *reply)
{
    bt_str etag = fields_get(reply, BT_STR("ETag"), 0);
    bt_str modified = fields_get(reply, BT_STR("Last-Modified"), 0);
    bt_str told = fields_get(reply, BT_STR("Content-Length"), 0);
    int64_t n = 0;

    if (etag.at != NULL && (stored->etag.at == NULL || !bt_str_eq(etag, stored->etag)))
        return false;
    if (modified.at != NULL &&
        (stored->last_modified.at == NULL || !bt_str_eq(modified, stored->last_modified)))
        return false;
    for (size_t i = 0; i < told.len; i++) {
        if (told.at[i] < '0' || told.at[i] > '9' || n > length)
            return false;
        n = n * 10 + (told.at[i] - '0');
    }
    return told.len == 0 || n == length;
}

/* ---- heads ---- */

/* About the content, which stays the stored one (RFC 9111 3.2). */
static bool about_content(bt_str name)
{
    return bt_str_eq_nocase(name, BT_STR("Content-Encoding")) ||
           bt_str_eq_nocase(name, BT_STR("Content-Range"));
}

/* Does the 304 say anything that replaces stored fields of this name? */
static bool replaces(const struct headtext_store *from, bt_str name)
{
    if (bt_str_eq_nocase(name, BT_STR("Date")))
        return true;
    return !about_content(name) && headtext_keeps(from, name) && fields_has(from->reply, name);
}

bt_str validation_merge(struct bt_arena *arena, bt_str stored, const struct headtext_store *from)
{
    struct headtext_out out;
    struct headtext head;
    bt_str name, value;
    size_t place = 0;

    if (!headtext_open(&head, stored))
        return stored;
    headtext_begin(&out, arena, head.status, head.reason);
    if (!fields_has(from->reply, BT_STR("Date")))
        headtext_add_date(&out, from->received);
    while (headtext_next(&head, &place, &name, &value))
        if (!replaces(from, name) && headtext_keeps(from, name))
            headtext_add(&out, name, value);
    for (size_t i = 0; from->reply->at(from->reply->of, i, &name, &value); i++)
        if (!about_content(name) && headtext_keeps(from, name))
            headtext_add(&out, name, value);
    return headtext_end(&out);
}

static bool in_304(bt_str name, bool has_etag)
{
    static const bt_str names[] = {
        FIELDS_TEXT("Date"), FIELDS_TEXT("ETag"),    FIELDS_TEXT("Content-Location"),
        FIELDS_TEXT("Vary"), FIELDS_TEXT("Expires"), FIELDS_TEXT("Cache-Control"),
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (bt_str_eq_nocase(names[i], name))
            return true;
    return !has_etag && bt_str_eq_nocase(name, BT_STR("Last-Modified"));
}

bt_str condition_head_304(struct bt_arena *arena, bt_str stored)
{
    struct headtext_out out;
    struct headtext head;
    bt_str name, value;
    size_t place = 0;
    bool has_etag;

    headtext_begin(&out, arena, 304, BT_STR(""));
    if (!headtext_open(&head, stored))
        return headtext_end(&out);
    has_etag = headtext_get(&head, BT_STR("ETag"), 0).at != NULL;
    while (headtext_next(&head, &place, &name, &value))
        if (in_304(name, has_etag))
            headtext_add(&out, name, value);
    return headtext_end(&out);
}
