// `--backward FILE[:KERNEL]`: the emitted module on stdout, in a file, or as the diff that it would make.
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "autodiff/backward.h"
#include "autodiff/emit/emitted.h"
#include "autodiff/module/module.h"
#include "autodiff/saving/saving.h"
#include "base/escape.h"
#include "codeactions/codeactions.h"
#include "server/cli/update.h"
#include "server/proofs/grad.h"
#include "server/report/diff.h"
#include "server/report/formats.h"
#include "server/report/ours.h"
#include "server/settings/result.h"
#include "server/settings/wanted.h"
#include "server/system/files.h"
#include "server/system/target.h"
#include "server/text/resolve.h"

typedef struct Derivation {
    const Options *options;
    Arena *arena;
    const Snapshot *snapshot;
    BackwardOptions backward;
    Saving saving;  // what kernels are derived from
    ImportResolver *resolver;
    Report *report;  // findings for stderr
    LIST(Backward *) derived;
    int asked;    // kernels that should have a backward
    int filling;  // kernels that only fill memory
    int lacking;  // launchers, their decorators, and parts of gradients, that the module lacks
} Derivation;

static Error unknown_kernel(Arena *arena, const Snapshot *snapshot, const char *path,
                            const char *name) {
    const char *nearest = NULL;
    int best = 2 + (int)strlen(name) / 3;
    for (LIST_EACH(int, i, snapshot->kernels)) {
        const char *candidate = snapshot->kernels.items[i].function->name;
        int distance = str_distance(str_from(name), str_from(candidate));
        if (distance >= best) continue;
        best = distance;
        nearest = candidate;
    }
    return arena_printf(arena, "%s has no kernel `%s`%s%s%s", path, name,
                        nearest ? "; did you mean `" : "", nearest ? nearest : "",
                        nearest ? "`?" : "");
}

/// Why no kernel can have a gradient of the parameter; NULL where one may.
static const char *without_gradient(const Snapshot *snapshot, const char *kernel,
                                    const char *name) {
    const char *why = "is a parameter of no kernel to differentiate";
    for (LIST_EACH(int, i, snapshot->kernels)) {
        const Function *function = snapshot->kernels.items[i].function;
        if (kernel && strcmp(function->name, kernel) != 0) continue;
        for (int k = 0; k < function->parameter_count; k++) {
            const Parameter *parameter = &function->parameters[k];
            Type type = parameter->value->type;
            if (strcmp(parameter->name, name) != 0) continue;
            if (parameter->is_constexpr)
                why = "is a constexpr";
            else if (type.kind == TYPE_NUMBER && dtype_is_integer(type.element))
                why = "is a whole number";
            else
                return NULL;
        }
    }
    return why;
}

static Error target_refuse(const Derivation *derivation, const CommandTarget *target) {
    const Snapshot *snapshot = derivation->snapshot;
    Arena *arena = derivation->arena;
    if (snapshot->kernels.count == 0)
        return arena_printf(arena, "%s has no Triton kernel", target->path);
    if (target->kernel) {
        const Kernel *kernel = snapshot_find_kernel(snapshot, str_from(target->kernel));
        if (!kernel) return unknown_kernel(arena, snapshot, target->path, target->kernel);
        if (!kernel_is_forward(kernel))
            return arena_printf(
                arena, "`%s` is no forward kernel: it is called by others, or it stores nothing",
                target->kernel);
    }
    const Names *wrt = &derivation->options->wrt;
    for (int i = 0; i < wrt->count; i++) {
        const char *why = without_gradient(snapshot, target->kernel, wrt->items[i]);
        if (why) return arena_printf(arena, "--wrt: `%s` %s", wrt->items[i], why);
    }
    return NULL;
}

static void derive_one(Derivation *derivation, const Kernel *kernel) {
    Diagnostics diagnostics = {.arena = derivation->arena};
    const Saving *saving = &derivation->saving;
    Backward *backward =
        saving_derive(derivation->arena, saving, kernel, &derivation->backward, &diagnostics);
    static const Settings all;
    report_take(derivation->report, &diagnostics, &all, derivation->options);
    derivation->asked++;
    if (backward->status == BACKWARD_DERIVED) {
        LIST_PUSH(derivation->arena, &derivation->derived, backward);
        return;
    }
    // Beside others a kernel that fills lacks nothing; named, or alone, it gives no module.
    if (backward->only_fills) derivation->asked--, derivation->filling++;
    Range range =
        backward->reason_range.source ? backward->reason_range : kernel->definition->name_range;
    say("%s:%d: no backward for `%s`: %s", range.source->path, range_line(range),
        kernel->function->name, backward->reason ? backward->reason : "no reason given");
}

