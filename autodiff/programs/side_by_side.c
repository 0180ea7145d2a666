// A kernel of one program's tile in; one of the tiles of several programs out.
#include "autodiff/programs/side_by_side.h"

#include "analysis/addresses/affine.h"
#include "analysis/build/build.h"
#include "autodiff/tape/tape.h"

/// What became of a mask, in a region.
typedef struct KnownMask {
    const Value *of;
    int rank;
    const Region *region;
    Value *mask;
} KnownMask;

typedef struct SideBySide {
    Differentiation *state;
    Function *function;
    Former *former;
    int axis;
    Map ranks;     // values that differ between the programs -> the rank that they had, and 1
    bool changes;  // another value was found to differ
    bool is_wide;  // some access has a tile of its own
    Value *together, *programs;
    Value *numbers, *inside;  // of the programs, and which there are
    LIST(KnownMask) masks;
    const Op *first;  // what makes the first of them
} SideBySide;

static bool is_lifted(const SideBySide *lifting, const Value *value) {
    return value && map_has_pointer(&lifting->ranks, value);
}

static int rank_before(const SideBySide *lifting, const Value *value) {
    return is_lifted(lifting, value) ? (int)(intptr_t)map_get_pointer(&lifting->ranks, value) - 1
                                     : value->type.rank;
}

static void lift(SideBySide *lifting, Value *value) {
    if (is_lifted(lifting, value)) return;
    map_set_pointer(&lifting->ranks, value, (void *)(intptr_t)(value->type.rank + 1));
    lifting->changes = true;
}

/* ---- whether it can be done ---- */

static bool any_lifted(const SideBySide *lifting, const Op *op) {
    for (int i = 0; i < op->operand_count; i++)
        if (is_lifted(lifting, op->operands[i])) return true;
    return false;
}

typedef struct ResultRead {
    const Value *value;
    bool is_read;
} ResultRead;

static bool visit_read(void *context, Op *op) {
    ResultRead *search = context;
    for (int i = 0; i < op->operand_count; i++)
        search->is_read = search->is_read || op->operands[i] == search->value;
    return !search->is_read;
}

static bool is_read(const Function *function, const Value *value) {
    ResultRead search = {value, false};
    region_walk(function->body, visit_read, &search);
    return search.is_read;
}

static Value *operand_named(const Op *op, const char *name) {
    int index = op_parameter_index(op->code, str_from(name));
    Value *value = index >= 0 && index < op->operand_count ? op->operands[index] : NULL;
    return value && value_is_none(value) ? NULL : value;
}

/// Whether lanes that follow each other have elements that do: what the compiler does not see it takes for rows across memory, in a tile of
/// several axes.
static bool lanes_lie_together(SideBySide *lifting, Op *op) {
    Affine offset = access_by(lifting->former, op).offset;
    int64_t step;
    return op->operands[0]->type.rank == 0 ||
           (offset.known && !offset.wrapped && offset.rank == 1 &&
            poly_is_constant(offset.lane[0], &step) && step == 1);
}

/// Loads and stores by plain pointers that differ between the programs; of atomics those whose result nobody reads.
static bool access_fits(SideBySide *lifting, Op *op) {
    bool is_load = op->code == OP_LOAD, is_store = op->code == OP_STORE;
    if (!is_load && !is_store && op->code != OP_ATOMIC_ADD) return false;
    if (!is_lifted(lifting, op->operands[0]) || op->operands[0]->type.kind != TYPE_POINTER)
        return false;
    int rank = rank_before(lifting, op->operands[0]);
    lifting->is_wide = lifting->is_wide || rank == 1;
    if (rank > 1 || !lanes_lie_together(lifting, op)) return false;  // no row, or more than one
    if (is_load) lift(lifting, op->results[0]);
    return is_load || is_store || !op->result_count || !is_read(lifting->function, op->results[0]);
}

/// A quotient of whole numbers by one of the programs' own: behind the last program it may be 0.
static bool may_divide_by_zero(SideBySide *lifting, const Op *op) {
    bool divides = op->code == OP_FLOORDIV || op->code == OP_MOD || op->code == OP_CDIV;
    return divides && is_lifted(lifting, op->operands[1]);
}

static bool op_fits(SideBySide *lifting, Op *op) {
    const OpRow *row = &op_rows[op->code];
    int64_t axis;
    if (row->effects & (EFFECT_READS | EFFECT_WRITES | EFFECT_ATOMIC))
        return access_fits(lifting, op);
    bool is_each = row->shape == SHAPE_BROADCAST || row->has_value || op->code == OP_CAST;
    bool is_form = op->code == OP_BROADCAST_TO ||
                   (op->code == OP_EXPAND_DIMS && value_is_int(op->operands[1], &axis));
    if ((!is_each && !is_form) || may_divide_by_zero(lifting, op)) return false;
    if (is_form && !is_lifted(lifting, op->operands[0])) return false;
    if (op->result_count != 1 || op->results[0]->type.rank >= TYPE_MAX_RANK) return false;
    lift(lifting, op->results[0]);
    return true;
}

