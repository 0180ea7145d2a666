// The numbers of a launch that are wrong by themselves: its grid, its warps, and axes that a tensor does not have.
#include <stdlib.h>

#include "analysis/checks/check_arguments.h"
#include "analysis/host/launch_bind.h"
#include "analysis/syntax/syntax_nodes.h"

static bool integer_of(const Source *source, SyntaxNode node, long long *number) {
    if (node_kind(node) != SYNTAX_INTEGER && node_kind(node) != SYNTAX_UNARY) return false;
    Str text = node_text(source, node);
    char digits[32], *end;
    if (!text.size || text.size >= sizeof digits) return false;
    memcpy(digits, text.data, text.size);
    digits[text.size] = '\0';
    *number = strtoll(digits, &end, 10);
    return *end == '\0';
}

typedef struct LaunchCheck {
    Check *check;
    const LaunchSite *site;
    const Source *source;
    Str meta;  // of a grid that is a function: its parameter
} LaunchCheck;

/* ---- grids ---- */

/// `n / BLOCK`, also in sums and products.
static bool is_quotient(const Source *source, SyntaxNode node) {
    if (node_kind(node) == SYNTAX_PARENTHESIZED) return is_quotient(source, node_child(node, 0));
    if (node_kind(node) != SYNTAX_BINARY) return false;
    Str sign = node_text(source, node_field(node, "operator"));
    if (str_is(sign, "/")) return true;
    bool keeps = str_is(sign, "+") || str_is(sign, "-") || str_is(sign, "*");
    return keeps && (is_quotient(source, node_field(node, "left")) ||
                     is_quotient(source, node_field(node, "right")));
}

static void check_extent(const LaunchCheck *launch, SyntaxNode extent, int axis) {
    Range range = node_range(launch->source, extent);
    long long number;
    bool is_number = integer_of(launch->source, extent, &number);
    if (axis >= PROGRAM_AXES && is_number && number == 1) return;
    if (axis >= PROGRAM_AXES)
        check_report_at(launch->check, DIAGNOSTIC_LAUNCH_GRID, range,
                        "a grid has three axes: this number is left out");
    else if (is_number && number < 1)
        check_report_at(launch->check, DIAGNOSTIC_LAUNCH_GRID, range,
                        "no program runs: the axes of a grid are 1 or more");
    else if (is_quotient(launch->source, extent))
        check_report_at(launch->check, DIAGNOSTIC_LAUNCH_GRID, range,
                        "`/` makes a float, and a grid takes whole numbers (`triton.cdiv`)");
}

/// Whether the kernel has `**meta`, as kernels for Triton 1 have.
static bool takes_any_name(const FunctionDefinition *kernel) {
    for (int p = 0; p < kernel->parameter_count; p++)
        if (kernel->parameters[p].is_variadic) return true;
    return false;
}

/// What a grid's function asks of the launch's arguments by name.
static bool visit_meta(void *context, SyntaxNode node) {
    LaunchCheck *launch = context;
    if (node_kind(node) != SYNTAX_SUBSCRIPT || node_child_count(node) != 2 ||
        !str_equal(node_text(launch->source, node_child(node, 0)), launch->meta))
        return true;
    SyntaxNode key = node_child(node, 1);
    Str text = node_text(launch->source, key);
    if (node_kind(key) != SYNTAX_STRING || text.size < 3) return true;
    Str name = {text.data + 1, text.size - 2};
    if (!str_is_name(name) || takes_any_name(launch->site->kernel) ||
        definition_parameter(launch->site->kernel, name) >= 0 || launch_option_is_known(name))
        return true;
    check_report_at(launch->check, DIAGNOSTIC_LAUNCH_GRID, node_range(launch->source, key),
                    "the kernel has no parameter %.*s", STR_ARGS(name));
    return true;
}

/// The extents of a grid as they are written; a null node where it is something else.
static SyntaxNode extents_of(LaunchCheck *launch) {
    LaunchGrid grid = launch_grid(launch->site);
    SyntaxNode none = {0};
    launch->meta = grid.meta;
    if (grid.meta.size) syntax_walk(grid.value, visit_meta, launch);
    return node_kind(grid.value) == SYNTAX_TUPLE ? grid.value : none;
}

/* ---- grids by name ---- */

typedef struct GridFunction {
    const Source *source;
    Str name;
    SyntaxNode value;       // of its `return`
    SyntaxNode parameters;  // of its definition
    int definitions, returns;
} GridFunction;

static bool visit_return(void *context, SyntaxNode node) {
    GridFunction *grid = context;
    if (node_kind(node) == SYNTAX_LAMBDA) return false;
    if (node_kind(node) != SYNTAX_RETURN) return true;
    grid->returns++;
    grid->value = node_child(node, 0);
    return false;
}

static bool visit_definition(void *context, SyntaxNode node) {
    GridFunction *grid = context;
    if (node_kind(node) != SYNTAX_FUNCTION) return true;
    if (!str_equal(node_text(grid->source, node_field(node, "name")), grid->name)) return false;
    grid->definitions++;
    grid->parameters = node_field(node, "parameters");
    syntax_walk(node_field(node, "body"), visit_return, grid);
    return false;
}

