/* limits.c - how large bodies may be, how fast they must come, how many connections a client has.
 *
 * Connections of a client are counted in a table that all workers share: a slot for each address
 * that has any, with a count of its own for each worker, so that every number has one writer and
 * those of a worker that died are cleared by the next one in its place. A slot whose counts are all
 * zero is free for another address; tag_take() tells why two workers cannot mix two up.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/limits.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "base/addr.h"
#include "base/check.h"
#include "base/str.h"
#include "base/table.h"
#include "bt_log.h"
#include "plug/rules.h"
#include "stat/counts.h"

enum {
    FEED_BYTES = 64 * 1024, /* of a request's body, at least, in each request_timeout */
    SLOTS = 64 * 1024,      /* addresses with connections, at most */
    WINDOW = 16             /* slots that one address may have */
};

/* ---- bodies of requests ---- */

static bool over(int64_t bytes)
{
    return core->request_body_max.bytes > 0 && bytes > core->request_body_max.bytes;
}

bool limits_request_too_big(const struct bt_txn *txn)
{
    if (!over(txn->req.content_length))
        return false;
    count(request_body_large);
    return true;
}

bool limits_upload_fits(struct bt_txn *txn)
{
    if (!over((int64_t)txn->upload.received))
        return true;
    count(request_body_large);
    txn->keep_client = txn->keep_origin = false;
    if (!txn->head_sent) {
        (void)txn_refuse(txn, 413, "ERR_TOO_BIG", "the request's body is larger than it may be");
        return false;
    }
    txn->client->cut(txn);
    txn->ended = END_CLIENT_GONE;
    txn->step = STEP_finish;
    return false;
}

/* ---- bodies of answers ---- */

bool limits_reply_set(void *conf_, const struct bt_line *line, struct bt_error *err)
{
    struct core_conf *conf = conf_;

    (void)err;
    bt_rules_add(&conf->reply_body_max, line, 0);
    return true;
}

bool limits_reply_fits(struct bt_txn *txn, bool body)
{
    struct bt_ruling ruling;
    int64_t max = 0;

    txn->download_max = -1;
    if (core->reply_body_max == NULL || !body)
        return true;
    ruling = bt_rules_run(core->reply_body_max, txn);
    if (ruling.match == BT_NO)
        return true;
    /* A list that cannot be evaluated denies: no byte may pass. */
    if (ruling.match == BT_YES &&
        (!str_int(ruling.line->args.word[0].text, -1, INT64_MAX, &max) || max <= 0))
        return true;
    txn->download_max = max;
    if (txn->rep.content_length <= max)
        return true;
    count(reply_body_large);
    txn->keep_origin = false;
    txn->tag = "TCP_DENIED_REPLY";
    (void)txn_refuse(txn, 403, "ERR_TOO_BIG", "the answer's body is larger than it may be");
    return false;
}

bool limits_reply_cut(struct bt_txn *txn, bt_str *slice, int *n)
{
    int64_t room;

    if (txn->download_max < 0 || txn->bytes.body_in <= txn->download_max)
        return false;
    room = txn->download_max;
    for (int i = 0; i < *n; i++)
        txn->bytes.body_in -= (int64_t)slice[i].len;
    room -= txn->bytes.body_in;
    for (int i = 0; i < *n; i++) {
        if ((int64_t)slice[i].len > room)
            slice[i].len = (size_t)room;
        room -= (int64_t)slice[i].len;
        txn->bytes.body_in += (int64_t)slice[i].len;
        if (slice[i].len == 0)
            *n = i;
    }
    count(reply_body_large);
    return true;
}

/* ---- slow bodies ---- */

static struct timeout_class feeding;

static void feeding_expired(struct timeout *timeout)
{
    struct session *s = LIST_OF(timeout, struct session, timeout);
    struct bt_txn *txn = s->txn;

    if (txn == NULL || txn->upload_over || txn->head_sent || txn->origin == NULL)
        return;
    /* Not the client's fault when the origin takes nothing. */
    if (stream_pending(&txn->origin->stream) > 0 || txn->bytes.request - txn->fed >= FEED_BYTES) {
        txn->fed = txn->bytes.request;
        timeout_set(&feeding, timeout);
        return;
    }
    count(body_timeouts);
    (void)txn_refuse(txn, 408, "ERR_LIFETIME_EXP", "the request's body came too slowly");
    txn_run(txn);
}

void limits_feed(struct bt_txn *txn)
{
    struct timeout *timeout = &txn->session->timeout;

    if (txn->head_sent || (timeout_is_set(timeout) && timeout->cls == &feeding))
        return;
    txn->fed = txn->bytes.request;
    timeout_set(&feeding, timeout);
}

/* ---- connections of a client ---- */

