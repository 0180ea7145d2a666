// A backward whose unused lanes may hold infinities in; one whose sums and products over those lanes are of zeros out.
// Beyond its masks a forward may compute 0 / 0 or -inf + inf: nobody stores it. A gradient that is summed along those lanes,
// as that of the values in an attention, would take it in: 0 * NaN is NaN. So each lane beyond is followed through the
// kernel, axis by axis, and what may not be finite there is masked where a sum along the axis reads it.
#include "autodiff/guard.h"

#include "autodiff/padding.h"
#include "autodiff/place.h"
#include "autodiff/tape.h"

enum { MOST_AXES = 5 };

/// Axes are counted from the last.
typedef struct Pad {
    PadAxis axes[MOST_AXES];
} Pad;

typedef struct Vector {
    OpCode code;
    const Value *a, *b;
    Value *value;
} Vector;

typedef struct Guard {
    Differentiation *state;
    Arena *arena;
    Map pads;  // value -> Pad
    LIST(Vector) vectors;
    Map masked;    // values whose origins are masked
    Map *made;     // masked tiles -> the axis, plus 1: they are 0 beyond
    int first_id;  // of the values made here
    bool changed;
} Guard;

static bool is_long(const Value *value, int axis) {
    int64_t length;
    if (axis >= value->type.rank) return false;
    const Poly *dim = value->type.dims[value->type.rank - 1 - axis];
    return !dim || !poly_is_constant(dim, &length) || length != 1;
}

/// What an operand contributes along an axis; along one that it does not have all its lanes count.
static PadAxis pad_along(const Guard *guard, const Value *value, int axis) {
    double number;
    if (!value) return pad_ordinary;
    if (value_is_number(value, &number)) return pad_number(PAD_CONSTANT, number);
    const Pad *pad = map_get_pointer(&guard->pads, value);
    if (!pad) return pad_ordinary;
    if (is_long(value, axis)) return pad->axes[axis];
    const PadAxis first = pad->axes[MOST_AXES - 1];
    return first.kind == PAD_CONSTANT ? first : pad_ordinary;
}

/// `x == max(x)` holds somewhere in every row.
static bool is_extreme_of(const Value *extreme, const Value *tile) {
    while (extreme && extreme->op &&
           (extreme->op->code == OP_EXPAND_DIMS || extreme->op->code == OP_BROADCAST_TO ||
            extreme->op->code == OP_RESHAPE))
        extreme = extreme->op->operands[0];
    return extreme && extreme->op && (extreme->op->code == OP_MAX || extreme->op->code == OP_MIN) &&
           extreme->op->operands[0] == tile;
}

/* ---- masks ---- */

static bool comes_before(const Op *a, const Op *b) {
    for (const Op *op = a; op; op = op->next)
        if (op == b) return true;
    return false;
}

/// Right behind the later of two values, so that it is there wherever both are. `b` may be NULL.
static Builder builder_behind(const Guard *guard, const Value *a, const Value *b) {
    Region *body = guard->state->backward->body;
    Builder builder = {.function = guard->state->backward, .region = body, .before = body->first};
    const Value *values[] = {a, b};
    for (int i = 0; i < 2; i++) {
        if (!values[i]) continue;
        Op *op = values[i]->op;
        Region *region = op ? op->parent : values[i]->region;
        if (!region) continue;
        bool deeper = region != builder.region && region_defines(builder.region, values[i]);
        if (deeper || (region == builder.region && op && comes_before(builder.before, op))) {
            builder.region = region;
            builder.before = op ? op->next : region->first;
        }
        builder.range = values[i]->range;
    }
    return builder;
}

static Value *vector_of(Guard *guard, OpCode code, Value *a, Value *b) {
    for (LIST_EACH(int, i, guard->vectors)) {
        const Vector *known = &guard->vectors.items[i];
        if (known->code == code && known->a == a && known->b == b) return known->value;
    }
    Builder builder = builder_behind(guard, a, b);
    Value *vector = b ? build_binary(&builder, code, a, b) : build_unary(&builder, code, a);
    if (!vector) return NULL;
    LIST_PUSH(guard->arena, &guard->vectors, (Vector){code, a, b, vector});
    return vector;
}

