// What all stand-ins share: a function fails where the environment says so.
//   STAND_IN_FAIL=cuMemAlloc_v2:2      that function answers with that code
//   STAND_IN_FAIL=cuMemAlloc_v2:2:5    from its fifth call on
//   STAND_IN_WHILE=FILE                only as long as there is that file
//   STAND_IN_KILL=cuMemAlloc_v2        the process is killed there
//   STAND_IN_HANG=cuMemAlloc_v2        it does not come back from there
//   STAND_IN_ONCE=FILE                 only where there is no such file, which is then made
#ifndef TAD_TESTS_STANDIN_STANDIN_H
#define TAD_TESTS_STANDIN_STANDIN_H

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is_wished(const char *variable, const char *function) {
    const char *wish = getenv(variable), *once = getenv("STAND_IN_ONCE");
    if (!wish || strcmp(wish, function) != 0) return 0;
    if (!once) return 1;
    int file = open(once, O_CREAT | O_EXCL | O_WRONLY, 0600);
    if (file >= 0) close(file);
    return file >= 0;
}

/// The code that a function is to answer with.
static int answer(const char *function) {
    if (is_wished("STAND_IN_KILL", function)) raise(SIGKILL);
    if (is_wished("STAND_IN_HANG", function))
        for (;;) sleep(1);
    static int calls;
    const char *wish = getenv("STAND_IN_FAIL");
    size_t size = strlen(function);
    int code = 0, first = 1;
    const char *holds = getenv("STAND_IN_WHILE");
    if (holds && access(holds, F_OK) != 0) return 0;
    if (!wish || strncmp(wish, function, size) != 0 || wish[size] != ':') return 0;
    sscanf(wish + size, ":%d:%d", &code, &first);
    return __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST) >= first ? code : 0;
}

#define ANSWER()                                                                                   \
    do {                                                                                           \
        int code_ = answer(__func__);                                                              \
        if (code_) return code_;                                                                   \
    } while (0)

#define API __attribute__((visibility("default")))

#endif
