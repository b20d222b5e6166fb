/* manager.c - the cache manager of Squid: which pages there are, who may read them, the small ones.
 *
 * What programs read (exporters, scripts) is there in Squid's own form. A page about a machinery that
 * this server does not have says so in a sentence.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "page.h"

struct action {
    const char *name, *doc;
    void (*print)(FILE *);
    const char *instead; /* the sentence of a page that has nothing to show */
    bool is_protected;   /* off unless cachemgr_passwd names it */
};

#define CONTROL "Nothing is changed over HTTP here: bobtailctl, on the machine itself, can do it.\n"
#define GONE "This server works in another way, and has nothing of that kind to show.\n"
#define METRICS "See counters and info here, and /metrics of an admin_port.\n"

/* ---- pages ---- */

static void print_menu(FILE *out);

static void print_5min(FILE *out)
{
    manager_average(out, 5);
}

static void print_60min(FILE *out)
{
    manager_average(out, 60);
}

static void print_storedir(FILE *out)
{
    int64_t size = page_stat("cache.size"), used = page_stat("cache.used");
    double share = size > 0 ? 100.0 * (double)used / (double)size : 0.0;

    fprintf(out,
            "Store Directory Statistics:\nStore Entries          : %" PRId64
            "\nMaximum Swap Size      : 0 KB\nCurrent Store Swap Size: 0.00 KB\n"
            "Current Capacity       : 0.00%% used, 0.00%% free\n\nShared Memory Cache\n"
            "Maximum Size: %.2f KB\nCurrent Size: %.2f KB %.2f%%\n\nCurrent entries: %" PRId64 "\n",
            page_stat("cache.objects"), (double)size / 1024, (double)used / 1024, share,
            page_stat("cache.objects"));
}

static void print_mem(FILE *out)
{
    fputs("Current memory usage:\n", out);
    for (unsigned worker = 1; worker <= bt_workers(); worker++)
        fprintf(out, "worker %u\t%" PRId64 " KB resident\n", worker,
                bt_worker_stat(worker, "worker.resident") / 1024);
    fprintf(out, "cache\t%" PRId64 " KB of %" PRId64 " KB, shared by all\n",
            page_stat("cache.used") / 1024, page_stat("cache.size") / 1024);
}

static void print_clients(FILE *out)
{
    enum { CLIENTS = 1000 };
    static struct top_entry client[CLIENTS];
    size_t n = tops_get(TOP_CLIENTS, client, CLIENTS);
    int64_t requests = 0, hits = 0;

    if (!page_settings->counts_tops) {
        fputs("Clients are not counted one by one; write page_tops on.\n", out);
        return;
    }
    fputs("Cache Clients:\n", out);
    for (size_t i = 0; i < n; i++) {
        int64_t all = client[i].requests, others = all - client[i].hits - client[i].denied;
        struct {
            const char *tag;
            int64_t n;
        } part[] = {
            {"TCP_HIT", client[i].hits}, {"TCP_MISS", others}, {"TCP_DENIED", client[i].denied}};

        fprintf(out,
                "Address: %s\nName:    %s\n    ICP  Requests 0\n    HTTP Requests %" PRId64 "\n",
                client[i].key, client[i].key, all);
        for (size_t k = 0; k < sizeof part / sizeof *part; k++)
            if (part[k].n > 0)
                fprintf(out, "        %-20s %8" PRId64 " %3" PRId64 "%%\n", part[k].tag, part[k].n,
                        part[k].n * 100 / all);
        fputc('\n', out);
        requests += all;
        hits += client[i].hits;
    }
    fprintf(out,
            "TOTALS\nICP : 0 Queries, 0 Hits (  0%%)\nHTTP: %" PRId64 " Requests, %" PRId64
            " Hits (%3" PRId64 "%%)\n",
            requests, hits, requests > 0 ? hits * 100 / requests : 0);
}

static bt_str text_of(struct bt_txn *txn, const char *name, char buf[64])
{
    struct bt_value value;

    if (!bt_field_get(txn, (bt_str){name, strlen(name)}, BT_STR_NONE, &value))
        return BT_STR("-");
    if (value.kind == BT_TEXT)
        return value.text;
    return (bt_str){buf, (size_t)snprintf(buf, 64, "%" PRId64, value.num)};
}

