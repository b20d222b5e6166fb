/* manpage.h - manual pages out of the rows, in mdoc(7): `bobtail --manual PAGE`.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROC_MANPAGE_H
#define PROC_MANPAGE_H

#include <stdio.h>

#include "plug/generation.h"

/* bobtail, bobtail.conf, bobtail-module or bobtail-lua. false: there is no such page; said on stderr.
 * The generation is one of generation_load_all(). */
BT_MUST bool manpage_print(const struct generation *, const char *page, FILE *);

#endif
