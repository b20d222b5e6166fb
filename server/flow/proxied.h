/* proxied.h - clients that a load balancer connects: who they are, as its PROXY header says.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FLOW_PROXIED_H
#define FLOW_PROXIED_H

#include "flow/session.h"
#include "http/proxy_header.h"

/* What the header of a connection has said; as old as the connection. */
struct proxied {
    struct proxy_header header; /* `tlvs` is a copy */
    union session_addr direct;  /* whom the connection came from */
};

enum proxied_said {
    PROXIED_MORE, /* not all of it has come */
    PROXIED_FINE, /* the session has the client's addresses now; its input begins behind the header */
    PROXIED_BAD   /* the connection is to be closed; counted, logged */
};
/* Look at what a session with `greeting` has received. Its exchange must exist. */
enum proxied_said proxied_look(struct session *);
/* It ended before the header did. */
void proxied_cut(const struct session *);

/* A value of the header, as %proxy_protocol::>h names them: "224", ":src_addr", ":version"; all of them without
 * an argument. false: there is none. */
bool proxied_value(struct bt_txn *, bt_str arg, bt_str *value);

#endif
