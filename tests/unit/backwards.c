// Whole derivations, from a file to the module that is written: what is written parses, has no error, holds each kernel as it was
// derived, and its gradients are proved where the proof has the steps; what is refused says why, and where.
#include "autodiff/backward.h"

#include <dirent.h>
#include <stdlib.h>

#include "gpu-runner/prove/request.h"
#include "gpu-runner/verdict/gradcheck.h"
#include "server/proofs/proof.h"
#include "server/text/resolve.h"
#include "tests/support/check.h"
#include "tests/support/files.h"

/// Steps of a proof: enough for two configurations of most kernels.
enum { MOST_STEPS = 250000, MOST_SECONDS = 60 };

typedef struct Tally {
    int derived, refused, constant, proved, open, modules, functions, left_out;
} Tally;

typedef struct File {
    Arena *arena;
    ImportResolver *resolver;
    SnapshotOptions options;
    Snapshot *snapshot;
    BackwardOptions backward;
    LIST(Backward *) derived;
    Tally *tally;
    bool proves;
} File;

static void fail(const File *file, Range range, const char *what, const char *more) {
    check_fail(file->snapshot->source->path, range.source ? range_line(range) : 0, what);
    printf("  %s\n", more ? more : "");
}

/* ---- a kernel ---- */

/// A sentence and a place.
static void check_refusal(const File *file, const Backward *backward, const Diagnostics *said) {
    Range range = backward->reason_range;
    bool is_told = backward->reason && strlen(backward->reason) > 20;
    if (!is_told || !range.source || range.end <= range.start)
        fail(file, backward->kernel->definition->name_range, "a refusal says why, and where",
             backward->reason);
    bool is_found = backward->status != BACKWARD_REFUSED;
    for (LIST_EACH(int, i, said->list))
        is_found |= strcmp(said->list.items[i].message, backward->reason) == 0;
    if (!is_found) fail(file, range, "a refusal is a finding", backward->reason);
}

static bool has_argument(const Backward *backward, const char *input, ArgumentUse use) {
    for (int i = 0; i < backward->whole.argument_count; i++) {
        const BackwardArgument *argument = &backward->whole.arguments[i];
        if (argument->use == use && strcmp(argument->of, input) == 0) return true;
    }
    return false;
}

/// Each gradient that is promised has a parameter which it is written through.
static void check_plan(const File *file, const Backward *backward) {
    for (int i = 0; i < backward->input_count; i++) {
        const char *input = backward->inputs[i];
        if (!has_argument(backward, input, ARGUMENT_GRADIENT) &&
            !has_argument(backward, input, ARGUMENT_RUNNING) &&
            !has_argument(backward, input, ARGUMENT_KEPT))
            fail(file, backward->kernel->definition->name_range, "an input has its gradient",
                 input);
    }
    for (int i = 0; i < backward->output_count; i++)
        if (!has_argument(backward, backward->outputs[i], ARGUMENT_UPSTREAM) &&
            !has_argument(backward, backward->outputs[i], ARGUMENT_RUNNING))
            fail(file, backward->kernel->definition->name_range, "an output has its gradient",
                 backward->outputs[i]);
}

static void derive(File *file, const Kernel *kernel) {
    Diagnostics said = {.arena = file->arena};
    Backward *backward =
        backward_derive(file->arena, file->snapshot, kernel, &file->backward, &said);
    switch (backward->status) {
    case BACKWARD_DERIVED:
        file->tally->derived++;
        LIST_PUSH(file->arena, &file->derived, backward);
        check_plan(file, backward);
        return;
    case BACKWARD_REFUSED: file->tally->refused++; break;
    case BACKWARD_NOT_DIFFERENTIABLE: file->tally->constant++; break;
    }
    check_refusal(file, backward, &said);
}

/* ---- the module ---- */

static void check_kernels(const File *file, const Snapshot *module, const Backward *backward) {
    Range name = backward->kernel->definition->name_range;
    for (int i = 0; i < backward->launch_count; i++) {
        const BackwardLaunch *launch = &backward->launches[i];
        const Kernel *kernel = snapshot_find_kernel(module, str_from(launch->kernel));
        if (!kernel) {
            fail(file, name, "the module has the kernel", launch->kernel);
            continue;
        }
        const Function *function = kernel->function;
        CHECK_EQ_INT(function->parameter_count, launch->argument_count);
        for (int k = 0; k < launch->argument_count && k < function->parameter_count; k++)
            CHECK_EQ_STR(function->parameters[k].name, launch->arguments[k].name);
        bool was_understood = backward->kernel->understood;
        if (was_understood && !kernel->understood)
            fail(file, name, "what was written is understood", launch->text);
    }
}

static int count(Str text, const char *part) {
    int found = 0;
    for (const char *at = text.data; (at = strstr(at, part)); at++) found++;
    return found;
}