static bool region_fits(SideBySide *lifting, const Region *region);

/// What a branch or a loop gives differs where what one of its ways ends with does.
static void lift_results(SideBySide *lifting, const Op *op, const Region *region) {
    const Op *end = region_terminator(region);
    for (int i = 0; end && i < op->result_count && i < end->operand_count; i++)
        if (is_lifted(lifting, end->operands[i])) lift(lifting, op->results[i]);
}

static bool branch_fits(SideBySide *lifting, const Op *op) {
    if (any_lifted(lifting, op)) return false;
    for (int side = 0; side < 2; side++) {
        if (!region_fits(lifting, op->regions[side])) return false;
        lift_results(lifting, op, op->regions[side]);
    }
    return true;
}

/// Loops that all programs run alike; what is carried may differ.
static bool loop_fits(SideBySide *lifting, const Op *op) {
    enum { BOUNDS = 3 };
    Region *body = op->regions[0];
    for (int i = 0; i < BOUNDS; i++)
        if (is_lifted(lifting, op->operands[i])) return false;
    for (int i = 0; i < op->result_count; i++) {
        bool differs =
            is_lifted(lifting, op->operands[BOUNDS + i]) || is_lifted(lifting, op->results[i]);
        if (!differs) continue;
        lift(lifting, op->results[i]);
        lift(lifting, body->arguments[1 + i]);
    }
    if (!region_fits(lifting, body)) return false;
    lift_results(lifting, op, body);
    return true;
}

static bool region_fits(SideBySide *lifting, const Region *region) {
    for (Op *op = region->first; op; op = op->next) {
        if (op == region_terminator(region)) continue;
        bool fits = true;
        if (op->code == OP_IF)
            fits = branch_fits(lifting, op);
        else if (op->code == OP_FOR || op->code == OP_STATIC_FOR)
            fits = loop_fits(lifting, op);
        else if (op->region_count || op->code == OP_NUM_PROGRAMS)
            fits = false;
        else if (any_lifted(lifting, op))
            fits = op_fits(lifting, op);
        else
            fits = !(op_rows[op->code].effects & (EFFECT_WRITES | EFFECT_ATOMIC | EFFECT_ORDERED));
        if (!fits) return false;
    }
    return true;
}

typedef struct AxisIds {
    Value *ids[PROGRAM_AXES];
    bool is_twice;
} AxisIds;

static bool visit_id(void *context, Op *op) {
    AxisIds *search = context;
    for (int axis = 0; axis < PROGRAM_AXES && op->code == OP_PROGRAM_ID; axis++) {
        if (!value_is_program_id(op->results[0], axis)) continue;
        search->is_twice = search->is_twice || search->ids[axis] || op->parent->parent;
        search->ids[axis] = op->results[0];
    }
    return true;
}

/// Programs that follow each other along the last axis have what lies together in memory.
static bool function_fits(SideBySide *lifting) {
    AxisIds search = {0};
    region_walk(lifting->function->body, visit_id, &search);
    lifting->axis = PROGRAM_AXES - 1;
    while (lifting->axis >= 0 && !search.ids[lifting->axis]) lifting->axis--;
    if (lifting->axis < 0 || search.is_twice) return false;
    lift(lifting, search.ids[lifting->axis]);
    while (lifting->changes) {
        lifting->changes = false;
        if (!region_fits(lifting, lifting->function->body)) return false;
    }
    lifting->numbers = search.ids[lifting->axis];
    return lifting->is_wide;
}

/* ---- the tiles ---- */

static Builder builder_before(const SideBySide *lifting, Op *op) {
    return (Builder){
        .function = lifting->function, .region = op->parent, .before = op, .range = op->range};
}

static void widen(const SideBySide *lifting, Value *value) {
    Arena *arena = lifting->state->arena;
    Type *type = &value->type;
    const Poly **dims = ARENA_ARRAY(arena, const Poly *, type->rank + 1);
    dims[0] = poly_atom(arena, lifting->together);
    for (int i = 0; i < type->rank; i++) dims[i + 1] = type->dims[i];
    type->dims = dims;
    type->rank++;
}

