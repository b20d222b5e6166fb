/* marks.c - which marks packets carry: class of service and firewall mark, to origins and to clients.
 *
 * A kept connection is used again only with the marks that it was made with, since a firewall may have
 * led it another way.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/marks.h"

#include "base/str.h"
#include "flow/route.h"
#include "flow/session.h"
#include "plug/rules.h"

/* A list whose first matching line says a number. */
struct numbers {
    struct bt_rules *rules; /* the action of a line is the place of its number */
    uint32_t *value;
    int n, room;
};

/* qos_flows: NULL: not said. */
struct flows {
    const uint32_t *hit, *sibling, *parent, *miss;
};

struct conf {
    struct numbers out_tos, out_mark, client_tos, client_mark;
    struct flows tos, mark;
    bool out, client, flows; /* anything of it */
};

struct options {
    bt_str hit, sibling, parent, miss, mask;
    bool no_preserve;
};

static struct bt_self self;
#define CONF ((const struct conf *)self.conf)

/* ---- lines ---- */

static bool uint_of_c(bt_str s, uint64_t most, uint64_t *out)
{
    if (str_starts_nocase(s, BT_STR("0x")))
        return str_uint_base((bt_str){s.at + 2, s.len - 2}, 16, most, out);
    return str_uint_base(s, s.len > 1 && s.at[0] == '0' ? 8 : 10, most, out);
}

/* "32", "0x20", "040"; with /MASK where a mark is meant. */
static bool number(bt_str text, uint64_t most, uint32_t *out)
{
    uint64_t value, mask = UINT32_MAX;
    bt_str at, with;

    if (!str_split(text, '/', &at, &with))
        with = BT_STR_NONE;
    if (most <= 255 && with.at != NULL)
        return false;
    if (!uint_of_c(at, most, &value) || (with.at != NULL && !uint_of_c(with, most, &mask)))
        return false;
    *out = (uint32_t)(value & mask);
    return true;
}

static bool number_read(const struct bt_word *word, bt_str text, bool tos, uint32_t *out,
                        struct bt_error *err)
{
    if (!number(text, tos ? 255 : UINT32_MAX, out))
        return bt_complain(err, word, "%s expected (decimal, 0x or octal), not '%.*s'",
                           tos ? "a number from 0 to 255" : "MARK or MARK/MASK", BT_STR_ARGS(text));
    if (tos && (*out & 3) != 0) {
        *out &= 0xfc;
        bt_caution(err, word, "the last two bits are the network's (ECN): 0x%x is taken", *out);
    }
    return true;
}

static bool numbers_add(struct numbers *list, const struct bt_line *line, bool tos,
                        struct bt_error *err)
{
    uint32_t value;

    if (!number_read(&line->args.word[0], line->args.word[0].text, tos, &value, err))
        return false;
    if (list->n == list->room) {
        int room = list->room == 0 ? 8 : list->room * 2;
        uint32_t *more = bt_alloc(line->arena, (size_t)room * sizeof *more);
        for (int i = 0; i < list->n; i++)
            more[i] = list->value[i];
        list->value = more;
        list->room = room;
    }
    bt_rules_add(&list->rules, line, list->n);
    list->value[list->n++] = value;
    return true;
}

static bool set_out_tos(void *conf_, const struct bt_line *line, struct bt_error *err)
{
    struct conf *conf = conf_;

    conf->out = true;
    return numbers_add(&conf->out_tos, line, true, err);
}

static bool set_out_mark(void *conf_, const struct bt_line *line, struct bt_error *err)
{
    struct conf *conf = conf_;

    conf->out = true;
    return numbers_add(&conf->out_mark, line, false, err);
}

static bool set_client_tos(void *conf_, const struct bt_line *line, struct bt_error *err)
{
    struct conf *conf = conf_;

    conf->client = true;
    return numbers_add(&conf->client_tos, line, true, err);
}

static bool set_client_mark(void *conf_, const struct bt_line *line, struct bt_error *err)
{
    struct conf *conf = conf_;

    conf->client = true;
    return numbers_add(&conf->client_mark, line, false, err);
}

