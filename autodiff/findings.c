// A derived backward in, diagnostics out.
#include "autodiff/findings.h"

#include <string.h>

static void report_assumptions(const Backward *result, Diagnostics *diagnostics) {
    for (int i = 0; i < result->assumption_count; i++)
        diagnose(diagnostics, DIAGNOSTIC_GRADIENT_ASSUMES_DISTINCT, result->assumptions[i].range,
                 "the gradient assumes that %s", result->assumptions[i].text);
}

static void report_flag(const Backward *result, Diagnostics *diagnostics) {
    if (result->flag_lost)
        diagnose(diagnostics, DIAGNOSTIC_GRADIENT_FLAG_LEFT_OUT, result->flag_range, "%s",
                 result->flag_lost);
}

static void report_atomics(const Backward *result, Diagnostics *diagnostics) {
    for (int i = 0; i < result->gradient_count; i++) {
        const Gradient *gradient = &result->gradients[i];
        if (!gradient->is_atomic) continue;
        diagnose(diagnostics, DIAGNOSTIC_GRADIENT_ATOMIC_HOT_SPOT, gradient->range,
                 "the gradient of `%s` needs atomics: %s", gradient->input, gradient->why);
    }
}

static void report_loops(const Backward *result, Diagnostics *diagnostics) {
    for (int i = 0; i < result->loop_note_count; i++) {
        const LoopNote *note = &result->loop_notes[i];
        diagnose(diagnostics,
                 note->is_recomputed ? DIAGNOSTIC_GRADIENT_RECOMPUTED_STATE
                                     : DIAGNOSTIC_GRADIENT_TAPE,
                 note->range, "%s", note->text);
    }
}

/// What the launcher has to copy because the kernel overwrites it.
static void report_copies(const Snapshot *snapshot, const Backward *result,
                          Diagnostics *diagnostics) {
    const Function *forward = result->kernel->function;
    for (int p = 0; p < forward->parameter_count; p++) {
        const Parameter *parameter = &forward->parameters[p];
        int copies = 0;
        for (int i = 0; i < result->whole.argument_count; i++) {
            const BackwardArgument *argument = &result->whole.arguments[i];
            bool is_copy = argument->use == ARGUMENT_BEFORE || argument->use == ARGUMENT_AMID;
            copies += is_copy && strcmp(argument->of, parameter->name) == 0;
        }
        if (copies)
            diagnose(
                diagnostics, DIAGNOSTIC_GRADIENT_COPY, snapshot_range(snapshot, parameter->range),
                "its backward needs %s of `%s` from before the launch, which overwrites it: store to another tensor to do without",
                copies > 1 ? "two copies" : "a copy", parameter->name);
    }
}

void findings_report(const Snapshot *snapshot, const Backward *result, Diagnostics *diagnostics) {
    if (!diagnostics) return;
    report_assumptions(result, diagnostics);
    report_flag(result, diagnostics);
    report_atomics(result, diagnostics);
    report_loops(result, diagnostics);
    report_copies(snapshot, result, diagnostics);
}
