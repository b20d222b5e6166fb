/* commands.h - the commands of bobtailctl, one row each: for help, completion and the manual.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CTL_COMMANDS_H
#define CTL_COMMANDS_H

#include <stddef.h>

struct command {
    const char *word;
    const char
        *more; /* what may follow: words and --options to write so, WORDS in capitals to fill in */
    const char *doc;
};
extern const struct command commands[];
extern const size_t commands_n;

/* NULL: there is none of that name. */
const struct command *commands_find(const char *word);
/* The one that was perhaps meant; or NULL. */
const char *commands_near(const char *word);

/* Each prints and returns the exit status. */
int commands_help(void);
int commands_manual(void);
int commands_complete(char **word); /* bash, zsh or fish */

/* Exit statuses. */
enum { FINE = 0, REFUSED = 1, UNABLE = 2 };

#endif
