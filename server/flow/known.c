/* known.c - every other name of the squid.conf language: warned about, or refused.
 *
 * Nobody should have to guess whether a line does something. So each name that Squid knows is known
 * here, too, with what it takes; see known.h for what is to become of it. When one gets built, its
 * row moves to whoever builds it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/known.h"

#include "flow/flow.h"

#include "flow/known_options.h"

static const struct bt_directive directives[] = {
    /* Whatever reads the file deals with these (conf/file.c); they are rows for the manual, and so
     * that a misspelt one gets a suggestion. */
    {.name = "include",
     .args = "word...",
     .doc = "Read other files here; patterns are sorted, and may fit none.",
     .set = known_read_already},
    {.name = "configuration_includes_quoted_values",
     .args = "on|off",
     .doc =
         "For the rest of this file, words in quotes are values, and parameters(\"FILE\") names a "
         "list file.",
     .set = known_read_already},
#include "flow/known_access.h"
#include "flow/known_cache.h"
#include "flow/known_obsolete.h"
#include "flow/known_tuning.h"
#include "flow/known_upstream.h"
};

static struct bt_self self;

const struct bt_module known_module = {
    .abi_major = BT_ABI_MAJOR,
    .abi_minor = BT_ABI_MINOR,
    .size = sizeof(struct bt_module),
    .name = "known",
    .doc = "Names of Squid's language that are not built, or not needed.",
    .self = &self,
    .directives = BT_ROWS(directives),
};