/// The rank-1 form of a mask that varies along one axis alone; NULL where there is none. Equal masks have the same.
static Value *mask_vector(Guard *guard, Value *mask) {
    const Op *op = mask->op;
    if (!op || mask->type.rank == 0) return mask;
    if (op->code == OP_EXPAND_DIMS || op->code == OP_BROADCAST_TO)
        return mask_vector(guard, op->operands[0]);
    bool is_arithmetic = op->code == OP_ADD || op->code == OP_SUB || op->code == OP_MUL;
    if (!op_is_comparison(op->code) && !(is_arithmetic && mask->type.rank > 1))
        return mask->type.rank == 1 ? mask : NULL;
    Value *a = mask_vector(guard, op->operands[0]), *b = mask_vector(guard, op->operands[1]);
    if (!a || !b || a->type.rank > 1 || b->type.rank > 1) return NULL;
    return vector_of(guard, op->code, a, b);
}

/// The one axis along which a mask varies; -1 where there are several.
static int mask_axis(const Value *mask) {
    int found = -1;
    for (int axis = 0; axis < mask->type.rank && axis < MOST_AXES; axis++) {
        if (!is_long(mask, axis)) continue;
        if (found >= 0) return -1;
        found = axis;
    }
    return found;
}

/// Each part of `a & b & ...` is a label of its axis.
static void add_labels(Guard *guard, Value *mask, Pad *pad) {
    if (!mask || value_is_none(mask)) return;
    if (mask->op && (mask->op->code == OP_BROADCAST_TO)) mask = mask->op->operands[0];
    if (mask->op && (mask->op->code == OP_AND || mask->op->code == OP_LOGICAL_AND)) {
        add_labels(guard, mask->op->operands[0], pad);
        add_labels(guard, mask->op->operands[1], pad);
        return;
    }
    int axis = mask_axis(mask);
    if (axis < 0) return;
    Value *vector = mask_vector(guard, mask);
    if (!vector || vector->type.rank != 1) return;
    PadAxis *place = &pad->axes[axis];
    if (vector && place->label && place->label != vector)
        vector = vector_of(guard, OP_AND, place->label, vector);
    place->label = vector;
}

static bool is_upstream(const Guard *guard, const Value *root) {
    const Map *maps[] = {&guard->state->upstreams, &guard->state->running};
    for (size_t m = 0; root && m < sizeof maps / sizeof *maps; m++)
        for (int i = 0; i < maps[m]->count; i++)
            if (maps[m]->entries[i].value == root) return true;
    return false;
}

/// Whether an access under the mask leaves the lanes beyond out.
static bool leaves_out(const Guard *guard, const Value *mask, int axis) {
    PadAxis along = mask ? pad_along(guard, mask, axis) : pad_ordinary;
    return along.kind == PAD_ODD || (along.kind == PAD_KNOWN && along.number == 0);
}

static void pad_load(Guard *guard, Op *op, Pad *pad) {
    Value *mask = access_mask(op);
    double other = 0;
    bool has_other = op->operand_count > 2 && value_is_number(op->operands[2], &other);
    for (int axis = 0; axis < op->results[0]->type.rank; axis++) {
        pad->axes[axis] = !leaves_out(guard, mask, axis) ? pad_ordinary
                          : has_other                    ? pad_number(PAD_KNOWN, other)
                                                         : pad_odd;
        pad->axes[axis].slope = SLOPE_NONE;
    }
    if (!mask) return;
    if (is_upstream(guard, pointer_root(op->operands[0]))) add_labels(guard, mask, pad);
    if (!has_other || !isinf(other)) return;
    Pad masks = {0};
    add_labels(guard, mask, &masks);
    for (int axis = 0; axis < MOST_AXES; axis++) pad->axes[axis].beyond = masks.axes[axis].label;
}

