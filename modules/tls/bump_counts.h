/* bump_counts.h - counters of bump.c and server.c, a part of counts.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TLS_BUMP_COUNTS_H
#define TLS_BUMP_COUNTS_H

#define BUMP_COUNTERS(X)                                                                           \
    X(bump_splice, "tls.bump_splice", BT_COUNT, "decisions",                                       \
      "Of ssl_bump: a tunnel, whether a line says so or none holds.")                              \
    X(bump_peek, "tls.bump_peek", BT_COUNT, "decisions",                                           \
      "Of ssl_bump: look at the next step, to make a tunnel.")                                     \
    X(bump_stare, "tls.bump_stare", BT_COUNT, "decisions",                                         \
      "Of ssl_bump: look at the next step, to look into it.")                                      \
    X(bump_bump, "tls.bump_bump", BT_COUNT, "decisions",                                           \
      "Of ssl_bump: look into it, whether a line says so or none holds after a stare.")            \
    X(bump_terminate, "tls.bump_terminate", BT_COUNT, "decisions",                                 \
      "Of ssl_bump: end the connection.")                                                          \
    X(hello_bad, "tls.hellos_refused", BT_COUNT, "connections",                                    \
      "Whose client said something like a hello of TLS that nobody can make anything of.")         \
    X(hello_none, "tls.hellos_missing", BT_COUNT, "connections",                                   \
      "Whose client spoke no TLS, or nothing, where it was to be looked into.")                    \
    X(hello_ech, "tls.hellos_encrypted", BT_COUNT, "connections",                                  \
      "Whose client's hello has an encrypted part: who it is for may be somebody else.")           \
    X(peek_cert, "tls.peeks_known", BT_COUNT, "connections",                                       \
      "Peeks that have seen the origin's certificate.")                                            \
    X(peek_blind, "tls.peeks_blind", BT_COUNT, "connections",                                      \
      "Peeks that have seen none, as with TLS 1.3 and sessions that are resumed.")

#endif
