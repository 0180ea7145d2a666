// The pipeline of the differentiation, readable from top to bottom: copy, normalize, mark, sweep, clean, schedule, emit.
#include "autodiff/backward.h"

#include <string.h>

#include "analysis/ir/ir_verify.h"
#include "analysis/ir/limits.h"
#include "analysis/launches/launch_contents.h"
#include "autodiff/arguments.h"
#include "autodiff/derive.h"
#include "autodiff/emit/emit.h"
#include "autodiff/emit/emit_layout.h"
#include "autodiff/findings.h"
#include "autodiff/function/decorator_text.h"
#include "autodiff/function/descriptor_text.h"
#include "autodiff/function/grid_text.h"
#include "autodiff/function/stored_text.h"
#include "autodiff/function/tape_text.h"
#include "autodiff/function_variants.h"
#include "autodiff/gathers/remainders.h"
#include "autodiff/layouts/expanded_inputs.h"
#include "autodiff/layouts/upstream_strides.h"
#include "autodiff/parts.h"
#include "autodiff/plan/absent.h"
#include "autodiff/plan/constants.h"
#include "autodiff/primal/scalars.h"
#include "autodiff/rewrite/rewrite.h"
#include "autodiff/same_gradients.h"
#include "autodiff/schedule/coverage.h"
#include "autodiff/schedule/reduction_plan.h"
#include "autodiff/state/differentiation.h"
#include "autodiff/tape/alias.h"
#include "autodiff/tape/memory.h"
#include "autodiff/variants.h"
#include "base/budget.h"
#include "base/error.h"

/* ---- what the kernel does to memory ---- */

bool kernel_is_forward(const Kernel *kernel) {
    if (kernel->is_helper || !kernel->function || kernel->definition->returns_value) return false;
    Arena *arena = kernel->function->arena;
    if (function_is_outdone(arena, kernel->definition)) return false;
    return memory_of(arena, kernel->function).writes;
}

static Backward *refuse(Backward *result, BackwardStatus status, const char *reason, Range range) {
    result->status = status;
    result->reason = reason;
    result->reason_range = range;
    return result;
}

typedef struct FlagsAttempt {
    Arena *arena;
    const Kernel *kernel;
    const BackwardOptions *options;
} FlagsAttempt;

static void run_flags(void *context, Variant *variant) {
    const FlagsAttempt *with = context;
    variants_derive_flags(with->arena, with->kernel, with->options, variant);
}

static void run_without(void *context, Variant *variant) {
    const FlagsAttempt *with = context;
    variants_derive_without(with->arena, with->kernel, with->options, variant);
}

static void run_excluding(void *context, Variant *variant) {
    const FlagsAttempt *with = context;
    variants_derive_excluding(with->arena, with->kernel, with->options, variant);
}

/// The kernel as a whole, else apart for the values of its flags.
static Variant *derive_whole(Arena *arena, const Kernel *kernel, const Function *forward,
                             const BackwardOptions *options) {
    Variant *variant = ARENA_NEW(arena, Variant);
    variant_derive(arena, kernel, forward, options, variant);
    FlagsAttempt flags = {arena, kernel, options};
    bool is_whole = options && options->keeps_schedule;
    if (variant->result.status == BACKWARD_DERIVED && variant->result.atomics && !is_whole)
        variant_attempt(arena, run_flags, &flags, variant);
    BackwardOptions apart = options ? *options : (BackwardOptions){0};
    apart.keeps_schedule = true;  // what is refused as a whole is derived in one kernel
    if (variant->result.status == BACKWARD_REFUSED)
        variants_derive_apart(arena, kernel, &apart, variant);
    if (variant->result.status == BACKWARD_REFUSED)
        variants_derive_functions(arena, kernel, &apart, variant);
    FlagsAttempt one = {arena, kernel, &apart};
    if (variant->result.status == BACKWARD_REFUSED)
        variant_attempt(arena, run_without, &one, variant);
    if (variant->result.status == BACKWARD_REFUSED)
        variant_attempt(arena, run_excluding, &flags, variant);
    variants_derive_kinds(arena, kernel, options, variant);
    return variant;
}

/// Scalars that nobody named must not stand in the way of the rest.
static Variant *derive_kernel(Arena *arena, const Kernel *kernel, Function *forward,
                              const BackwardOptions *options) {
    Variant *variant = derive_whole(arena, kernel, forward, options);
    if (variant->result.status != BACKWARD_REFUSED || (options && options->wrt_count))
        return variant;
    bool takes_scalars = false;
    launches_note(arena, kernel->definition, forward);
    for (int i = 0; i < forward->parameter_count; i++)
        takes_scalars |= scalar_is_asked(options, &forward->parameters[i]);
    if (!takes_scalars) return variant;
    BackwardOptions others = options ? *options : (BackwardOptions){0};
    others.skips_scalars = true;
    Variant *rest = derive_whole(arena, kernel, forward, &others);
    Range where = variant->result.reason_range;
    bool is_here = where.source == kernel->definition->name_range.source;
    rest->result.scalars_lost =
        is_here ? arena_printf(arena, "%s (line %d)", variant->result.reason, range_line(where))
                : variant->result.reason;
    return rest;
}

