/* map.h - url_rewrite_map: what URLs become, out of a file.
 *
 *   http://old.example.com/a?b    http://new.example.com/c     one URL, its query included
 *   http://old.example.com/x/+    http://new.example.com/y/+   all below; with a star for each +
 *   old.example.com               new.example.com              a host, on any port
 *   old.example.com:8080          http://new.example.com       a host on that port
 *   .example.org                  301:https://example.net      a domain and all below it
 *   ~ ^http://[^/]*tracker        http://blocked.example.com/  a regular expression; ~* ignores case
 *
 * What has no path, host or scheme://host, keeps the path and query that were asked for; a host alone
 * keeps the scheme, too. 301:, 302:, 303:, 307: or 308: in front redirects the client. Of several
 * lines the first kind of this list counts that fits: the URL, the longest part of its path, the host
 * with its port, the host, the longest domain, then regular expressions from top to bottom.
 *
 * Built in the master, then read-only. A look-up hashes the URL once and asks a table at each / and
 * at each dot.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef REWRITE_MAP_H
#define REWRITE_MAP_H

#include "bt.h"

struct map;

/* What is asked for; all normalised. CONNECT has no scheme, and `url` is host:port. */
struct map_asked {
    bt_str url, scheme, host, path;
    unsigned port; /* 0: the scheme's own */
};
struct map_target {
    int status; /* 0: rewrite, else redirect */
    bt_str url; /* in the arena given */
    const struct bt_word *at;
};

/* Read a file that a word of the configuration names. NULL after a complaint. */
struct map *map_read(const struct bt_word *path, struct bt_arena *, struct bt_error *);
/* NO: no line fits; BROKEN: a regular expression took too long. */
enum bt_match map_find(const struct map *, const struct map_asked *, struct bt_arena *,
                       struct map_target *);

#endif
