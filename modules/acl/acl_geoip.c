/* acl_geoip.c - where clients are: ACL types country and asn, fields geo.country, geo.asn, geo.org.
 *
 *   geoip_database /var/lib/GeoIP/GeoLite2-Country.mmdb
 *   geoip_database /var/lib/GeoIP/GeoLite2-ASN.mmdb
 *   acl home country DE AT CH
 *   acl hosting asn 64500 AS64501
 *   acl nowhere country none
 *
 * Any database in MaxMind's format will do; the first that knows a value gives it. When one is
 * replaced (by renaming another over it, as geoipupdate does), each worker opens the new one; it looks
 * at most once a second, and only when it is asked about a client. What cannot be opened leaves the
 * old one in place. What was learnt about an address is kept for the exchange.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <maxminddb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "acl_names.h"

enum { LOOK_MS = 1000, NAME_MAX_BYTES = 256 };

struct database {
    struct bt_word at; /* where it is named */
    const char *path;  /* absolute, ended by NUL */
    MMDB_s data;
    bool open;
    dev_t device; /* of the file that is open, or could not be */
    ino_t inode;
    struct timespec changed;
    off_t size;
    int64_t looked_ms;
    struct database *next;
};

struct conf {
    struct database *databases, **end;
};

struct known {                   /* about a client's address; per exchange */
    const struct sockaddr *addr; /* NULL: nothing was looked up */
    bt_str country, org;
    int64_t asn; /* 0: not known */
};

#define COUNTERS(X)                                                                                \
    X(lookups, "geo.lookups", BT_COUNT, "lookups", "Addresses looked up in databases.")            \
    X(unknown, "geo.unknown", BT_COUNT, "lookups", "Addresses that no database knows.")            \
    X(reopened, "geo.reopened", BT_COUNT, "files", "Databases opened anew after they changed.")    \
    X(broken, "geo.broken", BT_COUNT, "files",                                                     \
      "Databases that changed and could not be opened; the old ones stay in use.")
BT_COUNTERS(COUNTERS);

static bool asked; /* some ACL needs a database */

/* ---- databases ---- */

static void remember(struct database *db, const struct stat *now)
{
    db->device = now->st_dev;
    db->inode = now->st_ino;
    db->changed = now->st_mtim;
    db->size = now->st_size;
}

static bool same(const struct database *db, const struct stat *now)
{
    return db->device == now->st_dev && db->inode == now->st_ino && db->size == now->st_size &&
           db->changed.tv_sec == now->st_mtim.tv_sec && db->changed.tv_nsec == now->st_mtim.tv_nsec;
}

static void database_close(void *what)
{
    struct database *db = what;

    if (db->open)
        MMDB_close(&db->data);
    db->open = false;
}

/* The path names another file than the one that is open. */
static void database_reopen(struct database *db, const struct stat *now)
{
    MMDB_s fresh;
    int failed = MMDB_open(db->path, MMDB_MODE_MMAP, &fresh);

    remember(db, now);
    if (failed != MMDB_SUCCESS) {
        bt_count(broken);
        bt_log(NULL, BT_ERROR,
               "%s has changed and cannot be used (%s); the old one stays in use until "
               "a good one is there",
               db->path, MMDB_strerror(failed));
        return;
    }
    database_close(db);
    db->data = fresh;
    db->open = true;
    bt_count(reopened);
}

static void database_look(struct database *db)
{
    int64_t now_ms = bt_wall_ms();
    struct stat now;

    if (now_ms >= db->looked_ms && now_ms - db->looked_ms < LOOK_MS)
        return;
    db->looked_ms = now_ms;
    /* Between two renames there may be none: the old one does until the new one is there. */
    if (stat(db->path, &now) == 0 && !same(db, &now))
        database_reopen(db, &now);
}

/* Workers look for it again, from wherever they are. */
static bt_str absolute(bt_str path, struct bt_arena *arena)
{
    char here[4096];

    if ((path.len > 0 && path.at[0] == '/') || getcwd(here, sizeof here) == NULL)
        return path;
    return bt_str_printf(arena, "%s/%.*s", here, BT_STR_ARGS(path));
}

