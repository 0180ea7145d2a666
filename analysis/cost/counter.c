#include "analysis/cost/counter.h"

#include <math.h>

double counter_number(const Counter *counter, const Value *value) {
    double number;
    if (!value) return NAN;
    if (value->constant) return value_is_number(value, &number) ? number : NAN;
    bool is_ours = value->id >= 0 && value->id < counter->value_count;
    return is_ours ? counter->numbers[value->id] : NAN;
}

void counter_set(Counter *counter, const Value *value, double number) {
    if (value->id >= 0 && value->id < counter->value_count) counter->numbers[value->id] = number;
}

double counter_poly(const Counter *counter, const Poly *poly) {
    if (!poly) return NAN;
    double sum = 0;
    for (int i = 0; i < poly->count; i++) {
        double product = (double)poly->terms[i].coefficient;
        for (int k = 0; k < poly->terms[i].atom_count; k++)
            product *= counter_number(counter, poly->terms[i].atoms[k]);
        sum += product;
    }
    return sum;
}

/* ---- scalars ---- */

static double program_of(const Counter *counter, const Op *op) {
    double axis = op->operand_count ? counter_number(counter, op->operands[0]) : 0;
    if (!(axis >= 0 && axis < PROGRAM_AXES)) return NAN;
    int64_t id = counter->program[(int)axis];
    int64_t count = counter->launch->grid[(int)axis];
    if (op->code == OP_NUM_PROGRAMS) return count < 0 ? NAN : (double)count;
    return id < 0 ? NAN : (double)id;
}

static double compared(OpCode code, double a, double b) {
    switch (code) {
    case OP_EQ: return a == b;
    case OP_NE: return a != b;
    case OP_LT: return a < b;
    case OP_LE: return a <= b;
    case OP_GT: return a > b;
    default: return a >= b;
    }
}

static double both(double a, double b) {
    if (a == 0 || b == 0) return 0;
    return isnan(a) || isnan(b) ? NAN : 1;
}

static double either(double a, double b) {
    if ((!isnan(a) && a != 0) || (!isnan(b) && b != 0)) return 1;
    return isnan(a) || isnan(b) ? NAN : 0;
}

/// Operations on truths, for which an unknown side may not matter; `*is_known` false: it is none.
static double logical(const Op *op, double a, double b, bool *is_known) {
    bool truths = dtype_class(op->results[0]->type.element) == CLASS_BOOL;
    *is_known = true;
    if (op->code == OP_LOGICAL_AND || (truths && op->code == OP_AND)) return both(a, b);
    if (op->code == OP_LOGICAL_OR || (truths && op->code == OP_OR)) return either(a, b);
    if (op->code == OP_LOGICAL_NOT || (truths && op->code == OP_INVERT))
        return isnan(a) ? NAN : a == 0;
    *is_known = false;
    return NAN;
}

static double cast_of(const Op *op, double number) {
    DType element = op->results[0]->type.element;
    if (dtype_class(element) == CLASS_BOOL) return isnan(number) ? NAN : number != 0;
    return dtype_is_integer(element) ? trunc(number) : number;
}

/// A launch has passed something for what is no None in its kernel.
static double is_none(const Counter *counter, const Value *value) {
    if (!value || value_is_none(value)) return 1;
    bool is_parameter = !value->op && value->region == counter->function->body;
    if (counter->is_symbolic && is_parameter) {
        const Constant *known = counter->values ? counter->values[value->index] : NULL;
        return known ? known->kind == CONSTANT_NONE : NAN;
    }
    return value->type.kind == TYPE_UNKNOWN ? NAN : 0;
}

static double number_of(const Counter *counter, const Op *op) {
    double at[ELEMENTWISE_MOST_OPERANDS] = {NAN, NAN, NAN}, number;
    for (int i = 0; i < op->operand_count && i < ELEMENTWISE_MOST_OPERANDS; i++)
        at[i] = counter_number(counter, op->operands[i]);
    double a = at[0], b = at[1], c = at[2];
    bool is_known, whole = dtype_is_integer(op->results[0]->type.element);
    double truth = logical(op, a, b, &is_known);
    if (is_known) return truth;
    if (op->code == OP_IS_NONE) return is_none(counter, op->operands[0]);
    if (op->code == OP_PROGRAM_ID || op->code == OP_NUM_PROGRAMS) return program_of(counter, op);
    if (op_is_comparison(op->code)) return isnan(a) || isnan(b) ? NAN : compared(op->code, a, b);
    if (op->code == OP_CAST) return cast_of(op, a);
    if (op_rows[op->code].kind == KIND_HINT) return a;
    if (op->code == OP_FLOORDIV) return whole && b != 0 ? trunc(a / b) : NAN;
    if (op->code == OP_MOD && b == 0) return NAN;
    if (op->code == OP_WHERE) return isnan(a) ? NAN : a != 0 ? b : c;
    if (whole && op->code == OP_SHL && b >= 0 && b < 31) return a * ldexp(1, (int)b);
    if (whole && op->code == OP_SHR && b >= 0 && b < 63) return floor(ldexp(a, -(int)b));
    // fmin and fmax make a number of one that is not known.
    for (int i = 0; i < op->operand_count && i < ELEMENTWISE_MOST_OPERANDS; i++)
        if (op->operands[i] && op->operands[i]->type.kind == TYPE_NUMBER && isnan(at[i]))
            return NAN;
    return op_rows[op->code].has_value && op_value(op->code, a, b, c, &number) ? number : NAN;
}