static bool is_part_of(const Value *label, const Value *of) {
    if (label == of) return true;
    return of->op && of->op->code == OP_OR &&
           (is_part_of(label, of->op->operands[0]) || is_part_of(label, of->op->operands[1]));
}

/// The mask beyond which a sum is 0.
static Value *label_of_sum(Guard *guard, PadAxis a, PadAxis b) {
    if (pad_is_nothing(a)) return b.label;
    if (pad_is_nothing(b)) return a.label;
    if (!a.label || !b.label) return NULL;
    if (is_part_of(b.label, a.label)) return a.label;
    if (is_part_of(a.label, b.label)) return b.label;
    return vector_of(guard, OP_OR, a.label, b.label);
}

/// The mask of the load beyond which both are what they are.
static Value *beyond_of_both(PadAxis a, PadAxis b) {
    return a.beyond == b.beyond || !b.beyond ? a.beyond : a.beyond ? NULL : b.beyond;
}

/// 0 times infinity is what is left of an exponential of minus infinity: its derivative is 0 there.
static bool is_lost_zero(PadAxis a, PadAxis b) {
    return (pad_is_zero(a) && pad_is_infinite(b)) || (pad_is_zero(b) && pad_is_infinite(a));
}

static PadAxis pad_binary(Guard *guard, const Op *op, int axis) {
    const Value *x = op->operands[0], *y = op->operands[1];
    PadAxis a = pad_along(guard, x, axis), b = pad_along(guard, y, axis);
    PadAxis result = op_is_comparison(op->code) && !(pad_has_number(a) && pad_has_number(b))
                         ? pad_of_comparison(op->code, a, b)
                         : pad_of_binary(op->code, a, b, !is_long(x, axis), !is_long(y, axis));
    if (op->code == OP_EQ && is_extreme_of(y, x)) result = pad_ordinary;
    bool is_index = !op_is_comparison(op->code) && dtype_is_integer(op->results[0]->type.element);
    result.slope = is_index ? slope_of_binary(op->code, a.slope, b.slope) : SLOPE_NONE;
    bool is_quotient = op->code == OP_DIV || op->code == OP_FDIV || op->code == OP_DIV_RN;
    if (op->code == OP_ADD || op->code == OP_SUB)
        result.label = label_of_sum(guard, a, b);
    else if (op->code == OP_MUL)
        result.label = a.label ? a.label : b.label;
    else
        result.label = is_quotient ? a.label : NULL;
    result.beyond = beyond_of_both(a, b);
    if (op->code == OP_MUL && !result.label && is_lost_zero(a, b)) result.label = result.beyond;
    return result;
}

/* ---- shapes ---- */

/// The axis with more than one lane that comes after `skipped` others, from the last; -1: there is none.
static int long_axis(const Value *value, int skipped) {
    for (int axis = 0; axis < value->type.rank; axis++)
        if (is_long(value, axis) && skipped-- == 0) return axis;
    return -1;
}

/// Whether a reshape only adds and takes away axes of one lane.
static bool keeps_long_axes(const Op *op) {
    Type from = op->operands[0]->type, to = op->results[0]->type;
    for (int i = 0;; i++) {
        int a = long_axis(op->operands[0], i), b = long_axis(op->results[0], i);
        if (a < 0 || b < 0) return a == b;
        if (!poly_equal(from.dims[from.rank - 1 - a], to.dims[to.rank - 1 - b])) return false;
    }
}

static int reshaped_axis(const Op *op, int axis) {
    for (int i = 0; i < op->results[0]->type.rank; i++)
        if (long_axis(op->results[0], i) == axis) return long_axis(op->operands[0], i);
    return -1;
}

/// Which axis of the operand, from the last, lies at `axis` of the result; -1: none.
static int source_axis(const Op *op, int axis) {
    int rank = op->results[0]->type.rank, from = op->operands[0]->type.rank;
    int64_t at;
    switch (op->code) {
    case OP_EXPAND_DIMS:
        if (!value_is_int(op->operands[1], &at)) return -1;
        if (at < 0) at += rank;
        at = rank - 1 - at;
        return axis == at ? -1 : axis > at ? axis - 1 : axis;
    case OP_TRANS: return rank == 2 ? 1 - axis : rank < 2 ? axis : -1;
    case OP_BROADCAST_TO: return axis < from ? axis : -1;
    case OP_RESHAPE: return reshaped_axis(op, axis);
    default: return rank == from ? axis : -1;
    }
}

