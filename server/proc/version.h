/* version.h - what this program is, and what it was built with.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROC_VERSION_H
#define PROC_VERSION_H

#include <stdio.h>

void version_print(FILE *);

#endif
