// Shapes under the values that configurations and launches give: what they make unequal does not broadcast and does not
// multiply. Dims that meet under two names are looked for first; only a kernel that has some is lowered again with numbers.
#include "analysis/checks/check_instances.h"

#include <string.h>

#include "analysis/ir/limits.h"
#include "base/budget.h"
#include "base/error.h"

enum { MOST_LOWERED = 12 };

/// Two dims that an operation takes for equal, and that are called differently.
typedef struct DimMeeting {
    const Op *op;
    const Poly *a, *b;
    bool is_inner;  // of a product: 1 is no exception
} DimMeeting;

typedef struct DimMeetings {
    Check *check;
    DimMeeting items[KERNEL_MOST_MEETINGS];
    int count;
} DimMeetings;

/* ---- dims that meet ---- */

static void meet(DimMeetings *meetings, const Op *op, const Poly *a, const Poly *b, bool is_inner) {
    int64_t number;
    if (!a || !b || poly_equal(a, b) || meetings->count == KERNEL_MOST_MEETINGS) return;
    if (!is_inner && ((poly_is_constant(a, &number) && number == 1) ||
                      (poly_is_constant(b, &number) && number == 1)))
        return;
    for (int i = 0; i < meetings->count; i++) {
        const DimMeeting *old = &meetings->items[i];
        bool same = poly_equal(old->a, a) && poly_equal(old->b, b);
        bool is_old = same || (poly_equal(old->a, b) && poly_equal(old->b, a));
        // what some instances alone compile says less than what all do
        if (is_old && old->is_inner == is_inner &&
            (check_is_optional(op) || !check_is_optional(old->op)))
            return;
    }
    meetings->items[meetings->count++] = (DimMeeting){op, a, b, is_inner};
}

static bool is_tile(const Value *value) {
    return value && value->type.rank > 0 &&
           (value->type.kind == TYPE_NUMBER || value->type.kind == TYPE_POINTER);
}

static void meet_all(DimMeetings *meetings, const Op *op, const Value *a, const Value *b) {
    if (!is_tile(a) || !is_tile(b)) return;
    int rank = a->type.rank < b->type.rank ? a->type.rank : b->type.rank;
    for (int i = 1; i <= rank; i++)
        meet(meetings, op, a->type.dims[a->type.rank - i], b->type.dims[b->type.rank - i], false);
}

/// The factors of a product, and what they are added to.
static void meet_factors(DimMeetings *meetings, const Op *op, const Value *a, const Value *b) {
    int rank = a->type.rank;
    const Value *added = check_operand(op, "acc");
    meet(meetings, op, a->type.dims[rank - 1], b->type.dims[rank - 2], true);
    if (!added || !is_tile(added) || added->type.rank != rank) return;
    meet(meetings, op, added->type.dims[rank - 2], a->type.dims[rank - 2], true);
    meet(meetings, op, added->type.dims[rank - 1], b->type.dims[rank - 1], true);
}

static void find_meetings(DimMeetings *meetings, const Op *op) {
    if (op->code == OP_DOT) {
        const Value *a = op->operands[0], *b = op->operands[1];
        if (is_tile(a) && is_tile(b) && a->type.rank == b->type.rank && a->type.rank > 1)
            meet_factors(meetings, op, a, b);
        return;
    }
    bool accesses = op_is_access(op) && op->operands[0]->type.kind == TYPE_POINTER;
    if (!accesses && op_rows[op->code].shape != SHAPE_BROADCAST) return;
    for (int i = 0; i < op->operand_count; i++)
        for (int k = i + 1; k < op->operand_count; k++)
            meet_all(meetings, op, op->operands[i], op->operands[k]);
}

/* ---- what a meeting comes to ---- */

typedef struct MeetingOutcome {
    enum { OUTCOME_FITS, OUTCOME_FAILS, OUTCOME_NEEDS } kind;
    int64_t a, b;      // OUTCOME_FAILS: the two lengths
    Value *parameter;  // OUTCOME_NEEDS: a constexpr that the launch alone knows, and
    int64_t number;    // what it has to be
} MeetingOutcome;

static const Poly *with_numbers(Check *check, const Instance *instance, const Poly *poly) {
    for (int p = 0; p < check->function->parameter_count; p++) {
        Value *parameter = check->function->parameters[p].value;
        const Constant *known = instance->values[p];
        if (known && poly_mentions(poly, parameter))
            poly = poly_substitute(check->arena, poly, parameter,
                                   poly_constant(check->arena, known->integer));
    }
    return poly;
}