static bool flow_read(const uint32_t **out, bt_str text, const struct bt_line *line, bool tos,
                      struct bt_error *err)
{
    uint32_t *value = bt_alloc(line->arena, sizeof *value);

    if (text.len == 0)
        return true;
    *out = value;
    return number_read(&line->name, text, tos, value, err);
}

static bool set_flows(void *conf_, const struct bt_line *line, struct bt_error *err)
{
    const struct options *o = line->options;
    struct conf *conf = conf_;
    bool tos = line->args.n == 0 || str_eq_literal(line->args.word[0].text, "tos");
    struct flows *flows = tos ? &conf->tos : &conf->mark;
    bool good = flow_read(&flows->hit, o->hit, line, tos, err);

    good &= flow_read(&flows->sibling, o->sibling, line, tos, err);
    good &= flow_read(&flows->parent, o->parent, line, tos, err);
    good &= flow_read(&flows->miss, o->miss, line, tos, err);
    conf->flows = true;
    return good;
}

/* ---- exchanges ---- */

static uint32_t ask(const struct numbers *list, struct bt_txn *txn)
{
    struct bt_ruling ruling;

    if (list->rules == NULL)
        return 0;
    ruling = bt_rules_run(list->rules, txn);
    return ruling.match == BT_YES ? list->value[ruling.action] : 0;
}

struct marks marks_out(struct bt_txn *txn)
{
    if (CONF->out && !txn->marks_known) {
        txn->marks.tos = ask(&CONF->out_tos, txn);
        if (!txn->mark_said)
            txn->marks.mark = ask(&CONF->out_mark, txn);
        txn->marks_known = true;
    }
    return txn->marks;
}

void bt_mark_set(struct bt_txn *txn, uint32_t mark)
{
    txn->marks.mark = mark;
    txn->mark_said = true;
}

static void client_put(struct bt_txn *txn, struct marks now)
{
    struct session *s = txn->session;

    if (marks_same(s->marks, now) || s->stream.fd < 0)
        return;
    marks_put(s->stream.fd, s->peer.any.sa_family, s->marks, now);
    s->marks = now;
}

void marks_admitted(struct bt_txn *txn)
{
    struct marks now;

    if (!CONF->client && !CONF->flows)
        return;
    now.tos = ask(&CONF->client_tos, txn);
    now.mark = ask(&CONF->client_mark, txn);
    client_put(txn, now);
}

static uint32_t of_flow(const struct flows *flows, const struct bt_txn *txn, bool hit, uint32_t now)
{
    const struct bt_parent *parent = hit ? NULL : route_parent(txn);
    const uint32_t *value = hit ? flows->hit : flows->miss;

    if (parent != NULL && !parent->origin)
        value = str_starts(str_from(txn->hierarchy), BT_STR("SIBLING")) ? flows->sibling
                : flows->parent != NULL                                 ? flows->parent
                                                                        : flows->miss;
    return value != NULL ? *value : now;
}

void marks_answer(struct bt_txn *txn, bool hit)
{
    struct marks now = txn->session->marks;

    if (!CONF->flows)
        return;
    now.tos = of_flow(&CONF->tos, txn, hit, now.tos);
    now.mark = of_flow(&CONF->mark, txn, hit, now.mark);
    client_put(txn, now);
}

bool marks_want_right(void)
{
    return CONF->out_mark.rules != NULL || CONF->client_mark.rules != NULL ||
           CONF->mark.hit != NULL || CONF->mark.miss != NULL || CONF->mark.parent != NULL ||
           CONF->mark.sibling != NULL;
}

/* ---- fields: as Squid prints them ---- */

static bool hex(struct bt_txn *txn, uint32_t value, struct bt_value *out)
{
    *out = (struct bt_value){.kind = BT_TEXT, .text = BT_STR("0x0")};
    if (value != 0)
        out->text = bt_str_printf(txn->arena, "0x%x", value);
    return true;
}