static bool database_set(void *conf_, const struct bt_line *line, struct bt_error *err)
{
    struct conf *conf = conf_;
    struct database *db = bt_alloc(line->arena, sizeof *db);

    (void)err;
    db->at = line->args.word[0];
    db->path = absolute(db->at.text, line->arena).at;
    if (conf->end == NULL)
        conf->end = &conf->databases;
    *conf->end = db;
    conf->end = &db->next;
    return true;
}

static bool setup(void *conf_, struct bt_arena *arena, struct bt_error *err)
{
    struct conf *conf = conf_;
    struct stat now;
    bool good = true;

    if (conf->databases == NULL && asked)
        return bt_complain(err, NULL,
                           "ACL types country and asn need a database; name one: geoip_database "
                           "/var/lib/GeoIP/GeoLite2-Country.mmdb");
    if (conf->databases == NULL)
        bt_caution(err, NULL, "the fields of acl_geoip are empty without a line geoip_database");
    for (struct database *db = conf->databases; db != NULL; db = db->next) {
        int failed = MMDB_open(db->path, MMDB_MODE_MMAP, &db->data);
        if (failed != MMDB_SUCCESS) {
            good = bt_complain(err, &db->at, "'%s' cannot be used: %s", db->at.text.at,
                               MMDB_strerror(failed));
            continue;
        }
        db->open = true;
        bt_defer(arena, database_close, db);
        if (stat(db->path, &now) == 0)
            remember(db, &now);
    }
    return good;
}

/* ---- looking up ---- */

/* The text at a path of keys, copied; NONE: there is none. */
static bt_str text_at(struct bt_txn *txn, MMDB_lookup_result_s *found, const char *const *path)
{
    MMDB_entry_data_s data;

    if (MMDB_aget_value(&found->entry, &data, path) != MMDB_SUCCESS || !data.has_data ||
        data.type != MMDB_DATA_TYPE_UTF8_STRING || data.data_size == 0)
        return BT_STR_NONE;
    size_t len = data.data_size < NAME_MAX_BYTES ? data.data_size : NAME_MAX_BYTES;
    return bt_str_copy(bt_txn_arena(txn), (bt_str){data.utf8_string, len});
}

/* "AS64500" or "64500"; 0: it is none. */
static int64_t asn_read(bt_str text)
{
    int64_t n = 0;

    if (text.len > 2 && (text.at[0] | 32) == 'a' && (text.at[1] | 32) == 's')
        text = (bt_str){text.at + 2, text.len - 2};
    if (text.len == 0 || text.len > 10)
        return 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.at[i] < '0' || text.at[i] > '9')
            return 0;
        n = n * 10 + (text.at[i] - '0');
    }
    return n <= UINT32_MAX ? n : 0;
}

static int64_t asn_at(struct bt_txn *txn, MMDB_lookup_result_s *found)
{
    static const char *const number[] = {"autonomous_system_number", NULL}, *const word[] = {"asn",
                                                                                             NULL};
    MMDB_entry_data_s data;

    if (MMDB_aget_value(&found->entry, &data, number) == MMDB_SUCCESS && data.has_data &&
        data.type == MMDB_DATA_TYPE_UINT32)
        return data.uint32;
    return asn_read(text_at(txn, found, word));
}

/* Take what is not known yet from one database. */
static void know_more(struct bt_txn *txn, struct known *known, MMDB_lookup_result_s *found)
{
    static const char *const
        code[] = {"country", "iso_code", NULL},
        *const plain[] = {"country_code", NULL}, *const bare[] = {"country", NULL},
        *const org[] = {"autonomous_system_organization", NULL}, *const name[] = {"as_name", NULL};

    if (known->country.at == NULL)
        known->country = text_at(txn, found, code);
    if (known->country.at == NULL)
        known->country = text_at(txn, found, plain);
    if (known->country.at == NULL)
        known->country = text_at(txn, found, bare);
    if (known->country.len != 2)
        known->country = BT_STR_NONE;
    if (known->asn == 0)
        known->asn = asn_at(txn, found);
    if (known->org.at == NULL)
        known->org = text_at(txn, found, org);
    if (known->org.at == NULL)
        known->org = text_at(txn, found, name);
}

/* IPv4 however it is written: databases keep it as such. */
static bool plain_address(const struct sockaddr *addr, struct sockaddr_storage *out)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    uint8_t bytes[16];

    if (!bt_addr_bytes(addr, bytes))
        return false;
    memcpy(&v4.sin_addr, bytes + 12, 4);
    memcpy(&v6.sin6_addr, bytes, 16);
    memset(out, 0, sizeof *out);
    if (memcmp(bytes, mapped, sizeof mapped) == 0)
        memcpy(out, &v4, sizeof v4);
    else
        memcpy(out, &v6, sizeof v6);
    return true;
}

