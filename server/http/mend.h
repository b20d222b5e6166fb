/* mend.h - request heads that are written carelessly and yet have one meaning: made strict.
 *
 * The parser takes none of these. Who wants them taken (relaxed_header_parser, uri_whitespace) has
 * a head that it refused written anew here, and parses the result, to which all strictness applies.
 * Nothing that says where a message ends is ever mended: see mend_request().
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HTTP_MEND_H
#define HTTP_MEND_H

#include "http/parse.h"

/* Blanks in the path of a URL, in the order of the words of uri_whitespace. */
enum mend_blanks { MEND_STRIP, MEND_DENY, MEND_ALLOW, MEND_ENCODE, MEND_CHOP };

struct mend {
    bool relaxed; /* blanks between the parts of the request line; bare LF throughout */
    enum mend_blanks blanks;
};

/* May what head_peek() said of a beginning still be mended, so that the rest is worth waiting for? */
bool mend_may_help(const struct mend *, enum head_fault);

/* Write the head buf[0..len) (as head_end() told it) anew. `out` has room for MEND_ROOM(len) bytes.
 * Returns the length of what was written, which may be parsed as any head; 0: nothing that may be
 * mended is wrong with it. *last: no further request may be read from the connection.
 *
 *   relaxed  any number of blanks and tabs between method, target and version and behind the
 *            version; all lines end in a bare LF (not one CR in the head), and no field begins with
 *            Content-Length or Transfer-Encoding: then *last is set
 *   blanks   blanks and tabs in the target, from the path on, when the line ends in HTTP/1.0 or
 *            HTTP/1.1, no other word looks like a version, and the method is not CONNECT; ALLOW does
 *            what ENCODE does, since a URL with blanks cannot be sent on */
#define MEND_ROOM(len) (3 * (len) + 64)
size_t mend_request(const struct mend *, const char *buf, size_t len, char *out, bool *last);

#endif
