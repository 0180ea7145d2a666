// Element types that a launch passes: what Triton refuses of the kernel with these, and takes with others.
#include "analysis/checks/check_instances.h"

#include "analysis/host/launch.h"

enum { MOST_TYPED = 8 };  // launches of a kernel, each of which is lowered again

typedef struct TypedLaunch {
    const HostLaunch *launch;
    Type *types;              // by parameter; TYPE_UNKNOWN where the launch does not say it
    const Diagnostics *said;  // with these types; NULL: it was not lowered
} TypedLaunch;

typedef struct TypedLaunches {
    TypedLaunch *items;
    int count;
    bool is_complete;  // these are all launches of the file
} TypedLaunches;

/// Whether the kernel's own text leaves the type of its elements to the launch.
static bool is_open(const Parameter *parameter) {
    Type type = parameter->value->type;
    return type.kind == TYPE_POINTER && type.element.code == DTYPE_OF_PARAMETER;
}

/// What the file writes for the argument, whatever its launcher is called with; NULL for anything else.
static const Constant *written(const HostArgument *argument) {
    const HostValue *value = argument->value;
    bool is_written = value && value->kind == HOST_CONSTANT && !value->is_picked;
    return is_written && !argument->is_tuned ? &value->constant : NULL;
}

static DTypeCode written_type(const HostArgument *argument) {
    const HostValue *value = argument->value;
    const HostValue *type = value && value->kind == HOST_TENSOR ? value->tensor->dtype : NULL;
    bool is_written = type && type->kind == HOST_CONSTANT && !type->is_picked &&
                      type->constant.kind == CONSTANT_DTYPE;
    return is_written ? type->constant.dtype.code : DTYPE_UNKNOWN;
}

/// False where the launch says no type that the kernel leaves open.
static bool types_of(Check *check, const HostLaunch *launch, Type *types, const Constant **values) {
    const Function *function = check->function;
    bool any = false;
    for (int p = 0; p < function->parameter_count && p < launch->argument_count; p++) {
        const HostArgument *argument = &launch->arguments[p];
        const Constant *constant = written(argument);
        if (constant && (function->parameters[p].is_constexpr || constant->kind == CONSTANT_NONE))
            values[p] = constant_new(check->arena, *constant);
        DTypeCode type = is_open(&function->parameters[p]) ? written_type(argument) : DTYPE_UNKNOWN;
        if (dtype_bits(type) <= 0) continue;
        types[p] = (Type){.kind = TYPE_POINTER, .element = dtype_of(type)};
        any = true;
    }
    return any;
}

/// The kernel with the launch's types: what the lowering says, and the checks of its operations.
static void look(Check *check, TypedLaunch *typed, const Constant *const *values) {
    const Diagnostics *said;
    Kernel kernel = *check->kernel;
    kernel.function = instance_lower(check, values, typed->types, &said);
    if (!kernel.function) return;
    Diagnostics *all = ARENA_NEW(check->arena, Diagnostics);
    all->arena = check->arena;
    for (LIST_EACH(int, i, said->list)) LIST_PUSH(check->arena, &all->list, said->list.items[i]);
    check_kernel(check->arena, &kernel, (CheckOptions){CHECKS_OF_OPERATIONS, check->card}, all);
    typed->said = all;
}

static void look_at_launches(Check *check, TypedLaunches *typed) {
    const FunctionDefinition *definition = check->kernel->definition;
    int count = check->function->parameter_count, sites = 0;
    HostLaunches launches = host_launches(check->arena, definition, check->function);
    typed->items = ARENA_ARRAY(check->arena, TypedLaunch, MOST_TYPED);
    for (LIST_EACH(int, i, launches)) {
        const HostLaunch *launch = launches.items[i];
        sites++;
        if (typed->count == MOST_TYPED || !launch->is_reached || launch->problems.count) continue;
        TypedLaunch one = {launch, ARENA_ARRAY(check->arena, Type, count + 1), NULL};
        const Constant **values = ARENA_ARRAY(check->arena, const Constant *, count + 1);
        if (!types_of(check, launch, one.types, values)) continue;
        look(check, &one, values);
        if (one.said) typed->items[typed->count++] = one;
    }
    typed->is_complete = typed->count == sites;
}

/// What rests on element types; shapes are looked at with numbers that launchers could have (check_tried.c).
static bool is_of_elements(DiagnosticId id) {
    static const DiagnosticId ids[] = {
        DIAGNOSTIC_DOT_TYPES,   DIAGNOSTIC_CARRIED_TYPE,         DIAGNOSTIC_BRANCH_TYPE,
        DIAGNOSTIC_MASK_TYPE,   DIAGNOSTIC_BITWISE_FLOAT,        DIAGNOSTIC_POINTER_ARITHMETIC,
        DIAGNOSTIC_MATH_TYPE,   DIAGNOSTIC_LOOP_BOUND,           DIAGNOSTIC_LOGICAL_OPERAND,
        DIAGNOSTIC_ATOMIC_TYPE, DIAGNOSTIC_FLOAT_FLOOR_DIVISION,
    };
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        if (ids[i] == id) return true;
    return false;
}

static bool is_fault(const Check *check, const Diagnostic *said) {
    Range body = check->kernel->definition->range;
    return diagnostic_rows[said->id].severity == SEVERITY_ERROR &&
           said->severity <= SEVERITY_WARNING && is_of_elements(said->id) &&
           said->range.source == body.source && said->range.start >= body.start &&
           said->range.end <= body.end && !check_was_said(check, said->range);
}

static bool has_fault(const TypedLaunch *typed, const Diagnostic *fault) {
    for (LIST_EACH(int, i, typed->said->list)) {
        const Diagnostic *said = &typed->said->list.items[i];
        if (said->id == fault->id && said->range.start == fault->range.start) return true;
    }
    return false;
}

/// "float16 in x_ptr, float32 in y_ptr"
static const char *types_told(Check *check, const TypedLaunch *typed) {
    enum { MOST_TOLD = 3 };
    const char *told = "";
    int count = 0;
    for (int p = 0; p < check->function->parameter_count && count < MOST_TOLD; p++) {
        if (typed->types[p].kind != TYPE_POINTER) continue;
        told = arena_printf(check->arena, "%s%s%s in %s", told, *told ? ", " : "",
                            dtype_name(typed->types[p].element.code),
                            check->function->parameters[p].name);
        count++;
    }
    return told;
}

static void tell(Check *check, const TypedLaunches *launches, const TypedLaunch *first,
                 const Diagnostic *fault) {
    bool all = launches->is_complete;
    for (int i = 0; i < launches->count; i++) all &= has_fault(&launches->items[i], fault);
    Diagnostic *said = check_report_at(
        check, all ? fault->id : DIAGNOSTIC_INSTANCE_TYPE, fault->range, "%s, with %s%s",
        fault->message, types_told(check, first), all ? " as every launch has it" : "");
    if (said) diagnostic_relate(check->diagnostics, said, first->launch->site->range, "the launch");
}

void check_launch_types(Check *check) {
    if (!check->is_entry || check->skips_trials) return;
    bool any = false;
    for (int p = 0; p < check->function->parameter_count; p++)
        any |= is_open(&check->function->parameters[p]);
    if (!any) return;
    TypedLaunches launches = {.count = 0};
    look_at_launches(check, &launches);
    for (int i = 0; i < launches.count; i++)
        for (LIST_EACH(int, k, launches.items[i].said->list)) {
            const Diagnostic *said = &launches.items[i].said->list.items[k];
            if (is_fault(check, said)) tell(check, &launches, &launches.items[i], said);
        }
}
