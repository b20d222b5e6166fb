/* faults.c - request heads that are refused: which counter, which error page.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/faults.h"

#include "stat/counts.h"

void faults_count(enum head_fault fault)
{
    count(requests_bad);
    switch (fault) {
    case FAULT_VERSION:
    case FAULT_NO_VERSION:
        count(parse_bad_version);
        break;
    case FAULT_LINE:
    case FAULT_METHOD:
    case FAULT_TLS:
    case FAULT_BINARY:
        count(parse_bad_line);
        break;
    case FAULT_LINE_END:
    case FAULT_NUL:
        count(parse_line_ends);
        break;
    case FAULT_MANY:
    case FAULT_LARGE:
        count(parse_too_large);
        break;
    case FAULT_HOST_MISSING:
    case FAULT_HOST_TWICE:
    case FAULT_HOST_BAD:
        count(parse_bad_host);
        break;
    case FAULT_LENGTH:
    case FAULT_LENGTHS:
        count(parse_bad_length);
        break;
    case FAULT_BOTH:
    case FAULT_CODING:
    case FAULT_CODING_UNKNOWN:
    case FAULT_CODING_OLD:
        count(parse_bad_coding);
        break;
    case FAULT_TARGET_LONG:
        count(parse_long_target);
        break;
    case FAULT_CHUNK:
        count(parse_bad_chunk);
        break;
    case FAULT_TARGET:
    case FAULT_TARGET_FORM:
    case FAULT_TARGET_BYTE:
    case FAULT_TARGET_HOST:
    case FAULT_TARGET_PORT:
    case FAULT_TARGET_USER:
    case FAULT_FRAGMENT:
        count(parse_bad_target);
        break;
    default:
        count(parse_bad_field);
        break;
    }
}

const char *faults_page(enum head_fault fault)
{
    switch (head_fault_status(fault)) {
    case 414:
    case 431:
        return "ERR_TOO_BIG";
    case 501:
        return "ERR_UNSUP_REQ";
    case 505:
        return "ERR_UNSUP_HTTPVERSION";
    default:
        break;
    }
    return fault >= FAULT_TARGET && fault <= FAULT_FRAGMENT ? "ERR_INVALID_URL" : "ERR_INVALID_REQ";
}
