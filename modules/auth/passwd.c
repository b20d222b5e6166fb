/* passwd.c - NAME:HASH lines: bcrypt, SHA-crypt, MD5-crypt and DES by crypt_rn(), $apr1$, {SHA}.
 *
 * A name that is not in the file costs as much time as one that is, so that nobody learns names by a
 * clock.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "passwd.h"

#include <crypt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "hash.h"

struct entry {
    char *user, *hash;
};
struct passwd {
    char *path;
    struct entry *entry; /* sorted by user */
    size_t n;
    struct stat seen;
    bool read;
    struct crypt_data crypt;
};

struct passwd *passwd_new(const char *path)
{
    struct passwd *passwd = calloc(1, sizeof *passwd);

    if (passwd == NULL || (passwd->path = strdup(path)) == NULL)
        abort();
    return passwd;
}

static void forget(struct passwd *passwd)
{
    for (size_t i = 0; i < passwd->n; i++)
        free(passwd->entry[i].user); /* the hash stands in the same memory */
    free(passwd->entry);
    passwd->entry = NULL;
    passwd->n = 0;
    passwd->read = false;
}

void passwd_free(struct passwd *passwd)
{
    if (passwd == NULL)
        return;
    forget(passwd);
    free(passwd->path);
    free(passwd);
}

/* ---- hashes ---- */

static const char letters64[] = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

static char *put64(char *to, uint32_t bits, int n)
{
    while (n-- > 0) {
        *to++ = letters64[bits & 63];
        bits >>= 6;
    }
    return to;
}

/* The thousand rounds of MD5-crypt. */
static void apr1_rounds(uint8_t sum[HASH_MAX], const char *password, bt_str salt)
{
    struct hash h;
    size_t len = strlen(password);

    for (unsigned i = 0; i < 1000; i++) {
        hash_init(&h, HASH_MD5);
        if (i & 1)
            hash_add(&h, password, len);
        else
            hash_add(&h, sum, 16);
        if (i % 3 != 0)
            hash_add_str(&h, salt);
        if (i % 7 != 0)
            hash_add(&h, password, len);
        if (i & 1)
            hash_add(&h, sum, 16);
        else
            hash_add(&h, password, len);
        hash_end(&h, sum);
    }
}

/* MD5-crypt with Apache's magic; crypt() does not know it. */
static void apr1(const char *password, bt_str salt, char out[64])
{
    static const uint8_t order[5][3] = {{0, 6, 12}, {1, 7, 13}, {2, 8, 14}, {3, 9, 15}, {4, 10, 5}};
    struct hash h;
    uint8_t sum[HASH_MAX];
    size_t len = strlen(password);

    hash_init(&h, HASH_MD5);
    hash_add(&h, password, len);
    hash_add_str(&h, salt);
    hash_add(&h, password, len);
    hash_end(&h, sum);
    hash_init(&h, HASH_MD5);
    hash_add(&h, password, len);
    hash_add(&h, "$apr1$", 6);
    hash_add_str(&h, salt);
    for (size_t left = len; left > 0; left -= left > 16 ? 16 : left)
        hash_add(&h, sum, left > 16 ? 16 : left);
    for (size_t bits = len; bits > 0; bits >>= 1)
        hash_add(&h, bits & 1 ? "" : password, 1);
    hash_end(&h, sum);
    apr1_rounds(sum, password, salt);
    char *to = out + snprintf(out, 32, "$apr1$%.*s$", BT_STR_ARGS(salt));
    for (unsigned i = 0; i < 5; i++)
        to = put64(to,
                   (uint32_t)sum[order[i][0]] << 16 | (uint32_t)sum[order[i][1]] << 8 |
                       sum[order[i][2]],
                   4);
    *put64(to, sum[11], 2) = '\0';
}

static bool apr1_fits(const char *hash, const char *password)
{
    const char *salt = hash + 6, *end = strchr(salt, '$');
    char made[64];

    if (end == NULL || end - salt > 8)
        return false;
    apr1(password, (bt_str){salt, (size_t)(end - salt)}, made);
    return strlen(made) == strlen(hash) && hash_same(made, hash, strlen(made));
}

