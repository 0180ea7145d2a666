// Translation validation of the differentiation: kernels are interpreted before and after each pass, and the numbers compared
// as the pass's row in autodiff/passes.def says. `unit-passes generated 7 1` runs the kernel of seed 7 and prints it.
#include "autodiff/passes.h"

#include <dirent.h>
#include <stdlib.h>

#include "analysis/snapshot.h"
#include "autodiff/backward.h"
#include "gpu-runner/configure/spec.h"
#include "tests/support/check.h"
#include "tests/support/files.h"
#include "tests/unit/passes/generate.h"
#include "tests/unit/passes/validate.h"

enum { GENERATED = 60, MOST_CONFIGURATIONS = 3, LEAST_FIT = 300, LEAST_SLOPES = 240 };
/// Of the mistakes that are planted into what a pass left, the share that is found: others are in what no output needs, or
/// where no element is.
static const double LEAST_FOUND = 0.6;

static int first_seed = 0, seeds = GENERATED;
static bool is_shown;

/* ---- kernels ---- */

static SpecRequest request_of(Arena *arena, const Snapshot *snapshot, const Kernel *kernel) {
    Str comment = kernel->definition->comment;
    return (SpecRequest){.module = snapshot->module,
                         .kernel = kernel->definition,
                         .symbolic = kernel->function,
                         .comment = comment.size ? str_dup(arena, comment) : NULL,
                         .uses_launchers = true,
                         .seed = 1};
}

/// How many forward kernels ran in one of their configurations.
static int validate_text(Validation *validation, const char *path, Str text, uint64_t seed) {
    const SnapshotOptions options = {.skip_checks = true};
    Snapshot *snapshot = snapshot_build(path, text, &options);
    Arena *arena = arena_new();
    int fit = 0;
    for (LIST_EACH(int, i, snapshot->kernels)) {
        const Kernel *kernel = &snapshot->kernels.items[i];
        if (!kernel_is_forward(kernel)) continue;
        const SpecRequest request = request_of(arena, snapshot, kernel);
        Error error = NULL;
        Configurations all = spec_configurations(arena, &request, &error);
        bool runs = false;
        for (int k = 0; k < all.count && k < MOST_CONFIGURATIONS && !runs; k++)
            runs = all.items[k].grid_is_known &&
                   validate_kernel(validation, kernel, &all.items[k], seed);
        fit += runs;
    }
    arena_free(arena);
    snapshot_release(snapshot);
    return fit;
}

static int validate_file(Validation *validation, const char *path) {
    Arena *arena = arena_new();
    int fit = validate_text(validation, path, file_text(arena, path), 1);
    arena_free(arena);
    return fit;
}

static int validate_folder(Validation *validation, const char *folder) {
    DIR *directory = opendir(folder);
    int fit = 0;
    CHECK(directory != NULL);
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        Arena *arena = arena_new();
        if (str_ends(str_from(entry->d_name), ".py"))
            fit += validate_file(validation, arena_printf(arena, "%s/%s", folder, entry->d_name));
        arena_free(arena);
    }
    if (directory) closedir(directory);
    return fit;
}

static int validate_generated(Validation *validation, int first, int count) {
    int fit = 0;
    for (int seed = first; seed < first + count; seed++) {
        Arena *arena = arena_new();
        const char *text = kernel_generate(arena, (uint64_t)seed);
        if (is_shown) printf("%s", text);
        fit += validate_text(validation, arena_printf(arena, "generated_%d.py", seed),
                             str_from(text), (uint64_t)seed);
        arena_free(arena);
    }
    return fit;
}

/// All that there is, once for all tests.
static const Validation *everything(void) {
    static Validation all = {.plants_mistakes = true};
    static bool is_done;
    if (is_done) return &all;
    is_done = true;
    int fit = validate_folder(&all, "tests/emitted/kernels") + validate_folder(&all, "examples") +
              validate_file(&all, "tests/unit/passes/kernels.py");
    CHECK(fit >= LEAST_FIT);
    CHECK_EQ_INT(validate_generated(&all, first_seed, seeds), seeds);
    return &all;
}

/* ---- tests ---- */

TEST(generated) {
    static Validation validation;
    CHECK_EQ_INT(validate_generated(&validation, first_seed, is_shown ? seeds : 1),
                 is_shown ? seeds : 1);
    CHECK_EQ_INT(validation.failures, 0);
}

