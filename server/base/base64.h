/* base64.h - base64 as Basic credentials use it (RFC 4648 section 4, RFC 7617).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include "bt_mem.h"

/* In the arena, ended by NUL. */
bt_str base64_encode(struct bt_arena *, bt_str bytes);

#endif