static PadAxis worst_axis(const Guard *guard, const Value *value) {
    PadAxis worst = pad_ordinary;
    for (int axis = 0; axis < value->type.rank && axis < MOST_AXES; axis++) {
        PadAxis along = pad_along(guard, value, axis);
        if (along.kind == PAD_KNOWN) along = pad_odd;
        if (along.kind > worst.kind) worst = along;
    }
    worst.label = NULL;
    worst.slope = SLOPE_ANY;
    return worst;
}

static bool moves_known(const Op *op) {
    return op->code == OP_EXPAND_DIMS || op->code == OP_BROADCAST_TO ||
           (op->code == OP_TRANS && op->results[0]->type.rank <= 2) ||
           (op->code == OP_RESHAPE && keeps_long_axes(op));
}

static bool reduced_axis(const Op *op, int *axis) {
    int64_t at;
    int rank = op->operands[0]->type.rank;
    bool all = op->operand_count < 2 || !op->operands[1] || value_is_none(op->operands[1]);
    if (rank == 1)
        at = 0;
    else if (all || !value_is_int(op->operands[1], &at))
        return false;
    if (at < 0) at += rank;
    *axis = rank - 1 - (int)at;
    return at >= 0 && at < rank;
}

static void pad_reduced(const Guard *guard, const Op *op, Pad *pad) {
    const Value *tile = op->operands[0];
    int gone;
    if (!reduced_axis(op, &gone)) return;
    bool kept = op->results[0]->type.rank == tile->type.rank;
    for (int axis = 0; axis < op->results[0]->type.rank; axis++) {
        PadAxis along = pad_along(guard, tile, kept || axis < gone ? axis : axis + 1);
        if (kept && axis == gone) along = pad_ordinary;
        bool is_sum = op->code == OP_SUM;
        if (is_sum && along.kind == PAD_KNOWN && along.number != 0 && !isinf(along.number))
            along.kind = PAD_ORDINARY;
        if (op->code == OP_ARGMAX || op->code == OP_ARGMIN) along = pad_ordinary;
        pad->axes[axis] = along;
    }
}

static PadAxis pad_factor(PadAxis a) {
    if (a.kind == PAD_UNBOUNDED || pad_is_infinite(a)) return pad_bad;
    if (a.kind == PAD_KNOWN && a.number != 0) a.kind = PAD_ORDINARY;
    return a.kind == PAD_CONSTANT && a.number != 0 ? pad_ordinary : a;
}

static void pad_dot(Guard *guard, const Op *op, Pad *pad) {
    const Value *a = op->operands[0], *b = op->operands[1];
    const Value *start = op->operand_count > 2 ? op->operands[2] : NULL;
    if (start && value_is_none(start)) start = NULL;
    for (int axis = 0; axis < op->results[0]->type.rank && axis < MOST_AXES; axis++) {
        PadAxis along = axis == 0 ? pad_factor(pad_along(guard, b, 0))
                        : axis == 1
                            ? pad_factor(pad_along(guard, a, 1))
                            : pad_product(pad_along(guard, a, axis), pad_along(guard, b, axis));
        if (start) {
            PadAxis initial = pad_along(guard, start, axis);
            Value *label = label_of_sum(guard, initial, along);
            along = pad_of_binary(OP_ADD, initial, along, false, false);
            along.label = label;
        }
        pad->axes[axis] = along;
    }
}

/* ---- the walk ---- */

static Pad pad_get(const Guard *guard, const Value *value) {
    Pad pad;
    for (int axis = 0; axis < MOST_AXES; axis++) pad.axes[axis] = pad_along(guard, value, axis);
    return pad;
}