static bool sha_fits(const char *hash, const char *password)
{
    uint8_t want[HASH_MAX], sum[HASH_MAX];
    struct hash h;

    if (hash_base64_decode((bt_str){hash + 5, strlen(hash + 5)}, want, sizeof want) != 20)
        return false;
    hash_init(&h, HASH_SHA1);
    hash_add(&h, password, strlen(password));
    hash_end(&h, sum);
    return hash_same(want, sum, 20);
}

static bool fits(struct crypt_data *data, const char *hash, const char *password)
{
    if (strncmp(hash, "$apr1$", 6) == 0)
        return apr1_fits(hash, password);
    if (strncmp(hash, "{SHA}", 5) == 0)
        return sha_fits(hash, password);
    /* DES looks at eight characters: a longer password would have many others that do as well. */
    if (hash[0] != '$' && (strlen(hash) != 13 || strlen(password) > 8))
        return false;
    /* Not crypt_r(): sanitizers look for that at the start, when the library is not there yet. */
    const char *made = crypt_rn(password, hash, data, sizeof *data);
    return made != NULL && made[0] != '*' && strlen(made) == strlen(hash) &&
           hash_same(made, hash, strlen(hash));
}

bool passwd_fits(const char *hash, const char *password)
{
    struct crypt_data *data = calloc(1, sizeof *data);
    bool good = data != NULL && fits(data, hash, password);

    free(data);
    return good;
}

/* ---- the file ---- */

static int by_user(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->user, ((const struct entry *)b)->user);
}

static void line_take(struct passwd *passwd, char *line)
{
    char *colon = strchr(line, ':');

    line[strcspn(line, "\r\n")] = '\0';
    if (line[0] == '#' || colon == NULL || colon == line)
        return;
    colon[strcspn(colon + 1, ":") + 1] = '\0'; /* other fields may follow */
    struct entry *more = realloc(passwd->entry, (passwd->n + 1) * sizeof *more);
    char *copy = malloc(strlen(line) + strlen(colon + 1) + 2);
    if (more == NULL || copy == NULL)
        abort();
    passwd->entry = more;
    memcpy(copy, line, (size_t)(colon - line) + 1 + strlen(colon + 1) + 1);
    copy[colon - line] = '\0';
    more[passwd->n++] = (struct entry){copy, copy + (colon - line) + 1};
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_size == b->st_size && a->st_dev == b->st_dev &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static bool file_read(struct passwd *passwd)
{
    struct stat now;
    char line[1024];

    if (stat(passwd->path, &now) != 0)
        return passwd->read; /* being replaced, perhaps: what was read stands */
    if (passwd->read && same_file(&now, &passwd->seen))
        return true;
    FILE *file = fopen(passwd->path, "re");
    if (file == NULL)
        return passwd->read;
    forget(passwd);
    while (fgets(line, sizeof line, file) != NULL)
        line_take(passwd, line);
    fclose(file);
    if (passwd->n > 0)
        qsort(passwd->entry, passwd->n, sizeof *passwd->entry, by_user);
    passwd->seen = now;
    passwd->read = true;
    return true;
}

enum passwd_said passwd_check(struct passwd *passwd, const char *user, const char *password)
{
    struct entry wanted = {(char *)(uintptr_t)user, NULL};

    if (!file_read(passwd))
        return PASSWD_BROKEN;
    const struct entry *found = passwd->n == 0 ? NULL
                                               : bsearch(&wanted, passwd->entry, passwd->n,
                                                         sizeof *passwd->entry, by_user);
    if (found != NULL)
        return fits(&passwd->crypt, found->hash, password) ? PASSWD_GOOD : PASSWD_WRONG;
    if (passwd->n > 0)
        (void)fits(&passwd->crypt, passwd->entry[0].hash, password);
    return PASSWD_WRONG;
}
