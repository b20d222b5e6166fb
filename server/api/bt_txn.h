/* bt_txn.h - what a hook, a field or an ACL may ask of one exchange, and do to it.
 *
 * A bt_txn exists from the client's connection on: before its head is read the request is empty, so
 * that every hook has one signature. All text that is returned lives as long as the exchange.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BT_TXN_H
#define BT_TXN_H

#include "bt_mem.h"
#include "bt_module.h"
#include "bt_types.h"

struct sockaddr;

/* ---- memory of the module for this exchange and this connection (sizes: struct bt_module) ---- */

BT_API void *bt_txn_memory(struct bt_txn *, const struct bt_self *);
BT_API void *bt_conn_memory(struct bt_txn *, const struct bt_self *);
#define bt_txn_ctx(txn) bt_txn_memory((txn), &bt_self)
#define bt_conn_ctx(txn) bt_conn_memory((txn), &bt_self)
BT_API struct bt_arena *bt_txn_arena(struct bt_txn *);
BT_API struct bt_arena *bt_conn_arena(struct bt_txn *); /* lives as long as the connection */

/* ---- the client's side ---- */

/* The client's address; where follow_x_forwarded_for is believed, that of whoever stands behind it. */
BT_API const struct sockaddr *bt_client_addr(struct bt_txn *);
/* Its reverse name (lower case, no trailing dot): YES; NO: it has none. WAIT: the look-up is under way
 * and resumes the exchange. */
BT_API enum bt_match bt_client_name(struct bt_txn *, bt_str *name);
/* How many connections the client's own address has open, in all workers of this generation together,
 * this one included; 0: they are not counted, or cannot be. Somebody must have asked for it before
 * the fork, in a setup or compile function. */
BT_API int64_t bt_client_connections(struct bt_txn *);
BT_API void bt_client_connections_want(void);
BT_API const struct sockaddr *bt_local_addr(struct bt_txn *); /* that the client connected to */
BT_API bt_str bt_port_name(struct bt_txn *);                  /* name= of the port line */
/* The client takes us for the web server itself (accel): it logs in by Authorization, and is asked to by
 * WWW-Authenticate with 401. */
BT_API bool bt_as_origin(struct bt_txn *);

/* ---- the request; from phase REQUEST on, empty before ---- */

BT_API bt_str bt_method(struct bt_txn *);
BT_API bt_str bt_scheme(struct bt_txn *); /* "http", "https"; empty for CONNECT */
BT_API bt_str bt_host(struct bt_txn *);   /* lower case, no brackets, no trailing dot */
BT_API unsigned bt_port(struct bt_txn *); /* with the scheme's default; 0: none */
BT_API bt_str bt_path(struct bt_txn *);   /* path and query, from "/" on */
BT_API bt_str
bt_url(struct bt_txn *); /* whole, normalised, without user info; CONNECT: host:port */
BT_API bt_str
bt_url_login(struct bt_txn *); /* user info of the URL as it came; BT_STR_NONE: none */
/* Another URL in place of the client's, absolute (CONNECT: host:port); copied. From here on bt_url() and
 * its parts, rules, the cache and the origin have this one; its addresses are found anew, and what ACLs
 * have said is forgotten. In phase REQUEST (http_access then judges the new URL) or ADAPT (it has
 * judged the client's, and adapted_http_access judges the new one). `keep_host`: the origin gets the
 * Host that the client sent. false: it is no URL that can be asked for, or it is too late for it;
 * nothing has changed. */
BT_API BT_MUST bool bt_url_set(struct bt_txn *, bt_str url, bool keep_host);
BT_API bt_str
bt_url_asked(struct bt_txn *); /* as the client sent it: bt_url() before any of these */
/* The host as an address when it is one, in whatever spelling; NULL when it is a name. */
BT_API const struct sockaddr *bt_host_addr(struct bt_txn *);
/* Value of the n-th field of that name (0 the first), case ignored; BT_STR_NONE when there is none. */
BT_API bt_str bt_req_header(struct bt_txn *, bt_str name, size_t n);

/* The addresses that the exchange will be connected to (the same ones: what was allowed is what is
 * dialled). WAIT: the look-up is under way and resumes the exchange; NO: the name has none. */
BT_API enum bt_match bt_destination(struct bt_txn *, const struct sockaddr *const **addrs,
                                    size_t *n);