/// A value for a tile that had `rank` axes: of the programs', with axes of one element behind the first; of all alike, with axes in front.
static Value *fitted(const SideBySide *lifting, Op *op, Value *value, int rank, bool is_whole) {
    Builder b = builder_before(lifting, op);
    if (is_lifted(lifting, value)) {
        Value *own = value_is_program_id(value, lifting->axis) ? lifting->numbers : value;
        for (int i = own->type.rank; i < rank + 1; i++)
            own = build_binary(&b, OP_EXPAND_DIMS, own, build_int(&b, 1));
        return own;
    }
    while (is_whole && value->type.rank && value->type.rank < rank + 1)
        value = build_binary(&b, OP_EXPAND_DIMS, value, build_int(&b, 0));
    return value;
}

/// The mask of an access, which had so many axes, with those programs that there are.
static Value *masked(SideBySide *lifting, Op *op, Value *mask, int rank) {
    Builder b = builder_before(lifting, op);
    Value *inside = lifting->inside;
    for (LIST_EACH(int, i, lifting->masks)) {
        const KnownMask *known = &lifting->masks.items[i];
        if (known->of == mask && known->rank == rank && known->region == op->parent)
            return known->mask;
    }
    for (int i = 0; i < rank; i++)
        inside = build_binary(&b, OP_EXPAND_DIMS, inside, build_int(&b, 1));
    const KnownMask found = {mask, rank, op->parent,
                             mask ? build_binary(&b, OP_AND, mask, inside) : inside};
    LIST_PUSH(lifting->state->arena, &lifting->masks, found);
    return found.mask;
}

static void mask_access(SideBySide *lifting, Op *op, int rank) {
    Builder b = builder_before(lifting, op);
    int at = op_parameter_index(op->code, STR("mask")),
        other = op_parameter_index(op->code, STR("other"));
    Value *mask = masked(lifting, op, operand_named(op, "mask"), rank);
    while (op->operand_count <= (other > at ? other : at))
        op_append_operand(lifting->function, op, NULL);
    op_set_operand(op, at, mask);
    if (other < 0 || op->operands[other]) return;
    bool is_float = dtype_is_float(op->results[0]->type.element);
    op_set_operand(op, other, is_float ? build_float(&b, 0.0) : build_int(&b, 0));
}

/// The same for all programs, where others are asked for.
static Value *for_each(const SideBySide *lifting, Op *op, Value *value, Type type) {
    if (is_lifted(lifting, value)) return fitted(lifting, op, value, type.rank - 1, true);
    Builder b = builder_before(lifting, op);
    Value *shape = build_shape(&b, type);
    if (!value->type.rank)
        return build_ternary(&b, OP_FULL, shape, value, build_dtype(&b, type.element));
    return build_binary(&b, OP_BROADCAST_TO, fitted(lifting, op, value, type.rank - 1, true),
                        shape);
}

static void widen_region(SideBySide *lifting, Region *region);

static void widen_ends(const SideBySide *lifting, const Op *op, const Region *region) {
    Op *end = region_terminator(region);
    for (int i = 0; end && i < op->result_count && i < end->operand_count; i++)
        if (is_lifted(lifting, op->results[i]))
            op_set_operand(end, i, for_each(lifting, end, end->operands[i], op->results[i]->type));
}

static void widen_control(SideBySide *lifting, Op *op) {
    enum { BOUNDS = 3 };
    bool is_loop = op->code != OP_IF;
    for (int i = 0; i < op->result_count; i++) {
        if (!is_lifted(lifting, op->results[i])) continue;
        widen(lifting, op->results[i]);
        if (!is_loop) continue;
        widen(lifting, op->regions[0]->arguments[1 + i]);
        op_set_operand(op, BOUNDS + i,
                       for_each(lifting, op, op->operands[BOUNDS + i], op->results[i]->type));
    }
    for (int r = 0; r < op->region_count; r++) {
        widen_region(lifting, op->regions[r]);
        widen_ends(lifting, op, op->regions[r]);
    }
}

static void widen_op(SideBySide *lifting, Op *op) {
    bool is_access = (op_rows[op->code].effects & (EFFECT_READS | EFFECT_WRITES)) != 0;
    Value *result = op->result_count ? op->results[0] : NULL;
    int rank = is_access ? rank_before(lifting, op->operands[0]) : result->type.rank;
    int64_t axis;
    if (op->code == OP_EXPAND_DIMS) {
        Builder b = builder_before(lifting, op);
        op_set_operand(op, 0, fitted(lifting, op, op->operands[0], 0, false));
        if (value_is_int(op->operands[1], &axis) && axis >= 0)
            op_set_operand(op, 1, build_int(&b, axis + 1));
        widen(lifting, result);
        return;
    }
    for (int i = 0; i < op->operand_count; i++) {
        Value *value = op->operands[i];
        bool is_tile = value && !value_is_none(value) && !value->type.is_constexpr &&
                       (value->type.kind == TYPE_NUMBER || value->type.kind == TYPE_POINTER);
        bool is_whole = is_access && i != op_parameter_index(op->code, STR("mask"));
        if (is_tile) op_set_operand(op, i, fitted(lifting, op, value, rank, is_whole));
    }
    if (result) widen(lifting, result);
    if (op->code == OP_BROADCAST_TO) {
        Builder b = builder_before(lifting, op);
        op_set_operand(op, 1, build_shape(&b, result->type));
    }
    if (is_access) mask_access(lifting, op, rank);
}