static void print_addr(FILE *out, const char *what, const struct sockaddr *addr)
{
    char text[INET6_ADDRSTRLEN] = "-";
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)addr;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)addr;

    if (addr->sa_family == AF_INET)
        (void)inet_ntop(AF_INET, &v4->sin_addr, text, sizeof text);
    else if (addr->sa_family == AF_INET6)
        (void)inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof text);
    fprintf(out, "\t%s: %s\n", what, text);
}

static void print_one_active(void *arg, struct bt_txn *txn)
{
    char buf[64];
    FILE *out = arg;
    bt_str start = text_of(txn, "time.start", buf), url, user;
    double at = strtod(bt_str_copy(bt_txn_arena(txn), start).at, NULL);
    double now = (double)bt_wall_ms() / 1000.0;

    fprintf(out, "Connection: %p\n", (void *)txn);
    print_addr(out, "remote", bt_client_addr(txn));
    print_addr(out, "local", bt_local_addr(txn));
    url = bt_url(txn);
    fprintf(out, "uri %.*s\nlogType %s\n", BT_STR_ARGS(url), bt_tag_get(txn));
    fprintf(out, "out.offset %.*s, out.size %.*s\n", BT_STR_ARGS(text_of(txn, "rep.bytes", buf)),
            BT_STR_ARGS(text_of(txn, "rep.bytes", buf)));
    fprintf(out, "req_sz %.*s\n", BT_STR_ARGS(text_of(txn, "req.bytes", buf)));
    fprintf(out, "start %.6f (%.6f seconds ago)\n", at, now > at ? now - at : 0.0);
    user = bt_who(txn, BT_WHO_LOGIN);
    if (user.at == NULL)
        user = BT_STR("-");
    fprintf(out, "username %.*s\n\n", BT_STR_ARGS(user));
}

static void print_active(FILE *out)
{
    bt_active_each(print_one_active, out);
}

static void print_ipcache(FILE *out)
{
    int64_t cached = page_stat("dns.cached"), asked = page_stat("dns.queries");

    fprintf(out,
            "IP Cache Statistics:\nIPcache Entries Cached:  %" PRId64 "\nIPcache Requests: %" PRId64
            "\nIPcache Hits:            %" PRId64 "\nIPcache Negative Hits:       0\n"
            "IPcache Numeric Hits:        0\nIPcache Misses:          %" PRId64
            "\nIPcache Retrieved A:     %" PRId64 "\nIPcache Retrieved AAAA:  0\n"
            "IPcache Retrieved CNAME: 0\nIPcache CNAME-Only Response: 0\n"
            "IPcache Invalid Request: %" PRId64 "\n\n\nIP Cache Contents:\n\n",
            page_stat("dns.entries"), cached + asked, cached, asked, asked,
            page_stat("dns.failed"));
}

static void print_fqdncache(FILE *out)
{
    fputs("FQDN Cache Statistics:\nFQDNcache Entries In Use: 0\nFQDNcache Entries Cached: 0\n"
          "FQDNcache Requests: 0\nFQDNcache Hits: 0\nFQDNcache Negative Hits: 0\n"
          "FQDNcache Misses: 0\nFQDN Cache Contents:\n\n",
          out);
}

static void print_idns(FILE *out)
{
    struct bt_stat stat;
    int64_t bucket[BT_HISTOGRAM_BUCKETS];

    fprintf(out,
            "Internal DNS Statistics:\n\nQueries: %" PRId64 "\nFailed: %" PRId64
            "\nAnswered from memory: %" PRId64 "\n",
            page_stat("dns.queries"), page_stat("dns.failed"), page_stat("dns.cached"));
    if (bt_stats_get("dns.time", &stat, bucket))
        fprintf(out, "Median time: %.6f seconds\n", (double)bt_stats_quantile(bucket, 0.5) / 1e6);
}

static void print_pconn(FILE *out)
{
    fprintf(out,
            "\nKept origin connections: %" PRId64 "\nIn use: %" PRId64 "\nOpened: %" PRId64
            "\nRequests sent on kept ones: %" PRId64 "\n",
            page_stat("origin.idle"), page_stat("origin.open"), page_stat("origin.dials"),
            page_stat("origin.reused"));
}

