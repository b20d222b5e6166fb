/* leaf_rows.h - a piece of tls.c: rows of directives about forged certificates.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
