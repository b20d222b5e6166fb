/* keylog.c - a line for each secret, as NSS began it and Wireshark reads it, written as it comes.
 *
 * A tool for finding faults, not for operation: a line is one write() to a file, in the loop.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "keylog.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

struct key_log {
    struct key_log *next;
    const struct bt_word *at;
    const struct bt_acls *acls; /* NULL: always */
    const char *path;
    int fd;
};

bool keylog_set(void *conf_, const struct bt_line *line, struct bt_error *err)
{
    struct tls_conf *conf = conf_;
    struct key_log **last = &conf->key_logs, *log;
    const struct bt_word *word = &line->args.word[0];
    bt_str path = word->text;

    if (bt_str_eq(path, BT_STR("none")))
        return true;
    if (path.len > 6 && memcmp(path.at, "stdio:", 6) == 0)
        path = (bt_str){path.at + 6, path.len - 6};
    if (path.at[0] != '/')
        return bt_complain(err, word, "'%s' is no file with its whole path", word->text.at);
    log = bt_alloc(line->arena, sizeof *log);
    *log = (struct key_log){.at = word, .acls = line->acls, .path = path.at, .fd = -1};
    while (*last != NULL)
        last = &(*last)->next;
    *last = log;
    bt_caution(err, word,
               "whoever can read %s can read what these connections carry; take this "
               "line out when you have found what you look for",
               path.at);
    return true;
}

bool keylog_setup(struct bt_error *err)
{
    bool good = true;

    for (struct key_log *log = tls_conf->key_logs; log != NULL; log = log->next) {
        log->fd = open(log->path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
        if (log->fd < 0)
            good = bt_complain(err, log->at, "%s: %s", log->path, strerror(errno));
    }
    return good;
}

static void keylog_line(const SSL *ssl, const char *line)
{
    const struct bt_tls_side *side = SSL_get_app_data(ssl);
    char end[] = "\n";
    struct iovec iov[] = {{(void *)(uintptr_t)line, strlen(line)}, {end, 1}};

    if (side != NULL && side->keys_fd > 0)
        (void)!writev(side->keys_fd, iov, 2);
}

void keylog_context(SSL_CTX *ctx)
{
    if (tls_conf->key_logs != NULL)
        SSL_CTX_set_keylog_callback(ctx, keylog_line);
}

void keylog_choose(struct bt_tls_side *side, struct bt_txn *txn)
{
    for (const struct key_log *log = tls_conf->key_logs; log != NULL; log = log->next)
        if (log->acls == NULL || (txn != NULL && bt_acls_match(log->acls, txn) == BT_YES)) {
            side->keys_fd = log->fd;
            return;
        }
}
