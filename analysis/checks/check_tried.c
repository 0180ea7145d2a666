// A launch with numbers that its launcher could have, and what Triton refuses of the kernel under these.
#include "analysis/checks/check_instances.h"

#include <string.h>

#include "analysis/host/launch_concrete.h"
#include "analysis/ir/limits.h"
#include "base/budget.h"
#include "base/error.h"

/// Steps (base/budget.h) of all trials of one launch.
enum { TRIAL_MOST_STEPS = 8 << 20 };

/* ---- a launch with numbers ---- */

bool launch_lower(Check *check, const LaunchSite *site, HostPolicy policy, TriedLaunch *tried) {
    const Function *general = check->function;
    *tried = (TriedLaunch){.launch = host_launch(check->kernel->definition->module, site, &policy),
                           .sizes = policy.sizes};
    const HostLaunch *launch = tried->launch;
    if (!launch->is_reached || launch->is_contradicted || !launch->grid_rank ||
        launch->problems.count)
        return false;
    tried->concrete = host_concretize(check->arena, launch);
    const ConcreteLaunch *concrete = tried->concrete;
    int count = general->parameter_count;
    if (count > concrete->argument_count) return false;
    const Constant **values = ARENA_ARRAY(check->arena, const Constant *, count + 1);
    for (int p = 0; p < count; p++) {
        const ConcreteArgument *argument = &concrete->arguments[p];
        bool is_scalar = argument->kind == CONCRETE_SCALAR;
        bool is_none = is_scalar && argument->constant.kind == CONSTANT_NONE;
        if (general->parameters[p].is_constexpr && !is_scalar) return false;
        if (general->parameters[p].is_constexpr || is_none)
            values[p] = constant_new(check->arena, argument->constant);
    }
    tried->function = instance_lower(check, values, NULL, &tried->said);
    return tried->function != NULL;
}

void launch_relate(Check *check, Diagnostic *said, const TriedLaunch *tried) {
    if (said) diagnostic_relate(check->diagnostics, said, tried->launch->site->range, "the launch");
}

bool check_was_said(const Check *check, Range range) {
    for (LIST_EACH(int, i, check->diagnostics->list)) {
        const Diagnostic *old = &check->diagnostics->list.items[i];
        if (old->severity <= SEVERITY_WARNING && old->range.source == range.source &&
            old->range.start < range.end && range.start < old->range.end)
            return true;
    }
    return false;
}

void launch_check_bounded(Check *check, const LaunchSite *site, LaunchCheckFunction *function) {
    BugGuard guard;
    StepBudget *paused = budget_pause(), *budget = ARENA_NEW(check->arena, StepBudget);
    if (BUG_GUARD(&guard)) {
        budget_start(budget, TRIAL_MOST_STEPS);
        function(check, site);
        budget_stop(budget);
        bug_guard_end(&guard);
        budget_resume(paused);
        return;
    }
    budget_resume(paused);
    if (guard.cause == BUG_UNWANTED) bug_raise_for(BUG_UNWANTED, "nobody waits for it");
}

/* ---- what Triton refuses ---- */

typedef struct LaunchFault {
    const Diagnostic *said;  // with the numbers of `tried`
    TriedLaunch tried;
    int times;
    bool is_lengths_own;  // seen only where nothing wants lengths to be powers of two
} LaunchFault;

typedef struct LaunchFaults {
    LaunchFault items[KERNEL_MOST_MEETINGS];
    int count;
} LaunchFaults;

static bool is_in_kernel(const Check *check, Range range) {
    Range body = check->kernel->definition->range;
    return range.source == body.source && range.start >= body.start && range.end <= body.end;
}

static void note_faults(Check *check, LaunchFaults *faults, const TriedLaunch *tried,
                        bool keeps_lengths) {
    for (LIST_EACH(int, i, tried->said->list)) {
        const Diagnostic *said = &tried->said->list.items[i];
        bool is_error = diagnostic_rows[said->id].severity == SEVERITY_ERROR;
        if (!is_error || !is_in_kernel(check, said->range) || check_was_said(check, said->range) ||
            (keeps_lengths && said->id != DIAGNOSTIC_ARANGE_NOT_POWER_OF_TWO))
            continue;
        int at = 0;
        while (at < faults->count && (faults->items[at].said->range.start != said->range.start ||
                                      faults->items[at].said->id != said->id))
            at++;
        if (at == KERNEL_MOST_MEETINGS) return;
        if (at == faults->count)
            faults->items[faults->count++] = (LaunchFault){said, *tried, 0, keeps_lengths};
        faults->items[at].times++;
    }
}

typedef struct FaultyOp {
    Check *check;
    Range range;
    bool *mentions;  // by parameter
    bool is_found;
} FaultyOp;