#define FIELD(name, value)                                                                         \
    static bool name(struct bt_txn *txn, bt_str arg, struct bt_value *out)                         \
    {                                                                                              \
        (void)arg;                                                                                 \
        return hex(txn, value, out);                                                               \
    }
FIELD(client_tos, txn->session->marks.tos)
FIELD(client_mark, txn->session->marks.mark)
FIELD(origin_tos, txn->marks.tos)
FIELD(origin_mark, txn->marks.mark)

static const struct bt_field fields[] = {
    {.name = "client.tos",
     .codes = ">qos",
     .doc = "Class of service of packets to the client.",
     .get = client_tos},
    {.name = "client.mark",
     .codes = ">nfmark",
     .doc = "Firewall mark of packets to the client.",
     .get = client_mark},
    {.name = "origin.tos",
     .codes = "<qos",
     .doc = "Class of service of packets to the server.",
     .earliest = BT_AT_FINISH,
     .get = origin_tos},
    {.name = "origin.mark",
     .codes = "<nfmark",
     .doc = "Firewall mark of packets to the server.",
     .earliest = BT_AT_FINISH,
     .get = origin_mark},
};

#define OPTION(its_name, field, text)                                                              \
    {                                                                                              \
        its_name, "word", NULL, text, offsetof(struct options, field), BT_BUILT                    \
    }
static const struct bt_option flow_options[] = {
    OPTION("local-hit", hit, "Of answers out of the cache."),
    OPTION("sibling-hit", sibling, "Of answers of a sibling."),
    OPTION("parent-hit", parent, "Of answers of a parent; else as miss=."),
    OPTION("miss", miss, "Of answers of origins."),
    {"miss-mask", "word", NULL, "No effect: marks of origins' packets are not taken over.",
     offsetof(struct options, mask), BT_IGNORED},
    {"disable-preserve-miss", NULL, NULL, "They never are.", offsetof(struct options, no_preserve),
     BT_BUILT},
};

#define LIST(its_name, its_set, since, text)                                                       \
    {                                                                                              \
        .name = its_name, .args = "word fastacls", .doc = text, .set = its_set, .phase = since     \
    }
#define ALIAS(its_name, meant)                                                                     \
    {                                                                                              \
        .name = its_name, .same_as = meant                                                         \
    }
static const struct bt_directive directives[] = {
    LIST(
        "tcp_outgoing_tos", set_out_tos, BT_AT_UPSTREAM,
        "Class of service (0 to 255) of packets to origins and parents; the first line that matches "
        "counts."),
    ALIAS("tcp_outgoing_ds", "tcp_outgoing_tos"),
    ALIAS("tcp_outgoing_dscp", "tcp_outgoing_tos"),
    LIST(
        "tcp_outgoing_mark", set_out_mark, BT_AT_UPSTREAM,
        "Firewall mark of packets to origins and parents, from the first one on; the first line that "
        "matches counts."),
    LIST("clientside_tos", set_client_tos, BT_AT_REQUEST,
         "Class of service of packets to clients, once the request is admitted."),
    LIST("mark_client_packet", set_client_mark, BT_AT_REQUEST,
         "Firewall mark of packets to clients, once the request is admitted."),
    ALIAS("clientside_mark", "mark_client_packet"),
    {.name = "qos_flows",
     .args = "[tos|mark] options",
     .doc = "Class of service, or mark, of answers to clients by where they come from. Goes before "
            "clientside_tos and mark_client_packet.",
     .set = set_flows,
     .options = BT_ROWS(flow_options),
     .option_size = sizeof(struct options)},
};

const struct bt_module marks_module = {
    .abi_major = BT_ABI_MAJOR,
    .abi_minor = BT_ABI_MINOR,
    .size = sizeof(struct bt_module),
    .name = "marks",
    .doc = "Class of service and firewall marks of packets.",
    .self = &self,
    .conf_size = sizeof(struct conf),
    .directives = BT_ROWS(directives),
    .fields = BT_ROWS(fields),
};
