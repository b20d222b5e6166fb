/* status.h - reason phrases of status codes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HTTP_STATUS_H
#define HTTP_STATUS_H

#include "bt_types.h"

/* The phrase, "Not Found"; an empty text for a code that nobody has named. */
bt_str status_reason(int status);

#endif