static void mention(const FaultyOp *fault, const Value *value) {
    if (!value) return;
    const Function *function = fault->check->function;
    for (int p = 0; p < function->parameter_count; p++) {
        const Value *parameter = function->parameters[p].value;
        bool is_shape = value == parameter;
        for (int i = 0; i < value->type.rank; i++)
            is_shape |= value->type.dims[i] && poly_mentions(value->type.dims[i], parameter);
        if (function->parameters[p].is_constexpr && is_shape) fault->mentions[p] = true;
    }
}

static const Constant *const *whole_numbers(Check *check, const TriedLaunch *tried) {
    int count = check->function->parameter_count;
    const Constant **values = ARENA_ARRAY(check->arena, const Constant *, count + 1);
    for (int p = 0; p < count; p++) {
        const ConcreteArgument *argument = &tried->concrete->arguments[p];
        if (argument->kind == CONCRETE_SCALAR && argument->constant.kind == CONSTANT_INT)
            values[p] = &argument->constant;
    }
    return values;
}

/// The numbers of the launch that the operation's shapes are made of; where two dims are unequal, those of these.
static bool mentioned_at(Check *check, const TriedLaunch *tried, Range range, bool *mentions) {
    FaultyOp fault = {.check = check, .range = range, .mentions = mentions};
    const Constant *const *values = whole_numbers(check, tried);
    for (LIST_EACH(int, i, check->ops)) {
        const Op *op = check->ops.items[i];
        if (op->range.source == range.source && op->range.start == range.start &&
            op->range.end == range.end)
            fault.is_found |= instance_torn_by(check, op, values, mentions);
    }
    if (fault.is_found) return true;
    for (LIST_EACH(int, i, check->ops)) {
        const Op *op = check->ops.items[i];
        if (op->range.source != range.source || op->range.start < range.start ||
            op->range.end > range.end)
            continue;
        fault.is_found = true;
        for (int k = 0; k < op->operand_count; k++) mention(&fault, op->operands[k]);
        for (int k = 0; k < op->result_count; k++) mention(&fault, op->results[k]);
    }
    return fault.is_found;
}

/// Whether the launch passes the number rounded up to a power of two, too, and the kernel uses that nowhere.
static bool has_rounded_up(Check *check, const TriedLaunch *tried, int number) {
    const HostArgument *arguments = tried->launch->arguments;
    if (!arguments[number].value) return false;
    const char *text = host_print(check->arena, arguments[number].value);
    for (int p = 0; p < check->function->parameter_count; p++) {
        const HostValue *rounded = arguments[p].value;
        if (rounded && check->function->parameters[p].is_constexpr &&
            rounded->kind == HOST_OPERATION && rounded->operation == HOST_OP_NEXT_POWER_OF_2 &&
            strcmp(host_print(check->arena, rounded->items[0]), text) == 0 &&
            !check_uses(check, check->function->parameters[p].value)->list.count)
            return true;
    }
    return false;
}

/// Whether the kernel compares something with a number that is the block's own: then the mask, which is there for a block that is
/// longer, always holds.
static bool is_bound_by_itself(Check *check, const TriedLaunch *tried, const bool *mentions) {
    for (LIST_EACH(int, i, check->ops)) {
        const Op *op = check->ops.items[i];
        if (op->code != OP_LT && op->code != OP_GT) continue;
        const Value *bound = check_strip(op->operands[op->code == OP_LT]);
        if (!bound || !check_is_parameter(bound)) continue;
        const ConcreteArgument *number = &tried->concrete->arguments[bound->index];
        if (mentions[bound->index] && has_rounded_up(check, tried, bound->index)) return true;
        for (int p = 0; p < check->function->parameter_count; p++) {
            const ConcreteArgument *block = &tried->concrete->arguments[p];
            if (mentions[p] && p != bound->index && number->kind == CONCRETE_SCALAR &&
                block->kind == CONCRETE_SCALAR && number->constant.kind == CONSTANT_INT &&
                block->constant.kind == CONSTANT_INT &&
                number->constant.integer == block->constant.integer)
                return true;
        }
    }
    return false;
}

/// The numbers that the fault comes of, "BK = 41", and what they follow from; empty where nothing is told.
static const char *numbers_of(Check *check, const LaunchFault *fault, Leaves *leaves) {
    int count = check->function->parameter_count;
    bool *mentions = ARENA_ARRAY(check->arena, bool, count + 1);
    const char *values = "";
    if (!mentioned_at(check, &fault->tried, fault->said->range, mentions) ||
        (fault->is_lengths_own && !is_bound_by_itself(check, &fault->tried, mentions)))
        return "";
    for (int p = 0; p < count; p++) {
        if (!mentions[p]) continue;
        const ConcreteArgument *argument = &fault->tried.concrete->arguments[p];
        if (argument->constant.kind != CONSTANT_INT) continue;
        leaves_add_argument(leaves, fault->tried.launch, p);
        values = arena_printf(check->arena, "%s%s%s = %lld", values, *values ? ", " : "",
                              check->function->parameters[p].name,
                              (long long)argument->constant.integer);
    }
    // what two tensors have in common is mostly not written down
    return leaves_are_of_one(leaves) ? values : "";
}