bool instance_number(Check *check, const Instance *instance, const Poly *poly, int64_t *number) {
    return poly_is_constant(with_numbers(check, instance, poly), number);
}

static MeetingOutcome outcome_of(Check *check, const Instance *instance,
                                 const DimMeeting *meeting) {
    MeetingOutcome outcome = {OUTCOME_FITS, 0, 0, NULL, 0};
    const Poly *a = with_numbers(check, instance, meeting->a);
    const Poly *b = with_numbers(check, instance, meeting->b);
    if (poly_is_constant(a, &outcome.a) && poly_is_constant(b, &outcome.b)) {
        bool spreads = !meeting->is_inner && (outcome.a == 1 || outcome.b == 1);
        if (outcome.a != outcome.b && !spreads) outcome.kind = OUTCOME_FAILS;
        return outcome;
    }
    // One is a parameter that no configuration sets, the other a number.
    const Poly *open = poly_is_constant(a, &outcome.number) ? b : a;
    if (open == a && !poly_is_constant(b, &outcome.number)) return outcome;
    if (outcome.number == 1 || open->count != 1 || open->terms[0].atom_count != 1 ||
        open->terms[0].coefficient != 1)
        return outcome;
    Value *atom = open->terms[0].atoms[0];
    if (!check_is_parameter(atom) || instance->varies[atom->index]) return outcome;
    outcome.kind = OUTCOME_NEEDS;
    outcome.parameter = atom;
    return outcome;
}

bool instance_torn_by(Check *check, const Op *op, const Constant *const *values, bool *mentions) {
    int count = check->function->parameter_count;
    DimMeetings meetings = {.check = check};
    const Instance instance = {.values = values,
                               .varies = ARENA_ARRAY(check->arena, bool, count + 1)};
    bool is_torn = false;
    find_meetings(&meetings, op);
    for (int i = 0; i < meetings.count; i++) {
        const DimMeeting *meeting = &meetings.items[i];
        if (outcome_of(check, &instance, meeting).kind != OUTCOME_FAILS) continue;
        is_torn = true;
        for (int p = 0; p < count; p++) {
            const Value *parameter = check->function->parameters[p].value;
            mentions[p] |=
                poly_mentions(meeting->a, parameter) || poly_mentions(meeting->b, parameter);
        }
    }
    return is_torn;
}

/* ---- the kernel with numbers ---- */

static bool find_failed_assertion(void *context, Op *op) {
    const Op **failed = context;
    bool holds;
    if (op->code == OP_STATIC_ASSERT && op->operands[0] && value_is_bool(op->operands[0], &holds) &&
        !holds)
        *failed = op;
    return !*failed;
}

static bool is_same_number(const Constant *a, const Constant *b) {
    bool known = false;
    if (!a || !b) return a == b;
    return a->kind == b->kind && a->number == b->number && constant_equal(a, b, &known) && known;
}

/// The kernel that was lowered with the same numbers before, or NULL.
static const LoweredInstance *find_lowered(const Check *check, const Constant *const *values) {
    for (LIST_EACH(int, i, check->lowered)) {
        const LoweredInstance *known = &check->lowered.items[i];
        int p = 0, count = check->kernel->definition->parameter_count;
        while (p < count && is_same_number(known->values[p], values[p])) p++;
        if (p == count) return known;
    }
    return NULL;
}

/// Of what has to be lowered; `*said` as well, and the assertion that is false with these numbers, or NULL.
static Function *lower_with(Check *check, const Constant *const *values, const Type *types,
                            const Diagnostics **said, const Op **failed) {
    const FunctionDefinition *definition = check->kernel->definition;
    Binding *bindings = ARENA_ARRAY(check->arena, Binding, definition->parameter_count + 1);
    LowerOptions *options = ARENA_NEW(check->arena, LowerOptions);
    Diagnostics *found = ARENA_NEW(check->arena, Diagnostics);
    StepBudget *budget = ARENA_NEW(check->arena, StepBudget);
    found->arena = check->arena;
    for (int p = 0; p < definition->parameter_count; p++)
        if (values[p] || (types && types[p].kind != TYPE_UNKNOWN))
            bindings[options->binding_count++] = (Binding){.name = definition->parameters[p].name,
                                                           .constant = values[p],
                                                           .type = types ? types[p] : (Type){0}};
    options->bindings = bindings;
    options->general = check->function;
    *failed = NULL;
    BugGuard guard;
    if (BUG_GUARD(&guard)) {
        budget_start(budget, budget_left() / MOST_LOWERED);
        Function *function = lower_kernel(check->arena, definition, options, found);
        region_walk(function->body, find_failed_assertion, failed);
        budget_stop(budget);
        bug_guard_end(&guard);
        *said = found;
        return *failed || function->is_cut ? NULL : function;
    }
    if (guard.cause == BUG_UNWANTED) bug_raise_for(BUG_UNWANTED, "nobody waits for it");
    return NULL;
}

