// Results that threads share: each is made once, whoever asks, and what failed fails for all.
#include "base/memo.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/parallel.h"
#include "tests/support/check.h"

enum { KEYS = 7, ASKED = 2000 };

typedef struct Asking {
    Memo *memo;
    atomic_int made[KEYS];
    atomic_int wrong;
} Asking;

typedef struct Making {
    Asking *asking;
    int key;
} Making;

static void *make_number(void *context, Arena *arena) {
    const Making *making = context;
    atomic_fetch_add(&making->asking->made[making->key], 1);
    int *number = ARENA_NEW(arena, int);
    for (int i = 0; i < 100000; i++) *(volatile int *)number = i;  // long enough for others to come
    *number = 10 * making->key;
    return number;
}

static void ask(void *context, int worker, int index) {
    (void)worker;
    Asking *asking = context;
    Making making = {asking, index % KEYS};
    char key[16];
    snprintf(key, sizeof key, "key %d", making.key);
    const int *number = memo_get(asking->memo, str_from(key), make_number, &making);
    if (*number != 10 * making.key) atomic_fetch_add(&asking->wrong, 1);
}

TEST(each_is_made_once) {
    Asking asking = {.memo = memo_new()};
    parallel_for(ASKED, ask, &asking);
    for (int i = 0; i < KEYS; i++) CHECK_EQ_INT(atomic_load(&asking.made[i]), 1);
    CHECK_EQ_INT(atomic_load(&asking.wrong), 0);
    memo_free(asking.memo);
}

static void *fail(void *context, Arena *arena) {
    (void)arena;
    ++*(int *)context;
    BUG("nothing can be made");
}

TEST(a_bug_is_raised_for_all_who_ask) {
    Memo *memo = memo_new();
    int made = 0;
    volatile int raised = 0;
    for (volatile int i = 0; i < 3; i++) {
        BugGuard guard;
        if (BUG_GUARD(&guard)) {
            memo_get(memo, STR("key"), fail, &made);
            bug_guard_end(&guard);
        } else {
            raised += strstr(guard.message, "nothing can be made") != NULL;
        }
    }
    CHECK_EQ_INT(raised, 3);
    CHECK_EQ_INT(made, 1);
    memo_free(memo);
}

TEST(nothing_to_free) { memo_free(NULL); }

TEST_MAIN(TEST_ROW(each_is_made_once), TEST_ROW(a_bug_is_raised_for_all_who_ask),
          TEST_ROW(nothing_to_free))
