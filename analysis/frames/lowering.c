// Frames and variables of a lowering, places and reports.
#include "analysis/frames/lowering.h"

#include <stdarg.h>
#include <string.h>

#include "analysis/build/build.h"
#include "analysis/syntax/syntax_nodes.h"
#include "base/budget.h"

enum { NESTING_LIMIT = 700, STEPS_PER_OP = 2 };

// --- Frames and variables

LoweringFrame *frame_enter(Lowering *lowering, LoweringFrame *frame) {
    frame->slots = map_new(lowering->arena);
    frame->scalars = map_new(lowering->arena);
    frame->caller = lowering->frame;
    if (lowering->frame) frame->unknown_conditions = lowering->frame->unknown_conditions;
    lowering->frame = frame;
    return frame;
}

void frame_leave(Lowering *lowering, LoweringFrame *frame) { lowering->frame = frame->caller; }

int variable_slot(Lowering *lowering, Str name) {
    LoweringFrame *frame = lowering->frame;
    intptr_t slot = (intptr_t)map_get(&frame->slots, name);
    if (slot) return (int)slot - 1;
    LIST_PUSH(lowering->arena, &frame->names, name);
    map_set(&frame->slots, name, (void *)(intptr_t)frame->names.count);
    return frame->names.count - 1;
}

Value *variable_get(Lowering *lowering, Str name) {
    const LoweringFrame *frame = lowering->frame;
    intptr_t slot = (intptr_t)map_get(&frame->slots, name);
    if (!slot || slot > frame->variables.count) return NULL;
    return frame->variables.values[slot - 1];
}

void variable_set(Lowering *lowering, Str name, Value *value) {
    int slot = variable_slot(lowering, name);
    Variables *variables = &lowering->frame->variables;
    if (slot >= variables->count) {
        int count = lowering->frame->names.count + 8;
        variables->values =
            arena_grow(lowering->arena, variables->values,
                       sizeof(Value *) * (size_t)variables->count, sizeof(Value *) * (size_t)count);
        variables->count = count;
    }
    variables->values[slot] = value;
}

Variables variables_copy(Lowering *lowering) {
    Variables old = lowering->frame->variables;
    Variables copy = {ARENA_ARRAY(lowering->arena, Value *, old.count + 1), old.count};
    if (old.count) memcpy(copy.values, old.values, sizeof(Value *) * (size_t)old.count);
    return copy;
}

// --- Places and reports

Str lowering_text(const Lowering *lowering, SyntaxNode node) {
    return node_text(lowering->frame->source, node);
}

Range lowering_at(Lowering *lowering, SyntaxNode node) {
    Range former = lowering->builder.range;
    // What a rule makes belongs to the user's expression that asked for it.
    if (lowering->frame->module && !node_is_null(node))
        lowering->builder.range = node_range(lowering->frame->source, node);
    return former;
}

/// Whether another program writes parts of the text before it runs: names may be its own.
static bool is_template(const Lowering *lowering) {
    const Source *source = lowering->frame->module ? lowering->frame->source : NULL;
    return source && text_contains(source->text, "[[[cog");
}

Diagnostic *lowering_report(Lowering *lowering, DiagnosticId id, SyntaxNode node,
                            const char *format, ...) {
    if (!lowering->diagnostics || lowering->global_depth) return NULL;
    // What a helper is called with decides what it means; its callers tell.
    bool is_helper = !lowering->builder.function->definition ||
                     lowering->builder.function->definition->is_helper;
    if (id == DIAGNOSTIC_NOT_UNDERSTOOD && is_helper && lowering->root) return NULL;
    va_list arguments;
    va_start(arguments, format);
    const char *message = arena_vprintf(lowering->diagnostics->arena, format, arguments);
    va_end(arguments);
    Range range = lowering->builder.range;
    if (lowering->frame->module && !node_is_null(node))
        range = node_range(lowering->frame->source, node);
    Range inner = range;
    const CallSite *call = lowering->builder.call;
    while (call && range.source != lowering->root) {
        range = call->range;
        call = call->outer;
    }
    Diagnostic *diagnostic = diagnose(lowering->diagnostics, id, range, "%s", message);
    // In a branch that only some instances of the kernel compile, nothing is certain.
    for (const LoweringAssumption *known = lowering->assumptions; known; known = known->outer)
        if (!known->holds && known->condition->type.is_constexpr &&
            diagnostic->severity == SEVERITY_ERROR)
            diagnostic->severity = SEVERITY_WARNING;
    bool is_of_names = id == DIAGNOSTIC_UNDEFINED_NAME || id == DIAGNOSTIC_WRONG_ARGUMENT ||
                       id == DIAGNOSTIC_UNDECORATED_HELPER;
    if (is_of_names && is_template(lowering)) diagnostic->severity = SEVERITY_HINT;
    if (range.source != inner.source)
        diagnostic_relate(lowering->diagnostics, diagnostic, inner, "in the helper, here");
    return diagnostic;
}

Value *lowering_silent(Lowering *lowering, const char *note) {
    if (lowering->global_depth) return lowering_opaque(lowering, note);
    return build_unknown(&lowering->builder, note);
}

Value *lowering_opaque(Lowering *lowering, const char *note) {
    Value *value = build_unknown(&lowering->builder, note);
    value->type.is_constexpr = true;
    return value;
}

/// What has a name in the message is told once in a kernel.
static bool is_told_before(const Lowering *lowering, const char *message) {
    if (!lowering->diagnostics || !strchr(message, '`')) return false;
    for (LIST_EACH(int, i, lowering->diagnostics->list)) {
        const Diagnostic *said = &lowering->diagnostics->list.items[i];
        if (said->id == DIAGNOSTIC_NOT_UNDERSTOOD && strcmp(said->message, message) == 0)
            return true;
    }
    return false;
}

Value *lowering_unknown(Lowering *lowering, SyntaxNode node, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const char *note = arena_vprintf(lowering->arena, format, arguments);
    va_end(arguments);
    if (!is_told_before(lowering, note))
        lowering_report(lowering, DIAGNOSTIC_NOT_UNDERSTOOD, node, "%s", note);
    return lowering_silent(lowering, note);
}

bool lowering_deeper(Lowering *lowering, SyntaxNode node) {
    if (++lowering->depth < NESTING_LIMIT) return !lowering->stopped;
    if (!lowering->stopped)
        lowering_report(lowering, DIAGNOSTIC_LIMIT_REACHED, node,
                        "This is nested more than %d levels deep; the analysis stops here.",
                        NESTING_LIMIT);
    lowering->stopped = true;
    return false;
}

bool lowering_over(Lowering *lowering, SyntaxNode node) {
    if (lowering->stopped) return true;
    bool is_small = lowering->builder.function->op_count < lowering->max_ops &&
                    ++lowering->steps < STEPS_PER_OP * lowering->max_ops;
    bool is_spent = budget_left() < lowering->reserve;  // whose budget it is says so
    if (is_small && !is_spent) return false;
    lowering->stopped = true;
    if (!is_small)
        lowering_report(lowering, DIAGNOSTIC_LIMIT_REACHED, node,
                        "This makes more than %d operations once loops are unrolled and helpers "
                        "are inlined; the analysis stops here.",
                        lowering->max_ops);
    return true;
}