static const char *emit_module(Derivation *derivation, const CommandTarget *target) {
    bool is_saving = derivation->options->saving != SAVING_NONE;
    derivation->saving.snapshot = derivation->snapshot;
    if (is_saving)
        derivation->saving = saving_of(
            derivation->arena, derivation->snapshot, &derivation->backward,
            target->kernel ? snapshot_find_kernel(derivation->snapshot, str_from(target->kernel))
                           : NULL);
    for (LIST_EACH(int, i, derivation->snapshot->kernels)) {
        const Kernel *kernel = &derivation->snapshot->kernels.items[i];
        if (!kernel_is_forward(kernel)) continue;
        if (target->kernel && strcmp(kernel->function->name, target->kernel) != 0) continue;
        derive_one(derivation, kernel);
    }
    if (derivation->derived.count == 0) return NULL;
    Diagnostics diagnostics = {.arena = derivation->arena};
    const char *text =
        backward_module(derivation->arena, derivation->saving.snapshot, derivation->derived.items,
                        derivation->derived.count, &derivation->backward, &diagnostics);
    for (LIST_EACH(int, i, diagnostics.list))
        derivation->lacking +=
            diagnostics.list.items[i].id == DIAGNOSTIC_GRADIENT_LAUNCHER_LEFT_OUT ||
            diagnostics.list.items[i].id == DIAGNOSTIC_GRADIENT_DECORATOR_LEFT_OUT ||
            diagnostics.list.items[i].id == DIAGNOSTIC_GRADIENT_NUMBER_OF_TENSOR;
    static const Settings all;
    report_take(derivation->report, &diagnostics, &all, derivation->options);
    return text;
}

/// Merges what was derived into the module that is there. In: the text that was derived. Out: the text of the file; NULL where that cannot
/// be done, which was said. `*conflicts`: how many places have markers.
static const char *updated(Derivation *derivation, const CommandTarget *target, const char *path,
                           const char *text, int *conflicts) {
    Arena *arena = derivation->arena;
    Str old;
    if (!file_exists(path)) return text;
    Error error = file_read(arena, path, &old);
    if (!error && !module_is_ours(arena, old))
        error = arena_printf(arena, "%s was not written by --backward", text_visible(arena, path));
    if (error) {
        say("%s", error);
        return NULL;
    }
    ModuleUpdate update =
        module_merge(arena, path, old, target->path, text,
                     import_resolver_interface(derivation->resolver), &derivation->backward);
    if (update.refusal) {
        say("%s cannot be updated: %s; write the backward to another file and compare",
            text_visible(arena, path), update.refusal);
        return NULL;
    }
    const LineMerge *merge = &update.merge;
    *conflicts = merge->conflicts;
    if (merge->kept)
        say("%s: kept %d place%s that %s edited", text_visible(arena, path), merge->kept,
            merge->kept == 1 ? "" : "s", merge->kept == 1 ? "was" : "were");
    if (merge->conflicts)
        say("%s:%d: %d place%s edited where the backward changed: both are between <<<<<<< and "
            ">>>>>>>",
            text_visible(arena, path), merge->first_conflict, merge->conflicts,
            merge->conflicts == 1 ? " was" : "s were");
    return merge->text;
}

/// Status 1 when the file would change, so that a build can ask whether a generated file is up to date.
static int print_diff(Arena *arena, const Options *options, const CommandTarget *target,
                      const char *text) {
    const char *path = options->output ? options->output : backward_path(arena, target->path, NULL);
    Str old = {NULL, 0};
    if (file_exists(path)) {
        Error error = file_read(arena, path, &old);
        if (error) {
            say("%s", error);
            return STATUS_TROUBLE;
        }
    }
    const char *name = text_visible(arena, path);
    const char *diff = lines_visible(arena, diff_unified(arena, name, old.data, name, text));
    Options to_stdout = *options;
    to_stdout.output = NULL;
    return result_write(arena, &to_stdout, (Output){0}, diff,
                        *diff ? STATUS_FINDINGS : STATUS_CLEAN);
}