static void find(struct bt_txn *txn, struct known *known, const struct sockaddr_storage *plain)
{
    struct conf *conf = bt_self.conf;
    bool any = false;

    bt_count(lookups);
    for (struct database *db = conf->databases; db != NULL; db = db->next) {
        int failed = MMDB_SUCCESS;
        database_look(db);
        if (!db->open)
            continue;
        MMDB_lookup_result_s found = MMDB_lookup_sockaddr(&db->data, (const struct sockaddr *)plain,
                                                          &failed);
        if (failed != MMDB_SUCCESS || !found.found_entry)
            continue;
        any = true;
        know_more(txn, known, &found);
    }
    if (!any)
        bt_count(unknown);
}

/* About the client. */
static const struct known *know(struct bt_txn *txn)
{
    struct known *known = bt_txn_ctx(txn);
    const struct sockaddr *addr = bt_client_addr(txn);
    struct sockaddr_storage plain;

    if (known->addr == addr)
        return known;
    *known = (struct known){.addr = addr};
    if (plain_address(addr, &plain))
        find(txn, known, &plain);
    return known;
}

/* Of geo.country[ADDRESS]: about that; without, about the client. */
static const struct known *know_of(struct bt_txn *txn, bt_str arg)
{
    struct sockaddr_in6 addr = {.sin6_family = AF_INET6};
    struct sockaddr_storage plain;
    struct known *known;
    uint8_t from[16], to[16];

    if (arg.at == NULL)
        return know(txn);
    known = bt_alloc(bt_txn_arena(txn), sizeof *known);
    if (bt_addr_range(arg, from, to) != NULL || memcmp(from, to, sizeof from) != 0)
        return known;
    memcpy(&addr.sin6_addr, from, sizeof from);
    if (plain_address((const struct sockaddr *)&addr, &plain))
        find(txn, known, &plain);
    return known;
}

/* ---- country ---- */

/* ISO 3166-1, and what databases have besides. */
static const char countries[] =
    "AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS "
    "BT BV BW BY BZ CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE "
    "EG EH ER ES ET FI FJ FK FM FO FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM "
    "HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC "
    "LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ NA "
    "NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW "
    "SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO "
    "TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW XK EU AP ";

static bool is_none(bt_str text)
{
    return bt_str_eq_nocase(text, BT_STR("none"));
}

static bool is_country(const char code[2])
{
    for (const char *at = countries; *at != '\0'; at += 3)
        if (at[0] == code[0] && at[1] == code[1])
            return true;
    return false;
}

/* The code in capitals; NONE after a complaint. */
static bt_str country_read(const struct bt_word *at, struct bt_arena *arena, struct bt_error *err)
{
    char code[2];

    if (is_none(at->text))
        return BT_STR("none");
    for (size_t i = 0; i < 2 && at->text.len == 2; i++)
        code[i] = (char)(at->text.at[i] & ~32);
    if (at->text.len != 2 || code[0] < 'A' || code[0] > 'Z' || code[1] < 'A' || code[1] > 'Z') {
        bt_complain(err, at, "'%s' is no code of a country: two letters are (DE), or none",
                    at->text.at);
        return BT_STR_NONE;
    }
    if (memcmp(code, "UK", 2) == 0)
        bt_caution(err, at, "the United Kingdom has the code GB; UK never matches");
    else if (!is_country(code))
        bt_caution(err, at, "no country has the code %.2s; it never matches", code);
    return bt_str_copy(arena, (bt_str){code, 2});
}

/* A code or number of all ACLs, one row each. */
typedef bt_str read_value(const struct bt_word *, struct bt_arena *, struct bt_error *);
static void *values_compile(const struct bt_acl_values *acl, size_t n, struct bt_arena *arena,
                            struct bt_error *err, read_value *read)
{
    size_t rows = 0;
    bool good = true;

    asked = true;
    for (size_t i = 0; i < n; i++)
        rows += acl[i].args.n;
    struct acl_name_row *row = bt_alloc(arena, (rows + 1) * sizeof *row);
    rows = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < acl[i].args.n; k++) {
            bt_str value = read(&acl[i].args.word[k], arena, err);
            good &= value.at != NULL;
            row[rows++] = (struct acl_name_row){value, (uint32_t)i};
        }
    return good ? acl_names_new(arena, row, rows, n) : NULL;
}

