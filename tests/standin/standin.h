// What all stand-ins share: a function fails where the environment says so.
//   STAND_IN_FAIL=cuMemAlloc_v2:2      that function answers with that code
//   STAND_IN_FAIL=cuMemAlloc_v2:2:5    from its fifth call on
#ifndef TAD_TESTS_STANDIN_STANDIN_H
#define TAD_TESTS_STANDIN_STANDIN_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// The code that a function is to answer with.
static int answer(const char *function) {
    static int calls;
    const char *wish = getenv("STAND_IN_FAIL");
    size_t size = strlen(function);
    int code = 0, first = 1;
    if (!wish || strncmp(wish, function, size) != 0 || wish[size] != ':') return 0;
    sscanf(wish + size, ":%d:%d", &code, &first);
    return ++calls >= first ? code : 0;
}

#define ANSWER()                                                                                   \
    do {                                                                                           \
        int code_ = answer(__func__);                                                              \
        if (code_) return code_;                                                                   \
    } while (0)

#define API __attribute__((visibility("default")))

#endif
