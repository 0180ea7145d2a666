// Budgets of steps, and work that nobody wants any longer.
#include "base/budget.h"

#include <stdatomic.h>

#include "analysis/snapshot.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/text.h"
#include "tests/support/check.h"

TEST(memory_takes_steps) {
    Arena *arena = arena_new();
    StepBudget budget;
    budget_start(&budget, 100);
    arena_alloc(arena, 640);
    CHECK_EQ_INT(budget.taken, 11);
    CHECK_EQ_INT(budget_left(), 89);
    StepBudget inner;
    budget_start(&inner, 10);
    CHECK_EQ_INT(budget_left(), 10);
    budget_stop(&inner);
    StepBudget *paused = budget_pause();
    budget_take(1000);
    budget_resume(paused);
    CHECK_EQ_INT(budget_left(), 89);
    budget_stop(&budget);
    CHECK(budget_left() == INT64_MAX);
    arena_free(arena);
}

/// Notes of functions that do not come to their end are freed (the address sanitizer would see them).
static void take_all(void) {
    Arena *notes = arena_new_scratch();
    for (int i = 0; i < 1000; i++) arena_alloc(notes, 64);
    arena_free(notes);
}

TEST(spent_steps_end_the_work) {
    Arena *around = arena_new_scratch();
    StepBudget budget;
    BugGuard guard;
    if (BUG_GUARD(&guard)) {
        budget_start(&budget, 100);
        take_all();
        CHECK(false);
    }
    CHECK_EQ_INT(guard.cause, BUG_SPENT);
    CHECK(budget_left() == INT64_MAX);
    CHECK(arena_newest_scratch() == around);
    take_all();
    arena_free(around);
}

/// What was given away outlives its owner's siblings, and is used as before; the sanitizer would see a leak or a use after that.
TEST(arenas_live_with_their_owner) {
    Arena *owner = arena_new(), *first = arena_new_scratch(), *second = arena_new_scratch();
    char *text = arena_strdup(first, "kept");
    arena_give(first, owner);
    CHECK(arena_newest_scratch() == second);
    arena_free(second);
    CHECK(arena_newest_scratch() == NULL);
    CHECK_EQ_STR(arena_printf(first, "%s on", text), "kept on");
    CHECK(arena_bytes(owner) >= arena_bytes(first));
    arena_free(owner);
}

static bool is_asked_less(const void *context) {
    return atomic_fetch_sub((atomic_int *)(uintptr_t)context, 1) > 0;
}

static const char *const head = "import triton\nimport triton.language as tl\n";

/// Kernels that add so often.
static Str kernels(Arena *arena, int count, int lines) {
    Buffer text = buffer_new(arena);
    buffer_puts(&text, head);
    for (int i = 0; i < count; i++) {
        buffer_printf(&text, "@triton.jit\ndef k_%d(x):\n    a = tl.load(x)\n", i);
        for (int k = 0; k < lines; k++) buffer_puts(&text, "    a = a * a + 1.0\n");
        buffer_puts(&text, "    tl.store(x, a)\n");
    }
    return (Str){buffer_text(&text), text.size};
}

/// Interrupted at any time, an analysis leaves nothing behind, and the one before as it was.
TEST(an_analysis_is_interrupted) {
    Arena *arena = arena_new();
    Str text = kernels(arena, 6, 40), longer = kernels(arena, 7, 41);
    Snapshot *first = snapshot_build("k.py", text, NULL);
    int interrupted = 0;
    for (int questions = 0; questions < 60; questions += 4) {
        atomic_int left = questions;
        wanted_set((Wanted){is_asked_less, &left});
        BugGuard guard;
        if (BUG_GUARD(&guard)) {
            snapshot_release(snapshot_update(first, longer, NULL));
            bug_guard_end(&guard);
        } else {
            CHECK_EQ_INT(guard.cause, BUG_UNWANTED);
            interrupted++;
        }
        wanted_set((Wanted){0});
    }
    CHECK(interrupted >= 3);
    Snapshot *last = snapshot_update(first, longer, NULL);
    CHECK_EQ_INT(last->kernels.count, 7);
    CHECK_EQ_INT(last->diagnostics.list.count, 0);
    snapshot_release(last);
    snapshot_release(first);
    arena_free(arena);
}

static int limits_of(const Snapshot *snapshot) {
    int count = 0;
    for (LIST_EACH(int, i, snapshot->diagnostics.list))
        count += snapshot->diagnostics.list.items[i].id == DIAGNOSTIC_LIMIT_REACHED;
    return count;
}

/// Helpers that call each other twice.
static void put_tower(Buffer *text, int number, int height) {
    buffer_printf(text, "@triton.jit\ndef t%d_0(a):\n    return a + 1.0\n", number);
    for (int i = 1; i < height; i++)
        buffer_printf(text, "@triton.jit\ndef t%d_%d(a):\n    return t%d_%d(a) + t%d_%d(a)\n",
                      number, i, number, i - 1, number, i - 1);
    buffer_printf(text,
                  "@triton.jit\ndef tall_%d(x):\n    a = tl.load(x)\n"
                  "    tl.store(x, t%d_%d(a))\n",
                  number, number, height - 1);
}

/// What needs little has it, wherever it stands; what needs more than there is says so once.
TEST(kernels_of_a_file_share_its_steps) {
    enum { TOWERS = 6, HEIGHT = 31 };
    Arena *arena = arena_new();
    Buffer text = buffer_new(arena);
    buffer_puts(&text, head);
    for (int i = 0; i < TOWERS; i++) put_tower(&text, i, HEIGHT);
    buffer_puts(&text, "@triton.jit\ndef low(x):\n    tl.store(x, tl.load(x) * 2.0)\n");
    Snapshot *snapshot = snapshot_build("k.py", (Str){buffer_text(&text), text.size}, NULL);
    CHECK_EQ_INT(limits_of(snapshot), TOWERS);
    CHECK(!snapshot_find_kernel(snapshot, STR("low"))->function->is_cut);
    CHECK(snapshot_find_kernel(snapshot, STR("tall_0"))->function->is_cut);
    // What an edit leaves alone is not tried again and again.
    buffer_puts(&text, "# more\n");
    Snapshot *next = snapshot_update(snapshot, (Str){buffer_text(&text), text.size}, NULL);
    CHECK_EQ_INT(limits_of(next), TOWERS);
    CHECK(snapshot_find_kernel(next, STR("tall_3"))->unit ==
          snapshot_find_kernel(snapshot, STR("tall_3"))->unit);
    snapshot_release(next);
    snapshot_release(snapshot);
    arena_free(arena);
}

TEST_MAIN(TEST_ROW(memory_takes_steps), TEST_ROW(spent_steps_end_the_work),
          TEST_ROW(arenas_live_with_their_owner), TEST_ROW(an_analysis_is_interrupted),
          TEST_ROW(kernels_of_a_file_share_its_steps))
