/* list.h - a doubly linked list whose links stand in the members themselves.
 *
 *   struct conn { struct list_link in_idle; ... };
 *   struct list idle;  list_init(&idle);  list_add_tail(&idle, &conn->in_idle);
 *   LIST_EACH (&idle, struct conn, in_idle, conn)   ...; the current one may be removed
 *
 * A link that is in no list points at itself, so that removing it twice does no harm; memory that
 * is all zero is also «in no list» for list_linked() and list_remove().
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list_link {
    struct list_link *next, *prev;
};
struct list {
    struct list_link head;
};

#define LIST_OF(link, type, member) ((type *)(void *)((char *)(link)-offsetof(type, member)))

static inline void list_init(struct list *list)
{
    list->head.next = list->head.prev = &list->head;
}
static inline void list_link_init(struct list_link *link)
{
    link->next = link->prev = link;
}
static inline bool list_empty(const struct list *list)
{
    return list->head.next == &list->head;
}
static inline bool list_linked(const struct list_link *link)
{
    return link->next != NULL && link->next != link;
}
static inline void list_add_between(struct list_link *prev, struct list_link *next,
                                    struct list_link *link)
{
    link->prev = prev;
    link->next = next;
    prev->next = link;
    next->prev = link;
}
static inline void list_add_head(struct list *list, struct list_link *link)
{
    list_add_between(&list->head, list->head.next, link);
}
static inline void list_add_tail(struct list *list, struct list_link *link)
{
    list_add_between(list->head.prev, &list->head, link);
}
static inline void list_add_before(struct list_link *at, struct list_link *link)
{
    list_add_between(at->prev, at, link);
}
static inline void list_remove(struct list_link *link)
{
    if (link->next == NULL)
        return;
    link->prev->next = link->next;
    link->next->prev = link->prev;
    list_link_init(link);
}
static inline void list_move_tail(struct list *list, struct list_link *link)
{
    list_remove(link);
    list_add_tail(list, link);
}
/* First and last; NULL when there is none. */
static inline struct list_link *list_first(const struct list *list)
{
    return list_empty(list) ? NULL : list->head.next;
}
static inline struct list_link *list_last(const struct list *list)
{
    return list_empty(list) ? NULL : list->head.prev;
}
#define LIST_FIRST(list, type, member)                                                             \
    (list_empty(list) ? NULL : LIST_OF((list)->head.next, type, member))
#define LIST_LAST(list, type, member)                                                              \
    (list_empty(list) ? NULL : LIST_OF((list)->head.prev, type, member))

/* Visits each; the body may remove the current one, not its follower. */
#define LIST_EACH(list, type, member, item)                                                        \
    for (type *item = LIST_OF((list)->head.next, type, member),                                    \
              *item##_next = LIST_OF(item->member.next, type, member);                             \
         &item->member != &(list)->head;                                                           \
         item = item##_next, item##_next = LIST_OF(item->member.next, type, member))

#endif
