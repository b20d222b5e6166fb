/* dashboard.c - the page for people: dashboard.html, as it stands in this folder.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "page.h"

/* What C has no word for before C23. */
__asm__(".pushsection .rodata\n"
        "page_dashboard_begin:\n"
        ".incbin \"" PAGE_FOLDER "/dashboard.html\"\n"
        "page_dashboard_end:\n"
        ".popsection\n");
extern const char page_dashboard_begin[] __attribute__((visibility("hidden")));
extern const char page_dashboard_end[] __attribute__((visibility("hidden")));

bt_str dashboard_text(void)
{
    return (bt_str){page_dashboard_begin, (size_t)(page_dashboard_end - page_dashboard_begin)};
}