/// Computed from two operands; what follows them in tl.maximum(x, y, propagate_nan) is no third.
static bool is_of_two(const Op *op) {
    bool is_extreme = op->code == OP_MAXIMUM || op->code == OP_MINIMUM;
    return op->operand_count >= 2 && op->operands[1] && (is_extreme || op->operand_count == 2);
}

static void pad_of_op(Guard *guard, Op *op, Pad *pad) {
    const Value *result = op->results[0];
    int rank = result->type.rank < MOST_AXES ? result->type.rank : MOST_AXES;
    for (int axis = 0; axis < MOST_AXES; axis++) pad->axes[axis] = pad_ordinary;
    const Value *kept = op->code == OP_LOAD ? tape_value(guard->state, op) : NULL;
    if (kept) {
        *pad = pad_get(guard, kept);
        return;
    }
    if (op->code == OP_LOAD) {
        pad_load(guard, op, pad);
        return;
    }
    if (op->code == OP_SUM || op->code == OP_MAX || op->code == OP_MIN || op->code == OP_ARGMAX ||
        op->code == OP_ARGMIN) {
        pad_reduced(guard, op, pad);
        return;
    }
    if (op->code == OP_DOT) {
        pad_dot(guard, op, pad);
        return;
    }
    if (op->code == OP_FULL) {
        for (int axis = 0; axis < MOST_AXES; axis++)
            pad->axes[axis] = pad_along(guard, op->operands[1], axis);
        return;
    }
    if (op->code == OP_ARANGE) {
        pad->axes[0].slope = SLOPE_UP;
        return;
    }
    bool elementwise = op_rows[op->code].shape == SHAPE_BROADCAST ||
                       op_rows[op->code].shape == SHAPE_SAME || op->code == OP_CAST;
    for (int axis = 0; axis < rank; axis++) {
        PadAxis *along = &pad->axes[axis];
        if (op->code == OP_WHERE) {
            PadAxis x = pad_along(guard, op->operands[1], axis),
                    y = pad_along(guard, op->operands[2], axis);
            *along = pad_chosen(op, pad_along(guard, op->operands[0], axis), x, y);
            along->label = label_of_sum(guard, x, y);
            if ((intptr_t)map_get_pointer(guard->made, result) == axis + 1)
                *along = (PadAxis){.kind = PAD_KNOWN, .label = x.label};
            along->slope = SLOPE_ANY;
        } else if (moves_known(op)) {
            int from = source_axis(op, axis);
            *along = from >= 0 ? pad_along(guard, op->operands[0], from)
                               : pad_along(guard, op->operands[0], MOST_AXES);
        } else if (op->code == OP_CAST || op->code == OP_MULTIPLE_OF ||
                   op->code == OP_MAX_CONTIGUOUS) {
            *along = pad_along(guard, op->operands[0], axis);
        } else if (elementwise && is_of_two(op)) {
            *along = pad_binary(guard, op, axis);
        } else if (elementwise && op->operand_count >= 1 &&
                   (op->operand_count == 1 || !op->operands[1])) {
            PadAxis of = pad_along(guard, op->operands[0], axis);
            *along = pad_of_unary(op->code, of);
            along->label = op->code == OP_NEG || op->code == OP_ABS ? of.label : NULL;
            along->beyond = of.beyond;
        } else {
            for (int i = 0; i < op->operand_count; i++) {
                if (!op->operands[i]) continue;
                PadAxis of = elementwise ? pad_along(guard, op->operands[i], axis)
                                         : worst_axis(guard, op->operands[i]);
                if (of.kind == PAD_KNOWN) of = pad_odd;
                if (of.kind > along->kind) *along = of;
            }
            along->label = NULL;
            along->slope = SLOPE_ANY;
        }
    }
}

static void pad_set(Guard *guard, const Value *value, const Pad *pad) {
    Pad *copy = map_get_pointer(&guard->pads, value);
    if (!copy) {
        copy = ARENA_NEW(guard->arena, Pad);
        map_set_pointer(&guard->pads, value, copy);
    }
    *copy = *pad;
}