static void *country_compile(const struct bt_acl_values *acl, size_t n, struct bt_arena *arena,
                             struct bt_error *err)
{
    return values_compile(acl, n, arena, err, country_read);
}

static enum bt_match country_match(const void *compiled, struct bt_txn *txn, uint64_t *bits)
{
    const struct known *known = know(txn);

    acl_names_find(compiled, known->country.at != NULL ? known->country : BT_STR("none"), bits);
    return BT_YES;
}

/* ---- asn ---- */

static bt_str asn_value(const struct bt_word *at, struct bt_arena *arena, struct bt_error *err)
{
    int64_t n = asn_read(at->text);

    if (is_none(at->text))
        return BT_STR("none");
    if (n > 0)
        return bt_str_printf(arena, "%lld", (long long)n);
    bt_complain(err, at, "'%s' is no number of a network (64500, AS64500), nor none", at->text.at);
    return BT_STR_NONE;
}

static void *asn_compile(const struct bt_acl_values *acl, size_t n, struct bt_arena *arena,
                         struct bt_error *err)
{
    return values_compile(acl, n, arena, err, asn_value);
}

static enum bt_match asn_match(const void *compiled, struct bt_txn *txn, uint64_t *bits)
{
    const struct known *known = know(txn);

    acl_names_find(compiled,
                   known->asn == 0
                       ? BT_STR("none")
                       : bt_str_printf(bt_txn_arena(txn), "%lld", (long long)known->asn),
                   bits);
    return BT_YES;
}

/* ---- fields ---- */

static bool country_get(struct bt_txn *txn, bt_str arg, struct bt_value *out)
{
    *out = (struct bt_value){.kind = BT_TEXT, .text = know_of(txn, arg)->country};
    return out->text.at != NULL;
}

static bool asn_get(struct bt_txn *txn, bt_str arg, struct bt_value *out)
{
    *out = (struct bt_value){.kind = BT_INT, .num = know_of(txn, arg)->asn};
    return out->num != 0;
}

static bool org_get(struct bt_txn *txn, bt_str arg, struct bt_value *out)
{
    *out = (struct bt_value){.kind = BT_TEXT, .text = know_of(txn, arg)->org};
    return out->text.at != NULL;
}

/* ---- the module ---- */

static const struct bt_directive directives[] = {
    {.name = "geoip_database",
     .args = "path",
     .doc =
         "A database in MaxMind's format (.mmdb) that knows countries or networks of addresses; may "
         "be given many times. It is opened anew when another file is renamed to its name.",
     .set = database_set},
};

static const struct bt_acl_type types[] = {
    {.name = "country",
     .args = "word...",
     .doc =
         "The client's address is in one of these countries (DE), or in none that is known: none.",
     .earliest = BT_AT_ACCEPT,
     .compile_all = country_compile,
     .match_all = country_match,
     .flags = BT_ANEW,
     .cost = 1},
    {.name = "asn",
     .args = "word...",
     .doc = "The client's address is of one of these networks (64500, AS64500), or of none that is "
            "known: none.",
     .earliest = BT_AT_ACCEPT,
     .compile_all = asn_compile,
     .match_all = asn_match,
     .flags = BT_ANEW,
     .cost = 1},
};

static const struct bt_field fields[] = {
    {.name = "geo.country",
     .doc = "Code of the country that the client's address is in.",
     .earliest = BT_AT_ACCEPT,
     .get = country_get},
    {.name = "geo.asn",
     .doc = "Number of the network that the client's address is of.",
     .earliest = BT_AT_ACCEPT,
     .get = asn_get},
    {.name = "geo.org",
     .doc = "Who runs the network that the client's address is of.",
     .earliest = BT_AT_ACCEPT,
     .get = org_get},
};

BT_MODULE(acl_geoip, "Country and network of clients, from databases in MaxMind's format.",
          .conf_size = sizeof(struct conf), .txn_size = sizeof(struct known),
          .directives = BT_ROWS(directives), .counters = BT_ROWS(bt_counters),
          .acl_types = BT_ROWS(types), .fields = BT_ROWS(fields), .setup = setup);