Function *instance_lower(Check *check, const Constant *const *values, const Type *types,
                         const Diagnostics **said) {
    const LoweredInstance *known = types ? NULL : find_lowered(check, values);
    if (known) {
        *said = known->said;
        return known->function;
    }
    const Op *failed;
    Function *function = lower_with(check, values, types, said, &failed);
    if (types || !function) return function;
    int count = check->kernel->definition->parameter_count;
    const Constant **copy = ARENA_ARRAY(check->arena, const Constant *, count + 1);
    for (int p = 0; p < count; p++) copy[p] = values[p];
    LIST_PUSH(check->arena, &check->lowered, (LoweredInstance){copy, function, *said});
    return function;
}

const Op *instance_failed_assertion(Check *check, const Instance *instance) {
    const Diagnostics *said;
    const Op *failed;
    if (find_lowered(check, instance->values)) return NULL;
    lower_with(check, instance->values, NULL, &said, &failed);
    return failed;
}

/// What the lowering with these numbers says; NULL where it takes too long, or an assertion rules the instance out.
static const Diagnostics *lower_instance(Check *check, const Constant *const *values) {
    const Diagnostics *said = NULL;
    return instance_lower(check, values, NULL, &said) ? said : NULL;
}

/// The error that the lowering has at the operation, or NULL. Under a constexpr `if` it is told as a warning.
static const Diagnostic *error_at(const Diagnostics *found, const Op *op) {
    for (int i = 0; found && i < found->list.count; i++) {
        const Diagnostic *said = &found->list.items[i];
        bool here = said->range.source == op->range.source &&
                    said->range.start == op->range.start && said->range.end == op->range.end;
        bool is_error = diagnostic_rows[said->id].severity == SEVERITY_ERROR;
        if (here && is_error && said->severity <= SEVERITY_WARNING) return said;
    }
    return NULL;
}

/* ---- telling ---- */

typedef struct InstanceSearch {
    Check *check;
    const Instances *instances;
    const Diagnostics **found;  // by instance, once it was lowered
    bool *is_lowered;
    int lowered;
} InstanceSearch;

/// No line numbers: an edit above moves them, and leaves what was said of a kernel alone. The related places have them.
const char *instance_place(const Check *check, const Instance *instance) {
    if (instance->configuration && instance->configuration->place)
        return instance->configuration->place;
    if (instance->configuration)
        return arena_printf(check->arena, "in configuration %d", instance->configuration->number);
    const FunctionDefinition *launcher = instance->launch->launcher;
    if (!launcher) return "at the launch of the module";
    return arena_printf(check->arena, "at the launch in %.*s", STR_ARGS(launcher->name));
}

void instance_relate(Check *check, Diagnostic *said, const Instance *instance) {
    if (!said) return;
    const TunedValues *configuration = instance->configuration;
    diagnostic_relate(check->diagnostics, said,
                      configuration ? configuration->range : instance->launch->range,
                      !configuration ? "the launch"
                      : configuration->place
                          ? "the kernel"
                          : arena_printf(check->arena, "configuration %d", configuration->number));
}

