// Work that is spread over threads: each piece once, whoever does it, and a BUG comes back to the caller.
#include "base/parallel.h"

#include <stdatomic.h>
#include <string.h>

#include "base/error.h"
#include "tests/support/check.h"

enum { PIECES = 1000 };

typedef struct Tally {
    atomic_int done[PIECES];
    atomic_int at_work[PARALLEL_MOST_WORKERS];  // calls under way with the same number
    atomic_bool is_wrong;
    int mark;     // of the caller
    int failing;  // the piece with a BUG, or -1
} Tally;

static void count_piece(void *context, int worker, int piece) {
    Tally *tally = context;
    if (atomic_fetch_add(&tally->at_work[worker], 1) != 0) atomic_store(&tally->is_wrong, true);
    if (thread_mark() != tally->mark) atomic_store(&tally->is_wrong, true);
    atomic_fetch_add(&tally->done[piece], 1);
    atomic_fetch_sub(&tally->at_work[worker], 1);
    if (piece == tally->failing) BUG("piece %d", piece);
}

static void check_tally(const Tally *tally, int count) {
    for (int i = 0; i < PIECES; i++) CHECK_EQ_INT(atomic_load(&tally->done[i]), i < count);
    CHECK(!atomic_load(&tally->is_wrong));
}

TEST(each_piece_is_done_once) {
    static const int counts[] = {0, 1, 2, PIECES};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        Tally tally = {.failing = -1};
        parallel_for(counts[i], count_piece, &tally);
        check_tally(&tally, counts[i]);
    }
}

TEST(a_bug_ends_no_other_piece_and_comes_back) {
    static Tally tally;
    tally.failing = PIECES / 2;
    BugGuard guard;
    volatile bool raised = true;
    if (BUG_GUARD(&guard)) {
        parallel_for(PIECES, count_piece, &tally);
        bug_guard_end(&guard);
        raised = false;
    }
    CHECK(raised);
    CHECK(strstr(guard.message, "piece 500") != NULL);
    check_tally(&tally, PIECES);
}

TEST(threads_bear_the_mark_of_their_caller) {
    static Tally tally = {.failing = -1, .mark = 3};
    thread_set_mark(3);
    parallel_for(PIECES, count_piece, &tally);
    check_tally(&tally, PIECES);
    CHECK_EQ_INT(thread_mark(), 3);
    thread_set_mark(0);
}

static void nest(void *context, int worker, int piece) {
    (void)worker;
    (void)piece;
    parallel_for(PIECES / 10, count_piece, context);
}

TEST(calls_nest) {
    Tally *inner[3] = {&(Tally){.failing = -1}, &(Tally){.failing = -1}, &(Tally){.failing = -1}};
    for (int i = 0; i < 3; i++) {
        parallel_for(1, nest, inner[i]);
        check_tally(inner[i], PIECES / 10);
    }
}

TEST_MAIN(TEST_ROW(each_piece_is_done_once), TEST_ROW(a_bug_ends_no_other_piece_and_comes_back),
          TEST_ROW(threads_bear_the_mark_of_their_caller), TEST_ROW(calls_nest))
