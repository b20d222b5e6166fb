/* counts.h - the server's own counters, one row each: C name, name in tools, kind, unit, meaning.
 *
 * The same kind of table as a module's (bt_module.h). All floors from 3 on may count; http/ cannot,
 * it returns faults that flow/ counts. Adding a counter is adding a row here and counting.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef STAT_COUNTS_H
#define STAT_COUNTS_H

#include "bt_module.h"

/* clang-format off */
#define SERVER_COUNTERS(X)                                                                          \
    X(connections_accepted, "client.connections", BT_COUNT, "connections", "Connections accepted from clients.") \
    X(connections_open, "client.open", BT_GAUGE, "connections", "Client connections that are open.") \
    X(connections_idle_closed, "client.idle_closed", BT_COUNT, "connections", "Idle client connections closed by client_idle_pconn_timeout.") \
    X(accept_failed, "client.accept_failed", BT_COUNT, "errors", "accept() failed, most often for want of descriptors.") \
    X(proxied_headers, "proxied.headers", BT_COUNT, "connections", "PROXY headers taken on ports with require-proxy-header.") \
    X(proxied_local, "proxied.local", BT_COUNT, "connections", "Of these, what a load balancer asked for itself, such as whether we live.") \
    X(proxied_strangers, "proxied.strangers", BT_COUNT, "connections", "Closed, since proxy_protocol_access does not allow their address.") \
    X(proxied_bad, "proxied.bad", BT_COUNT, "connections", "Closed, since their PROXY header was missing, malformed, too long or cut off.") \
    X(intercept_connections, "intercept.connections", BT_COUNT, "connections", "Redirected connections accepted by ports with intercept or tproxy.") \
    X(intercept_lost, "intercept.lost", BT_COUNT, "connections", "Of these, closed since the firewall did not tell where they were to go.") \
    X(intercept_loops, "intercept.loops", BT_COUNT, "connections", "Of these, closed since they were this server's own, which the firewall should leave out.") \
    X(intercept_forged, "intercept.forged", BT_COUNT, "requests", "Requests of redirected clients whose Host is not where they went to.") \
    X(requests, "client.requests", BT_COUNT, "requests", "Request heads received and understood.") \
    X(requests_bad, "client.bad_requests", BT_COUNT, "requests", "Request heads refused by the parser; see parse.* for why.") \
    X(requests_denied, "client.denied", BT_COUNT, "requests", "Requests refused by access rules or a hook.") \
    X(access_allowed, "access.allowed", BT_COUNT, "requests", "Requests that http_access let pass.") \
    X(access_denied, "access.denied", BT_COUNT, "requests", "Requests that http_access refused.") \
    X(access_adapted_denied, "access.adapted_denied", BT_COUNT, "requests", "Requests that adapted_http_access refused.") \
    X(access_miss_denied, "access.miss_denied", BT_COUNT, "requests", "Requests that miss_access refused to forward.") \
    X(access_reply_denied, "access.reply_denied", BT_COUNT, "responses", "Answers that http_reply_access kept from the client.") \
    X(access_audited, "access.audited", BT_COUNT, "requests", "Requests that would have been refused but for http_access_audit.") \
    X(access_broken, "access.broken", BT_COUNT, "requests", "Refused since a list could not be evaluated.") \
    X(access_own_port, "access.own_port", BT_COUNT, "requests", "Refused since they would have been sent to a port of this proxy.") \
    X(access_forwarded, "access.forwarded", BT_COUNT, "requests", "Requests whose client was found in X-Forwarded-For.") \
    X(marks_failed, "marks.failed", BT_COUNT, "errors", "Class of service or firewall mark that the system did not let us set.") \
    X(pace_waits, "pace.waits", BT_COUNT, "waits", "Times that a body or a tunnel waited since its rate was used up.") \
    X(pace_bytes, "pace.bytes", BT_COUNT, "bytes", "Bytes that were moved at a limited rate.") \
    X(pace_crowded, "pace.crowded", BT_COUNT, "buckets", "Buckets that had to be shared, since there were too many.") \
    X(urls_changed, "client.urls_changed", BT_COUNT, "requests", "Requests whose URL was replaced, by a rewriter or a hook.") \
    X(requests_aborted, "client.aborted", BT_COUNT, "requests", "Clients that left before their answer was complete.") \
    X(client_ip_refused, "client.too_many", BT_COUNT, "connections", "Connections closed at once, since their client had client_ip_max_connections already.") \
    X(accept_paused, "client.accept_paused", BT_COUNT, "pauses", "Times that no connection was accepted for a moment, to keep descriptors for those inside.") \
    X(body_timeouts, "client.body_timeouts", BT_COUNT, "requests", "Requests whose body did not make 64 KB in each request_timeout.") \
    X(head_timeouts, "client.head_timeouts", BT_COUNT, "connections", "Clients that did not send a whole head in request_timeout.") \
    X(active_exchanges, "client.active", BT_GAUGE, "requests", "Exchanges under way.") \
    X(client_bytes_in, "client.bytes_in", BT_COUNT, "bytes", "Bytes read from clients.") \
    X(client_bytes_out, "client.bytes_out", BT_COUNT, "bytes", "Bytes written to clients.") \
    X(request_time, "client.request_time", BT_HISTOGRAM, "microseconds", "From a request's first byte to the end of its answer.") \
    X(responses_2xx, "response.2xx", BT_COUNT, "responses", "Answers to clients with a status of 200 to 299.") \
    X(responses_3xx, "response.3xx", BT_COUNT, "responses", "Answers to clients with a status of 300 to 399.") \
    X(responses_4xx, "response.4xx", BT_COUNT, "responses", "Answers to clients with a status of 400 to 499.") \
    X(responses_5xx, "response.5xx", BT_COUNT, "responses", "Answers to clients with a status of 500 to 599.") \
    X(hits, "client.hits", BT_COUNT, "requests", "Requests answered out of a cache, also after asking the origin whether it still holds.") \
    X(hit_bytes_out, "client.hit_bytes_out", BT_COUNT, "bytes", "Bytes of such answers.") \
    X(errors, "client.errors", BT_COUNT, "requests", "Requests answered with an error of the proxy that is no refusal.") \
    X(hit_time, "client.hit_time", BT_HISTOGRAM, "microseconds", "From first byte to end, answered out of a cache without asking.") \
    X(miss_time, "client.miss_time", BT_HISTOGRAM, "microseconds", "From first byte to end, fetched from the origin.") \
    X(near_time, "client.near_time", BT_HISTOGRAM, "microseconds", "From first byte to end, out of a cache after the origin said that it still holds.") \
    X(unmodified_time, "client.unmodified_time", BT_HISTOGRAM, "microseconds", "From first byte to end, answered with 304.") \
    X(tunnel_time, "client.tunnel_time", BT_HISTOGRAM, "microseconds", "How long tunnels were open.") \
    X(response_time, "origin.response_time", BT_HISTOGRAM, "microseconds", "From a request sent to the head of its answer.") \
    X(pages_html, "page.html", BT_COUNT, "pages", "Error pages sent as HTML.") \
    X(pages_json, "page.json", BT_COUNT, "pages", "Errors sent as JSON, to clients that prefer it.") \
    X(deny_pages, "deny.pages", BT_COUNT, "requests", "Refusals with a page of deny_info.") \
    X(deny_redirects, "deny.redirects", BT_COUNT, "requests", "Refused clients sent elsewhere by deny_info.") \
    X(deny_resets, "deny.resets", BT_COUNT, "connections", "Refused clients whose connection was reset by deny_info.") \
    X(tunnels, "tunnel.opened", BT_COUNT, "tunnels", "CONNECT requests that got their tunnel.") \
    X(tunnels_open, "tunnel.open", BT_GAUGE, "tunnels", "Tunnels that are open.") \
    X(tunnel_bytes, "tunnel.bytes", BT_COUNT, "bytes", "Bytes moved through tunnels, both directions.") \
    X(spliced, "bulk.spliced", BT_COUNT, "bytes", "Bytes of tunnels and bodies that moved without a copy.") \
    X(pipes, "bulk.pipes", BT_GAUGE, "pipes", "Pipes in use for that.") \
    X(origin_dials, "origin.dials", BT_COUNT, "connections", "Connections to origins begun.") \
    X(origin_dial_failed, "origin.dial_failed", BT_COUNT, "connections", "Connections to origins refused, unreachable or too slow.") \
    X(origin_reused, "origin.reused", BT_COUNT, "requests", "Requests sent on a kept origin connection.") \
    X(origin_retries, "origin.retries", BT_COUNT, "requests", "Requests sent again because a kept connection had gone stale.") \
    X(origin_ways, "origin.other_way", BT_COUNT, "requests", "Requests that went on to the next parent, or directly, since one way led nowhere.") \
    X(origin_pinned, "origin.pinned", BT_COUNT, "connections", "Origin connections kept for one client alone, since a login is bound to them.") \
    X(origin_evicted, "origin.evicted", BT_COUNT, "connections", "Idle origin connections closed since descriptors ran short.") \
    X(parse_mended, "parse.mended", BT_COUNT, "requests", "Request heads taken by relaxed_header_parser or uri_whitespace.") \
    X(origin_open, "origin.open", BT_GAUGE, "connections", "Origin connections in use.") \
    X(origin_idle, "origin.idle", BT_GAUGE, "connections", "Origin connections kept for the next request.") \
    X(origin_bad, "origin.bad_responses", BT_COUNT, "responses", "Responses that were not proper HTTP.") \
    X(origin_surplus, "origin.surplus", BT_COUNT, "connections", "Origin connections closed for bytes that nobody asked for.") \
    X(origin_aborted, "origin.aborted", BT_COUNT, "responses", "Responses that ended before their length.") \
    X(origin_timeouts, "origin.timeouts", BT_COUNT, "requests", "Origins that did not answer in read_timeout.") \
    X(origin_bytes_in, "origin.bytes_in", BT_COUNT, "bytes", "Bytes read from origins.") \
    X(origin_bytes_out, "origin.bytes_out", BT_COUNT, "bytes", "Bytes written to origins.") \
    X(connect_time, "origin.connect_time", BT_HISTOGRAM, "microseconds", "From the first dial to an established connection.") \
    X(dns_queries, "dns.queries", BT_COUNT, "look-ups", "Names asked of the name servers.") \
    X(dns_cached, "dns.cached", BT_COUNT, "look-ups", "Names answered from memory or the hosts file.") \
    X(dns_failed, "dns.failed", BT_COUNT, "look-ups", "Names without an address, or no name server answered.") \
    X(dns_time, "dns.time", BT_HISTOGRAM, "microseconds", "From the question to the answer of a name server.") \
    X(parse_bad_line, "parse.request_line", BT_COUNT, "requests", "Refused: the request line is not method, target, version.") \
    X(parse_bad_version, "parse.version", BT_COUNT, "requests", "Refused: not HTTP/1.0 or HTTP/1.1.") \
    X(parse_bad_target, "parse.target", BT_COUNT, "requests", "Refused: the request target is not a URL that a proxy takes.") \
    X(parse_bad_field, "parse.field", BT_COUNT, "requests", "Refused: a header line with a bad name, a bad byte or a fold.") \
    X(parse_bad_host, "parse.host", BT_COUNT, "requests", "Refused: Host is missing, given twice or malformed.") \
    X(parse_bad_length, "parse.length", BT_COUNT, "requests", "Refused: Content-Length is malformed or contradicts itself.") \
    X(parse_bad_coding, "parse.coding", BT_COUNT, "requests", "Refused: Transfer-Encoding other than chunked, or beside Content-Length.") \
    X(parse_bad_chunk, "parse.chunk", BT_COUNT, "requests", "Refused: malformed chunked body.") \
    X(parse_line_ends, "parse.line_ends", BT_COUNT, "requests", "Refused: bare CR, bare LF or NUL in the head.") \
    X(parse_too_large, "parse.too_large", BT_COUNT, "requests", "Refused: head larger than request_header_max_size, or too many fields.") \
    X(parse_long_target, "parse.long_target", BT_COUNT, "requests", "Refused: URL longer than the limit.") \
    X(request_body_large, "limits.request_body", BT_COUNT, "requests", "Refused or ended: a body larger than request_body_max_size.") \
    X(reply_body_large, "limits.reply_body", BT_COUNT, "responses", "Refused or cut: a body larger than reply_body_max_size.") \
    X(exchange_memory, "limits.exchange_memory", BT_COUNT, "requests", "Refused: an exchange needed more memory than it may have.") \
    X(background_open, "background.open", BT_GAUGE, "exchanges", "Exchanges without a client that are under way.") \
    X(background_begun, "background.begun", BT_COUNT, "exchanges", "Exchanges begun without a client, to renew what is stored.") \
    X(background_left, "background.left", BT_COUNT, "exchanges", "Clients that left or had enough, while a cache wanted the rest.") \
    X(background_refused, "background.too_many", BT_COUNT, "exchanges", "Not begun, or ended with their client, since a worker has 256 without a client already.") \
    X(fetch_open, "fetch.open", BT_GAUGE, "exchanges", "Exchanges that modules have begun by themselves, under way.") \
    X(fetch_begun, "fetch.begun", BT_COUNT, "exchanges", "Exchanges that modules have begun by themselves.") \
    X(fetch_failed, "fetch.failed", BT_COUNT, "exchanges", "Of those, the ones without a whole answer: refused, failed, cut, late.") \
    X(fetch_large, "fetch.large", BT_COUNT, "exchanges", "Of those, the ones whose answer was larger than the module wanted.") \
    X(fetch_private, "fetch.private", BT_COUNT, "exchanges", "Of those, the ones refused since they would go to a private address.") \
    X(fetch_refused, "fetch.too_many", BT_COUNT, "exchanges", "Not begun, since a worker has 1024 under way already.") \
    X(log_lines, "log.lines", BT_COUNT, "lines", "Access-log lines written.") \
    X(diagnostics_lost, "diagnostics.lost", BT_COUNT, "lines", "Lines of cache_log lost because its disk was full or would not take them.") \
    X(log_lost, "log.lost", BT_COUNT, "lines", "Access-log lines lost because their place could not take them.") \
    X(bad_verdicts, "core.bad_verdicts", BT_COUNT, "verdicts", "Hooks that returned a stray value; treated as a refusal.") \
    X(reloads, "config.reloads", BT_COUNT, "reloads", "Configurations taken over while the server ran.") \
    X(reload_failures, "config.reload_failures", BT_COUNT, "reloads", "Reloads that were refused, or whose workers could not start; the old configuration went on.") \
    X(reload_time, "config.reload_time", BT_HISTOGRAM, "microseconds", "From a reload's request until all its workers served, or it was refused.") \
    X(list_reloads, "lists.reloads", BT_COUNT, "reloads", "Times that list files of ACLs were read anew, and taken.") \
    X(list_failures, "lists.failed", BT_COUNT, "reloads", "Times that they were to be, and the old ones had to stay.") \
    X(list_missing, "lists.missing", BT_COUNT, "files", "List files that could not be read anew, so that their old values stay.") \
    X(list_bad, "lists.bad_lines", BT_COUNT, "lines", "Lines of list files read anew that were left out.") \
    X(list_values, "lists.values", BT_COUNT, "values", "Values of list files read anew.") \
    X(panics, "proc.panics", BT_COUNT, "panics", "Workers that ended because of a bug.") \
    X(respawns, "proc.respawns", BT_COUNT, "workers", "Workers started again after one died.") \
    X(buried, "shared.buried", BT_COUNT, "workers", "Workers that died, and whose shared memory was put in order.") \
    X(result_tcp_hit, "result.tcp_hit", BT_COUNT, "requests", "Exchanges with the result TCP_HIT.") \
    X(result_tcp_mem_hit, "result.tcp_mem_hit", BT_COUNT, "requests", "Exchanges with the result TCP_MEM_HIT.") \
    X(result_tcp_ims_hit, "result.tcp_ims_hit", BT_COUNT, "requests", "Exchanges with the result TCP_IMS_HIT.") \
    X(result_tcp_inm_hit, "result.tcp_inm_hit", BT_COUNT, "requests", "Exchanges with the result TCP_INM_HIT.") \
    X(result_tcp_negative_hit, "result.tcp_negative_hit", BT_COUNT, "requests", "Exchanges with the result TCP_NEGATIVE_HIT.") \
    X(result_tcp_offline_hit, "result.tcp_offline_hit", BT_COUNT, "requests", "Exchanges with the result TCP_OFFLINE_HIT.") \
    X(result_tcp_refresh_unmodified, "result.tcp_refresh_unmodified", BT_COUNT, "requests", "Exchanges with the result TCP_REFRESH_UNMODIFIED.") \
    X(result_tcp_refresh_modified, "result.tcp_refresh_modified", BT_COUNT, "requests", "Exchanges with the result TCP_REFRESH_MODIFIED.") \
    X(result_tcp_refresh_fail_old, "result.tcp_refresh_fail_old", BT_COUNT, "requests", "Exchanges with the result TCP_REFRESH_FAIL_OLD.") \
    X(result_tcp_refresh_fail_err, "result.tcp_refresh_fail_err", BT_COUNT, "requests", "Exchanges with the result TCP_REFRESH_FAIL_ERR.") \
    X(result_tcp_client_refresh_miss, "result.tcp_client_refresh_miss", BT_COUNT, "requests", "Exchanges with the result TCP_CLIENT_REFRESH_MISS.") \
    X(result_tcp_miss, "result.tcp_miss", BT_COUNT, "requests", "Exchanges with the result TCP_MISS.") \
    X(result_tcp_denied, "result.tcp_denied", BT_COUNT, "requests", "Exchanges with the result TCP_DENIED.") \
    X(result_tcp_denied_reply, "result.tcp_denied_reply", BT_COUNT, "requests", "Exchanges with the result TCP_DENIED_REPLY.") \
    X(result_tcp_redirect, "result.tcp_redirect", BT_COUNT, "requests", "Exchanges with the result TCP_REDIRECT.") \
    X(result_tcp_tunnel, "result.tcp_tunnel", BT_COUNT, "requests", "Exchanges with the result TCP_TUNNEL.") \
    X(result_none, "result.none", BT_COUNT, "requests", "Exchanges with the result NONE.") \
    X(result_other, "result.other", BT_COUNT, "requests", "Exchanges with another result.") \
    X(method_get, "method.get", BT_COUNT, "requests", "Requests with the method GET.") \
    X(method_head, "method.head", BT_COUNT, "requests", "Requests with the method HEAD.") \
    X(method_post, "method.post", BT_COUNT, "requests", "Requests with the method POST.") \
    X(method_put, "method.put", BT_COUNT, "requests", "Requests with the method PUT.") \
    X(method_delete, "method.delete", BT_COUNT, "requests", "Requests with the method DELETE.") \
    X(method_options, "method.options", BT_COUNT, "requests", "Requests with the method OPTIONS.") \
    X(method_connect, "method.connect", BT_COUNT, "requests", "Requests with the method CONNECT.") \
    X(method_patch, "method.patch", BT_COUNT, "requests", "Requests with the method PATCH.") \
    X(method_trace, "method.trace", BT_COUNT, "requests", "Requests with the method TRACE.") \
    X(method_purge, "method.purge", BT_COUNT, "requests", "Requests with the method PURGE.") \
    X(method_other, "method.other", BT_COUNT, "requests", "Requests with another method.") \
    X(status_200, "status.200", BT_COUNT, "responses", "Answers with the status 200.") \
    X(status_204, "status.204", BT_COUNT, "responses", "Answers with the status 204.") \
    X(status_206, "status.206", BT_COUNT, "responses", "Answers with the status 206.") \
    X(status_301, "status.301", BT_COUNT, "responses", "Answers with the status 301.") \
    X(status_302, "status.302", BT_COUNT, "responses", "Answers with the status 302.") \
    X(status_303, "status.303", BT_COUNT, "responses", "Answers with the status 303.") \
    X(status_304, "status.304", BT_COUNT, "responses", "Answers with the status 304.") \
    X(status_307, "status.307", BT_COUNT, "responses", "Answers with the status 307.") \
    X(status_308, "status.308", BT_COUNT, "responses", "Answers with the status 308.") \
    X(status_400, "status.400", BT_COUNT, "responses", "Answers with the status 400.") \
    X(status_401, "status.401", BT_COUNT, "responses", "Answers with the status 401.") \
    X(status_403, "status.403", BT_COUNT, "responses", "Answers with the status 403.") \
    X(status_404, "status.404", BT_COUNT, "responses", "Answers with the status 404.") \
    X(status_405, "status.405", BT_COUNT, "responses", "Answers with the status 405.") \
    X(status_407, "status.407", BT_COUNT, "responses", "Answers with the status 407.") \
    X(status_408, "status.408", BT_COUNT, "responses", "Answers with the status 408.") \
    X(status_410, "status.410", BT_COUNT, "responses", "Answers with the status 410.") \
    X(status_413, "status.413", BT_COUNT, "responses", "Answers with the status 413.") \
    X(status_416, "status.416", BT_COUNT, "responses", "Answers with the status 416.") \
    X(status_429, "status.429", BT_COUNT, "responses", "Answers with the status 429.") \
    X(status_500, "status.500", BT_COUNT, "responses", "Answers with the status 500.") \
    X(status_502, "status.502", BT_COUNT, "responses", "Answers with the status 502.") \
    X(status_503, "status.503", BT_COUNT, "responses", "Answers with the status 503.") \
    X(status_504, "status.504", BT_COUNT, "responses", "Answers with the status 504.") \
    X(status_other, "status.other", BT_COUNT, "responses", "Answers with another status.") \
    X(emptied, "shared.emptied", BT_COUNT, "times", "Parts of dictionaries emptied, since a worker died while it changed them.")
/* clang-format on */

#define STAT_ID_(id, name, kind, unit, doc)                                                        \
    COUNT_##id, COUNT_##id##_last_ = COUNT_##id + BT_SLOTS_(kind) - 1,
enum { SERVER_COUNTERS(STAT_ID_) COUNT_end_ };

/* The server's row of the segment, as bt_self.row is a module's. Never NULL. */
extern _Atomic int64_t *count_row;

#define count(id) bt_slot_add(&count_row[COUNT_##id], 1)
#define count_by(id, by) bt_slot_add(&count_row[COUNT_##id], (by))
#define count_observe(id, value) bt_observe_at(&count_row[COUNT_##id], (value))

#endif
