/* acl_answers.h - answers of helpers about external ACLs, as exchanges have and as workers share them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ACL_ANSWERS_H
#define ACL_ANSWERS_H

#include <stdlib.h>
#include <string.h>

#include "bt.h"

/* In an exchange's arena. */
struct answer {
    enum bt_match match;
    size_t n;
    struct bt_helper_pair pair[];
};

/* As it is remembered: this, and then pairs, each of two lengths and two texts. */
struct stored {
    int64_t again_ms; /* bt_wall_ms(): from then on it is asked again, ahead of time */
    int32_t match;    /* enum bt_match */
    uint32_t n;
};

struct answer_times {
    int64_t ttl_ms, grace;
};

static inline size_t answer_size(const struct bt_helper_reply *reply)
{
    size_t size = sizeof(struct answer) + reply->n * sizeof(struct bt_helper_pair);

    for (size_t i = 0; i < reply->n; i++)
        size += reply->pair[i].key.len + reply->pair[i].value.len;
    return size;
}

static inline bt_str put(char **at, bt_str text)
{
    bt_str copy = {*at, text.len};

    if (text.len > 0)
        memcpy(*at, text.at, text.len);
    *at += text.len;
    return copy;
}

/* Pairs and their text are copied behind it. */
static inline void answer_fill(struct answer *answer, const struct bt_helper_pair *pair, size_t n)
{
    char *text = (char *)&answer->pair[n];

    answer->n = n;
    for (size_t i = 0; i < n; i++) {
        answer->pair[i].key = put(&text, pair[i].key);
        answer->pair[i].value = put(&text, pair[i].value);
    }
}

static inline const struct answer *answer_copy(struct bt_arena *arena, enum bt_match match,
                                               const struct bt_helper_reply *reply)
{
    struct answer *copy = bt_alloc(arena, answer_size(reply));

    copy->match = match;
    answer_fill(copy, reply->pair, reply->n);
    return copy;
}

static inline size_t stored_size(const struct bt_helper_reply *reply)
{
    size_t size = sizeof(struct stored);

    for (size_t i = 0; i < reply->n; i++)
        size += 2 * sizeof(uint32_t) + reply->pair[i].key.len + reply->pair[i].value.len;
    return size;
}

static inline void put_pair(char **at, const struct bt_helper_pair *pair)
{
    uint32_t lens[2] = {(uint32_t)pair->key.len, (uint32_t)pair->value.len};

    memcpy(*at, lens, sizeof lens);
    *at += sizeof lens;
    (void)put(at, pair->key);
    (void)put(at, pair->value);
}

/* `ttl` milliseconds from now on; asked again when `grace` percent of that are left. */
static inline void answer_remember(struct bt_dict *answers, bt_str line, enum bt_match match,
                                   const struct bt_helper_reply *reply,
                                   const struct answer_times *times)
{
    int64_t now = bt_wall_ms(), ttl = times->ttl_ms;
    struct stored head = {.again_ms = now +
                                      (times->grace > 0 ? ttl / 100 * (100 - times->grace) : ttl),
                          .match = (int32_t)match,
                          .n = (uint32_t)reply->n};
    size_t size = stored_size(reply);
    char *value = malloc(size), *at = value + sizeof head;

    if (value == NULL)
        return;
    memcpy(value, &head, sizeof head);
    for (size_t i = 0; i < reply->n; i++)
        put_pair(&at, &reply->pair[i]);
    (void)bt_dict_put(answers, line, (bt_str){value, size}, (bt_duration){ttl});
    free(value);
}

/* What is remembered, in the exchange's arena; NULL: nothing is. */
static inline const struct answer *answer_recall(struct bt_dict *answers, bt_str line,
                                                 struct bt_arena *arena, struct stored *head)
{
    bt_str value = bt_dict_copy(answers, line, arena);
    uint32_t lens[2];

    if (value.len < sizeof *head)
        return NULL;
    memcpy(head, value.at, sizeof *head);
    struct answer *answer = bt_alloc(arena, sizeof *answer + head->n * sizeof *answer->pair);
    const char *at = value.at + sizeof *head;
    answer->match = (enum bt_match)head->match;
    answer->n = head->n;
    for (size_t i = 0; i < head->n; i++) {
        memcpy(lens, at, sizeof lens);
        at += sizeof lens;
        answer->pair[i].key = (bt_str){at, lens[0]};
        answer->pair[i].value = (bt_str){at + lens[0], lens[1]};
        at += lens[0] + lens[1];
    }
    return answer;
}

static inline enum bt_dict_done answer_again_later(void *when, struct bt_dict_entry *entry)
{
    struct stored *head = entry->at;

    if (!entry->there || entry->len < sizeof *head)
        return BT_DICT_LEAVE;
    head->again_ms = *(const int64_t *)when;
    return BT_DICT_STORE;
}

/* So much that `cache` answers of common length find room. Few of them are in one stripe, so that
 * their number is kept to exactly. Memory is taken only as it is used. */
static inline uint64_t answers_memory(int64_t answers)
{
    enum { FEW = 1000, EACH = 384, FOR_FEW = 511 * 1024, LEAST = 4 << 20, MOST = 256 << 20 };
    int64_t bytes = answers < MOST / EACH ? answers * EACH : MOST;

    return answers <= FEW ? FOR_FEW : bytes < LEAST ? LEAST : (uint64_t)bytes;
}

#endif