TEST(each_pass_keeps_what_its_row_says) {
    const Validation *all = everything();
    CHECK_EQ_INT(all->failures, 0);
    CHECK(all->slopes >= LEAST_SLOPES);
    CHECK(pass_count <= MOST_PASSES);
}

static bool is_rewrite(const PassRow *row) {
    return row->keeps != PASS_KEEPS_TEXT && row->keeps != PASS_KEEPS_NOTHING;
}

/// A pass that finds nothing to do in any kernel is not tested.
TEST(each_pass_is_seen_at_work) {
    const Validation *all = everything();
    for (int i = 0; i < pass_count; i++) {
        const PassTally *tally = &all->tallies[i];
        bool notes = strcmp(pass_rows[i].name, "launch-facts") == 0;  // about parameters, no ops
        bool is_seen =
            tally->changes > 0 && (!is_rewrite(&pass_rows[i]) || notes || tally->comparisons > 0);
        if (is_seen) continue;
        check_fail(__FILE__, __LINE__, pass_rows[i].name);
        printf("  ran %d times, changed something %d times, was compared %d times\n", tally->runs,
               tally->changes, tally->comparisons);
    }
}

TEST(mistakes_are_found) {
    const Validation *all = everything();
    int mistakes = 0, found = 0;
    for (int i = 0; i < pass_count; i++) {
        const PassTally *tally = &all->tallies[i];
        mistakes += tally->mistakes;
        found += tally->found;
        if (tally->mistakes >= 4 && tally->found == 0)
            check_fail(__FILE__, __LINE__, pass_rows[i].name);
    }
    printf("%d derivations, %d slopes, %d of %d planted mistakes found\n", all->derivations,
           all->slopes, found, mistakes);
    CHECK(found >= LEAST_FOUND * mistakes);
}

/// As if the pass itself had a fault: what the test above reports for it.
TEST(a_pass_that_is_broken_fails) {
    static const char *const passes[] = {
        "normalize", "choices", "simplify", "versions",    "strip", "accumulate",   "guard",
        "branches",  "orient",  "base-two", "fuse-scales", "tidy",  "element-types"};
    for (size_t i = 0; i < sizeof passes / sizeof *passes; i++) {
        Validation broken = {.broken_pass = passes[i], .is_silent = true};
        for (; broken.broken_seed < 8 && broken.failures == 0; broken.broken_seed++) {
            validate_file(&broken, "tests/unit/passes/kernels.py");
            validate_generated(&broken, (int)broken.broken_seed * 4, 4);
        }
        if (broken.failures == 0) check_fail(__FILE__, __LINE__, passes[i]);
    }
}

TEST(generated_kernels_are_of_many_kinds) {
    static const char *const words[] = {
        "tl.dot(",  "tl.atomic_add(", "make_block_ptr", "while k0",    "for j in", "tl.cumsum(",
        "if FLAG:", "chosen + ",      "tl.max(",        "mix(",        "smooth(",  "mask=",
        "Z + p",    "else:",          "tl.where(",      "static_range"};
    Arena *arena = arena_new();
    Buffer all = buffer_new(arena);
    for (int seed = 0; seed < GENERATED; seed++)
        buffer_puts(&all, kernel_generate(arena, (uint64_t)seed));
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strstr(buffer_text(&all), words[i])) check_fail(__FILE__, __LINE__, words[i]);
    CHECK_EQ_STR(kernel_generate(arena, 5), kernel_generate(arena, 5));
    CHECK(strcmp(kernel_generate(arena, 5), kernel_generate(arena, 6)) != 0);
    arena_free(arena);
}

int main(int argc, char **argv) {
    static const Test tests[] = {
        TEST_ROW(generated),
        TEST_ROW(each_pass_keeps_what_its_row_says),
        TEST_ROW(each_pass_is_seen_at_work),
        TEST_ROW(mistakes_are_found),
        TEST_ROW(a_pass_that_is_broken_fails),
        TEST_ROW(generated_kernels_are_of_many_kinds),
    };
    is_shown = argc > 3;
    if (is_shown) {
        first_seed = (int)strtol(argv[2], NULL, 10);
        seeds = (int)strtol(argv[3], NULL, 10);
    }
    return test_main(tests, sizeof tests / sizeof *tests, argc > 1 ? argv[1] : NULL);
}