static void say_findings(const Report *report) {
    Buffer out = buffer_new(report->arena);
    format_concise(&out, report, &(FormatOptions){.quiet = true});
    fputs(buffer_text(&out), stderr);
}

/* ---- proof ---- */

/// How a reason begins that does not come from a run.
#define NOT_PROVED "not proved: "

static void say_verdict(const KernelResult *result, bool quiet) {
    switch (result->status) {
    case KERNEL_PROVED:
        if (!quiet)
            say("%s: gradients proved, worst error %.1e%s%s", result->name, result->worst_error,
                result->asserted ? "; asserted at each call: " : "",
                result->asserted ? result->asserted : "");
        break;
    case KERNEL_FAILED:
        say("%s:%d: WRONG GRADIENTS in the backward of `%s`: %s%s", result->file,
            result->given_line ? result->given_line : result->line, result->name, result->reason,
            result->rests_on_given ? "" : "; please report this kernel");
        break;
    case KERNEL_DERIVED:
        if (result->is_doubted)
            say("%s:%d: the gradients of `%s` are not proved: %s", result->file, result->line,
                result->name, result->reason);
        else if (!str_starts(str_from(result->reason), NOT_PROVED))  // said once for all
            say("%s: gradients not proved: %s", result->name, result->reason);
        break;
    default: break;
    }
}

/// What the proof came to for this backward; NULL where it got none.
static const KernelResult *result_of(const Report *report, const Snapshot *snapshot,
                                     const Backward *backward) {
    const Kernel *kernel = snapshot_find_kernel(snapshot, backward->kernel->definition->name);
    int line = range_line((kernel ? kernel : backward->kernel)->definition->name_range);
    for (LIST_EACH(int, i, report->kernels)) {
        const KernelResult *result = &report->kernels.items[i];
        if (result->line == line && strcmp(result->name, backward->kernel->function->name) == 0)
            return result;
    }
    return NULL;
}

/// A line at the module's top for gradients that are not proved: a warning where a run has shown something wrong; else why
/// the proof stayed open. It ends as the module's lines do. Returns whether it is a warning.
static bool mark(Buffer *out, const Backward *backward, const KernelResult *result,
                 const char *end) {
    const char *name = backward->kernel->function->name;
    if (result && result->status == KERNEL_PROVED) return false;
    const Kernel *of = kernel_of_backward(backward->kernel->snapshot, backward->kernel);
    const char *reason = result ? text_visible(out->arena, result->reason)
                         : of   ? "a gradient of a gradient is proved only for who names the kernel"
                                : "an internal error";
    if (str_starts(str_from(reason), NOT_PROVED)) reason += sizeof NOT_PROVED - 1;
    if (result && result->status == KERNEL_FAILED)
        buffer_printf(out, "# WARNING: the proof contradicts the gradients of `%s`: %s", name,
                      reason);
    else if (result && result->is_doubted)
        buffer_printf(out, "# WARNING: the gradients of `%s` are not proved: %s", name, reason);
    else
        buffer_printf(out, "# NOT PROVED: the gradients of `%s`: %s", name,
                      result && result->open ? result->open : reason);
    buffer_puts(out, end);
    return result && (result->status == KERNEL_FAILED || result->is_doubted);
}

/// Has the gradients of the text proved by tad-runner and says what came out. In: the module's text. Out: the same, under a
/// line for each kernel that is not proved; `*failed` counts the warnings among these.
static const char *prove(Derivation *derivation, const CommandTarget *target, const char *text,
                         int *failed) {
    Arena *arena = derivation->arena;
    Loop *loop = loop_new();
    Report report = {.arena = arena};
    SettingsCache *settings = settings_cache_new(arena, &report);
    Grad *grad = grad_new(arena, loop, &report, derivation->resolver, derivation->options);
    grad_derive(grad, derivation->snapshot, settings_for(settings, target->path), target->kernel);
    grad_prove(grad);
    loop_free(loop);
    for (LIST_EACH(int, i, report.kernels))
        say_verdict(&report.kernels.items[i], derivation->options->quiet);
    Buffer marked = buffer_new(arena);
    const char *end = strchr(text, '\n') > text && strchr(text, '\n')[-1] == '\r' ? "\r\n" : "\n";
    for (LIST_EACH(int, i, derivation->derived)) {
        const Backward *backward = derivation->derived.items[i];
        *failed += mark(&marked, backward, result_of(&report, derivation->snapshot, backward), end);
    }
    buffer_puts(&marked, text);
    return buffer_text(&marked);
}