/* The name of the host when the request names an address: YES with its reverse name (lower case, no
 * trailing dot); NO: it has none, or the host is no address. WAIT as above. */
BT_API enum bt_match bt_reverse(struct bt_txn *, bt_str *name);

/* ---- the response; from phase RESPONSE on ---- */

BT_API int bt_status(struct bt_txn *); /* 0: none yet */
BT_API bt_str bt_rep_header(struct bt_txn *, bt_str name, size_t n);

/* ---- who the client is, as logins and helpers find out; copied, NONE while nobody knows ---- */

enum bt_who {
    BT_WHO_LOGIN,    /* name that the user logged in with */
    BT_WHO_EXTERNAL, /* name of the user by an external ACL */
    BT_WHO_PASSWORD, /* password that an external ACL gave for parents */
    BT_WHO_TAG,      /* tag by an external ACL; the first one stands */
    BT_WHO_LOG,      /* text for logs by an external ACL */
    BT_WHO_MESSAGE,  /* why a helper refused, for error pages */
    BT_WHO_CLAIMED, /* name that somebody says is his, proven or not: for logs, and for nothing else */
    BT_WHO_END
};
BT_API void bt_who_set(struct bt_txn *, enum bt_who, bt_str);
BT_API bt_str bt_who(struct bt_txn *, enum bt_who);

/* Find out who is logged in, by the module that does logins (struct bt_login). YES: BT_WHO_LOGIN is
 * set; WAIT; anything else: nobody is, and a refusal will be a challenge. An ACL's match() then
 * returns BROKEN, which ends the list: who must log in is asked before anything else is tried. */
BT_API enum bt_match bt_login(struct bt_txn *);

/* The firewall mark (SO_MARK) of packets to the origin, whatever tcp_outgoing_mark says. Until phase
 * UPSTREAM. */
BT_API void bt_mark_set(struct bt_txn *, uint32_t mark);

/* In match() of an ACL that may wait. false: a list that cannot is asking. What is known already is to
 * be said, and nothing to be begun: WAIT is then taken for no match. bt_login(), bt_destination() and
 * the like look at it by themselves. */
BT_API bool bt_may_wait(void);

/* ---- notes: key and value on an exchange, or on its client's connection ---- */

enum bt_note { BT_NOTE_EXCHANGE, BT_NOTE_CLIENT };
/* Instead of other values of the key, or (add) beside them. Both are copied. */
BT_API void bt_note_set(struct bt_txn *, enum bt_note, bt_str key, bt_str value);
BT_API void bt_note_add(struct bt_txn *, enum bt_note, bt_str key, bt_str value);
/* The n-th value of the key, those of the exchange first; BT_STR_NONE: there are not so many. */
BT_API bt_str bt_note_get(struct bt_txn *, bt_str key, size_t n);

/* ---- any field of any module, by name or Squid code ---- */

BT_API bool bt_field_get(struct bt_txn *, bt_str name, bt_str arg, struct bt_value *out);
/* The field of that very name; NULL: there is none. From .setup on; in there, the module that has it is
 * loaded. */
BT_API const struct bt_field *bt_field_find(bt_str name);
/* Has a loaded module fields of that group: "client" for client.addr? */
BT_API bool bt_field_group(bt_str group);

/* ---- where it goes ---- */

/* The parent of that name (cache_peer), or "DIRECT": goes first among the ways, where rules and its
 * health let it be one of them. Up to phase UPSTREAM; copied; the last call stands. */
BT_API void bt_peer_set(struct bt_txn *, bt_str name);

/* ---- deciding ---- */

/* What BT_REFUSE will say: a status, and the name of the error page ("ERR_ACCESS_DENIED"). */
BT_API void bt_deny(struct bt_txn *, int status, const char *page);
/* After bt_deny(): why, in a phrase, for the page. Copied. */
BT_API void bt_deny_why(struct bt_txn *, bt_str);
/* From .setup on: is there an error page of that name? */
BT_API bool bt_page_known(bt_str name);
/* What BT_ANSWER will deliver: `fields` are whole header lines, each ended by CRLF (or NONE). */
BT_API void bt_answer(struct bt_txn *, int status, bt_str fields, bt_str body);
/* The client's connection ends with the answer to this request. */
BT_API void bt_last(struct bt_txn *);
/* Go on after BT_PAUSE or WAIT. Safe to call at any time, also from within the hook. */
BT_API void bt_resume(struct bt_txn *);

#endif