/// What the gradients rest on that nobody derived.
static const char *given_comment(Arena *arena, const Backward *result) {
    Buffer text = buffer_new(arena);
    for (int i = 0; i < result->given_count; i++) {
        const GivenRule *rule = result->given[i].rule;
        buffer_printf(&text, "    # The derivative of %.*s is given by hand%s: %.*s\n",
                      STR_ARGS(rule->name), result->given[i].is_checked ? "" : ", not checked",
                      STR_ARGS(given_rule_text(rule)));
    }
    return buffer_text(&text);
}

/// A sentence in lines of comment.
static void add_comment(Buffer *text, const char *sentence) {
    size_t column = LINE_LIMIT;
    for (const char *at = sentence; *at;) {
        size_t size = strcspn(at, " ");
        if (column + 1 + size > LINE_LIMIT) {
            buffer_printf(text, "%s%*s#", at == sentence ? "" : "\n", INDENT, "");
            column = INDENT + 1;
        }
        buffer_printf(text, " %.*s", (int)size, at);
        column += 1 + size;
        at += size + strspn(at + size, " ");
    }
    buffer_puts(text, "\n");
}

/// What the gradients assume and nothing checks, each once, whatever it is good for.
static const char *assumption_comment(Arena *arena, const Backward *result) {
    Buffer text = buffer_new(arena);
    Map said = map_new(arena);
    for (int i = 0; i < result->assumption_count; i++) {
        if (result->assumptions[i].offsets) continue;
        const char *what = result->assumptions[i].text, *purpose = strstr(what, ", so that ");
        int size = purpose ? (int)(purpose - what) : (int)strlen(what);
        const char *sentence = arena_printf(arena, "The gradient assumes that %.*s.", size, what);
        if (map_has(&said, str_from(sentence))) continue;
        map_set(&said, str_from(sentence), &said);
        add_comment(&text, sentence);
    }
    return buffer_text(&text);
}

/// Which rows a kernel is for that takes the place of others.
static const char *row_comment(Arena *arena, const BackwardLaunch *launch) {
    if (!launch->row.block) return "";
    return arena_printf(arena, "    # In place of the others where a block holds a row: %s <= %s\n",
                        launch->row.length, launch->row.block);
}

/// A kernel and what has to be known to launch it.
static const char *emit_launch(Arena *arena, const Function *function, const BackwardLaunch *launch,
                               const char *grid, const Backward *result, const char **helpers) {
    const char *comment = arena_printf(arena, "%s%s%s%s%s", given_comment(arena, result),
                                       descriptor_comment(arena, function, launch), grid,
                                       scalar_comment(arena, launch), tape_comment(arena, launch));
    return emit_kernel(arena, function, backward_decorators(arena, launch, result), comment,
                       helpers);
}

static void emit_variant(Arena *arena, const Variant *variant, WrapperKind wrapper,
                         Backward *result) {
    VariantPart whole = {variant->backward, variant->launch};
    const VariantPart *parts = variant->part_count ? variant->parts : &whole;
    result->launch_count = variant->part_count ? variant->part_count : 1;
    result->launches = ARENA_ARRAY(arena, BackwardLaunch, result->launch_count);
    Buffer text = buffer_new(arena), helpers = buffer_new(arena);
    for (int i = 0; i < result->launch_count; i++) result->launches[i] = parts[i].launch;
    if (wrapper != WRAPPER_TRITON_OP) absent_choose(result);
    for (int i = 0; i < result->launch_count; i++) {
        BackwardLaunch *launch = &result->launches[i];
        const char *needed, *grid = "";
        if (!i)
            grid = arena_printf(
                arena, "%s%s%s%s", row_comment(arena, launch), assumption_comment(arena, result),
                grid_comment(arena, result, wrapper), steps_comment(arena, result, wrapper));
        launch->kernel = parts[i].function->name;
        launch->is_tuned_before = i && result->kernel->definition->is_autotuned &&
                                  launch_reads_scratch(launch) && !result->is_untuned;
        upstream_strides_describe(arena, result->kernel, parts[i].function, launch);
        expanded_inputs_describe(arena, result->kernel, parts[i].function, launch);
        absent_guard(arena, parts[i].function, launch);
        arguments_rename(arena, result->kernel->definition, parts[i].function, launch);
        remainders_from_quotients(parts[i].function);
        launch->text = emit_launch(arena, parts[i].function, launch, grid, result, &needed);
        buffer_printf(&text, "%s%s", i ? "\n\n" : "", launch->text);
        if (!strstr(buffer_text(&helpers), needed))
            buffer_printf(&helpers, "%s%s", helpers.size ? "\n\n" : "", needed);
        result->whole = i ? launch_join(arena, &result->whole, launch) : *launch;
    }
    coverage_settle(result);
    same_gradients_settle(result);
    upstream_strides_settle(result);
    expanded_inputs_settle(result);
    absent_settle(result);
    result->kernel_text = buffer_text(&text);
    result->helper_text = buffer_text(&helpers);
}