static void check_module(File *file) {
    Diagnostics said = {.arena = file->arena};
    const char *text = backward_module(file->arena, file->snapshot, file->derived.items,
                                       file->derived.count, &file->backward, &said);
    for (LIST_EACH(int, i, said.list))
        file->tally->left_out += said.list.items[i].id == DIAGNOSTIC_GRADIENT_LAUNCHER_LEFT_OUT;
    file->tally->modules++;
    const char *path = arena_printf(file->arena, "%s_backward.py", file->snapshot->source->path);
    Snapshot *module = snapshot_build(path, str_from(text), &file->options);
    for (LIST_EACH(int, i, module->diagnostics.list)) {
        const Diagnostic *diagnostic = &module->diagnostics.list.items[i];
        if (diagnostic_rows[diagnostic->id].severity == SEVERITY_ERROR)
            fail(file, (Range){0}, diagnostic->message,
                 str_dup(file->arena, source_slice(diagnostic->range)));
    }
    for (LIST_EACH(int, i, file->derived)) check_kernels(file, module, file->derived.items[i]);
    CHECK(str_is(backward_origin(str_from(text)), strrchr(file->snapshot->source->path, '/') + 1));
    file->tally->functions += count(str_from(text), "(torch.autograd.Function):") +
                              count(str_from(text), ".register_autograd(");
    snapshot_release(module);
}

/* ---- the proof ---- */

static void prove(File *file, const Backward *backward) {
    static const Settings none;
    const char *text = arena_printf(file->arena, "%s\n\n%s\n\n%s\n",
                                    str_dup(file->arena, file->snapshot->source->text),
                                    backward->helper_text, backward->kernel_text);
    const ProofFile proved = {.source = file->snapshot->source, .settings = &none};
    ProofPlan plan = proof_plan(file->arena, backward->kernel, backward, text, &none);
    Json *params = proof_params(file->arena, &proved, &plan, 1, MOST_SECONDS);
    json_set_number(params, "max_steps", MOST_STEPS);
    Error error = NULL;
    const Json *result = request_gradcheck(file->arena, params, NULL, NULL, NULL, &error);
    const char *status = result ? json_get_string(result, "status", "") : "";
    if (strcmp(status, "failed") == 0)
        fail(file, backward->kernel->definition->name_range, "the gradients are right",
             json_get_string(result, "reason", ""));
    bool is_proved = strcmp(status, "proved") == 0;
    file->tally->proved += is_proved;
    file->tally->open += !is_proved;
}

/* ---- files ---- */

static void read_file(Tally *tally, const char *path, WrapperKind wrapper, bool proves) {
    File file = {.arena = arena_new(), .tally = tally, .proves = proves};
    file.resolver = import_resolver_new(NULL);
    file.options.resolver = import_resolver_interface(file.resolver);
    file.backward.wrapper = wrapper;
    file.snapshot = snapshot_build(path, file_text(file.arena, path), &file.options);
    for (LIST_EACH(int, i, file.snapshot->kernels))
        if (kernel_is_forward(&file.snapshot->kernels.items[i]))
            derive(&file, &file.snapshot->kernels.items[i]);
    if (file.derived.count) check_module(&file);
    for (LIST_EACH(int, i, file.derived))
        if (proves) prove(&file, file.derived.items[i]);
    snapshot_release(file.snapshot);
    import_resolver_free(file.resolver);
    arena_free(file.arena);
}

static void read_folder(Tally *tally, const char *folder, WrapperKind wrapper, bool proves) {
    DIR *directory = opendir(folder);
    CHECK(directory != NULL);
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        Arena *arena = arena_new();
        if (str_ends(str_from(entry->d_name), ".py"))
            read_file(tally, arena_printf(arena, "%s/%s", folder, entry->d_name), wrapper, proves);
        arena_free(arena);
    }
    if (directory) closedir(directory);
    printf("%s: %d derived, %d refused, %d not differentiable, %d proved, %d open, %d modules with "
           "%d Functions, %d launchers left out\n",
           folder, tally->derived, tally->refused, tally->constant, tally->proved, tally->open,
           tally->modules, tally->functions, tally->left_out);
}

TEST(examples) {
    Tally tally = {0};
    read_folder(&tally, "examples", WRAPPER_AUTOGRAD, true);
    CHECK_EQ_INT(tally.refused + tally.constant, 0);
    CHECK(tally.derived >= 40);
    CHECK(tally.functions >= 20);
}

TEST(examples_as_operators) {
    Tally tally = {0};
    read_folder(&tally, "examples", WRAPPER_TRITON_OP, false);
    CHECK(tally.derived >= 40);
    CHECK(tally.functions >= 20);
}

TEST(kernels_of_the_tests) {
    Tally tally = {0};
    read_folder(&tally, "tests/emitted/kernels", WRAPPER_NONE, true);
    CHECK(tally.derived >= 280);
    CHECK(tally.proved >= 150);
}

TEST(launchers_that_break_promises) {
    Tally tally = {0};
    read_folder(&tally, "tests/oracle/cases", WRAPPER_AUTOGRAD, false);
    CHECK(tally.derived >= 20);
    CHECK(tally.refused >= 5);
    CHECK(tally.left_out >= 5);
}

TEST_MAIN(TEST_ROW(examples), TEST_ROW(examples_as_operators), TEST_ROW(kernels_of_the_tests),
          TEST_ROW(launchers_that_break_promises))
