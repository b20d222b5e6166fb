/* test_load.c - where modules are looked for, and refusals that need no compiler.
 *
 * Refusals of real shared objects: t/12-load-modules.t.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "plug/index.h"
#include "plug/load.h"

static struct bt_arena *arena;
static char folder[] = "/tmp/bobtail-load-XXXXXX";

static void put(const char *name, const char *text)
{
    FILE *out = fopen(bt_str_printf(arena, "%s/%s", folder, name).at, "w");

    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

static int make(void **state)
{
    (void)state;
    arena = arena_new(4096);
    return mkdtemp(folder) == NULL;
}

static int drop(void **state)
{
    static const char *const names[] = {"b.so", "a.so", ".c.so", "readme", "text.so"};

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unlink(bt_str_printf(arena, "%s/%s", folder, names[i]).at);
    arena_free(arena);
    return rmdir(folder);
}

static void test_names(void **state)
{
    (void)state;
    assert_true(bt_str_eq(load_name("/usr/lib/bobtail/acl_net.so"), BT_STR("acl_net")));
    assert_true(bt_str_eq(load_name("acl_net.so"), BT_STR("acl_net")));
    assert_true(bt_str_eq(load_name("./x.so.1"), BT_STR("x.so.1")));
    assert_string_equal(load_path("/m", BT_STR("geo"), arena), "/m/geo.so");
}

static void test_list(void **state)
{
    const char *const *names;

    (void)state;
    put("b.so", "");
    put("a.so", "");
    put(".c.so", "");
    put("readme", "");
    assert_int_equal(load_list(folder, arena, &names), 2);
    assert_string_equal(names[0], "a");
    assert_string_equal(names[1], "b");
    assert_int_equal(load_list("/nonexistent/folder", arena, &names), 0);
}

/* The loader's own words are never lost. */
static void test_refusals(void **state)
{
    bt_str why;

    (void)state;
    assert_null(load_open("/nonexistent/geo.so", arena, &why));
    assert_non_null(strstr(why.at, "/nonexistent/geo.so"));
    assert_non_null(strstr(why.at, "No such file or directory"));

    put("text.so", "this is not a shared object, though long enough to have a header of one\n");
    const char *path = load_path(folder, BT_STR("text"), arena);
    assert_null(load_open(path, arena, &why));
    assert_non_null(strstr(why.at, path));
    assert_non_null(strstr(why.at, "invalid ELF header"));
}

/* Any shared object that is no module: the C library's own mathematics will do. */
static void test_no_symbol(void **state)
{
    bt_str why;
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512], *path = NULL;

    (void)state;
    assert_non_null(maps);
    while (path == NULL && fgets(line, sizeof line, maps) != NULL)
        if (strstr(line, "libc.so") != NULL || strstr(line, "/libc-") != NULL)
            path = strchr(line, '/');
    fclose(maps);
    assert_non_null(path);
    path[strcspn(path, "\n")] = '\0';
    assert_null(load_open(path, arena, &why));
    assert_non_null(strstr(why.at, "no symbol bt_module"));
    assert_non_null(strstr(why.at, path));
}

static void test_folder(void **state)
{
    (void)state;
    setenv("BOBTAIL_MODULES", folder, 1);
    assert_string_equal(load_folder(), folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),    cmocka_unit_test(test_list),
        cmocka_unit_test(test_refusals), cmocka_unit_test(test_no_symbol),
        cmocka_unit_test(test_folder),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("load", tests, make, drop);
}