static void tell_failing(InstanceSearch *search, const DimMeeting *meeting, const int *failing,
                         int count) {
    Check *check = search->check;
    DiagnosticId id = DIAGNOSTIC_INSTANCE_SHAPE;
    for (int i = 0; i < count; i++) {
        int at = failing[i];
        if (!search->is_lowered[at] && search->lowered < MOST_LOWERED) {
            search->found[at] = lower_instance(check, search->instances->items[at].values);
            search->is_lowered[at] = true;
            search->lowered++;
        }
        const Diagnostic *error =
            search->is_lowered[at] ? error_at(search->found[at], meeting->op) : NULL;
        if (i == 0 && !error) return;
        if (!error && search->is_lowered[at]) count = i;  // from here on it is not certain
        if (i == 0) id = error->id;
    }
    bool all = count == search->instances->count && search->instances->is_complete;
    if (!all && search->instances->is_pruned) return;
    if (!all) id = DIAGNOSTIC_INSTANCE_SHAPE;
    const char *numbers = "";
    for (int i = 0; i < count && i < 2; i++) {
        const Instance *instance = &search->instances->items[failing[i]];
        MeetingOutcome outcome = outcome_of(check, instance, meeting);
        numbers = arena_printf(check->arena, "%s%s%lld and %lld %s", numbers, i ? ", " : "",
                               (long long)outcome.a, (long long)outcome.b,
                               instance_place(check, instance));
    }
    Diagnostic *said =
        check_report(check, id, meeting->op, "needs %s == %s: %s%s",
                     poly_print(check->arena, meeting->a), poly_print(check->arena, meeting->b),
                     numbers, all ? ", and no configuration or launch fits" : "");
    for (int i = 0; i < count && i < 2; i++)
        instance_relate(check, said, &search->instances->items[failing[i]]);
}

static bool fails_with(InstanceSearch *search, const DimMeeting *meeting, const Instance *instance,
                       const Value *parameter, int64_t number) {
    Check *check = search->check;
    int count = check->function->parameter_count;
    const Constant **values = ARENA_ARRAY(check->arena, const Constant *, count + 1);
    for (int p = 0; p < count; p++) values[p] = instance->values[p];
    values[parameter->index] =
        constant_new(check->arena, (Constant){.kind = CONSTANT_INT, .integer = number});
    search->lowered++;
    return error_at(lower_instance(check, values), meeting->op) != NULL;
}

/// A parameter of the launch that two configurations want to be two numbers: no launch fits both.
static void tell_torn(InstanceSearch *search, const DimMeeting *meeting, const int *needing,
                      int count) {
    Check *check = search->check;
    const Instance *first = &search->instances->items[needing[0]];
    MeetingOutcome one = outcome_of(check, first, meeting);
    for (int i = 1; i < count; i++) {
        const Instance *second = &search->instances->items[needing[i]];
        MeetingOutcome other = outcome_of(check, second, meeting);
        if (second->launch != first->launch || other.parameter != one.parameter ||
            other.number == one.number || search->lowered + 2 > MOST_LOWERED)
            continue;
        if (!fails_with(search, meeting, first, one.parameter, other.number) ||
            !fails_with(search, meeting, second, one.parameter, one.number))
            return;
        const char *name = poly_print(check->arena, poly_atom(check->arena, one.parameter));
        Diagnostic *said =
            check_report(check, DIAGNOSTIC_INSTANCE_SHAPE, meeting->op,
                         "needs %s == %s: %s would have to be %lld %s and %lld %s",
                         poly_print(check->arena, meeting->a), poly_print(check->arena, meeting->b),
                         name, (long long)one.number, instance_place(check, first),
                         (long long)other.number, instance_place(check, second));
        instance_relate(check, said, first);
        instance_relate(check, said, second);
        return;
    }
}

static void check_meeting(InstanceSearch *search, const DimMeeting *meeting) {
    const Instances *instances = search->instances;
    int *failing = ARENA_ARRAY(search->check->arena, int, instances->count + 1);
    int *needing = ARENA_ARRAY(search->check->arena, int, instances->count + 1);
    int fails = 0, needs = 0;
    for (int i = 0; i < instances->count; i++) {
        MeetingOutcome outcome = outcome_of(search->check, &instances->items[i], meeting);
        if (outcome.kind == OUTCOME_FAILS) failing[fails++] = i;
        if (outcome.kind == OUTCOME_NEEDS) needing[needs++] = i;
    }
    if (fails) tell_failing(search, meeting, failing, fails);
    if (!fails && needs > 1 && !instances->is_pruned) tell_torn(search, meeting, needing, needs);
}

