/* render.h - the counters as text for people, as JSON, and as OpenMetrics.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef STAT_RENDER_H
#define STAT_RENDER_H

#include <stdio.h>

#include "stat/segment.h"

enum render_form { RENDER_TEXT, RENDER_JSON, RENDER_OPENMETRICS };

struct render_filter {
    int kind; /* enum bt_kind; -1: all */
    const char
        *pattern; /* a part of the name, or with * ? [ a glob for the whole of it; NULL: all */
};

/* Text: name, value and unit, a line each. JSON: one object, {"client.requests": 12, ...}, where a
 * histogram is {"count":, "sum":, "p50":, "p90":, "p99":}. OpenMetrics: an exposition with
 * `# EOF`; microseconds are told in seconds. */
void render_counters(FILE *, const struct segment *, enum render_form,
                     const struct render_filter *);

/* A name for a kind, "count", "gauge", "histogram"; and back: -1 when it is none of these. */
const char *render_kind(enum bt_kind);
int render_kind_of(const char *name);

/* `text` as a JSON string, in quotation marks. */
void render_json_text(FILE *, const char *text);

#endif
