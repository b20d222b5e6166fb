/* status.c - reason phrases of status codes (RFC 9110 15, and the registry).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "http/status.h"

#define PHRASE_(code, text)                                                                        \
    case code:                                                                                     \
        return BT_STR(text);

bt_str status_reason(int status)
{
    switch (status) {
        PHRASE_(100, "Continue")
        PHRASE_(101, "Switching Protocols")
        PHRASE_(102, "Processing")
        PHRASE_(103, "Early Hints")
        PHRASE_(200, "OK")
        PHRASE_(201, "Created")
        PHRASE_(202, "Accepted")
        PHRASE_(203, "Non-Authoritative Information")
        PHRASE_(204, "No Content")
        PHRASE_(205, "Reset Content")
        PHRASE_(206, "Partial Content")
        PHRASE_(207, "Multi-Status")
        PHRASE_(208, "Already Reported")
        PHRASE_(226, "IM Used")
        PHRASE_(300, "Multiple Choices")
        PHRASE_(301, "Moved Permanently")
        PHRASE_(302, "Found")
        PHRASE_(303, "See Other")
        PHRASE_(304, "Not Modified")
        PHRASE_(305, "Use Proxy")
        PHRASE_(307, "Temporary Redirect")
        PHRASE_(308, "Permanent Redirect")
        PHRASE_(400, "Bad Request")
        PHRASE_(401, "Unauthorized")
        PHRASE_(402, "Payment Required")
        PHRASE_(403, "Forbidden")
        PHRASE_(404, "Not Found")
        PHRASE_(405, "Method Not Allowed")
        PHRASE_(406, "Not Acceptable")
        PHRASE_(407, "Proxy Authentication Required")
        PHRASE_(408, "Request Timeout")
        PHRASE_(409, "Conflict")
        PHRASE_(410, "Gone")
        PHRASE_(411, "Length Required")
        PHRASE_(412, "Precondition Failed")
        PHRASE_(413, "Content Too Large")
        PHRASE_(414, "URI Too Long")
        PHRASE_(415, "Unsupported Media Type")
        PHRASE_(416, "Range Not Satisfiable")
        PHRASE_(417, "Expectation Failed")
        PHRASE_(421, "Misdirected Request")
        PHRASE_(422, "Unprocessable Content")
        PHRASE_(423, "Locked")
        PHRASE_(424, "Failed Dependency")
        PHRASE_(425, "Too Early")
        PHRASE_(426, "Upgrade Required")
        PHRASE_(428, "Precondition Required")
        PHRASE_(429, "Too Many Requests")
        PHRASE_(431, "Request Header Fields Too Large")
        PHRASE_(451, "Unavailable For Legal Reasons")
        PHRASE_(500, "Internal Server Error")
        PHRASE_(501, "Not Implemented")
        PHRASE_(502, "Bad Gateway")
        PHRASE_(503, "Service Unavailable")
        PHRASE_(504, "Gateway Timeout")
        PHRASE_(505, "HTTP Version Not Supported")
        PHRASE_(506, "Variant Also Negotiates")
        PHRASE_(507, "Insufficient Storage")
        PHRASE_(508, "Loop Detected")
        PHRASE_(510, "Not Extended")
        PHRASE_(511, "Network Authentication Required")
    default:
        return BT_STR("");
    }
}
