/* acl_inside.h - what an ACL is made of, for the files acl*.c and nobody else.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PLUG_ACL_INSIDE_H
#define PLUG_ACL_INSIDE_H

#include "plug/acl.h"

enum acl_how {
    HOW_NEVER, /* has no values */
    HOW_BAD,   /* was complained about */
    HOW_ALL,
    HOW_SET, /* a bit of its kind */
    HOW_ONE  /* asked alone */
};

/* So many ACLs of a kind have their bits in the memo of an exchange; of more it is but a few that
 * match, most often, and those are listed. */
enum { ACL_MANY = 1024 };

/* All ACLs of a type that are compiled together. */
struct acl_kind {
    const struct bt_acl_type *row;
    size_t n;
    void *compiled;
    uint32_t code; /* which code of the memo says whether the bits stand */
    uint32_t
        bits; /* first word of its bits in the memo; when there are many, of a list of those set */
};

struct acl_type {
    struct acl_type *next;
    const struct bt_acl_type *row;
    struct grammar *grammar;
    struct acl_kind kind[2]; /* without and with -n */
    bool numbered;           /* which ACL is which bit is settled */
    bool lists;              /* some line of it names a list file */
};

/* The values of one line. */
struct acl_values {
    struct acl_values *next;
    struct bt_args args;    /* out of list files: while they are compiled */
    struct bt_args written; /* n > 0: with names of list files, to be read again */
    bool plain;             /* -- stood in front: what looks like a flag is none */
};

struct acl {
    enum acl_how how;
    uint32_t code;  /* ONE: in the memo */
    uint32_t index; /* SET: bit of the kind */
    bool no_dns;
    bool login;       /* it is about who is logged in */
    bool login_among; /* any-of, all-of: one of its members might be */
    const struct acl_kind *kind;
    void **compiled; /* ONE: of each line */
    size_t lines;

    struct bt_word name;    /* where it was first defined */
    struct bt_word type_at; /* and its type's name there, or of its first use */
    const char *place;
    struct acl_type *type;  /* NULL: all, or a type that does not exist */
    struct acl_reach reach; /* any-of, all-of: what it has of its members */
    bool found;             /* somebody has asked for it by name */
    struct acl_values *values, *last;
};

static inline bool acl_takes_values(const struct bt_acl_type *row)
{
    return row->args != NULL && *row->args != '\0';
}

/* acl_compile.c */
BT_MUST bool acl_type_compile(struct acls *, struct acl_type *, struct bt_error *);
/* Where the bits of each kind stand in a memo: when the number of codes is known. */
void acl_memo_lay_out(struct acls *);

#endif
