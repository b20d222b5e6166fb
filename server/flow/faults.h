/* faults.h - request heads that are refused: which counter, which error page.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FLOW_FAULTS_H
#define FLOW_FAULTS_H

#include "http/parse.h"

void faults_count(enum head_fault);
const char *faults_page(enum head_fault);

#endif