void counter_take(Counter *counter, const Op *op) {
    for (int i = 0; i < op->result_count; i++) counter_set(counter, op->results[i], NAN);
    if (op->result_count != 1) return;
    Type type = op->results[0]->type;
    if (type.kind == TYPE_NUMBER && type.rank == 0)
        counter_set(counter, op->results[0], number_of(counter, op));
}

/* ---- masks ---- */

/// The lanes of an access that are left: along each axis those from `low` up to `high`.
typedef struct LaneBox {
    int rank;
    double low[TYPE_MAX_RANK], high[TYPE_MAX_RANK];
    bool is_empty;
} LaneBox;

/// Lanes of a value, aligned with those of the access: its axis i is theirs `axes[i]`.
typedef struct LaneAxes {
    int axes[TYPE_MAX_RANK];
} LaneAxes;

/// Leaves the lanes where base + sum of weight * lane is 0 at the least. False where that is no box.
static bool cut(LaneBox *box, double base, const double *weights) {
    int moving = -1;
    for (int i = 0; i < box->rank; i++) {
        if (isnan(weights[i])) return false;
        if (weights[i] == 0 || box->high[i] - box->low[i] <= 1) {
            base += weights[i] * box->low[i];
            continue;
        }
        if (moving >= 0) return false;
        moving = i;
    }
    if (isnan(base)) return false;
    if (moving < 0) {
        box->is_empty |= base < 0;
        return true;
    }
    double edge = -base / weights[moving];
    if (weights[moving] > 0)
        box->low[moving] = fmax(box->low[moving], ceil(edge));
    else
        box->high[moving] = fmin(box->high[moving], floor(edge) + 1);
    return true;
}

static void add_form(const Counter *counter, const Affine *form, const LaneAxes *lanes, int rank,
                     double sign, double *base, double *weights) {
    *base += sign * counter_poly(counter, form->base);
    for (int i = 1; i <= form->rank && i <= rank; i++)
        weights[lanes->axes[rank - i]] +=
            sign *
            (form->lane[form->rank - i] ? counter_poly(counter, form->lane[form->rank - i]) : 0);
}

static bool cut_by_comparison(Counter *counter, LaneBox *box, const Op *op, const LaneAxes *lanes) {
    double base = 0, weights[TYPE_MAX_RANK] = {0}, back[TYPE_MAX_RANK];
    Value *left = op->operands[0], *right = op->operands[1];
    if (op->code == OP_NE || !dtype_is_integer(left->type.element) ||
        !dtype_is_integer(right->type.element))
        return false;
    Affine a = affine_by(counter->former, left), b = affine_by(counter->former, right);
    if (!a.known || !b.known || a.wrapped || b.wrapped) return false;
    bool rises = op->code == OP_GT || op->code == OP_GE || op->code == OP_EQ;
    int rank = op->results[0]->type.rank;
    add_form(counter, &a, lanes, rank, rises ? 1 : -1, &base, weights);
    add_form(counter, &b, lanes, rank, rises ? -1 : 1, &base, weights);
    if (op->code == OP_LT || op->code == OP_GT) base -= 1;
    if (!cut(box, base, weights)) return false;
    for (int i = 0; i < box->rank; i++) back[i] = -weights[i];
    return op->code != OP_EQ || cut(box, -base, back);
}

/// What a layout operation's operand has as axis i is `axes[i]` of the access.
static bool axes_before(const Op *op, LaneAxes *lanes) {
    Type from = op->operands[0]->type, to = op->results[0]->type;
    if (op->code == OP_BROADCAST_TO || op->code == OP_BROADCAST) {
        if (from.rank > to.rank) return false;
        for (int i = 0; i < from.rank; i++) lanes->axes[i] = lanes->axes[to.rank - from.rank + i];
        return true;
    }
    // Axes of length 1 are added; the others keep their order.
    if (op->code != OP_EXPAND_DIMS || from.rank > to.rank) return false;
    int at = 0;
    for (int i = 0; i < to.rank && at < from.rank; i++) {
        int64_t length;
        bool is_one = poly_is_constant(to.dims[i], &length) && length == 1;
        if (is_one && to.rank - i > from.rank - at && !poly_equal(from.dims[at], to.dims[i]))
            continue;
        if (!poly_equal(from.dims[at], to.dims[i])) return false;
        lanes->axes[at++] = lanes->axes[i];
    }
    return at == from.rank;
}