/// Lengths of which one is twice the other, or three times: they are equal for no number, and spread only where one is 1.
static bool is_never_equal(Check *check, const DimMeeting *meeting) {
    int64_t times;
    const Poly *quotient = poly_divide_exact(check->arena, meeting->a, meeting->b);
    if (!quotient) quotient = poly_divide_exact(check->arena, meeting->b, meeting->a);
    return quotient && poly_is_constant(quotient, &times) && times > 1;
}

/// What no configuration has to say.
static bool tell_never_equal(Check *check, const DimMeeting *meeting) {
    int64_t number;
    if (poly_is_constant(meeting->a, &number) || poly_is_constant(meeting->b, &number) ||
        check_is_optional(meeting->op) || !is_never_equal(check, meeting))
        return false;
    check_report(check, DIAGNOSTIC_INSTANCE_SHAPE, meeting->op,
                 "needs %s == %s, which no number fits%s", poly_print(check->arena, meeting->a),
                 poly_print(check->arena, meeting->b),
                 meeting->is_inner ? "" : " but a length of 1");
    return true;
}

void check_instances(Check *check) {
    if (!check->is_entry) return;
    DimMeetings meetings = {.check = check};
    for (LIST_EACH(int, i, check->ops)) find_meetings(&meetings, check->ops.items[i]);
    if (!meetings.count) return;
    Instances instances = instances_find(check);
    if (!instances.count) {
        for (int i = 0; i < meetings.count; i++) tell_never_equal(check, &meetings.items[i]);
        return;
    }
    InstanceSearch search = {
        .check = check,
        .instances = &instances,
        .found = ARENA_ARRAY(check->arena, const Diagnostics *, instances.count + 1),
        .is_lowered = ARENA_ARRAY(check->arena, bool, instances.count + 1)};
    for (int i = 0; i < meetings.count; i++) check_meeting(&search, &meetings.items[i]);
}

/* ---- two axes that meet ---- */

/// The constexpr that a dim is; NULL for anything else.
static const Value *constexpr_of(const Poly *dim) {
    bool is_one =
        dim && dim->count == 1 && dim->terms[0].coefficient == 1 && dim->terms[0].atom_count == 1;
    const Value *atom = is_one ? dim->terms[0].atoms[0] : NULL;
    return atom && check_is_parameter(atom) && atom->type.is_constexpr ? atom : NULL;
}

/// An operation whose result has both for axes.
static const Op *spans(const Check *check, const Value *a, const Value *b) {
    for (LIST_EACH(int, i, check->ops)) {
        const Op *op = check->ops.items[i];
        const Value *result = op->result_count ? op->results[0] : NULL;
        bool has_a = false, has_b = false;
        if (!is_tile(result) || op_rows[op->code].shape != SHAPE_BROADCAST) continue;
        for (int k = 0; k < result->type.rank; k++) {
            const Value *dim = constexpr_of(result->type.dims[k]);
            has_a |= dim == a;
            has_b |= dim == b;
        }
        if (has_a && has_b) return op;
    }
    return NULL;
}

/// Two blocks that are axes of one tile elsewhere, and here are taken for one axis: mostly `[None, :]` for `[:, None]`.
static void check_apart(Check *check, const Instances *instances, const DimMeeting *meeting) {
    const Value *a = constexpr_of(meeting->a), *b = constexpr_of(meeting->b);
    if (!a || !b || check_was_said(check, meeting->op->range) || check_is_optional(meeting->op))
        return;
    for (int i = 0; i < instances->count; i++) {
        int64_t one, other;
        if (instance_number(check, &instances->items[i], meeting->a, &one) &&
            instance_number(check, &instances->items[i], meeting->b, &other))
            return;
    }
    const Op *tile = spans(check, a, b);
    if (!tile) return;
    Diagnostic *said = check_report(check, DIAGNOSTIC_AXES_MEET, meeting->op,
                                    "fits only where %s == %s, which are two axes of another tile",
                                    a->name, b->name);
    check_relate(check, said, tile, "two axes here");
}

void check_axes_apart(Check *check) {
    // a launch that is tried with numbers says more
    if (!check->is_entry ||
        (check->skips_trials && check->kernel->definition->module->launches.count))
        return;
    DimMeetings meetings = {.check = check};
    for (LIST_EACH(int, i, check->ops)) find_meetings(&meetings, check->ops.items[i]);
    if (!meetings.count) return;
    Instances instances = instances_find(check);
    for (int i = 0; i < meetings.count; i++) check_apart(check, &instances, &meetings.items[i]);
}
