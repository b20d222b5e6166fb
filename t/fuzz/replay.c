/* replay.c - feeds files to a fuzzer's one function, for compilers without a fuzzer: every corpus is
 * a plain test, and so is every crash that was ever found.
 *
 *   t/fuzz/fuzz_head FILE-OR-FOLDER...
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <dirent.h>
#include <sys/stat.h>

#include "fuzz.h"

static unsigned long fed;

static bool feed_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    struct stat about;
    uint8_t *data;
    size_t size;

    if (file == NULL || fstat(fileno(file), &about) != 0) {
        perror(path);
        return false;
    }
    /* Of just its size, so that a sanitizer sees a byte too far. */
    data = malloc(about.st_size > 0 ? (size_t)about.st_size : 1);
    size = data != NULL ? fread(data, 1, (size_t)about.st_size, file) : 0;
    fclose(file);
    if (size == (size_t)about.st_size)
        LLVMFuzzerTestOneInput(data, size);
    free(data);
    fed++;
    return size == (size_t)about.st_size;
}

static bool feed_folder(const char *path)
{
    DIR *folder = opendir(path);
    struct dirent *entry;
    bool fine = true;

    if (folder == NULL)
        return feed_file(path);
    while ((entry = readdir(folder)) != NULL) {
        char name[4096];

        if (entry->d_name[0] == '.')
            continue;
        if (snprintf(name, sizeof name, "%s/%s", path, entry->d_name) >= (int)sizeof name)
            fine = false;
        else if (!feed_file(name))
            fine = false;
    }
    closedir(folder);
    return fine;
}

int main(int n, char **words)
{
    bool fine = n > 1;

    for (int i = 1; i < n; i++)
        if (!feed_folder(words[i]))
            fine = false;
    printf("%lu inputs\n", fed);
    return fine && fed > 0 ? 0 : 1;
}
