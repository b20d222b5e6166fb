/* tally.c - what an exchange was, counted: result, method, status, and how long that took.
 *
 * A result is a literal (bt_tag()), so that its place is remembered by its address: the text is
 * compared once for each.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/tally.h"

#include <string.h>

#include "base/str.h"
#include "stat/counts.h"

enum time_class { TIME_NONE, TIME_HIT, TIME_NEAR, TIME_UNMODIFIED, TIME_MISS, TIME_TUNNEL };

struct result {
    const char *tag;
    unsigned slot;
    enum time_class time;
};
static const struct result results[] = {
    {"TCP_HIT", COUNT_result_tcp_hit, TIME_HIT},
    {"TCP_MEM_HIT", COUNT_result_tcp_mem_hit, TIME_HIT},
    {"TCP_IMS_HIT", COUNT_result_tcp_ims_hit, TIME_UNMODIFIED},
    {"TCP_INM_HIT", COUNT_result_tcp_inm_hit, TIME_UNMODIFIED},
    {"TCP_NEGATIVE_HIT", COUNT_result_tcp_negative_hit, TIME_HIT},
    {"TCP_OFFLINE_HIT", COUNT_result_tcp_offline_hit, TIME_HIT},
    {"TCP_REFRESH_UNMODIFIED", COUNT_result_tcp_refresh_unmodified, TIME_NEAR},
    {"TCP_REFRESH_MODIFIED", COUNT_result_tcp_refresh_modified, TIME_MISS},
    {"TCP_REFRESH_FAIL_OLD", COUNT_result_tcp_refresh_fail_old, TIME_NEAR},
    {"TCP_REFRESH_FAIL_ERR", COUNT_result_tcp_refresh_fail_err, TIME_MISS},
    {"TCP_CLIENT_REFRESH_MISS", COUNT_result_tcp_client_refresh_miss, TIME_MISS},
    {"TCP_MISS", COUNT_result_tcp_miss, TIME_MISS},
    {"TCP_DENIED", COUNT_result_tcp_denied, TIME_NONE},
    {"TCP_DENIED_REPLY", COUNT_result_tcp_denied_reply, TIME_NONE},
    {"TCP_REDIRECT", COUNT_result_tcp_redirect, TIME_NONE},
    {"TCP_TUNNEL", COUNT_result_tcp_tunnel, TIME_TUNNEL},
    {"NONE", COUNT_result_none, TIME_NONE},
};
static const struct result other = {"", COUNT_result_other, TIME_NONE};

/* "TCP_CF_MISS" is a TCP_MISS that waited for another one's answer. */
static const struct result *result_search(const char *tag)
{
    bool collapsed = strncmp(tag, "TCP_CF_", 7) == 0;

    for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
        const char *name = results[i].tag;
        if (collapsed ? strncmp(name, "TCP_", 4) == 0 && strcmp(name + 4, tag + 7) == 0
                      : strcmp(name, tag) == 0)
            return &results[i];
    }
    return &other;
}

static const struct result *result_of(const char *tag)
{
    enum { PLACES = 64 };
    static struct {
        const char *tag;
        const struct result *result;
    } known[PLACES];
    size_t at = ((uintptr_t)tag >> 2) % PLACES;

    if (known[at].tag != tag) {
        known[at].tag = tag;
        known[at].result = result_search(tag);
    }
    return known[at].result;
}

static unsigned status_slot(int status)
{
    switch (status) {
    case 200:
        return COUNT_status_200;
    case 204:
        return COUNT_status_204;
    case 206:
        return COUNT_status_206;
    case 301:
        return COUNT_status_301;
    case 302:
        return COUNT_status_302;
    case 303:
        return COUNT_status_303;
    case 304:
        return COUNT_status_304;
    case 307:
        return COUNT_status_307;
    case 308:
        return COUNT_status_308;
    case 400:
        return COUNT_status_400;
    case 401:
        return COUNT_status_401;
    case 403:
        return COUNT_status_403;
    case 404:
        return COUNT_status_404;
    case 405:
        return COUNT_status_405;
    case 407:
        return COUNT_status_407;
    case 408:
        return COUNT_status_408;
    case 410:
        return COUNT_status_410;
    case 413:
        return COUNT_status_413;
    case 416:
        return COUNT_status_416;
    case 429:
        return COUNT_status_429;
    case 500:
        return COUNT_status_500;
    case 502:
        return COUNT_status_502;
    case 503:
        return COUNT_status_503;
    case 504:
        return COUNT_status_504;
    default:
        return COUNT_status_other;
    }
}

static unsigned method_slot(enum method method)
{
    static const unsigned slots[] = {
        [METHOD_GET] = COUNT_method_get,         [METHOD_HEAD] = COUNT_method_head,
        [METHOD_POST] = COUNT_method_post,       [METHOD_PUT] = COUNT_method_put,
        [METHOD_DELETE] = COUNT_method_delete,   [METHOD_OPTIONS] = COUNT_method_options,
        [METHOD_CONNECT] = COUNT_method_connect, [METHOD_PATCH] = COUNT_method_patch,
        [METHOD_TRACE] = COUNT_method_trace,     [METHOD_PURGE] = COUNT_method_purge,
    };

    if ((size_t)method < sizeof slots / sizeof *slots && slots[method] != 0)
        return slots[method];
    return COUNT_method_other;
}

static void tally_time(enum time_class class, int64_t us)
{
    switch (class) {
    case TIME_HIT:
        count_observe(hit_time, us);
        break;
    case TIME_NEAR:
        count_observe(near_time, us);
        break;
    case TIME_UNMODIFIED:
        count_observe(unmodified_time, us);
        break;
    case TIME_MISS:
        count_observe(miss_time, us);
        break;
    case TIME_TUNNEL:
        count_observe(tunnel_time, us);
        break;
    case TIME_NONE:
        break;
    }
}

void tally(const struct bt_txn *txn)
{
    const struct result *result = result_of(txn->tag);
    int64_t us = txn->time.end - txn->time.start;

    bt_slot_add(&count_row[result->slot], 1);
    bt_slot_add(&count_row[method_slot(txn->req.method_id)], 1);
    if (txn->head_sent)
        bt_slot_add(&count_row[status_slot(txn->rep.status)], 1);
    tally_time(result->time, us);
    count_observe(request_time, us);
    if (result->time == TIME_HIT || result->time == TIME_NEAR || result->time == TIME_UNMODIFIED) {
        count(hits);
        count_by(hit_bytes_out, txn->bytes.reply);
    }
    if (txn->deny_page != NULL && result->slot != COUNT_result_tcp_denied &&
        result->slot != COUNT_result_tcp_denied_reply)
        count(errors);
    if (txn->time.sent != 0 && txn->time.reply > txn->time.sent)
        count_observe(response_time, txn->time.reply - txn->time.sent);
}
