/* fuzz_lua.c - scripts by a grammar, thrown at the hooks of exchanges that nobody sent.
 *
 * Each byte of the input chooses a production. What comes of it is loaded into a state with small
 * limits, each of its hooks is called for two exchanges until it has ended, and then the state must be
 * closed with all its memory given back.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <fcntl.h>
#include <unistd.h>

#include "fuzz.h"

#include "../../modules/lua/state.h"

#include "base/arena.h"
#include "base/log.h"
#include "conf/complain.h"
#include "flow/fields.h"
#include "flow/flow.h"
#include "flow/logs.h"
#include "flow/notes.h"
#include "flow/pages.h"
#include "flow/session.h"
#include "net/loop.h"
#include "plug/acl.h"
#include "plug/generation.h"
#include "stat/counter.h"

extern const struct bt_module bt_module;

/* Floor 8 is not here, and nobody asks. */
void bt_call_print(struct bt_call *call, const char *format, ...)
{
    (void)call;
    (void)format;
}

void bt_call_done(struct bt_call *call, const char *why)
{
    (void)call;
    (void)why;
}

/* ---- the grammar ---- */

static const uint8_t *at, *end;
static FILE *out;
static unsigned depth, length;

static unsigned choose(unsigned n)
{
    return at < end ? *at++ % n : 0;
}

static void say(const char *text)
{
    fputs(text, out);
    length++;
}

static void expression(void);
static void statements(void);

static void one_of(const char *const *text, unsigned n)
{
    say(text[choose(n)]);
}

static void call(void)
{
    static const char *const functions[] = {"bt.deny",
                                            "bt.allow",
                                            "bt.respond",
                                            "bt.redirect",
                                            "bt.log",
                                            "bt.sleep",
                                            "bt.all",
                                            "bt.json",
                                            "bt.unjson",
                                            "bt.base64",
                                            "bt.sha256",
                                            "bt.same",
                                            "bt.date",
                                            "bt.every",
                                            "bt.limit",
                                            "bt.dns",
                                            "bt.http",
                                            "bt.map",
                                            "bt.shared",
                                            "bt.counter",
                                            "bt.regex",
                                            "pcall",
                                            "xpcall",
                                            "error",
                                            "assert",
                                            "select",
                                            "tostring",
                                            "tonumber",
                                            "type",
                                            "setmetatable",
                                            "getmetatable",
                                            "rawset",
                                            "next",
                                            "pairs",
                                            "coroutine.wrap",
                                            "coroutine.create",
                                            "coroutine.resume",
                                            "coroutine.yield",
                                            "coroutine.close",
                                            "coroutine.running",
                                            "string.rep",
                                            "string.format",
                                            "string.find",
                                            "string.gsub",
                                            "string.gmatch",
                                            "string.match",
                                            "string.pack",
                                            "string.byte",
                                            "table.sort",
                                            "table.concat",
                                            "table.insert",
                                            "table.remove",
                                            "table.unpack",
                                            "table.move",
                                            "utf8.char",
                                            "utf8.codepoint",
                                            "math.random",
                                            "os.date",
                                            "os.time",
                                            "require",
                                            "print",
                                            "collectgarbage",
                                            "f",
                                            "co",
                                            "x",
                                            "txn.note",
                                            "txn.set_url",
                                            "txn.set_ttl",
                                            "txn.set_store_key",
                                            "txn.log",
                                            "txn.field",
                                            "txn.tag",
                                            "bt.helper",
                                            "bt.tcp",
                                            "bt.histogram",
                                            "bt.geo",
                                            "bt.test.request",
                                            "txn.req.headers.add"};

    one_of(functions, sizeof functions / sizeof *functions);
    say("(");
    for (unsigned n = choose(5), i = 0; i < n; i++) {
        if (i > 0)
            say(",");
        expression();
    }
    say(")");
}