static Str parameter_name(const Source *source, SyntaxNode parameters) {
    bool is_plain = node_child_count(parameters) == 1 &&
                    node_kind(node_child(parameters, 0)) == SYNTAX_IDENTIFIER;
    return is_plain ? node_text(source, node_child(parameters, 0)) : (Str){0};
}

LaunchGrid launch_grid(const LaunchSite *site) {
    const Source *source = site->kernel->module->source;
    LaunchGrid grid = {.value = site->grid};
    if (node_kind(grid.value) == SYNTAX_IDENTIFIER && site->launcher) {
        GridFunction function = {.source = source, .name = node_text(source, grid.value)};
        SyntaxNode bound = launcher_binding(site->launcher, function.name);
        syntax_walk(site->launcher->body, visit_definition, &function);
        if (!node_is_null(bound) && !function.definitions) {
            grid.value = bound;
        } else if (function.definitions == 1 && function.returns == 1 &&
                   !node_is_null(function.value) &&
                   !launcher_binds(site->launcher, function.name)) {
            grid.value = function.value;
            grid.meta = parameter_name(source, function.parameters);
        }
    }
    if (node_kind(grid.value) == SYNTAX_LAMBDA) {
        grid.meta = parameter_name(source, node_field(grid.value, "parameters"));
        grid.value = node_field(grid.value, "body");
    }
    return grid;
}

/* ---- axes that nothing reads ---- */

/// A number of programs that follows from a tensor or is more than one.
static bool is_several(const Source *source, SyntaxNode extent) {
    long long number;
    if (integer_of(source, extent, &number)) return number > 1;
    return node_kind(extent) == SYNTAX_CALL &&
           str_ends(node_text(source, node_field(extent, "function")), "cdiv");
}

/// Whether all that programs do follows from their ids: nothing counts them or takes turns by an atomic.
static bool does_as_ids_say(const Check *check) {
    bool stores = false;
    for (LIST_EACH(int, i, check->ops)) {
        const Op *op = check->ops.items[i];
        int effects = op_rows[op->code].effects;
        if (op->code == OP_UNKNOWN || op->code == OP_NUM_PROGRAMS ||
            (effects & (EFFECT_ATOMIC | EFFECT_ORDERED)))
            return false;
        stores = stores || (effects & EFFECT_WRITES);
    }
    return stores;
}

/// The id along the axis, where the kernel asks for it and does nothing with it; NULL where it does.
static const Op *idle_id(const Check *check, int axis) {
    const Op *idle = NULL;
    for (LIST_EACH(int, i, check->program_ids)) {
        const Op *op = check->program_ids.items[i];
        int64_t number;
        if (!value_is_int(op->operands[0], &number)) return NULL;
        if (number != axis) continue;
        if (check_uses(check, op->results[0])->list.count || op->call) return NULL;
        idle = op;
    }
    return idle;
}

static void check_unread(const LaunchCheck *launch, SyntaxNode extent, int axis) {
    if (axis >= PROGRAM_AXES) return;
    const Op *idle = idle_id(launch->check, axis);
    long long number;
    bool is_one = integer_of(launch->source, extent, &number) && number == 1;
    if (idle ? is_one : launch->check->axes.programs[axis] || !is_several(launch->source, extent))
        return;
    Diagnostic *said = check_report_at(
        launch->check, DIAGNOSTIC_GRID_AXIS_UNREAD, node_range(launch->source, extent),
        "the kernel does %s `tl.program_id(%d)`: programs along this axis all do the same",
        idle ? "nothing with" : "not ask for", axis);
    for (LIST_EACH(int, i, launch->check->program_ids)) {
        const Op *op = launch->check->program_ids.items[i];
        if (!idle && !op->call) check_relate(launch->check, said, op, "another axis is asked for");
    }
    if (!idle) return;
    check_relate(launch->check, said, idle, "asked for here");
    for (int i = launch->check->memory.count - 1; i >= 0; i--) {
        const Op *op = launch->check->memory.items[i]->op;
        if (!(op_rows[op->code].effects & EFFECT_WRITES)) continue;
        check_relate(launch->check, said, op, "stored here");
        return;
    }
}

static bool is_number_of_programs(const Value *value, int depth) {
    enum { DEEPEST = 4 };
    const Op *op = value ? value->op : NULL;
    if (!op || depth == DEEPEST) return false;
    if (op->code == OP_NUM_PROGRAMS) return true;
    if (op->code != OP_MUL && op->code != OP_CAST) return false;
    for (int i = 0; i < op->operand_count; i++)
        if (is_number_of_programs(op->operands[i], depth + 1)) return true;
    return false;
}

/// Whether the id is a digit of the program's number in any grid: each use multiplies it with how many programs there are.
static bool numbers_whole_grid(const Check *check, const Value *id) {
    const Uses *uses = check_uses(check, id);
    for (LIST_EACH(int, i, uses->list)) {
        const Op *use = uses->list.items[i];
        if (use->code != OP_MUL || !is_number_of_programs(use->operands[use->operands[0] == id], 0))
            return false;
    }
    return uses->list.count > 0;
}

