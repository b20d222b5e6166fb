/* bt_helper.h - programs that answer questions over a pipe, one line each: pools of them.
 *
 * A pool is made of a command while the configuration is read and runs in each worker by itself: a
 * worker starts its own processes, as the user that it runs as. A question goes to a process that
 * is free, waits in a queue that has an end, and is answered once in any case: when the queue is
 * full, when the program keeps dying or when it says nothing in time, the answer is BT_HELPER_LOST.
 * What that means is for the asker to decide; who decides about access refuses.
 *
 * With concurrency 0 a process has one question at a time. With N it has up to N, each marked with
 * the number of its channel, 0 to N-1. A process that dies has its questions asked again of another
 * one, up to twice. One that speaks without being asked is ended. Programs that die at once are
 * started again after 1, 2, 4 ... 30 seconds, and until then nobody waits for them.
 *
 * Each pool counts by itself: helper.NAME.requests, .queue, .restarts, .overload, .timeouts, .time
 * and others, NAME being that of its options.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BT_HELPER_H
#define BT_HELPER_H

#include "bt_module.h"
#include "bt_types.h"

struct bt_helper;     /* a pool */
struct bt_helper_job; /* a question under way; the server's */

struct bt_helper_options {
    const char *name;       /* of the counters: letters, digits and _ */
    struct bt_args command; /* program and arguments; must live as long as the configuration */
    int64_t children;       /* at most so many processes a worker; 0: 1 */
    int64_t startup;        /* started with the worker */
    int64_t idle;           /* kept free beside those that are busy, while there may be more */
    int64_t concurrency;    /* channels a process; 0: one question at a time, without a number */
    int64_t queue;          /* questions that may wait; < 0: twice as many as children */
    bt_duration timeout;    /* of one question, waiting included; 0: 60 seconds; < 0: none */
    bt_duration reserved;   /* how long a seat may be held without a question; 0: 60 seconds */
    char end;               /* of a message in both directions; 0: LF */
};

/* Master, while the configuration is read. Starts nothing. */
BT_API struct bt_helper *bt_helper_new(struct bt_arena *, const struct bt_helper_options *);
/* Worker: from .start and .stop of the module. After stop, nobody is answered any more. */
BT_API void bt_helper_start(struct bt_helper *);
BT_API void bt_helper_stop(struct bt_helper *);

enum bt_helper_result {
    BT_HELPER_OK,   /* also AF, as OK with token= and user= */
    BT_HELPER_ERR,  /* also NA, and an empty line */
    BT_HELPER_BH,   /* the helper says that it cannot answer */
    BT_HELPER_TT,   /* a challenge: token= */
    BT_HELPER_TEXT, /* begins with none of these: `text` is the whole line, as old helpers answer */
    BT_HELPER_LOST  /* there is no answer: overload, timeout, death */
};
struct bt_helper_pair {
    bt_str key, value; /* quotes and escapes undone */
};
struct bt_helper_reply {
    enum bt_helper_result result;
    bool late;   /* LOST, since nothing was said in time */
    bt_str text; /* what stands behind the word and is no pair */
    const struct bt_helper_pair *pair;
    size_t n;
};
/* The value of the first pair of that key; BT_STR_NONE: there is none. */
BT_API bt_str bt_helper_value(const struct bt_helper_reply *, const char *key);
/* A line as if a helper had answered it (without a channel's number); lives in the arena. */
BT_API const struct bt_helper_reply *bt_helper_reply_of(struct bt_arena *, bt_str line);

/* One question; stands in the asker's memory, zeroed, until it is answered or given up. */
struct bt_helper_ask {
    /* The answer, once, from the loop and never from within bt_helper_ask(). `reply` stands only
     * during the call. */
    void (*done)(struct bt_helper_ask *, const struct bt_helper_reply *reply);
    struct bt_helper_job *job; /* the server's; NULL: not under way */
};
/* Ask. `line` (without its end, in which LF must not stand) is copied. */
BT_API void bt_helper_ask(struct bt_helper *, struct bt_helper_ask *, bt_str line);
/* Give it up: done() is not called. Safe when it is not under way. */
BT_API void bt_helper_cancel(struct bt_helper_ask *);

/* A process for one asker alone, over several questions (NTLM, Negotiate). Zeroed at first. The
 * first question takes a process; a question that finds it gone is LOST, and so is the one that was
 * on its way, since another process knows nothing of what was said. */
struct bt_helper_seat {
    struct bt_helper_seat_state *state;
};
BT_API void bt_helper_ask_seated(struct bt_helper *, struct bt_helper_seat *,
                                 struct bt_helper_ask *, bt_str line);
/* Give the process back. Not while a question is under way: cancel that first. */
BT_API void bt_helper_leave(struct bt_helper_seat *);

/* Text as helpers of Squid expect a word of a question: blanks, control and unsafe bytes
 * percent-encoded; `percent`: the sign itself, too. "-" when there is none. */
BT_API bt_str bt_helper_word(struct bt_arena *, bt_str text, bool percent);

#endif