static void table_(void)
{
    static const char *const keys[] = {"status=",      "reason=",  "page=", "headers=", "body=",
                                       "url=",         "__index=", "__gc=", "__close=", "__call=",
                                       "__metatable=", "[1]=",     "",      "",         "",
                                       "method=",      "response="};

    say("{");
    for (unsigned n = choose(5); n > 0; n--) {
        one_of(keys, sizeof keys / sizeof *keys);
        expression();
        say(",");
    }
    say("}");
}

static void expression(void)
{
    static const char *const leaves[] = {"nil",
                                         "1",
                                         "0",
                                         "-1",
                                         "x",
                                         "y",
                                         "t",
                                         "txn",
                                         "true",
                                         "false",
                                         "''",
                                         "'a'",
                                         "'ERR_ACCESS_DENIED'",
                                         "1e9",
                                         "2^53",
                                         "0/0",
                                         "math.huge",
                                         "'%a+-'",
                                         "('a'):rep(3000)",
                                         "txn.host",
                                         "txn.ctx",
                                         "txn.req.headers",
                                         "txn.rep.headers",
                                         "txn.client",
                                         "txn.req",
                                         "txn.url",
                                         "'http://a.test/'",
                                         "'a\\r\\nb'",
                                         "'x\\0y'",
                                         "'[[a-z]*'",
                                         "('a-'):rep(9)..'b'",
                                         "f",
                                         "co",
                                         "bt",
                                         "string",
                                         "_G",
                                         "...",
                                         "'%s%d%q'",
                                         "404",
                                         "'Set-Cookie'",
                                         "'Content-Length'",
                                         "'{\"a\":[1,null]}'",
                                         "txn.ip",
                                         "os"};
    static const char *const operators[] = {" .. ", " + ", " // ", " == ", " and ",
                                            " or ", " < ", " % ",  " & ",  " << "};

    if (++depth > 8 || length > 1500) {
        say("1");
        depth--;
        return;
    }
    switch (choose(9)) {
    case 0:
        call();
        break;
    case 1:
        table_();
        break;
    case 2:
        say("function(...) ");
        statements();
        say(" end");
        break;
    case 3:
        say("(");
        expression();
        one_of(operators, sizeof operators / sizeof *operators);
        expression();
        say(")");
        break;
    case 4:
        say("#");
        expression();
        break;
    default:
        one_of(leaves, sizeof leaves / sizeof *leaves);
        break;
    }
    depth--;
}

static void statement(void)
{
    static const char *const places[] = {"x",
                                         "y",
                                         "t",
                                         "t[x]",
                                         "txn.ctx.a",
                                         "f",
                                         "co",
                                         "bt.x",
                                         "string.x",
                                         "txn.req.headers['X-A']",
                                         "txn.rep.headers.B",
                                         "txn.path",
                                         "_G[x]"};

    switch (choose(9)) {
    case 0:
        say("while ");
        expression();
        say(" do ");
        statements();
        say(" end ");
        break;
    case 1:
        say("for k, v in pairs(t) do ");
        statements();
        say(" end ");
        break;
    case 2:
        say("if ");
        expression();
        say(" then ");
        statements();
        say(" end ");
        break;
    case 3:
        say("do return ");
        expression();
        say(" end ");
        break;
    case 4:
        say("do local c <close> = ");
        expression();
        say(" ");
        statements();
        say(" end ");
        break;
    case 5:
        say("local _ = ");
        call();
        say(" ");
        break;
    default:
        one_of(places, sizeof places / sizeof *places);
        say(" = ");
        expression();
        say(" ");
        break;
    }
}

static void statements(void)
{
    if (++depth <= 8)
        for (unsigned n = 1 + choose(4); n > 0 && length < 1500; n--)
            statement();
    depth--;
}

