// A region whose values differ between members of a set in; whether each can get an axis for them, and the same region with these axes, out.
#include "autodiff/together/lift.h"

#include "analysis/build/build.h"

bool value_is_lifted(const Members *members, const Value *value) {
    return value && map_has_pointer(&members->ranks, value);
}

static int rank_before(const Members *members, const Value *value) {
    return value_is_lifted(members, value)
               ? (int)(intptr_t)map_get_pointer(&members->ranks, value) - 1
               : value->type.rank;
}

void lift_value(Members *members, Value *value) {
    if (value_is_lifted(members, value)) return;
    map_set_pointer(&members->ranks, value, (void *)(intptr_t)(value->type.rank + 1));
    members->changes = true;
}

enum { FOR_BOUNDS = 3 };  // operands of a loop over a range, in front of what it carries

/* ---- whether it can be done ---- */

static bool any_lifted(const Members *members, const Op *op) {
    for (int i = 0; i < op->operand_count; i++)
        if (value_is_lifted(members, op->operands[i])) return true;
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

static bool poly_is_constexpr(const Poly *number) {
    for (int t = 0; t < number->count; t++)
        for (int a = 0; a < number->terms[t].atom_count; a++)
            if (!number->terms[t].atoms[a]->type.is_constexpr) return false;
    return true;
}

/// Whether lanes that follow each other have elements that do: what the compiler does not see it takes for rows across memory, in a tile of
/// several axes. Of a load they may be a few apart, as those of an enlarged picture: the next load of the tile has those between.
static bool lanes_lie_together(Members *members, Op *op) {
    Affine offset = access_by(members->former, op).offset;
    int64_t step;
    if (op->operands[0]->type.rank == 0) return true;
    if (!offset.known || offset.wrapped || offset.rank != 1) return false;
    if (op->code == OP_LOAD && op_is_loop(op->parent->parent ? op->parent->parent->code : op->code))
        return poly_is_constexpr(offset.lane[0]);
    return poly_is_constant(offset.lane[0], &step) && step == 1;
}

/// Loads and stores by plain pointers that differ between the programs; of atomics those whose result nobody reads.
static bool access_fits(Members *members, Op *op) {
    bool is_load = op->code == OP_LOAD, is_store = op->code == OP_STORE;
    if (!is_load && !is_store && op->code != OP_ATOMIC_ADD) return false;
    if (!value_is_lifted(members, op->operands[0]) || op->operands[0]->type.kind != TYPE_POINTER)
        return false;
    int rank = rank_before(members, op->operands[0]);
    members->is_wide = members->is_wide || rank == 1;
    bool is_row = rank <= 1 && lanes_lie_together(members, op);
    if (!is_row && !members->takes_any_lanes) return false;
    members->is_wide = members->is_wide || members->takes_any_lanes;
    if (is_load) lift_value(members, op->results[0]);
    return is_load || is_store || !op->result_count || !is_read(members->function, op->results[0]);
}

/// A quotient of whole numbers by one of the programs' own: behind the last program it may be 0.
static bool may_divide_by_zero(Members *members, const Op *op) {
    bool divides = op->code == OP_FLOORDIV || op->code == OP_MOD || op->code == OP_CDIV;
    return divides && value_is_lifted(members, op->operands[1]);
}

/// The axis of a reduction, and whether it is one that can be had with an axis in front: a row of each member, by itself.
static bool reduces_rows(const Members *members, const Op *op) {
    if (op_rows[op->code].shape != SHAPE_REDUCED) return false;
    const Value *axis = operand_named(op, "axis"), *keeps = operand_named(op, "keep_dims");
    bool is_kept = false;
    int64_t number;
    if (keeps && !value_is_bool(keeps, &is_kept)) return false;
    if (op->result_count != 1 || op->results[0]->type.kind != TYPE_NUMBER ||
        !value_is_lifted(members, op->operands[0]))
        return false;
    if (!axis) return rank_before(members, op->operands[0]) == 1 && !is_kept;
    return value_is_int(axis, &number) && number >= 0;
}

static bool op_fits(Members *members, Op *op) {
    const OpRow *row = &op_rows[op->code];
    int64_t axis;
    if (row->effects & (EFFECT_READS | EFFECT_WRITES | EFFECT_ATOMIC))
        return access_fits(members, op);
    bool is_each = row->shape == SHAPE_BROADCAST || row->has_value || op->code == OP_CAST;
    bool is_form = op->code == OP_BROADCAST_TO ||
                   (op->code == OP_EXPAND_DIMS && value_is_int(op->operands[1], &axis));
    bool is_reduced = reduces_rows(members, op);
    if ((!is_each && !is_form && !is_reduced) || may_divide_by_zero(members, op)) return false;
    if (is_form && !value_is_lifted(members, op->operands[0])) return false;
    if (op->result_count != 1 || op->results[0]->type.rank >= TYPE_MAX_RANK) return false;
    lift_value(members, op->results[0]);
    return true;
}

static bool region_fits(Members *members, const Region *region);

/// What a branch or a loop gives differs where what one of its ways ends with does.
static void lift_results(Members *members, const Op *op, const Region *region) {
    const Op *end = region_terminator(region);
    for (int i = 0; end && i < op->result_count && i < end->operand_count; i++)
        if (value_is_lifted(members, end->operands[i])) lift_value(members, op->results[i]);
}

static bool branch_fits(Members *members, const Op *op) {
    if (any_lifted(members, op)) return false;
    for (int side = 0; side < 2; side++) {
        if (!region_fits(members, op->regions[side])) return false;
        lift_results(members, op, op->regions[side]);
    }
    return true;
}

/// Loops that all programs run alike; what is carried may differ.
static bool loop_fits(Members *members, const Op *op) {
    Region *body = op->regions[0];
    for (int i = 0; i < FOR_BOUNDS; i++)
        if (value_is_lifted(members, op->operands[i])) return false;
    for (int i = 0; i < op->result_count; i++) {
        bool differs = value_is_lifted(members, op->operands[FOR_BOUNDS + i]) ||
                       value_is_lifted(members, op->results[i]);
        if (!differs) continue;
        lift_value(members, op->results[i]);
        lift_value(members, body->arguments[1 + i]);
    }
    if (!region_fits(members, body)) return false;
    lift_results(members, op, body);
    return true;
}

static bool region_fits(Members *members, const Region *region) {
    for (Op *op = region->first; op; op = op->next) {
        if (op == region_terminator(region)) continue;
        bool fits = true;
        if (op->code == OP_IF)
            fits = branch_fits(members, op);
        else if (op->code == OP_FOR || op->code == OP_STATIC_FOR)
            fits = loop_fits(members, op);
        else if (op->region_count || (op->code == OP_NUM_PROGRAMS && !members->counts_programs))
            fits = false;
        else if (any_lifted(members, op))
            fits = op_fits(members, op);
        else
            fits = !(op_rows[op->code].effects & (EFFECT_WRITES | EFFECT_ATOMIC | EFFECT_ORDERED));
        if (!fits) return false;
    }
    return true;
}

bool members_fit(Members *members, const Region *region) {
    lift_value(members, members->root);
    while (members->changes) {
        members->changes = false;
        if (!region_fits(members, region)) return false;
    }
    return members->is_wide;
}

/* ---- the tiles ---- */

static Builder builder_before(const Members *members, Op *op) {
    return (Builder){
        .function = members->function, .region = op->parent, .before = op, .range = op->range};
}

void members_add_axis(const Members *members, Value *value) {
    Arena *arena = members->state->arena;
    Type *type = &value->type;
    const Poly **dims = ARENA_ARRAY(arena, const Poly *, type->rank + 1);
    dims[0] = poly_atom(arena, members->together);
    for (int i = 0; i < type->rank; i++) dims[i + 1] = type->dims[i];
    type->dims = dims;
    type->rank++;
}

/// A value for a tile that had `rank` axes: of the programs', with axes of one element behind the first; of all alike, with axes in front.
static Value *fitted(const Members *members, Op *op, Value *value, int rank, bool is_whole) {
    Builder b = builder_before(members, op);
    if (value_is_lifted(members, value)) {
        Value *own = value == members->root ? members->numbers : value;
        for (int i = own->type.rank; i < rank + 1; i++)
            own = build_binary(&b, OP_EXPAND_DIMS, own, build_int(&b, 1));
        return own;
    }
    while (is_whole && value->type.rank && value->type.rank < rank + 1)
        value = build_binary(&b, OP_EXPAND_DIMS, value, build_int(&b, 0));
    return value;
}

Value *members_below(const Members *members, Builder *b, Value *count) {
    Value *below = build_binary(b, OP_LT, members->numbers, count);
    return build_binary(b, OP_OR, below,
                        build_binary(b, OP_EQ, members->together, build_int(b, 1)));
}

Value *members_inside(const Members *members, Op *op, int rank) {
    Builder b = builder_before(members, op);
    Value *inside = members->inside;
    for (int i = 0; i < rank; i++)
        inside = build_binary(&b, OP_EXPAND_DIMS, inside, build_int(&b, 1));
    return inside;
}

/// The mask of an access, which had so many axes, with those programs that there are.
static Value *masked(Members *members, Op *op, Value *mask, int rank) {
    Builder b = builder_before(members, op);
    for (LIST_EACH(int, i, members->masks)) {
        const KnownMask *known = &members->masks.items[i];
        if (known->of == mask && known->rank == rank && known->region == op->parent)
            return known->mask;
    }
    Value *inside = members_inside(members, op, rank);
    const KnownMask found = {mask, rank, op->parent,
                             mask ? build_binary(&b, OP_AND, mask, inside) : inside};
    LIST_PUSH(members->state->arena, &members->masks, found);
    return found.mask;
}

static void mask_access(Members *members, Op *op, int rank) {
    Builder b = builder_before(members, op);
    int at = op_parameter_index(op->code, STR("mask")),
        other = op_parameter_index(op->code, STR("other"));
    Value *mask = masked(members, op, operand_named(op, "mask"), rank);
    while (op->operand_count <= (other > at ? other : at))
        op_append_operand(members->function, op, NULL);
    op_set_operand(op, at, mask);
    if (other < 0 || op->operands[other]) return;
    bool is_float = dtype_is_float(op->results[0]->type.element);
    op_set_operand(op, other, is_float ? build_float(&b, 0.0) : build_int(&b, 0));
}

Value *members_spread(const Members *members, Op *op, Value *value, Type type) {
    if (value_is_lifted(members, value)) return fitted(members, op, value, type.rank - 1, true);
    Builder b = builder_before(members, op);
    Value *shape = build_shape(&b, type);
    if (!value->type.rank)
        return build_ternary(&b, OP_FULL, shape, value, build_dtype(&b, type.element));
    return build_binary(&b, OP_BROADCAST_TO, fitted(members, op, value, type.rank - 1, true),
                        shape);
}

static void widen_ends(const Members *members, const Op *op, const Region *region) {
    Op *end = region_terminator(region);
    for (int i = 0; end && i < op->result_count && i < end->operand_count; i++)
        if (value_is_lifted(members, op->results[i]))
            op_set_operand(end, i,
                           members_spread(members, end, end->operands[i], op->results[i]->type));
}

static void widen_control(Members *members, Op *op) {
    bool is_loop = op->code != OP_IF;
    for (int i = 0; i < op->result_count; i++) {
        if (!value_is_lifted(members, op->results[i])) continue;
        members_add_axis(members, op->results[i]);
        if (!is_loop) continue;
        members_add_axis(members, op->regions[0]->arguments[1 + i]);
        op_set_operand(
            op, FOR_BOUNDS + i,
            members_spread(members, op, op->operands[FOR_BOUNDS + i], op->results[i]->type));
    }
    for (int r = 0; r < op->region_count; r++) {
        members_widen(members, op->regions[r]);
        widen_ends(members, op, op->regions[r]);
    }
}

/// Along the same axis of each member's tile.
static void widen_reduction(const Members *members, Op *op) {
    Builder b = builder_before(members, op);
    int at = op_parameter_index(op->code, STR("axis"));
    int64_t axis = 0;
    if (operand_named(op, "axis")) value_is_int(op->operands[at], &axis);
    while (op->operand_count <= at) op_append_operand(members->function, op, NULL);
    op_set_operand(op, 0, fitted(members, op, op->operands[0], 0, false));
    op_set_operand(op, at, build_int(&b, axis + 1));
    members_add_axis(members, op->results[0]);
}

static void widen_op(Members *members, Op *op) {
    bool is_access = (op_rows[op->code].effects & (EFFECT_READS | EFFECT_WRITES)) != 0;
    Value *result = op->result_count ? op->results[0] : NULL;
    int rank = is_access ? rank_before(members, op->operands[0]) : result->type.rank;
    int64_t axis;
    if (op_rows[op->code].shape == SHAPE_REDUCED) {
        widen_reduction(members, op);
        return;
    }
    if (op->code == OP_EXPAND_DIMS) {
        Builder b = builder_before(members, op);
        op_set_operand(op, 0, fitted(members, op, op->operands[0], 0, false));
        if (value_is_int(op->operands[1], &axis) && axis >= 0)
            op_set_operand(op, 1, build_int(&b, axis + 1));
        members_add_axis(members, result);
        return;
    }
    for (int i = 0; i < op->operand_count; i++) {
        Value *value = op->operands[i];
        bool is_tile = value && !value_is_none(value) && !value->type.is_constexpr &&
                       (value->type.kind == TYPE_NUMBER || value->type.kind == TYPE_POINTER);
        bool is_whole = is_access && i != op_parameter_index(op->code, STR("mask"));
        if (is_tile) op_set_operand(op, i, fitted(members, op, value, rank, is_whole));
    }
    if (result) members_add_axis(members, result);
    if (op->code == OP_BROADCAST_TO) {
        Builder b = builder_before(members, op);
        op_set_operand(op, 1, build_shape(&b, result->type));
    }
    if (is_access) mask_access(members, op, rank);
}

void members_widen(Members *members, Region *region) {
    Op *end = region_terminator(region);
    for (Op *op = region->first, *next; op; op = next) {
        next = op->next;
        if (op == end) continue;
        if (op->code == OP_IF || op_is_loop(op->code))
            widen_control(members, op);
        else if (any_lifted(members, op) && op != members->first)
            widen_op(members, op);
    }
}
