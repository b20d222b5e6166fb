/* url.h - what a request asks for: the four forms of a target, checked and normalised.
 *
 * One URL has one spelling here, so that rules, logs, cache keys and the dialled address agree.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HTTP_URL_H
#define HTTP_URL_H

#include <netinet/in.h>
#include <sys/socket.h>

#include "bt_mem.h"
#include "http/parse.h"

enum url_form {
    URL_ABSOLUTE,  /* http://host/path: to a proxy */
    URL_AUTHORITY, /* host:port: CONNECT */
    URL_ORIGIN,    /* /path: to the server itself (or intercepted) */
    URL_ASTERISK   /* "*": OPTIONS to the server itself */
};

struct url {
    enum url_form form;
    uint16_t port;     /* with the scheme's default; 0: none known (ORIGIN, ASTERISK, others) */
    bool host_is_addr; /* addr is set, in whatever spelling the host came */
    bt_str scheme;     /* lower case; empty for CONNECT, ORIGIN and ASTERISK */
    bt_str userinfo;   /* as given, without "@"; NONE: none. A secret: neither log nor forward it */
    bt_str host;       /* lower case, no brackets, no trailing dot; addresses in one spelling */
    /* For the Host field: host, [v6] in brackets, ":port" unless the default; CONNECT: always. */
    bt_str authority;
    /* Path and query from "/" on; "*" for ASTERISK and OPTIONS without a path; CONNECT: empty. */
    bt_str path;
    /* The whole URL without user information, as ACLs and logs see it; CONNECT: host:port; ORIGIN
     * and ASTERISK: the target as it came. */
    bt_str text;
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } addr; /* with the port, ready to be dialled; valid when host_is_addr */
};

/* Parse the target of a request. *out holds slices of target, and of the arena where the normal
 * form differs. The arena may be NULL when only the fault matters (then text that would need memory
 * is left empty). Refused: blanks, control bytes, fragments, empty or percent-encoded hosts, zones,
 * ports outside 1-65535, CONNECT without a port, "*" with other methods than OPTIONS. */
enum head_fault url_parse(struct bt_arena *, enum method, bt_str target, struct url *out);

/* Fill host, port, authority and addr of *out from "host[:port]" (the Host field of an ORIGIN
 * target), with the default port of `scheme`; form, path and userinfo stay, scheme and text are
 * made anew. */
enum head_fault url_complete(struct bt_arena *, bt_str scheme, bt_str authority, struct url *out);

/* 80 for http, 443 for https, 21 for ftp, 0 for others; lower case wanted. */
uint16_t url_default_port(bt_str scheme);

/* Whether text is "host[:port]" as Host may have it; syntax only, no memory. The parser asks. */
bool url_host_valid(bt_str text);

#endif