static void script(const char *path)
{
    static const char *const hooks[] = {"on_request", "on_response", "on_lookup", "on_upstream",
                                        "on_finish",  "on_accept",   "on_error",  "on_worker"};

    out = fopen(path, "we");
    MUST(out != NULL);
    depth = length = 0;
    fputs("local x, y, t, f, co = 1, 'y', {1, 2, a = 3}\nlocal txn = {}\n", out);
    if (choose(8) == 7)
        statements();
    for (size_t i = 0; i < sizeof hooks / sizeof *hooks; i++) {
        fprintf(out, "\nfunction %s(txn, ...) ", hooks[i]);
        statements();
        fputs(" end", out);
        length = 0;
    }
    fclose(out);
}

/* ---- running it ---- */

static char conf_path[] = "/tmp/fuzz-lua-conf-XXXXXX",
            script_path[] = "/tmp/fuzz-lua-script-XXXXXX";
static struct segment segment;
static struct conf *conf;

static void files_end(void)
{
    unlink(conf_path);
    unlink(script_path);
}

static void server_begin(void)
{
    static const struct bt_module *const statics[] = {&flow_module,  &fields_module, &logs_module,
                                                      &pages_module, &acl_module,    &plug_module,
                                                      &notes_module, &known_module,  &bt_module};
    struct bt_error err;
    struct bt_arena *arena = arena_new(64 * 1024);
    int fd = mkstemp(conf_path), fd2 = mkstemp(script_path);

    setenv("BOBTAIL_MODULES", "/nonexistent", 1);
    atexit(files_end);
    MUST(fd >= 0 && fd2 >= 0 && close(fd2) == 0);
    dprintf(
        fd,
        "http_port 127.0.0.1:3128\nhttp_access deny all\naccess_log none\n"
        "lua_memory_limit 8 MB\nlua_cpu_limit 5 milliseconds\nlua_wait_timeout 20 milliseconds\n"
        "dns_nameservers 127.0.0.1\nlua_script %s\n",
        script_path);
    close(fd);
    complain_init(&err, arena);
    bool good = generation_load(conf_path, statics, sizeof statics / sizeof *statics, &err) != NULL;
    if (!good)
        complain_print(&err, stderr, false);
    MUST(good);
    complain_fini(&err);
    MUST(counter_make(&segment, 1));
    counter_use(&segment, 1);
    MUST(flow_share(1) && loop_init() && generation_start(generation_current) && flow_start());
    conf = bt_module.self->conf;
}

static void exchange(bool answered)
{
    struct bt_sketch sketch = {.method = BT_STR("POST"),
                               .url = BT_STR("http://a.test/x?y"),
                               .fields = BT_STR("Cookie: a\r\nCookie: b\r\n"),
                               .status = answered ? 200 : 0,
                               .rep_fields = BT_STR("Server: x\r\n")};
    const char *why;
    struct bt_txn *txn = bt_sketch(&sketch, &why);
    const bool never = false;

    MUST(txn != NULL);
    for (enum hook hook = HOOK_ACCEPT; hook < HOOK_FINISH; hook++)
        for (int turns = 0; hooks_run(txn, hook) == BT_PAUSE; turns++) {
            MUST(turns < 1000);
            (void)loop_run_until(&never, 1);
        }
    hooks_finish(txn);
    struct session *session = txn->session;
    deferred_cancel(&txn->resume); /* as its end would */
    arena_free(txn->arena);
    if (session->arena != NULL)
        arena_free(session->arena);
    free(session);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool begun;
    char why[1000];
    const bool never = false;

    if (!begun) {
        begun = true;
        server_begin();
    }
    at = data;
    end = data + size;
    script(script_path);
    struct state *old = state_now, *state = state_open(conf, NULL, why, sizeof why);
    if (state == NULL)
        return 0;
    state_now = state;
    state_start(state);
    exchange(false);
    exchange(true);
    for (int i = 0; i < 10; i++)
        (void)loop_run_until(&never, 3);
    timers_stop(state);
    MUST(state->users <= 2); /* on_worker may wait still */
    state_now = old;
    if (state->users == 1)
        state_unuse(state);
    else
        state->users--;
    return 0;
}