/// Whether all that a backward's kernels get of the forward is what another's get, too: the class saves it for one.
static bool needs_no_more(const Backward *own, const Backward *other) {
    for (int i = 0; i < own->whole.argument_count; i++) {
        const BackwardArgument *argument = &own->whole.arguments[i];
        int known = launch_index(&other->whole, argument->name);
        bool is_of_launch =
            argument->use == ARGUMENT_STAGES || argument->use == ARGUMENT_RUN_TILE ||
            argument->use == ARGUMENT_PROGRAMS || argument->use == ARGUMENT_TOGETHER ||
            argument->use == ARGUMENT_PARTS || argument->use == ARGUMENT_DESCRIBED;
        if (is_of_launch) continue;
        if (known < 0 || other->whole.arguments[known].use != argument->use) return false;
        bool may_be_none = other->whole.arguments[known].is_optional;
        if (argument->use == ARGUMENT_UPSTREAM && may_be_none && !argument->is_optional)
            return false;
    }
    return own->input_count == other->input_count;
}

/// The kernel that takes the place of all, for rows that one block holds.
static void emit_whole_rows(Arena *arena, const Variant *variant, WrapperKind wrapper,
                            Backward *result) {
    if (!variant->whole_rows) return;
    Backward *rows = ARENA_NEW(arena, Backward);
    *rows = variant->whole_rows->result;
    rows->kernel = result->kernel;
    rows->given = result->given;
    rows->given_count = result->given_count;
    rows->is_partial = result->is_partial;
    rows->is_untuned = result->is_untuned;
    rows->joined = result->joined;
    emit_variant(arena, variant->whole_rows, wrapper, rows);
    if (!needs_no_more(rows, result)) return;
    result->whole_rows = rows;
    result->kernel_text = arena_printf(arena, "%s\n\n%s", result->kernel_text, rows->kernel_text);
    if (!strstr(result->helper_text, rows->helper_text))
        result->helper_text =
            arena_printf(arena, "%s\n\n%s", result->helper_text, rows->helper_text);
}

/// Whether the file has the backward already, in fewer kernels: what launches these knows of no others.
static bool stands_in_fewer(const Module *module, const Variant *variant) {
    if (!module_find_function(module, str_from(variant->backward->name))) return false;
    for (int i = 0; i < variant->part_count; i++)
        if (!module_find_function(module, str_from(variant->parts[i].function->name))) return true;
    return false;
}

static Backward *refuse_for_limit(Backward *result, const char *reason, Diagnostics *diagnostics) {
    Range where = result->kernel->definition->name_range;
    if (diagnostics) diagnose(diagnostics, DIAGNOSTIC_LIMIT_REACHED, where, "%s", reason);
    return refuse(result, BACKWARD_REFUSED, reason, where);
}

typedef struct GivenSearch {
    const Module *module;
    bool may_be;  // a helper's file may say a derivative
} GivenSearch;

static bool visit_calls(void *context, Op *op) {
    GivenSearch *search = context;
    for (const CallSite *call = op->call; call && !search->may_be; call = call->outer)
        search->may_be =
            call->callee->module != search->module && given_rules_may_be(call->callee->module);
    return !search->may_be;
}

/// The kernel in which calls of helpers whose derivative is given by hand are calls; the same where there are none.
static const Kernel *kernel_with_given(Arena *arena, const Kernel *kernel) {
    const FunctionDefinition *definition = kernel->definition;
    GivenSearch search = {definition->module, given_rules_may_be(definition->module)};
    if (!search.may_be) region_walk(kernel->function->body, visit_calls, &search);
    if (!search.may_be) return kernel;
    Diagnostics found = {.arena = arena};
    const LowerOptions lowering = {.keeps_given = true};
    Kernel *own = ARENA_NEW(arena, Kernel);
    *own = *kernel;
    own->function = lower_kernel(arena, definition, &lowering, &found);
    return own;
}

