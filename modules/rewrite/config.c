/* config.c - what the configuration says of rewriting: lines to struct, and what is made of it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <stdlib.h>
#include <string.h>

/* Words of a line from the first on; `none` alone is none. */
bool config_program(void *conf_, const struct bt_line *line, struct bt_error *err)
{
    static const struct bt_grammar command = {.args = "command"};
    struct rewrite_conf *conf = conf_;
    struct bt_fit fit;

    conf->program = (struct bt_args){NULL, 0};
    if (line->args.n == 1 && bt_str_eq(line->args.word[0].text, BT_STR("none")))
        return true;
    conf->program = line->args;
    return bt_fit(&command, line->args, &line->name, line->arena, err, &fit);
}

static int64_t number(const struct bt_word *word)
{
    return strtoll(word->text.at, NULL, 10);
}

bool config_children(void *conf_, const struct bt_line *line, struct bt_error *err)
{
    struct rewrite_conf *conf = conf_;

    (void)err;
    conf->most = number(&line->args.word[0]);
    conf->children = *(const struct children *)line->options;
    return true;
}

/* "NAME=" in front of a text: *value is what stands behind it up to a blank, or in quotation marks; the
 * text goes on behind that. */
static bool pair_cut(bt_str *text, const char *name, bt_str *value)
{
    size_t n = strlen(name), i = n;
    bool quoted;

    if (text->len < n || memcmp(text->at, name, n) != 0)
        return false;
    quoted = i < text->len && text->at[i] == '"';
    i += quoted;
    for (n = i; i < text->len && text->at[i] != (quoted ? '"' : ' ');)
        i += quoted && text->at[i] == '\\' && i + 1 < text->len ? 2 : 1;
    *value = (bt_str){text->at + n, i - n};
    i += quoted && i < text->len;
    while (i < text->len && (text->at[i] == ' ' || text->at[i] == '\t'))
        i++;
    *text = (bt_str){text->at + i, text->len - i};
    return true;
}

/* \" and \\ within quotation marks. */
static bt_str unescape(struct bt_arena *arena, bt_str text)
{
    bt_str copy = bt_str_copy(arena, text);
    char *out = (char *)(uintptr_t)copy.at;
    size_t n = 0;

    for (size_t i = 0; i < text.len; i++) {
        if (text.at[i] == '\\' && i + 1 < text.len)
            i++;
        out[n++] = text.at[i];
    }
    copy.len = n;
    return copy;
}

bool config_timeout(void *conf_, const struct bt_line *line, struct bt_error *err)
{
    static const char *const actions[] = {"fail", "bypass", "retry", "use_configured_response",
                                          NULL};
    struct rewrite_conf *conf = conf_;
    const struct bt_word *more = line->args.n > 1 ? &line->args.word[1] : NULL;
    bt_str text = more != NULL ? more->text : BT_STR(""), action = BT_STR("fail"), response = {0};
    size_t i = 0;

    while (text.len > 0)
        if (!pair_cut(&text, "on_timeout=", &action) && !pair_cut(&text, "response=", &response))
            return bt_complain(err, more, "on_timeout= or response= expected at '%.*s'",
                               BT_STR_ARGS(text));
    while (actions[i] != NULL && !bt_str_eq(action, (bt_str){actions[i], strlen(actions[i])}))
        i++;
    if (actions[i] == NULL)
        return bt_complain(err, more,
                           "fail, bypass, retry or use_configured_response expected, not '%.*s'",
                           BT_STR_ARGS(action));
    conf->timeout.ms = number(&line->args.word[0]);
    conf->on_timeout = (enum on_timeout)i;
    conf->response = unescape(line->arena, response);
    if ((conf->on_timeout == TIMEOUT_RESPONSE) != (response.len > 0))
        return bt_complain(err, more,
                           "response= and on_timeout=use_configured_response need each other");
    return true;
}

bool config_map(void *conf_, const struct bt_line *line, struct bt_error *err)
{
    struct rewrite_conf *conf = conf_;

    if (conf->map_path != NULL)
        return bt_complain(err, &line->name, "there is one map, and line %u names it",
                           (unsigned)conf->map_path->line);
    conf->map_path = &line->args.word[0];
    return true;
}

bool config_setup(void *conf_, struct bt_arena *arena, struct bt_error *err)
{
    struct rewrite_conf *conf = conf_;
    struct bt_helper_options options = {
        .name = "url_rewrite",
        .command = conf->program,
        .children = conf->most,
        .startup = conf->children.startup,
        .idle = conf->children.idle,
        .concurrency = conf->children.concurrency,
        .queue = conf->children.queue,
        .timeout = conf->timeout,
    };

    if (conf->map_path != NULL)
        conf->map = map_read(conf->map_path, arena, err);
    if (conf->map_path != NULL && conf->map == NULL)
        return false;
    if (conf->program.n == 0 || conf->most == 0)
        return true;
    conf->extras = bt_format_new(arena, NULL, conf->extras_text, err);
    conf->pool = bt_helper_new(arena, &options);
    return conf->extras != NULL;
}