static bool is_range_fault(const LaunchFault *fault) {
    return fault->said->id == DIAGNOSTIC_ARANGE_NOT_POWER_OF_TWO;
}

/// Whether an earlier range is refused for the same numbers: this one is said there.
static bool is_told_before(Check *check, const LaunchFaults *faults, int index,
                           const char *values) {
    for (int i = 0; i < index && is_range_fault(&faults->items[index]); i++) {
        Leaves leaves = {0};
        if (is_range_fault(&faults->items[i]) &&
            strcmp(numbers_of(check, &faults->items[i], &leaves), values) == 0)
            return true;
    }
    return false;
}

static void tell_fault(Check *check, const LaunchFaults *faults, int index, int tries) {
    const LaunchFault *fault = &faults->items[index];
    Leaves leaves = {0};
    const char *values = numbers_of(check, fault, &leaves);
    if (!*values || is_told_before(check, faults, index, values)) return;
    // some forks of Triton take ranges of any length
    bool is_range = is_range_fault(fault), is_suspicion = fault->times < tries || is_range;
    const char *sizes = leaves_print(check->arena, &leaves);
    Diagnostic *said = check_report_at(
        check, is_suspicion ? DIAGNOSTIC_LAUNCH_SHAPE : DIAGNOSTIC_INSTANCE_SHAPE,
        fault->said->range, "%s, with %s%s%s%s", fault->said->message, values,
        *sizes ? " at a launch where " : "", sizes,
        is_range ? ": pass `triton.next_power_of_2(...)` of it, and mask the rest" : "");
    for (int k = index + 1; k < faults->count && is_range; k++) {
        Leaves others = {0};
        if (said && is_range_fault(&faults->items[k]) &&
            strcmp(numbers_of(check, &faults->items[k], &others), values) == 0)
            diagnostic_relate(check->diagnostics, said, faults->items[k].said->range,
                              "the same length here");
    }
    launch_relate(check, said, &fault->tried);
}

/// Whether a constexpr that the launcher computes is 1, which any range may have: larger sizes may tell more.
static bool has_length_of_one(const Check *check, const TriedLaunch *tried) {
    for (int p = 0; p < check->function->parameter_count; p++) {
        const HostArgument *given = &tried->launch->arguments[p];
        const ConcreteArgument *argument = &tried->concrete->arguments[p];
        if (check->function->parameters[p].is_constexpr && given->value &&
            given->value->kind == HOST_OPERATION && argument->kind == CONCRETE_SCALAR &&
            argument->constant.kind == CONSTANT_INT && argument->constant.integer == 1)
            return true;
    }
    return false;
}

void check_launch_values(Check *check, const LaunchSite *site) {
    static const struct {
        HostSizes sizes;
        uint64_t seed;
        bool flips;  // what is optional is there, and flags are the other way round
        bool
            keeps_lengths;  // without what the kernel asks of its lengths: does the launcher see to it?
    } choices[] = {
        {HOST_SIZES_USUAL, 0, false, false}, {HOST_SIZES_EVEN, 1, false, false},
        {HOST_SIZES_LARGE, 2, false, false}, {HOST_SIZES_SMALL, 3, false, false},
        {HOST_SIZES_EVEN, 1, true, false},   {HOST_SIZES_SMALL, 3, true, false},
        {HOST_SIZES_USUAL, 4, false, true},  {HOST_SIZES_EIGHTFOLD, 4, false, true},
    };
    LaunchFaults faults = {.count = 0};
    int tries = 0;
    bool has_flags = false, has_small_lengths = false;
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        TriedLaunch tried;
        HostPolicy policy = {.keep_blocks = true,
                             .sizes = choices[i].sizes,
                             .seed = choices[i].seed,
                             .variant = choices[i].flips ? -1 : 0,
                             .function = check->function,
                             .keeps_lengths = choices[i].keeps_lengths};
        if ((choices[i].flips && !has_flags) ||
            (choices[i].sizes == HOST_SIZES_EIGHTFOLD && !has_small_lengths))
            continue;
        bool is_lowered = launch_lower(check, site, policy, &tried);
        has_flags |= tried.launch->flag_count > 0;
        if (!is_lowered) continue;
        has_small_lengths |= has_length_of_one(check, &tried);
        tries += !policy.keeps_lengths;
        note_faults(check, &faults, &tried, policy.keeps_lengths);
    }
    if (check_was_said(check, site->range)) return;
    for (int i = 0; i < faults.count; i++) tell_fault(check, &faults, i, tries);
}