/// Joins into what is known of `value`; whether that changed it.
static bool pad_meet(Guard *guard, const Value *value, const Pad *next) {
    Pad now = pad_get(guard, value);
    bool changed = false;
    for (int axis = 0; axis < MOST_AXES; axis++) {
        PadAxis joined = pad_join(now.axes[axis], next->axes[axis]);
        changed = changed || joined.kind != now.axes[axis].kind ||
                  (pad_has_number(joined) && joined.number != now.axes[axis].number) ||
                  joined.label != now.axes[axis].label || joined.slope != now.axes[axis].slope;
        now.axes[axis] = joined;
    }
    pad_set(guard, value, &now);
    return changed;
}

static void guard_region(Guard *guard, const Region *region);

static void guard_loop(Guard *guard, const Op *op) {
    enum { ROUNDS = 8 };
    bool is_while = op->code == OP_WHILE;
    int first = is_while ? 0 : 3, argument = is_while ? 0 : 1;
    const Region *body = op->regions[is_while ? 1 : 0];
    for (int i = 0; i < op->result_count; i++) {
        Pad start = pad_get(guard, op->operands[first + i]);
        for (int r = 0; r < op->region_count; r++)
            pad_set(guard, op->regions[r]->arguments[argument + i], &start);
    }
    for (int round = 0; round < ROUNDS; round++) {
        bool changed = false;
        for (int r = 0; r < op->region_count; r++) guard_region(guard, op->regions[r]);
        const Op *yield = region_terminator(body);
        for (int i = 0; i < op->result_count; i++) {
            Pad next = pad_get(guard, yield->operands[i]);
            for (int r = 0; r < op->region_count; r++)
                changed =
                    pad_meet(guard, op->regions[r]->arguments[argument + i], &next) || changed;
        }
        if (!changed) break;
    }
    for (int i = 0; i < op->result_count; i++) {
        Pad last = pad_get(guard, op->regions[0]->arguments[argument + i]);
        pad_set(guard, op->results[i], &last);
    }
}

/// Whether the value is there where the op stands, outside of its regions.
static bool is_there(const Value *value, const Op *op) {
    const Region *region = value->op ? value->op->parent : value->region;
    for (; op; op = op->parent ? op->parent->parent : NULL)
        if (op->parent == region) return !value->op || comes_before(value->op, op);
    return false;
}

/// The mask beyond which what either arm yields is 0: `mask | not condition` where one arm alone has a mask.
static Value *label_of_arms(Guard *guard, const Op *branch, Value *yes, Value *no) {
    Value *condition = branch->operands[0];
    if (yes == no || (yes && !is_there(yes, branch)) || (no && !is_there(no, branch)))
        return yes == no ? yes : NULL;
    if (yes && no)
        return is_part_of(no, yes)   ? yes
               : is_part_of(yes, no) ? no
                                     : vector_of(guard, OP_OR, yes, no);
    bool is_flag = condition->type.element.code == DTYPE_INT1;
    if (!is_flag || !is_there(condition, branch)) return NULL;
    if (yes) condition = vector_of(guard, OP_LOGICAL_NOT, condition, NULL);
    return condition ? vector_of(guard, OP_OR, yes ? yes : no, condition) : NULL;
}

static void guard_branch(Guard *guard, const Op *op) {
    for (int r = 0; r < 2; r++) guard_region(guard, op->regions[r]);
    for (int i = 0; i < op->result_count; i++) {
        Pad arms[2];
        for (int r = 0; r < 2; r++)
            arms[r] = pad_get(guard, region_terminator(op->regions[r])->operands[i]);
        for (int axis = 0; axis < MOST_AXES; axis++) {
            PadAxis *yes = &arms[0].axes[axis], *no = &arms[1].axes[axis];
            yes->label = no->label = label_of_arms(guard, op, yes->label, no->label);
        }
        pad_set(guard, op->results[i], &arms[0]);
        pad_meet(guard, op->results[i], &arms[1]);
    }
}

