/* tls.c - the module: TLS on every side; what of it exists so far hooks into nothing.
 *
 * hello.h reads what a client says first, forge.h makes a certificate in place of an origin's, pem.h
 * reads certificates and keys from files. OpenSSL appears in this folder only.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "bt.h"

BT_MODULE(tls, "TLS with clients and origins, looked into or not.", .conf_size = 0);