/// Axes that the kernel asks for and a grid of fewer extents does not have: their program id is 0.
static void check_missing(const LaunchCheck *launch, SyntaxNode extents) {
    int count = 0;
    if (node_is_null(extents)) return;
    for (uint32_t i = 0; i < node_child_count(extents); i++) {
        if (node_kind(node_child(extents, i)) == SYNTAX_LIST_SPLAT) return;
        count += node_kind(node_child(extents, i)) != SYNTAX_COMMENT;
    }
    for (LIST_EACH(int, i, launch->check->program_ids)) {
        const Op *op = launch->check->program_ids.items[i];
        int64_t axis;
        if (!value_is_int(op->operands[0], &axis) || axis < count || axis >= PROGRAM_AXES ||
            check_is_optional(op) || numbers_whole_grid(launch->check, op->results[0]))
            continue;
        Diagnostic *said = check_report_at(
            launch->check, DIAGNOSTIC_GRID_AXIS_MISSING, node_range(launch->source, extents),
            "the kernel asks for `tl.program_id(%lld)`, and this grid has %d ax%s: "
            "it is 0 in all programs",
            (long long)axis, count, count == 1 ? "is" : "es");
        check_relate(launch->check, said, op, "asked here");
        return;
    }
}

/* ---- warps ---- */

static bool visit_warps(void *context, SyntaxNode node) {
    LaunchCheck *launch = context;
    long long number;
    if (node_kind(node) != SYNTAX_KEYWORD_ARGUMENT ||
        !str_is(node_text(launch->source, node_field(node, "name")), "num_warps"))
        return true;
    SyntaxNode value = node_field(node, "value");
    if (integer_of(launch->source, value, &number) && (number < 1 || (number & (number - 1))))
        check_report_at(launch->check, DIAGNOSTIC_LAUNCH_WARPS, node_range(launch->source, value),
                        "%lld is no power of two", number);
    return false;
}

/* ---- axes of tensors ---- */

/// `x.stride(2)`, `x.size(2)` and `x.shape[2]` of a tensor of two axes.
static bool visit_axis(void *context, SyntaxNode node) {
    LaunchCheck *launch = context;
    bool is_call = node_kind(node) == SYNTAX_CALL;
    if (!is_call && node_kind(node) != SYNTAX_SUBSCRIPT) return true;
    SyntaxNode attribute = is_call ? node_field(node, "function") : node_child(node, 0);
    SyntaxNode list = is_call ? node_field(node, "arguments") : node;
    SyntaxNode index = node_child(list, !is_call);
    if (node_kind(attribute) != SYNTAX_ATTRIBUTE || node_child_count(list) != (is_call ? 1 : 2))
        return true;
    Str name = node_text(launch->source, node_field(attribute, "attribute"));
    bool fits = is_call ? str_is(name, "stride") || str_is(name, "size") : str_is(name, "shape");
    SyntaxNode tensor = node_field(attribute, "object");
    long long axis;
    if (!fits || node_kind(tensor) != SYNTAX_IDENTIFIER ||
        !integer_of(launch->source, index, &axis) || axis == 0 || axis == -1)
        return true;
    Range range = node_range(launch->source, node);
    Str text = node_text(launch->source, tensor);
    int rank = launcher_rank_of(launch->site->launcher, text, range.start);
    if (rank && (axis >= rank || axis < -rank))
        check_report_at(launch->check, DIAGNOSTIC_LAUNCH_ARGUMENTS, range,
                        "%.*s has %d ax%s, and no axis %lld", STR_ARGS(text), rank,
                        rank == 1 ? "is" : "es", axis);
    return true;
}

void check_launch_numbers(Check *check) {
    const FunctionDefinition *kernel = check->kernel->definition;
    bool does_alike = does_as_ids_say(check);
    LaunchCheck launch = {.check = check, .source = kernel->module->source};
    for (LIST_EACH(int, i, kernel->decorators))
        syntax_walk(kernel->decorators.items[i], visit_warps, &launch);
    for (LIST_EACH(int, i, kernel->module->launches)) {
        launch.site = &kernel->module->launches.items[i];
        if (launch.site->kernel != kernel || node_has_error(launch.site->call)) continue;
        syntax_walk(launch.site->call, visit_warps, &launch);
        syntax_walk(launch.site->call, visit_axis, &launch);
        SyntaxNode extents = extents_of(&launch);
        for (uint32_t k = 0, axis = 0; !node_is_null(extents) && k < node_child_count(extents);
             k++) {
            SyntaxNode extent = node_child(extents, k);
            if (node_kind(extent) == SYNTAX_LIST_SPLAT) break;
            if (node_kind(extent) == SYNTAX_COMMENT) continue;
            check_extent(&launch, extent, (int)axis);
            if (does_alike) check_unread(&launch, extent, (int)axis);
            axis++;
        }
        check_missing(&launch, extents);
    }
}
