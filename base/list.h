// Typed growing arrays in an arena: `LIST(Value *) values = {0}; LIST_PUSH(arena, &values, v);`
#ifndef TAD_BASE_LIST_H
#define TAD_BASE_LIST_H

#include "base/arena.h"

#define LIST(Type)                                                                                 \
    struct {                                                                                       \
        Type *items;                                                                               \
        int count;                                                                                 \
        int capacity;                                                                              \
    }

#define LIST_PUSH(arena, list, ...)                                                                \
    do {                                                                                           \
        if ((list)->count == (list)->capacity) {                                                   \
            int list_capacity = (list)->capacity ? 2 * (list)->capacity : 8;                       \
            (list)->items = arena_grow((arena), (list)->items,                                     \
                                       sizeof(*(list)->items) * (size_t)(list)->count,             \
                                       sizeof(*(list)->items) * (size_t)list_capacity);            \
            (list)->capacity = list_capacity;                                                      \
        }                                                                                          \
        (list)->items[(list)->count++] = (__VA_ARGS__);                                            \
    } while (0)

/// `for (LIST_EACH(int, i, list))`: i runs over the indices.
#define LIST_EACH(Type, index, list) Type index = 0; index < (list).count; index++

#endif
