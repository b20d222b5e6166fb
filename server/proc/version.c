/* version.c - what this program is, and what it was built with.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "proc/version.h"

#include "bt_module.h"

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define COMPILER "gcc " __VERSION__
#else
#define COMPILER "an unknown compiler"
#endif

void version_print(FILE *out)
{
    fprintf(out, "Bobtail Cache: Version %s\n", PACKAGE_VERSION);
    fprintf(out, "built by %s\n", COMPILER);
    fprintf(out, "module interface %d.%d\n", BT_ABI_MAJOR, BT_ABI_MINOR);
    fprintf(out, "configuration %s\nmodules %s\nstate %s\n", SYSCONFDIR, MODULEDIR, LOCALSTATEDIR);
}