static void print_histogram(FILE *out, const char *title, const char *name)
{
    struct bt_stat stat;
    int64_t bucket[BT_HISTOGRAM_BUCKETS];

    fprintf(out, "%s histogram:\n", title);
    if (!bt_stats_get(name, &stat, bucket))
        return;
    for (unsigned i = 0; i < BT_HISTOGRAM_BUCKETS; i++)
        if (bucket[i] > 0) /* number, from how many milliseconds on, how often */
            fprintf(out, "\t%3u/%f\t%" PRId64 "\n", i, (double)bt_stats_bucket_low(i) / 1000.0,
                    bucket[i]);
}

static void print_histograms(FILE *out)
{
    print_histogram(out, "client_http.allSvcTime", "client.request_time");
    print_histogram(out, "client_http.missSvcTime", "client.miss_time");
    print_histogram(out, "client_http.nearMissSvcTime", "client.unmodified_time");
    print_histogram(out, "client_http.nearHitSvcTime", "client.near_time");
    print_histogram(out, "client_http.hitSvcTime", "client.hit_time");
    print_histogram(out, "icp.querySvcTime", "");
    print_histogram(out, "icp.replySvcTime", "");
    print_histogram(out, "dns.svc_time", "dns.time");
}

static void print_service_times(FILE *out)
{
    static struct sample now, ago5, ago60;

    samples_ago(5, &ago5);
    samples_ago(60, &ago60);
    samples_now(&now);
    fputs("Service Time Percentiles            5 min    60 min:\n", out);
    for (int percent = 5; percent < 100; percent += 5)
        fprintf(out, "\tHTTP Requests (All):  %2d%%  %8.5f %8.5f\n", percent,
                (double)samples_quantile(&ago5, &now, TIME_all, percent / 100.0) / 1e6,
                (double)samples_quantile(&ago60, &now, TIME_all, percent / 100.0) / 1e6);
}

static void print_server(FILE *out, const struct bt_parent_report *is)
{
    const struct bt_parent *p = is->parent;
    int64_t fetches = is->answered + is->silent + is->refused;
    int64_t kept = fetches > is->opened ? fetches - is->opened : 0;

    fprintf(out,
            "\n%-11.11s: %.*s\nHost       : %.*s/%u/0\nFlags      :%s\nStatus     : %s\n"
            "FETCHES    : %" PRId64 "\nOPEN CONNS : %" PRId64 "\nAVG RTT    : %" PRId64
            " msec\nkeep-alive ratio: %" PRId64 "%%\n",
            is->sibling ? "Sibling" : "Parent", BT_STR_ARGS(p->name), BT_STR_ARGS(p->host), p->port,
            p->origin ? " originserver" : "", is->up ? "Up" : "Down", fetches, is->open,
            is->rtt_us / 1000, fetches > 0 ? kept * 100 / fetches : 0);
}

static void print_servers(FILE *out)
{
    struct bt_parent_report is;

    if (!bt_parent_report(0, &is)) {
        fputs("There are no neighbors installed.\n", out);
        return;
    }
    for (size_t i = 0; bt_parent_report(i, &is); i++)
        print_server(out, &is);
}

static void print_everything(FILE *out)
{
    bt_stats_print(out, BT_STATS_TEXT);
}