static void guard_region(Guard *guard, const Region *region) {
    for (Op *op = region->first; op; op = op->next) {
        if (op->code == OP_FOR || op->code == OP_STATIC_FOR || op->code == OP_WHILE) {
            guard_loop(guard, op);
        } else if (op->code == OP_IF) {
            guard_branch(guard, op);
        } else if (op->result_count) {
            Pad pad;
            pad_of_op(guard, op, &pad);
            for (int i = 0; i < op->result_count; i++) pad_set(guard, op->results[i], &pad);
        }
    }
}

/* ---- masking ---- */

static Builder builder_before(const Guard *guard, Op *op) {
    return (Builder){.function = guard->state->backward,
                     .region = op->parent,
                     .before = op,
                     .range = op->range,
                     .call = op->call};
}

/// `where(mask, tile, 0)` with a mask of rank 1 laid along `axis` of the tile.
static Value *masked(Guard *guard, Builder *builder, Value *tile, Value *mask, int axis) {
    int rank = tile->type.rank;
    for (int position = 0; position < rank; position++)
        if (position != rank - 1 - axis) {
            Value *operands[] = {mask, build_int(builder, position)};
            mask = build(builder, OP_EXPAND_DIMS, operands, 2);
        }
    Value *result = build_ternary(builder, OP_WHERE, mask, tile, build_float(builder, 0.0));
    result->name = tile->name;
    map_set_pointer(guard->made, result, (void *)(intptr_t)(axis + 1));
    return result;
}

/// The same below casts and transpositions, where other uses of the tile may share it.
static Value *masked_below(Guard *guard, Builder *builder, Value *tile, Value *mask, int axis) {
    const Op *op = tile->op;
    bool turns = op && op->code == OP_TRANS && tile->type.rank == 2;
    if (!turns && !(op && op->code == OP_CAST)) return masked(guard, builder, tile, mask, axis);
    Value *operands[4] = {0};
    if (op->operand_count > 4) return masked(guard, builder, tile, mask, axis);
    for (int i = 0; i < op->operand_count; i++) operands[i] = op->operands[i];
    operands[0] = masked_below(guard, builder, operands[0], mask, turns ? 1 - axis : axis);
    Value *result = build(builder, op->code, operands, op->operand_count);
    result->name = tile->name;
    return result;
}

static bool is_bad(const Guard *guard, const Value *value, int axis) {
    return value && is_long(value, axis) && pad_along(guard, value, axis).kind == PAD_BAD;
}

/// The axis of operand `index` that lies at `axis` of the result; -1: none, or not known.
static int operand_axis(const Op *op, int index, int axis) {
    int gone;
    if (op->code == OP_DOT) return index == 2 || axis == 1 - index ? axis : -1;
    if (op->code == OP_SUM) {
        if (index || !reduced_axis(op, &gone)) return -1;
        return op->results[0]->type.rank == op->operands[0]->type.rank || axis < gone ? axis
                                                                                      : axis + 1;
    }
    if (moves_known(op)) return index ? -1 : source_axis(op, axis);
    if (op->code == OP_WHERE || op->code == OP_CAST)
        return index ? axis : op->code == OP_CAST ? axis : -1;
    return op_rows[op->code].shape == SHAPE_BROADCAST || op_rows[op->code].shape == SHAPE_SAME
               ? axis
               : -1;
}

static void mask_origin(Guard *guard, Value *value, int axis);

/// Whether an operand may be 0 where the result is multiplied by 0 anyway.
static bool is_factor(const Op *op, int index) {
    return op->code == OP_MUL || op->code == OP_DOT || (op->code == OP_WHERE && index > 0);
}