static Backward *derive(Arena *arena, const Snapshot *snapshot, const Kernel *asked_kernel,
                        const BackwardOptions *options, Diagnostics *diagnostics) {
    Backward *result = ARENA_NEW(arena, Backward);
    result->kernel = asked_kernel;
    const Kernel *kernel = asked_kernel;
    if (!kernel_is_forward(kernel))
        return refuse(result, BACKWARD_NOT_DIFFERENTIABLE, "the kernel stores nothing",
                      kernel->definition->name_range);
    if (kernel->function->is_cut)
        return refuse_for_limit(result,
                                "the kernel is too large to be analysed as a whole: unroll less, "
                                "or divide it",
                                diagnostics);
    const char *broken = function_verify(arena, kernel->function);
    if (broken)  // a fault of ours, and never a gradient to be trusted
        return refuse(result, BACKWARD_REFUSED,
                      arena_printf(arena, "tad-lsp failed to analyse this kernel (%s)", broken),
                      kernel->definition->name_range);
    kernel = kernel_with_given(arena, kernel);
    // The kernel's IR may be of an earlier text; lines in comments and reasons are those of the present one.
    Function *forward = function_copy(arena, kernel->function, kernel->function->name, NULL);
    snapshot_relocate(snapshot, forward);
    BackwardOptions asked = options ? *options : (BackwardOptions){0};
    asked.keeps_schedule |= asked.wrapper == WRAPPER_TRITON_OP;
    asked.joined = aliases_join(arena, kernel->definition, forward);
    GivenUses given = {0};
    asked.given = &given;
    asked.saved = &snapshot->saved;
    Variant *variant = derive_kernel(arena, kernel, forward, &asked);
    if (variant->part_count && stands_in_fewer(snapshot->module, variant)) {
        asked.keeps_schedule = true;
        variant = derive_kernel(arena, kernel, forward, &asked);
    }
    *result = variant->result;
    if (variant->only_bits && result->status == BACKWARD_REFUSED)
        return refuse(result, BACKWARD_NOT_DIFFERENTIABLE,
                      "floating-point inputs reach its floating-point outputs as bits only, and "
                      "bits have no derivative",
                      kernel->definition->name_range);
    result->kernel = asked_kernel;
    result->only_fills =
        result->status == BACKWARD_NOT_DIFFERENTIABLE && kernel_only_fills(arena, kernel);
    if (result->only_fills)
        result->reason =
            "it only fills memory: no floating-point input reaches what it stores, so there is no "
            "gradient";
    result->given = given.list.items;
    result->given_count = given.list.count;
    result->is_partial = options && options->wrt_count > 0;
    result->is_untuned =
        asked.is_untuned && asked.wrapper != WRAPPER_TRITON_OP && kernel->definition->is_autotuned;
    result->joined = asked.joined;
    if (result->status == BACKWARD_REFUSED && diagnostics)
        diagnose(diagnostics, (DiagnosticId)variant->failure_id, result->reason_range, "%s",
                 result->reason);
    if (result->status != BACKWARD_DERIVED) return result;
    const WrapperKind wrapper = options ? options->wrapper : WRAPPER_AUTOGRAD;
    emit_variant(arena, variant, wrapper, result);
    emit_whole_rows(arena, variant, wrapper, result);
    findings_report(snapshot, result, diagnostics);
    return result;
}

static BackwardWatcher *watcher;

void backward_watch(BackwardWatcher *told) { watcher = told; }

/// NULL where it takes more steps than it has.
static Backward *derive_within(Arena *arena, const Snapshot *snapshot, const Kernel *kernel,
                               const BackwardOptions *options, Diagnostics *diagnostics) {
    StepBudget *budget = ARENA_NEW(arena, StepBudget);
    int said = diagnostics ? diagnostics->list.count : 0;
    BugGuard guard;
    if (BUG_GUARD(&guard)) {
        budget_start(budget, DERIVATION_MOST_STEPS);
        Backward *result = derive(arena, snapshot, kernel, options, diagnostics);
        budget_stop(budget);
        bug_guard_end(&guard);
        return result;
    }
    if (guard.cause != BUG_SPENT) bug_raise_again(&guard);
    if (diagnostics) diagnostics->list.count = said;
    return NULL;
}

Backward *backward_derive(Arena *arena, const Snapshot *snapshot, const Kernel *kernel,
                          const BackwardOptions *options, Diagnostics *diagnostics) {
    if (watcher) watcher(snapshot, kernel);
    Backward *result = derive_within(arena, snapshot, kernel, options, diagnostics);
    if (result) return result;
    BackwardOptions plain = options ? *options : (BackwardOptions){0};
    plain.keeps_schedule = true;  // one kernel as the forward's takes far less
    if (!options || !options->keeps_schedule)
        result = derive_within(arena, snapshot, kernel, &plain, diagnostics);
    if (result) return result;
    result = ARENA_NEW(arena, Backward);
    result->kernel = kernel;
    return refuse_for_limit(result,
                            "the backward of this kernel takes more steps to derive than a "
                            "derivation has: unroll less, or divide the kernel",
                            diagnostics);
}
