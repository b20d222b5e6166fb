/* bump_rows.h - a piece of tls.c: the row of ssl_bump.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
{.name = "ssl_bump",
 .args = "splice|peek|stare|bump|terminate|none|client-first|server-first|peek-and-splice|"
         "allow|deny acls+",
 .doc = "What is done with a CONNECT on a port with ssl-bump. At each step the first line counts "
        "that holds and whose action is possible then: splice (a tunnel), bump (looked into), peek "
        "and stare (go on to the next step, to splice or to bump there), terminate. No line holds: "
        "splice, but bump after a stare. No line at all: plain tunnels. Older words: allow, "
        "client-first and server-first bump; deny and none splice.",
 .offset = offsetof(struct tls_conf, bump),
 .phase = BT_AT_REQUEST,
 .flags = BT_BY_ACTION},