static const struct action actions[] = {
    {"index", "Cache Manager Interface", .print = print_menu},
    {"menu", "Cache Manager Menu", .print = print_menu},
    {"offline_toggle", "Toggle offline_mode setting", .instead = CONTROL, .is_protected = true},
    {"shutdown", "Shut Down the Process", .instead = CONTROL, .is_protected = true},
    {"reconfigure", "Reconfigure", .instead = CONTROL, .is_protected = true},
    {"rotate", "Rotate Logs", .instead = CONTROL, .is_protected = true},
    {"config", "Current Configuration", .instead = "bobtailctl config shows it.\n",
     .is_protected = true},
    {"info", "General Runtime Information", .print = manager_info},
    {"counters", "Traffic and Resource Counters", .print = manager_counters},
    {"5min", "5 Minute Average of Counters", .print = print_5min},
    {"60min", "60 Minute Average of Counters", .print = print_60min},
    {"utilization", "Cache Utilization", .print = manager_utilization},
    {"service_times", "Service Times (Percentiles)", .print = print_service_times},
    {"histograms", "Full Histogram Counts", .print = print_histograms},
    {"client_list", "Cache Client List", .print = print_clients},
    {"active_requests", "Client-side Active Requests", .print = print_active},
    {"server_list", "Peer Cache Statistics", .print = print_servers},
    {"storedir", "Store Directory Stats", .print = print_storedir},
    {"mem", "Memory Utilization", .print = print_mem},
    {"ipcache", "IP Cache Stats and Contents", .print = print_ipcache},
    {"fqdncache", "FQDN Cache Stats and Contents", .print = print_fqdncache},
    {"idns", "Internal DNS Statistics", .print = print_idns},
    {"pconn", "Persistent Connection Utilization", .print = print_pconn},
    {"stats", "All counters of this server", .print = print_everything},
    {"io", "Server-side network read() size histograms", .instead = METRICS},
    {"http_headers", "HTTP Header Statistics", .instead = METRICS},
    {"external_acl", "External ACL stats", .instead = METRICS},
    {"redirector", "URL Redirector Stats", .instead = METRICS},
    {"store_id", "StoreId helper Stats", .instead = METRICS},
    {"filedescriptors", "Process Filedescriptor Allocation", .instead = METRICS},
    {"forward", "Request Forwarding Statistics", .instead = METRICS},
    {"refresh", "Refresh Algorithm Statistics", .instead = METRICS},
    {"delay", "Delay Pool Levels", .instead = METRICS},
    {"username_cache", "Active Cached Usernames", .instead = METRICS},
    {"cached_ssl_cert", "Statistic of cached generated ssl certificates", .instead = METRICS},
    {"objects", "All Cache Objects", .instead = "bobtailctl cache tells of single objects.\n"},
    {"vm_objects", "In-Memory and In-Transit Objects",
     .instead = "bobtailctl cache tells of single objects.\n"},
    {"openfd_objects", "Objects with Swapout files open", .instead = GONE},
    {"events", "Event Queue", .instead = GONE},
    {"store_digest", "Store Digest", .instead = GONE},
    {"store_log_tags", "Histogram of store.log tags", .instead = GONE},
    {"store_io", "Store IO Interface Stats", .instead = GONE},
    {"store_check_cachable_stats", "storeCheckCachable() Stats", .instead = GONE},
    {"peer_select", "Peer Selection Algorithms", .instead = GONE},
    {"digest_stats", "Cache Digest and ICP blob", .instead = GONE},
    {"cbdata", "Callback Data Registry Contents", .instead = GONE},
    {"sbuf", "String-Buffer statistics", .instead = GONE},
    {"jobs", "Active asynchronous jobs", .instead = GONE},
    {"netdb", "Network Measurement Database", .instead = GONE},
    {"asndb", "AS Number Database", .instead = GONE},
    {"carp", "CARP information", .instead = GONE},
    {"userhash", "peer userhash information", .instead = GONE},
    {"sourcehash", "peer sourcehash information", .instead = GONE},
    {"via_headers", "Via Request Headers", .instead = GONE},
    {"forw_headers", "X-Forwarded-For Request Headers", .instead = GONE},
    {"diskd", "DISKD Stats", .instead = GONE},
    {"squidaio_counts", "Async IO Function Counters", .instead = GONE},
    {"comm_epoll_incoming", "comm_incoming() stats", .instead = GONE},
};
enum { ACTIONS = sizeof actions / sizeof *actions };

static const struct action *action_find(bt_str name)
{
    if (name.len == 0)
        return &actions[0];
    for (size_t i = 0; i < ACTIONS; i++)
        if (bt_str_eq(name, (bt_str){actions[i].name, strlen(actions[i].name)}))
            return &actions[i];
    return NULL;
}

bool manager_known(bt_str name)
{
    return bt_str_eq(name, BT_STR("all")) || action_find(name) != NULL;
}

/* ---- who may read ---- */

/* The first line that names it. */
static const struct page_password *password_of(const struct action *action)
{
    for (const struct page_password *p = page_settings->passwords; p != NULL; p = p->next)
        for (size_t i = 0; i < p->actions.n; i++) {
            bt_str name = p->actions.word[i].text;
            if (bt_str_eq(name, BT_STR("all")) ||
                bt_str_eq(name, (bt_str){action->name, strlen(action->name)}))
                return p;
        }
    return NULL;
}

