/* config_rows.h - a piece of tls.c: rows of directives about origins and sessions.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
{.name = "sslproxy_session_cache_size",
 .args = "size",
 .unit = "bytes",
 .preset = "2 MB",
 .doc = "Memory for the sessions of clients that take no tickets, shared by all workers; 0: none.",
 .offset = offsetof(struct tls_conf, session_cache)},
    {.name = "sslproxy_session_ttl",
     .args = "duration",
     .unit = "seconds",
     .preset = "1 hour",
     .doc = "How long clients may go on with a session, with or without tickets.",
     .offset = offsetof(struct tls_conf, session_ttl)},