/// Masks what makes an operation's result bad: its adjoint operands where these start, else the factors that are. False
/// where it is none of them.
static bool mask_causes(Guard *guard, Op *op, int axis, Value *label) {
    bool found = false;
    for (int pass = 0; pass < 2 && !found; pass++)
        for (int i = 0; i < op->operand_count; i++) {
            Value *operand = op->operands[i];
            int from = operand_axis(op, i, axis);
            if (from < 0 || !is_bad(guard, operand, from)) continue;
            bool is_adjoint = pad_along(guard, operand, from).label && operand->op;
            if (is_adjoint != (pass == 0)) continue;
            if (!is_adjoint && !is_factor(op, i)) return false;
            found = true;
            if (is_adjoint) {
                mask_origin(guard, operand, from);
                continue;
            }
            Builder builder = builder_before(guard, op);
            op_set_operand(op, i, masked_below(guard, &builder, operand, label, from));
        }
    return found;
}

/// Masks an adjoint, or what it became bad from, up to where it starts.
static void mask_origin(Guard *guard, Value *value, int axis) {
    Op *op = value->op;
    if (map_has_pointer(&guard->masked, value)) return;
    map_set_pointer(&guard->masked, value, value);
    Value *label = pad_along(guard, value, axis).label;
    guard->changed = true;
    if (!op->region_count && mask_causes(guard, op, axis, label)) return;
    Builder builder = builder_before(guard, op);
    builder.before = op->next;
    Value *result = masked(guard, &builder, value, label, axis);
    region_replace_uses(guard->state->backward->body, value, result);
    for (int i = 0; i < result->op->operand_count; i++)
        if (result->op->operands[i] == result) op_set_operand(result->op, i, value);
}

static void mask_operand(Guard *guard, Op *op, int index, int axis, Value *label) {
    Value *tile = op->operands[index];
    if (!label || !is_bad(guard, tile, axis)) return;
    if (pad_along(guard, tile, axis).label && tile->op) {
        mask_origin(guard, tile, axis);
        return;
    }
    Builder builder = builder_before(guard, op);
    op_set_operand(op, index, masked_below(guard, &builder, tile, label, axis));
    guard->changed = true;
}

static bool visit_contraction(void *context, Op *op) {
    Guard *guard = context;
    int axis;
    if (op->code == OP_DOT) {
        Value *label = pad_along(guard, op->operands[0], 0).label;
        if (!label) label = pad_along(guard, op->operands[1], 1).label;
        mask_operand(guard, op, 0, 0, label);
        mask_operand(guard, op, 1, 1, label);
    } else if ((op->code == OP_SUM || op->code == OP_CUMSUM) && reduced_axis(op, &axis)) {
        mask_operand(guard, op, 0, axis, pad_along(guard, op->operands[0], axis).label);
    } else if (op->code == OP_SUM) {
        for (int k = 0; k < op->operands[0]->type.rank; k++)
            mask_operand(guard, op, 0, k, pad_along(guard, op->operands[0], k).label);
    } else if (
        op->code ==
        OP_ATOMIC_ADD) {  // a sum, too, where lanes beyond have places: an index read as 0 there
        for (int k = 0; k < op->operands[1]->type.rank; k++)
            if (!leaves_out(guard, access_mask(op), k))
                mask_operand(guard, op, 1, k, pad_along(guard, op->operands[1], k).label);
    }
    return true;
}

/// Masks that nothing came to need.
static void drop_vectors(Guard *guard) {
    Map uses = function_count_uses(guard->arena, guard->state->backward);
    for (int i = guard->vectors.count - 1; i >= 0; i--) {
        Value *vector = guard->vectors.items[i].value;
        if (vector->op && vector->id >= guard->first_id && !map_has_pointer(&uses, vector))
            op_remove(vector->op);
    }
}

void guard_padding(Differentiation *state) {
    enum { ROUNDS = 8 };
    Map made = map_new(state->arena);
    for (int round = 0; round < ROUNDS; round++) {
        Guard guard = {.state = state,
                       .arena = state->arena,
                       .pads = map_new(state->arena),
                       .made = &made,
                       .first_id = state->backward->value_count,
                       .masked = map_new(state->arena)};
        guard_region(&guard, state->backward->body);
        region_walk(state->backward->body, visit_contraction, &guard);
        drop_vectors(&guard);
        if (!guard.changed) return;
    }
}
