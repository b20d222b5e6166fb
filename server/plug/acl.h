/* acl.h - the named ACLs of a configuration, and what each answers about an exchange.
 *
 * An `acl NAME TYPE values` line adds values to a name. When the whole file is read, all ACLs of
 * one type are compiled together; an exchange then asks a type once and remembers what it said, so
 * that a list of rules may name an ACL as often as it likes.
 *
 * For generation.c: acl_module is a module like any other (the directive "acl", and a row for each
 * ACL type of Squid's language that nobody has built). Its conf struct is the struct acls. In order:
 *
 *   acls_init(acl_self.conf, registry, arena)   when conf structs are laid out, before binding
 *   the binder, line by line                    acl_define() is .set of "acl"; rules_acls() for
 *                                               each list of names
 *   acl_module.setup = acls_compile()           before the setup of other modules
 *
 * Types come from the registry when a line, or a predefined name such as `localhost`, first needs
 * one; its supplier loads what provides it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PLUG_ACL_H
#define PLUG_ACL_H

#include "base/table.h"
#include "bt_module.h"
#include "bt_sets.h"

/* to_private: what no client from outside has any business with, all that is not the public internet. */
#define ACL_PRIVATE                                                                                \
    "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 "    \
    "192.168.0.0/16 198.18.0.0/15 224.0.0.0/4 240.0.0.0/4 ::/128 ::1/128 64:ff9b::/96 fc00::/7 "   \
    "fe80::/10 fec0::/10 ff00::/8"

struct registry;
struct acl;      /* one name with its values */
struct acl_type; /* a type in use */
struct acl_missing;
struct lists; /* lists.h */

/* The ACLs of one configuration. Read-only once compiled. */
struct acls {
    struct bt_arena *arena;
    struct registry *registry;
    struct table by_name; /* case ignored */
    struct acl **acl;     /* in order of definition */
    size_t n, room;
    struct acl_type *types;
    struct acl_missing *missing; /* names used, and not defined above */
    struct table faulty;         /* names of lines that nobody could read */
    uint32_t codes;              /* of a memo: 2-bit answers, one an ACL or one a type */
    uint32_t words;              /* of a memo: 64-bit words, for codes and bits */
    struct bt_rules *lists;      /* of rules; compiled after the ACLs, by rules.c */
    struct lists *files;         /* values out of list files; NULL: none */
    uint32_t swaps;              /* how often those were replaced in this process */
    bool compiled;
    bool watch;                             /* acl_list_watch */
    const struct bt_directive *hurried_row; /* what was last said about a list that cannot wait */
    bt_str hurried_type;
};

/* The server's own rows (acl_known.c). acl_self.conf is the struct acls of this process. */
extern const struct bt_module acl_module;
extern struct bt_self acl_self;

void acls_init(struct acls *, struct registry *, struct bt_arena *);
/* .set of the row "acl": words NAME TYPE [flags] values. false after a complaint. */
BT_MUST bool acl_define(void *acls, const struct bt_line *, struct bt_error *);
/* After the last line: compile all types; complain about names without a definition. */
BT_MUST bool acls_compile(void *acls, struct bt_arena *, struct bt_error *);

/* The ACL of that name, case ignored; predefined ones are made when they are first asked for, with
 * complaints at `at` (may be NULL) when their type cannot be had. NULL: not defined so far. */
struct acl *acl_find(struct acls *, bt_str name, const struct bt_word *at, struct bt_error *);
/* Note that `at` names (after an optional !) an ACL that is not defined above it. acls_compile()
 * complains: by then it is known whether it is defined below, which is good enough for `anywhere`. */
void acl_note_missing(struct acls *, const struct bt_word *at, bool anywhere);

/* There is an `acl` line of that name. When it could not be given to acl_define() for its faults, its
 * uses are not to be complained about as well. Before acls_compile(). */
void acl_note_line(struct acls *, bt_str name);

bt_str acl_name(const struct acl *);
bt_str acl_type_name(const struct acl *);
/* "file:line" of the first definition, or "predefined"; in the arena of the configuration. */
const char *acl_place(const struct acl *);
enum bt_phase acl_earliest(const struct acl *);
bool acl_is_slow(const struct acl *);  /* may wait, or need a login */
bool acl_is_fresh(const struct acl *); /* asked each time */
/* It may send the client to log in: nothing behind it in its line, and no line below, may be looked at
 * before that is settled (memo->knows_login). Only when compiled. */