static struct {
    unsigned workers;
    _Atomic uint64_t *tag;   /* what address a slot is for, hashed with a secret key; 0: none */
    _Atomic uint32_t *count; /* SLOTS times `workers` */
} crowd;

static bool wanted;

void limits_count_connections(void)
{
    wanted = true;
}

bool limits_share(unsigned workers)
{
    size_t size = SLOTS * (sizeof *crowd.tag + workers * sizeof *crowd.count);
    char *at;

    if (core->client_ip_max < 0 && !wanted)
        return true;
    at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return false;
    crowd.workers = workers;
    crowd.tag = (void *)at;
    crowd.count = (void *)(at + SLOTS * sizeof *crowd.tag);
    (void)table_hash(BT_STR("")); /* draws the key, which all workers must share */
    return true;
}

static unsigned row(void)
{
    return check_worker > 0 && check_worker <= crowd.workers ? check_worker - 1 : 0;
}

static _Atomic uint32_t *mine(uint32_t slot)
{
    return &crowd.count[(size_t)slot * crowd.workers + row()];
}

static uint64_t sum(uint32_t slot)
{
    uint64_t n = 0;

    for (unsigned w = 0; w < crowd.workers; w++)
        n += crowd.count[(size_t)slot * crowd.workers + w];
    return n;
}

static uint64_t tag_of(const struct session *s)
{
    uint64_t tag;

    if (s->peer.any.sa_family == AF_INET6)
        tag = table_hash((bt_str){(const char *)&s->peer.v6.sin6_addr, 16});
    else
        tag = table_hash((bt_str){(const char *)&s->peer.v4.sin_addr, 4});
    return tag != 0 ? tag : 1;
}

/* Be counted in a slot, which is of that tag or of nobody. false: it is not to be had.
 *
 * Everyone counts first and looks at the tag then, and who takes an empty slot over writes the tag
 * first and looks at the counts then; so of two who do both at once at least one sees the other, and
 * steps back. (The operations are sequentially consistent.) */
static bool tag_take(uint32_t slot, uint64_t tag)
{
    uint64_t was = crowd.tag[slot];

    if (was == tag) {
        ++*mine(slot);
        if (crowd.tag[slot] == tag)
            return true;
        --*mine(slot);
        return false;
    }
    if (sum(slot) != 0)
        return false;
    if (!atomic_compare_exchange_strong(&crowd.tag[slot], &was, tag))
        return was == tag && tag_take(slot, tag); /* another worker, for the same address */
    if (sum(slot) != 0) {
        uint64_t now = tag;
        atomic_compare_exchange_strong(&crowd.tag[slot], &now, was);
        return false;
    }
    ++*mine(slot);
    return true;
}

/* The slot of that tag, with one more counted; SLOTS: there is no room for another address. */
static uint32_t slot_take(uint64_t tag)
{
    uint32_t first = (uint32_t)(tag >> 32) % SLOTS;

    for (uint32_t i = 0; i < WINDOW; i++) {
        uint32_t slot = (first + i) % SLOTS;
        if (crowd.tag[slot] == tag && tag_take(slot, tag))
            return slot;
    }
    for (uint32_t i = 0; i < WINDOW; i++) {
        uint32_t slot = (first + i) % SLOTS;
        if (tag_take(slot, tag))
            return slot;
    }
    return SLOTS;
}

bool limits_enter(struct session *s)
{
    char addr[ADDR_TEXT];
    uint32_t slot;

    if (crowd.tag == NULL)
        return true;
    slot = slot_take(tag_of(s));
    if (slot == SLOTS)
        return true; /* tens of thousands of addresses: another limit is for that */
    if (core->client_ip_max < 0 || sum(slot) <= (uint64_t)core->client_ip_max) {
        s->crowd = slot + 1;
        return true;
    }
    --*mine(slot);
    count(client_ip_refused);
    addr_print_sockaddr(&s->peer.any, addr);
    bt_log_limited(NULL, BT_WARN, 30,
                   "client_ip_max_connections: %s has %lld connections already, more are closed",
                   addr, (long long)core->client_ip_max);
    return false;
}

void limits_leave(struct session *s)
{
    if (s->crowd == 0)
        return;
    --*mine(s->crowd - 1);
    s->crowd = 0;
}

int64_t limits_connections(const struct session *s)
{
    return s->crowd == 0 ? 0 : (int64_t)sum(s->crowd - 1);
}

void limits_start(void)
{
    timeout_class_init(&feeding, core->request_timeout, feeding_expired);
    /* Whoever had this row before left without good-bye. */
    for (uint32_t slot = 0; crowd.tag != NULL && slot < SLOTS; slot++)
        *mine(slot) = 0;
}