static bool is_word(const struct page_password *p, bt_str word)
{
    return p != NULL && bt_str_eq(p->word, word);
}

static const char *protection(const struct action *action)
{
    const struct page_password *p = password_of(action);

    if (is_word(p, BT_STR("disable")))
        return "disabled";
    if (p == NULL)
        return action->is_protected ? "hidden" : "public";
    return is_word(p, BT_STR("none")) ? "public" : "protected";
}

static void print_menu(FILE *out)
{
    for (size_t i = 0; i < ACTIONS; i++)
        fprintf(out, " %-22s\t%-32s\t%s\n", actions[i].name, actions[i].doc,
                protection(&actions[i]));
}

/* As long as what was sent, so that time tells nothing of the other. */
static bool same_secret(bt_str is, bt_str wanted)
{
    unsigned char differ = is.len != wanted.len;

    for (size_t i = 0; i < is.len; i++)
        differ |= (unsigned char)is.at[i] ^
                  (unsigned char)(wanted.len > 0 ? wanted.at[i % wanted.len] : 0xff);
    return differ == 0;
}

static int digit_of(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c == '\0' ? NULL : strchr(digits, c);

    return at == NULL ? -1 : (int)(at - digits);
}

/* The password of "Basic ...": what stands behind the colon. */
static bt_str basic_password(struct bt_txn *txn)
{
    bt_str value = bt_req_header(txn, BT_STR("Authorization"), 0);
    char *text, *at, *colon;
    uint32_t bits = 0;
    int n = 0;

    if (value.len < 6 || !bt_str_eq_nocase((bt_str){value.at, 6}, BT_STR("Basic ")))
        return BT_STR_NONE;
    at = text = bt_alloc_raw(bt_txn_arena(txn), value.len);
    for (size_t i = 6; i < value.len && digit_of(value.at[i]) >= 0; i++) {
        bits = bits << 6 | (uint32_t)digit_of(value.at[i]);
        n += 6;
        if (n >= 8) {
            n -= 8;
            *at++ = (char)(bits >> n & 0xff);
        }
    }
    colon = memchr(text, ':', (size_t)(at - text));
    return colon == NULL ? BT_STR_NONE : (bt_str){colon + 1, (size_t)(at - colon - 1)};
}

static bool may_read(struct bt_txn *txn, const struct action *action, bt_str password)
{
    const struct page_password *p = password_of(action);

    if (p == NULL)
        return !action->is_protected;
    if (is_word(p, BT_STR("none")))
        return true;
    if (password.at == NULL)
        password = basic_password(txn);
    return password.at != NULL && same_secret(password, p->word);
}

static void say(struct bt_txn *txn, int status, const char *more, const char *text)
{
    struct page_out out;
    bt_str fields = bt_str_printf(bt_txn_arena(txn),
                                  "Content-Type: text/plain; charset=utf-8\r\n"
                                  "Cache-Control: no-store\r\n%s",
                                  more);

    page_begin(&out);
    fputs(text, out.file);
    page_end(&out, txn, status, fields);
}

static enum bt_verdict challenge(struct bt_txn *txn, const struct action *action)
{
    bt_str realm = bt_str_printf(bt_txn_arena(txn), "WWW-Authenticate: Basic realm=\"%s\"\r\n",
                                 action->name);

    say(txn, 401, realm.at, "This page of the cache manager wants a password (cachemgr_passwd).\n");
    return BT_REFUSE;
}

enum bt_verdict manager_answer(struct bt_txn *txn, const struct bt_page_ask *ask)
{
    const struct action *action = action_find(ask->path);
    struct page_out out;

    if (action == NULL || is_word(password_of(action), BT_STR("disable")))
        return BT_PASS;
    if (!may_read(txn, action, ask->password))
        return challenge(txn, action);
    if (action->print == NULL) {
        say(txn, 200, "", action->instead);
        return BT_ANSWER;
    }
    page_begin(&out);
    action->print(out.file);
    page_end(&out, txn, 200,
             BT_STR("Content-Type: text/plain; charset=utf-8\r\nCache-Control: no-store\r\n"));
    return BT_ANSWER;
}