bool acl_is_login(const struct acl *);
bool acl_is_all(const struct acl *); /* matches everything, without being asked */
unsigned acl_cost(const struct acl *);

/* ---- any-of, all-of: acl_group.c ---- */

/* What a group has of its members: it is known when the last of them is, may wait when one may, has
 * a side effect when one has. They are asked anew each time, and remember what they said. */
struct acl_reach {
    enum bt_phase earliest;
    unsigned depth; /* 1 + that of the deepest member; 0: no group */
    unsigned cost;
    bool slow, fresh;
};
unsigned acl_depth(const struct acl *);
/* .compile of both types, .match of each. */
void *acl_group_compile(struct bt_args, struct bt_arena *, struct bt_error *);
enum bt_match acl_any_match(const void *compiled, struct bt_txn *);
enum bt_match acl_all_match(const void *compiled, struct bt_txn *);
/* The members of one line are `names`, each with or without !: they must be defined above. Widens
 * *reach. false after a complaint. */
BT_MUST bool acl_group_members(struct acls *, const struct acl *group, struct bt_args names,
                               struct acl_reach *, struct bt_error *);

/* ---- for lists of rules: how an ACL answers. Only when compiled ---- */

struct acl_kind; /* ACLs that answer together */
enum acl_answers { ACL_NEVER, ACL_ALWAYS, ACL_TOGETHER, ACL_ALONE };
struct acl_form {
    enum acl_answers answers;
    const struct acl_kind *kind; /* TOGETHER */
    uint32_t bit;                /* which of them */
};
struct acl_form acl_form(const struct acl *);
size_t acl_kind_size(const struct acl_kind *); /* how many ACLs */

/* ---- evaluation ---- */

/* What one exchange has learnt so far: in its arena, made at first use. */
struct acl_memo {
    const struct acl *last;        /* looked at last, whatever it answered: deny_info goes by it */
    const struct bt_acls *decided; /* or: what a walk of this line would have looked at last */
    bool knows_login;              /* one that is about logins has said YES or NO */
    uint32_t swaps;                /* of the lists that were asked */
    const void *paused;            /* a list that waits, and where: it goes on from there */
    uint32_t paused_line, paused_term;
    uint64_t word[]; /* codes (cleared), then the bits of each type (not cleared) */
};

/* Where the exchange keeps its memo (NULL until one is made). By flow/export.c. */
struct acl_memo **acl_memo_place(struct bt_txn *);

/* The memo of an exchange, made when there is none, or when list files have been read anew: then all is
 * asked again, so that no ruling is made of two states of the lists. To be called once for each
 * question, since what is remembered of a question that waits goes, too. */
struct acl_memo *acl_memo(const struct acls *, struct bt_txn *);
/* Ask one ACL, or recall what it answered. Only when compiled. */
enum bt_match acl_ask(const struct acl *, struct acl_memo *, struct bt_txn *);
/* Around a question about an ACL that may wait, of a list that cannot: bt_may_wait() is false. Returns
 * what it was. What was asked so is to go through acl_hurried(): what is not known fails the line, whether
 * it is negated or not, or holds where the line denies: nothing opens for want of an answer. */
bool acl_hurry(bool on);
enum bt_match acl_hurried(enum bt_match said, bool negated, bool denies);
/* Those of a kind that match: as bits, or where there are many of them as their numbers. */
struct acl_answer {
    const uint64_t *bits; /* NULL: */
    const uint32_t *hit;  /* in order */
    uint32_t n;
};
/* Ask all of a kind, or recall. YES: the answer stands; WAIT, BROKEN: only those that match do. */
enum bt_match acl_kind_ask(const struct acl_kind *, struct acl_memo *, struct bt_txn *,
                           struct acl_answer *);
static inline bool acl_answer_has(const struct acl_answer *answer, uint32_t bit)
{
    uint32_t low = 0, high = answer->n;

    if (answer->bits != NULL)
        return bt_bit_get(answer->bits, bit);
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (answer->hit[middle] < bit)
            low = middle + 1;
        else
            high = middle;
    }
    return low < answer->n && answer->hit[low] == bit;
}
/* The ACL that was looked at last in this exchange is about logins. */
bool acl_last_is_login(struct bt_txn *);
/* The name of the ACL that was looked at last in this exchange; BT_STR_NONE: none was. */
bt_str acl_last(struct bt_txn *);
/* The request is no longer what it was (rewritten): ask everything anew. */
void acl_forget(struct bt_txn *);

#endif