enum { MASK_DEEPEST = 24 };

/// Cuts the box by a mask; false where that is no box.
static bool cut_by_mask(Counter *counter, LaneBox *box, const Value *mask, LaneAxes lanes,
                        int depth) {
    double known = counter_number(counter, mask);
    if (!isnan(known)) {
        box->is_empty |= known == 0;
        return true;
    }
    const Op *op = mask->op;
    if (!op || depth > MASK_DEEPEST || mask->type.kind != TYPE_NUMBER) return false;
    bool is_both = op_has(op->code, TRAIT_BOTH);
    if (is_both && dtype_class(mask->type.element) == CLASS_BOOL) {
        for (int i = 0; i < 2; i++) {
            LaneAxes side = lanes;
            int rank = op->operands[i]->type.rank, more = mask->type.rank - rank;
            if (more < 0) return false;
            for (int k = 0; k < rank; k++) side.axes[k] = lanes.axes[k + more];
            if (!cut_by_mask(counter, box, op->operands[i], side, depth + 1)) return false;
        }
        return true;
    }
    if (op_is_comparison(op->code)) return cut_by_comparison(counter, box, op, &lanes);
    if (op->code == OP_CAST && dtype_class(op->operands[0]->type.element) == CLASS_BOOL)
        return cut_by_mask(counter, box, op->operands[0], lanes, depth + 1);
    if (op->code == OP_FULL && op->operand_count > 1 && op->operands[1])
        return cut_by_mask(counter, box, op->operands[1], lanes, depth + 1);
    if (op->code != OP_EXPAND_DIMS && op->code != OP_BROADCAST_TO && op->code != OP_BROADCAST)
        return false;
    return axes_before(op, &lanes) && cut_by_mask(counter, box, op->operands[0], lanes, depth + 1);
}

static Value *operand_named(const Op *op, const char *name) {
    int index = op_parameter_index(op->code, str_from(name));
    return index >= 0 && index < op->operand_count ? op->operands[index] : NULL;
}

static bool checks_nothing(const Op *op) {
    int count;
    const Value *checked = operand_named(op, "boundary_check");
    return !checked || value_is_none(checked) || (value_is_tuple(checked, &count) && !count) ||
           (checked->constant && checked->constant->kind == CONSTANT_TUPLE &&
            checked->constant->item_count == 0);
}

/// Leaves what of a descriptor's block lies in its tensor.
static bool cut_by_tensor(const Counter *counter, LaneBox *box, const Op *op) {
    const Op *made = op->operands[0]->op;
    const Value *offsets = operand_named(op, "offsets");
    const Value *shape =
        made && made->code == OP_MAKE_TENSOR_DESCRIPTOR ? operand_named(made, "shape") : NULL;
    int count, sizes;
    if (!offsets || !shape || !value_is_tuple(offsets, &count) || !value_is_tuple(shape, &sizes) ||
        count != box->rank || sizes != box->rank)
        return false;
    for (int i = 0; i < box->rank; i++) {
        double offset = counter_number(counter, offsets->op->operands[i]),
               size = counter_number(counter, shape->op->operands[i]);
        if (isnan(offset) || isnan(size)) return false;
        box->low[i] = fmax(box->low[i], -offset);
        box->high[i] = fmin(box->high[i], size - offset);
    }
    return true;
}

int64_t counter_lanes_on(Counter *counter, Op *op) {
    Type shape = work_access_shape(counter->arena, op);
    LaneBox box = {.rank = shape.rank};
    LaneAxes lanes = {{0}};
    for (int i = 0; i < shape.rank; i++) {
        int64_t length;
        if (!poly_is_constant(shape.dims[i], &length)) return -1;
        box.high[i] = (double)length;
        lanes.axes[i] = i;
    }
    if (op->operands[0]->type.kind == TYPE_BLOCK_POINTER && !checks_nothing(op)) return -1;
    if (op->operands[0]->type.kind == TYPE_DESCRIPTOR && !cut_by_tensor(counter, &box, op))
        return -1;
    const Value *mask = operand_named(op, "mask");
    if (mask && !value_is_none(mask)) {
        int more = shape.rank - mask->type.rank;
        for (int i = 0; more > 0 && i < mask->type.rank; i++) lanes.axes[i] = i + more;
        if (more < 0 || !cut_by_mask(counter, &box, mask, lanes, 0)) return -1;
    }
    double count = 1;
    for (int i = 0; i < box.rank; i++) count *= fmax(0, box.high[i] - box.low[i]);
    return box.is_empty ? 0 : (int64_t)count;
}