static void widen_region(SideBySide *lifting, Region *region) {
    Op *end = region_terminator(region);
    for (Op *op = region->first, *next; op; op = next) {
        next = op->next;
        if (op == end) continue;
        if (op->code == OP_IF || op_is_loop(op->code))
            widen_control(lifting, op);
        else if (any_lifted(lifting, op) && op != lifting->first)
            widen_op(lifting, op);
    }
}

static void number_programs(SideBySide *lifting) {
    Op *id = lifting->numbers->op;
    Builder b = builder_before(lifting, id->next);
    Value *first = build_binary(&b, OP_MUL, id->results[0], lifting->together);
    Value *lanes = build_binary(&b, OP_ARANGE, build_int(&b, 0), lifting->together);
    Value *numbers = build_binary(&b, OP_ADD, first, lanes);
    numbers->name = id->results[0]->name;
    id->results[0]->name = NULL;
    lifting->first = first->op;
    lifting->numbers = numbers;
    lifting->inside = build_binary(&b, OP_LT, numbers, lifting->programs);
}

/* ---- the parameters ---- */

static Value *add_parameter(Differentiation *state, BackwardLaunch *launch, const char *name,
                            BackwardArgument argument) {
    Type whole = {.kind = TYPE_NUMBER,
                  .element = dtype_of(DTYPE_INT32),
                  .is_constexpr = argument.is_constexpr};
    Value *value = backward_add_parameter(state, name, whole);
    int last = state->backward->parameter_count - 1;
    Parameter *parameter = &state->backward->parameters[last];
    parameter->is_constexpr = argument.is_constexpr;
    if (argument.is_constexpr) parameter->default_text = STR("1");
    BackwardArgument *arguments =
        ARENA_ARRAY(state->arena, BackwardArgument, launch->argument_count + 1);
    for (int i = 0; i < launch->argument_count; i++) arguments[i] = launch->arguments[i];
    argument.name = argument.of = parameter->name;
    arguments[launch->argument_count++] = argument;
    launch->arguments = arguments;
    return value;
}

/// Whether the grid is the forward's, and each argument one that another grid leaves as it is.
static bool launch_fits(const Differentiation *state, const BackwardLaunch *launch) {
    const FunctionDefinition *kernel = state->primal->definition;
    bool is_chosen = launch->has_tiles || launch->loop || launch->stream || launch->elements ||
                     launch->flat_lanes || launch->turns_end || launch->row.block;
    bool is_set =
        state->options && state->options->wrapper == WRAPPER_AUTOGRAD;  // who says how many?
    if (!is_set || is_chosen || kernel->is_autotuned || kernel->has_heuristics || !launch->tile ||
        launch->argument_count != state->backward->parameter_count)
        return false;
    for (int i = 0; i < launch->argument_count; i++) {
        const BackwardArgument *argument = &launch->arguments[i];
        bool is_plain = argument->use == ARGUMENT_SAME || argument->use == ARGUMENT_UPSTREAM ||
                        argument->use == ARGUMENT_GRADIENT;
        if (!is_plain || argument->is_parts || argument->is_program_sum ||
            state->backward->parameters[i].default_text.size)
            return false;
    }
    return true;
}

void programs_side_by_side(Differentiation *state, BackwardLaunch *launch) {
    SideBySide lifting = {.state = state,
                          .function = state->backward,
                          .former = former_new(state->arena),
                          .ranks = map_new(state->arena)};
    if (!launch_fits(state, launch) || !function_fits(&lifting)) return;
    lifting.programs =
        add_parameter(state, launch, "programs",
                      (BackwardArgument){.use = ARGUMENT_PROGRAMS, .axis = lifting.axis});
    lifting.together = add_parameter(
        state, launch, "TOGETHER",
        (BackwardArgument){.use = ARGUMENT_TOGETHER, .axis = lifting.axis, .is_constexpr = true});
    number_programs(&lifting);
    widen_region(&lifting, state->backward->body);
    launch->has_together = true;
    launch->together_axis = lifting.axis;
}
