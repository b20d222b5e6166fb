/* known.h - how the rows of names that are not built are written, and what checks their lines.
 *
 * The rows stand by theme in known_*.h, which are pieces of the one table in known.c and of nothing
 * else. A row there says what Squid takes, so that a mistake is told at its place although nothing
 * comes of the line, and what is to become of it:
 *
 *   KNOWN      tuning, or a part of a machinery that is not here: a warning
 *   OBSOLETE   gone from the language: a warning
 *   UNBUILT    to ignore it would open the proxy, leak something or change what is allowed: the
 *              start is refused
 *
 * A preset names what happens anyway; a line that asks for that needs neither.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FLOW_KNOWN_H
#define FLOW_KNOWN_H

#include "bt_module.h"

#define KNOWN(its_name, its_args, why)                                                             \
    {                                                                                              \
        .name = its_name, .args = its_args, .status = BT_IGNORED, .note = why                      \
    }
#define KNOWN_BUT(its_name, its_args, harmless, why)                                               \
    {                                                                                              \
        .name = its_name, .args = its_args, .preset = harmless, .status = BT_IGNORED, .note = why  \
    }
#define KNOWN_UNIT(its_name, its_args, its_unit, why)                                              \
    {                                                                                              \
        .name = its_name, .args = its_args, .unit = its_unit, .status = BT_IGNORED, .note = why    \
    }
#define KNOWN_RULES(its_name, its_args, harmless, since, why)                                      \
    {                                                                                              \
        .name = its_name, .args = its_args, .preset = harmless, .phase = since,                    \
        .status = BT_IGNORED, .note = why                                                          \
    }
#define UNBUILT(its_name, its_args, why)                                                           \
    {                                                                                              \
        .name = its_name, .args = its_args, .status = BT_UNBUILT, .note = why                      \
    }
#define UNBUILT_BUT(its_name, its_args, harmless, why)                                             \
    {                                                                                              \
        .name = its_name, .args = its_args, .preset = harmless, .status = BT_UNBUILT, .note = why  \
    }
#define UNBUILT_RULES(its_name, its_args, harmless, since, why)                                    \
    {                                                                                              \
        .name = its_name, .args = its_args, .preset = harmless, .phase = since,                    \
        .status = BT_UNBUILT, .note = why                                                          \
    }
#define OBSOLETE(its_name, instead)                                                                \
    {                                                                                              \
        .name = its_name, .args = "any", .status = BT_OBSOLETE, .note = instead                    \
    }
#define ALIAS(its_name, meant)                                                                     \
    {                                                                                              \
        .name = its_name, .same_as = meant                                                         \
    }

/* .set of rows whose words need more than a grammar: they check, and keep next to nothing. */
typedef bool known_set(void *conf, const struct bt_line *, struct bt_error *);
known_set known_cache_dir, known_read_already, known_replacement_policy;

#endif