static int backward_write(Derivation *derivation, const CommandTarget *target) {
    const Options *options = derivation->options;
    Error error = target_refuse(derivation, target);
    if (error) {
        say("%s", error);
        return STATUS_TROUBLE;
    }
    const char *text = emit_module(derivation, target);
    say_findings(derivation->report);
    if (!text) {
        if (derivation->asked + derivation->filling == 0)
            say("%s has no forward kernel to differentiate", target->path);
        return STATUS_FINDINGS;
    }
    int failed = 0;
    if (!options->no_proof) text = prove(derivation, target, text, &failed);
    bool complete =
        derivation->derived.count == derivation->asked && failed == 0 && derivation->lacking == 0;
    int status = complete ? STATUS_CLEAN : STATUS_FINDINGS, conflicts = 0;
    Options chosen = *options;
    if (options->update) {
        if (!chosen.output) chosen.output = backward_path(derivation->arena, target->path, NULL);
        text = updated(derivation, target, chosen.output, text, &conflicts);
        if (!text) return STATUS_TROUBLE;
        if (conflicts) status = STATUS_FINDINGS;
        options = &chosen;
    }
    if (options->diff) {
        int changed = print_diff(derivation->arena, options, target, text);
        return changed > status ? changed : status;
    }
    Output output = {.is_ours = module_is_ours, .inputs = &target->path, .input_count = 1};
    // A file or a pipe gets the module as it is.
    if (!options->output && isatty(STDOUT_FILENO)) text = lines_visible(derivation->arena, text);
    status = result_write(derivation->arena, options, output, text, status);
    if (options->output && status != STATUS_TROUBLE)
        say("wrote %s: the backward of %d kernel%s", options->output, derivation->derived.count,
            derivation->derived.count == 1 ? "" : "s");
    return status;
}

static int backward_of_text(const Options *options, Arena *arena, const CommandTarget *target,
                            Str text) {
    Report report = {.arena = arena};
    ImportResolver *resolver = import_resolver_new(NULL);
    SnapshotOptions snapshot_options = {.resolver = import_resolver_interface(resolver),
                                        .skip_checks = true};
    Snapshot *volatile snapshot = NULL;
    volatile int status = STATUS_TROUBLE;
    BugGuard guard;
    if (BUG_GUARD(&guard)) {
        snapshot = snapshot_build(target->path, text, &snapshot_options);
        Derivation derivation = {
            .options = options,
            .arena = arena,
            .snapshot = snapshot,
            .resolver = resolver,
            .backward = {.wrt = options->wrt.items,
                         .wrt_count = options->wrt.count,
                         .wrapper = (WrapperKind)options->wrapper,
                         .is_untuned = options->tuning == TUNING_NONE},
            .report = &report,
        };
        status = backward_write(&derivation, target);
        saving_close(&derivation.saving);
        bug_guard_end(&guard);
    } else {
        say("%s: internal error: %s", target->path, guard.message);
    }
    snapshot_release(snapshot);
    import_resolver_free(resolver);
    return status;
}

int command_backward(const Options *options) {
    Arena *arena = arena_new();
    CommandTarget target = target_of(arena, options->operands[0]);
    Str text;
    if (options->tuning == TUNING_NONE && options->wrapper == WRAPPER_TRITON_OP) {
        say("--tune none has no meaning with --wrapper triton_op: an operator has nowhere to keep a "
            "configuration");
        arena_free(arena);
        return STATUS_TROUBLE;
    }
    Error error = file_read(arena, target.path, &text);
    int status = STATUS_TROUBLE;
    if (error)
        say("%s", error);
    else
        status = backward_of_text(options, arena, &target, text);
    arena_free(arena);
    return status;
}
