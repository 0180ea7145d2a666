// From integer and pointer values to affine forms over lanes, one case per operation.
#include "analysis/addresses/affine.h"

#include "analysis/build/infer.h"
#include "analysis/ir/loops.h"
#include "base/budget.h"

enum { DEPTH_LIMIT = 300, TERM_LIMIT = 64 };

/// The form of a value; `root` is what a pointer starts from.
typedef struct Form {
    Affine affine;
    Value *root;
} Form;

struct Former {
    Arena *arena;
    Map forms;  // Value -> Form *
    int depth;
};

static const Form *form_of(Former *former, Value *value);

/* ---- making forms ---- */

static Form *form_new(Former *former, int rank) {
    Form *form = ARENA_NEW(former->arena, Form);
    const Poly *zero = poly_constant(former->arena, 0);
    form->affine.known = true;
    form->affine.rank = rank < TYPE_MAX_RANK ? rank : TYPE_MAX_RANK;
    form->affine.base = zero;
    for (int i = 0; i < TYPE_MAX_RANK; i++) form->affine.lane[i] = zero;
    return form;
}

static Form *form_unknown(Former *former, const Value *value) {
    Form *form = form_new(former, value ? value->type.rank : 0);
    form->affine.known = false;
    return form;
}

static Form *form_poly(Former *former, const Poly *poly) {
    Form *form = form_new(former, 0);
    form->affine.base = poly;
    return form;
}

static Form *form_copy(Former *former, const Form *old) {
    Form *form = ARENA_NEW(former->arena, Form);
    *form = *old;
    return form;
}

/// False where a coefficient would overflow, or a polynomial have too many terms.
static bool form_is_whole(const Form *form) {
    bool whole = form->affine.base != NULL;
    for (int i = 0; i < form->affine.rank; i++) whole = whole && form->affine.lane[i];
    return whole;
}

static bool lane_free(const Affine *affine) {
    int64_t value;
    for (int i = 0; i < affine->rank; i++)
        if (!poly_is_constant(affine->lane[i], &value) || value) return false;
    return true;
}

static bool add_wrap(Affine *affine, Wrap wrap) {
    affine->wrapped = true;
    for (int i = 0; i < affine->wrap_count; i++)
        if (affine->wraps[i].value == wrap.value) return true;
    if (affine->wrap_count == ADDRESS_MOST_WRAPS) return false;
    affine->wraps[affine->wrap_count++] = wrap;
    return true;
}

static bool merge_wraps(Affine *into, const Affine *from) {
    for (int i = 0; i < from->wrap_count; i++)
        if (!add_wrap(into, from->wraps[i])) return false;
    return true;
}

static const Poly *multiply(Arena *arena, const Poly *a, const Poly *b) {
    if (!a || !b || a->count * b->count > TERM_LIMIT) return NULL;
    return poly_multiply(arena, a, b);
}

/* ---- scalars that are not linear: atoms ---- */

static bool same_operand(Former *former, Value *a, Value *b) {
    if (a == b) return true;
    if (!a || !b) return false;
    int64_t x, y;
    if (value_is_int(a, &x) && value_is_int(b, &y)) return x == y;
    if (a->type.rank || b->type.rank || a->constant || b->constant) return false;
    if (!dtype_is_integer(a->type.element) || !dtype_is_integer(b->type.element)) return false;
    const Form *fa = form_of(former, a);
    const Form *fb = form_of(former, b);
    return fa->affine.known && fb->affine.known && poly_equal(fa->affine.base, fb->affine.base);
}

static bool same_computation(Former *former, const Op *a, const Op *b) {
    budget_take(1);  // each is held against all of its kind before it
    if (a->code != b->code || a->operand_count != b->operand_count) return false;
    for (int i = 0; i < a->operand_count; i++)
        if (!same_operand(former, a->operands[i], b->operands[i])) return false;
    return true;
}

/// The first value that dominates `value` and is computed alike.
static Value *canonical(Former *former, Value *value) {
    Op *op = value->op;
    if (!op || op->region_count || op->result_count != 1 || !op->operand_count) return value;
    if (op_rows[op->code].effects || op->code == OP_UNKNOWN || op->code == OP_CONSTANT)
        return value;
    Value *first = value;
    for (const Region *region = op->parent; region;) {
        const Op *end = NULL;  // ops before the one that leads to `value`
        for (const Op *inner = op; inner; inner = inner->parent ? inner->parent->parent : NULL)
            if (inner->parent == region) end = inner;
        for (Op *other = region->first; other && other != end; other = other->next)
            if (other->code == op->code && other->result_count == 1 &&
                same_computation(former, other, op)) {
                first = other->results[0];
                break;
            }
        region = region->parent ? region->parent->parent : NULL;
    }
    return first;
}

static Form *form_atom(Former *former, Value *value) {
    TypeKind kind = value->type.kind;
    if (value->type.rank || (kind != TYPE_NUMBER && kind != TYPE_POINTER))
        return form_unknown(former, value);
    if (kind == TYPE_POINTER) {
        Form *form = form_new(former, 0);
        form->root = value;
        return form;
    }
    return form_poly(former, poly_atom(former->arena, canonical(former, value)));
}

/* ---- arithmetic ---- */

/// a + sign * b with broadcasting; at most one of them a pointer.
static Form *form_add(Former *former, const Form *a, const Form *b, int sign) {
    if (!a->affine.known || !b->affine.known || (a->root && b->root)) return NULL;
    if (b->root && sign < 0) return NULL;
    int rank = a->affine.rank > b->affine.rank ? a->affine.rank : b->affine.rank;
    Form *form = form_new(former, rank);
    const Poly *(*combine)(Arena *, const Poly *, const Poly *) =
        sign > 0 ? poly_add : poly_subtract;
    form->root = a->root ? a->root : b->root;
    form->affine.base = combine(former->arena, a->affine.base, b->affine.base);
    for (int i = 1; i <= rank; i++) {  // axes from the right
        const Poly *sum = poly_constant(former->arena, 0);
        if (i <= a->affine.rank) sum = a->affine.lane[a->affine.rank - i];
        if (i <= b->affine.rank)
            sum = combine(former->arena, sum, b->affine.lane[b->affine.rank - i]);
        form->affine.lane[rank - i] = sum;
    }
    if (!form_is_whole(form) || form->affine.base->count > TERM_LIMIT) return NULL;
    if (!merge_wraps(&form->affine, &a->affine) || !merge_wraps(&form->affine, &b->affine))
        return NULL;
    return form;
}

/// Every part times `factor`.
static Form *form_scale(Former *former, const Form *form, const Poly *factor) {
    if (!form->affine.known || form->root) return NULL;
    Form *scaled = form_copy(former, form);
    scaled->affine.base = multiply(former->arena, form->affine.base, factor);
    if (!scaled->affine.base) return NULL;
    for (int i = 0; i < form->affine.rank; i++) {
        scaled->affine.lane[i] = multiply(former->arena, form->affine.lane[i], factor);
        if (!scaled->affine.lane[i]) return NULL;
    }
    return scaled;
}

static Form *form_widen(Former *former, Form *form, int rank) {
    if (!form || form->affine.rank >= rank) return form;
    return form_add(former, form, form_new(former, rank), 1);
}

static Form *form_multiply(Former *former, const Form *a, const Form *b) {
    if (!a->affine.known || !b->affine.known) return NULL;
    const Form *lanes = lane_free(&b->affine) ? a : b;
    const Form *factor = lanes == a ? b : a;
    if (!lane_free(&factor->affine) || factor->affine.wrapped) return NULL;
    Form *form = form_scale(former, lanes, factor->affine.base);
    return form_widen(former, form, factor->affine.rank);
}

static bool divides(const Form *form, int64_t divisor) {
    for (int i = -1; i < form->affine.rank; i++) {
        const Poly *part = i < 0 ? form->affine.base : form->affine.lane[i];
        for (int t = 0; t < part->count; t++)
            if (part->terms[t].coefficient % divisor) return false;
    }
    return true;
}

/// x // c where c divides every part exactly; folds constants.
static Form *form_floordiv(Former *former, const Form *a, const Form *b) {
    if (!a->affine.known || !b->affine.known || a->root || !lane_free(&b->affine)) return NULL;
    int64_t x, c;
    if (poly_is_constant(b->affine.base, &c)) {
        if (c <= 0) return NULL;
        if (lane_free(&a->affine) && poly_is_constant(a->affine.base, &x)) {
            int64_t quotient = x / c - (x % c < 0);
            return form_widen(former, form_poly(former, poly_constant(former->arena, quotient)),
                              a->affine.rank);
        }
        if (!divides(a, c)) return NULL;
    }
    Form *form = form_copy(former, a);
    form->affine.base = poly_divide_exact(former->arena, a->affine.base, b->affine.base);
    if (!form->affine.base || a->affine.wrapped) return NULL;
    for (int i = 0; i < a->affine.rank; i++) {
        form->affine.lane[i] = poly_divide_exact(former->arena, a->affine.lane[i], b->affine.base);
        if (!form->affine.lane[i]) return NULL;
    }
    return form;
}

/// x % M of a tile: x itself, marked as wrapped.
static Form *form_wrap(Former *former, const Form *a, const Form *modulus, Value *value) {
    if (!a->affine.known || !modulus->affine.known || a->root || lane_free(&a->affine)) return NULL;
    if (!lane_free(&modulus->affine)) return NULL;
    Form *form = form_copy(former, a);
    if (!add_wrap(&form->affine, (Wrap){value, modulus->affine.base})) return NULL;
    return form;
}

/// Whether the same numbers wrap around in both, at the same bounds.
static bool wraps_alike(const Affine *a, const Affine *b) {
    if (a->wrapped != b->wrapped || a->wrap_count != b->wrap_count) return false;
    if (a->wrapped && !a->wrap_count) return false;
    for (int i = 0; i < a->wrap_count; i++)
        if (a->wraps[i].value != b->wraps[i].value ||
            !poly_equal(a->wraps[i].modulus, b->wraps[i].modulus))
            return false;
    return true;
}

static bool form_equal(const Form *a, const Form *b) {
    if (!a->affine.known || !b->affine.known || a->root != b->root) return false;
    if (a->affine.rank != b->affine.rank || !wraps_alike(&a->affine, &b->affine)) return false;
    for (int i = 0; i < a->affine.rank; i++)
        if (!poly_equal(a->affine.lane[i], b->affine.lane[i])) return false;
    return poly_equal(a->affine.base, b->affine.base);
}

/// where(x < M, x, scalar): padding lanes repeat, as with x % M.
static Form *form_where(Former *former, Op *op) {
    Value *condition = op->operands[0];
    const Form *yes = form_of(former, op->operands[1]);
    const Form *no = form_of(former, op->operands[2]);
    if (form_equal(yes, no)) return form_copy(former, yes);
    if (!condition->op || condition->op->code != OP_LT || !no->affine.known) return NULL;
    if (!lane_free(&no->affine) || condition->op->operands[0] != op->operands[1]) return NULL;
    return form_wrap(former, yes, form_of(former, condition->op->operands[1]), op->operands[1]);
}

/* ---- axes ---- */

/// Operands of a tuple value, or of a constant-free single value.
static int tuple_items(Value *value, Value ***items) {
    if (!value || !value->op || value->op->code != OP_TUPLE) return -1;
    *items = value->op->operands;
    return value->op->operand_count;
}

static Form *form_expand_dims(Former *former, const Op *op) {
    const Form *inner = form_of(former, op->operands[0]);
    if (!inner->affine.known) return NULL;
    Value *single = op->operands[1];
    Value **axes = &single;
    int count = tuple_items(op->operands[1], &axes);
    if (count < 0) count = 1;
    int rank = inner->affine.rank + count;
    bool added[TYPE_MAX_RANK] = {false};
    if (rank > TYPE_MAX_RANK) return NULL;
    for (int i = 0; i < count; i++) {
        int64_t axis;
        if (!axes[i] || !value_is_int(axes[i], &axis)) return NULL;
        if (axis < 0) axis += rank;
        if (axis < 0 || axis >= rank) return NULL;
        added[axis] = true;
    }
    Form *form = form_copy(former, inner);
    form->affine.rank = rank;
    for (int to = 0, from = 0; to < rank; to++) {
        bool old = !added[to] && from < inner->affine.rank;
        form->affine.lane[to] = old ? inner->affine.lane[from] : poly_constant(former->arena, 0);
        if (old) from++;
    }
    return form;
}

static Form *form_permute(Former *former, const Op *op, const Value *result) {
    const Form *inner = form_of(former, op->operands[0]);
    if (!inner->affine.known) return NULL;
    int rank = inner->affine.rank;
    Value **dims = NULL;
    int count = op->operand_count > 1 ? tuple_items(op->operands[1], &dims) : -1;
    if (op->operand_count > 2) {  // varargs
        dims = op->operands + 1;
        count = op->operand_count - 1;
    }
    Form *form = form_copy(former, inner);
    if (count < 0) {
        if (rank != 2 || op->code != OP_TRANS || (op->operand_count > 1 && op->operands[1]))
            return NULL;
        form->affine.lane[0] = inner->affine.lane[1];
        form->affine.lane[1] = inner->affine.lane[0];
        return form;
    }
    if (count != rank || result->type.rank != rank) return NULL;
    for (int i = 0; i < rank; i++) {
        int64_t axis;
        if (!dims[i] || !value_is_int(dims[i], &axis)) return NULL;
        if (axis < 0) axis += rank;
        if (axis < 0 || axis >= rank) return NULL;
        form->affine.lane[i] = inner->affine.lane[axis];
    }
    return form;
}

static bool dim_is_one(const Poly *dim) {
    int64_t value;
    return dim && poly_is_constant(dim, &value) && value == 1;
}

/// A reshape that only adds or drops dims of one.
static Form *form_reshape(Former *former, const Op *op, const Value *result) {
    const Form *inner = form_of(former, op->operands[0]);
    Type from = op->operands[0]->type;
    Type to = result->type;
    if (!inner->affine.known || to.kind != from.kind) return NULL;
    Form *form = form_copy(former, inner);
    form->affine.rank = to.rank;
    for (int i = 0; i < to.rank; i++) form->affine.lane[i] = poly_constant(former->arena, 0);
    if (lane_free(&inner->affine)) return form;
    int f = 0;
    for (int t = 0; t < to.rank; t++) {
        if (dim_is_one(to.dims[t])) continue;
        while (f < from.rank && dim_is_one(from.dims[f])) f++;
        if (f == from.rank || !poly_equal(from.dims[f], to.dims[t])) return NULL;
        form->affine.lane[t] = inner->affine.lane[f++];
    }
    while (f < from.rank && dim_is_one(from.dims[f])) f++;
    return f == from.rank ? form : NULL;
}

/* ---- block pointers and descriptors ---- */

static int operand_index(const Op *op, const char *parameter) {
    int index = op_parameter_index(op->code, str_from(parameter));
    return index >= 0 && index < op->operand_count ? index : -1;
}

static Value *operand_named(const Op *op, const char *parameter) {
    int index = operand_index(op, parameter);
    return index < 0 ? NULL : op->operands[index];
}

/// base + sum (offset_k + lane_k) * stride_k; `offsets` NULL: all zero.
static Form *form_block(Former *former, const Op *op, Value *offsets) {
    Value **strides, **starts = NULL;
    int count = tuple_items(operand_named(op, "strides"), &strides);
    int start_count = tuple_items(offsets, &starts);
    const Form *root = form_of(former, op->operands[0]);
    if (count < 0 || count > TYPE_MAX_RANK || !root->affine.known || root->affine.rank) return NULL;
    if (offsets && start_count != count) return NULL;
    Form *form = form_new(former, count);
    form->root = root->root;
    form->affine.base = root->affine.base;
    for (int k = 0; k < count; k++) {
        const Form *stride = form_of(former, strides[k]);
        if (!stride->affine.known || stride->affine.rank) return NULL;
        form->affine.lane[k] = stride->affine.base;
        if (!offsets) continue;
        const Form *start = form_of(former, starts[k]);
        if (!start->affine.known || start->affine.rank) return NULL;
        const Poly *shift = multiply(former->arena, start->affine.base, stride->affine.base);
        if (!shift) return NULL;
        form->affine.base = poly_add(former->arena, form->affine.base, shift);
    }
    return form;
}

/// What an advance, or the offsets given to a descriptor, add: sum offset_k * lane_k.
static Form *form_shift(Former *former, const Form *block, Value *offsets) {
    Value **items;
    int count = tuple_items(offsets, &items);
    if (!block->affine.known || count != block->affine.rank) return NULL;
    Form *shift = form_new(former, 0);
    for (int k = 0; k < count; k++) {
        const Form *offset = form_of(former, items[k]);
        if (!offset->affine.known || offset->affine.rank) return NULL;
        const Poly *part = multiply(former->arena, offset->affine.base, block->affine.lane[k]);
        if (!part) return NULL;
        shift->affine.base = poly_add(former->arena, shift->affine.base, part);
    }
    return shift;
}

/* ---- loops ---- */

static bool poly_invariant(const Op *loop, const Poly *poly) {
    for (int t = 0; t < poly->count; t++)
        for (int a = 0; a < poly->terms[t].atom_count; a++)
            if (region_defines(loop->regions[0], poly->terms[t].atoms[a])) return false;
    return true;
}

static bool form_invariant(const Op *loop, const Form *form) {
    if (!form->affine.known || !poly_invariant(loop, form->affine.base)) return false;
    for (int i = 0; i < form->affine.rank; i++)
        if (!poly_invariant(loop, form->affine.lane[i])) return false;
    return true;
}

/// What one iteration adds to a carried argument: follows `x + c`, `x - c`, advance from the yielded value back.
static Form *form_increment(Former *former, const Op *loop, const Form *initial,
                            const Value *argument, const Value *value) {
    Form *total = form_new(former, 0);
    for (int depth = 0; value != argument && depth < DEPTH_LIMIT; depth++) {
        const Op *op = value->op;
        if (!op || op->parent != loop->regions[0]) return NULL;
        int next = 0;
        Form *part = NULL;
        if (op->code == OP_ADD || op->code == OP_SUB) {
            // The side that leads on is the one that is not invariant.
            next = op->code == OP_ADD && loop_invariant(loop, op->operands[0]) ? 1 : 0;
            const Form *other = form_of(former, op->operands[1 - next]);
            if (!form_invariant(loop, other) || other->root) return NULL;
            part = form_add(former, total, other, op->code == OP_SUB ? -1 : 1);
        } else if (op->code == OP_ADVANCE) {
            Form *shift = form_shift(former, initial, op->operands[1]);
            if (shift && form_invariant(loop, shift)) part = form_add(former, total, shift, 1);
        } else if (op_keeps_numbers(op)) {
            part = total;
        }
        if (!part) return NULL;
        total = part;
        value = op->operands[next];
    }
    return value == argument ? total : NULL;
}

/// initial + (iv - lower) / step * increment, where that is a polynomial.
static Form *form_closed(Former *former, const Op *loop, const Form *initial,
                         const Form *increment) {
    const Form *lower = form_of(former, loop->operands[0]);
    const Form *step = form_of(former, loop->operands[2]);
    Value *variable = loop->regions[0]->arguments[0];
    if (!initial->affine.known || !lower->affine.known || !step->affine.known) return NULL;
    const Poly *distance =
        poly_subtract(former->arena, poly_atom(former->arena, variable), lower->affine.base);
    Form *moved = form_copy(former, increment);
    for (int i = -1; i < increment->affine.rank; i++) {
        const Poly **part = i < 0 ? &moved->affine.base : &moved->affine.lane[i];
        // Either c / step is whole, or nothing is said.
        const Poly *ratio = poly_divide_exact(former->arena, *part, step->affine.base);
        if (!ratio) return NULL;
        *part = multiply(former->arena, ratio, distance);
        if (!*part) return NULL;
    }
    return form_add(former, initial, moved, 1);
}

static Form *form_carried(Former *former, Value *value) {
    const Op *loop = value->region->parent;
    const Op *end = region_terminator(value->region);
    int carried = value->index - 1;
    if (carried < 0 || !end || carried >= end->operand_count) return NULL;
    Value *next = end->operands[carried];
    const Form *initial = form_of(former, loop->operands[3 + carried]);
    if (next == value) return form_copy(former, initial);
    Form *increment = form_increment(former, loop, initial, value, next);
    return increment ? form_closed(former, loop, initial, increment) : NULL;
}

static Form *form_argument(Former *former, Value *value) {
    const Op *owner = value->region ? value->region->parent : NULL;
    if (!owner) return NULL;
    bool counted = owner->code == OP_FOR || owner->code == OP_STATIC_FOR;
    if (!counted || value->index == 0) return NULL;
    return form_carried(former, value);
}

/// A loop's or an if's result that is the same whatever happened.
static Form *form_region_result(Former *former, const Value *value) {
    const Op *op = value->op;
    if (op->code == OP_IF) {
        const Form *branches[2];
        for (int i = 0; i < 2; i++) {
            const Op *end = region_terminator(op->regions[i]);
            if (!end || value->index >= end->operand_count) return NULL;
            branches[i] = form_of(former, end->operands[value->index]);
        }
        return form_equal(branches[0], branches[1]) ? form_copy(former, branches[0]) : NULL;
    }
    if (op->code != OP_FOR && op->code != OP_STATIC_FOR) return NULL;
    const Op *end = region_terminator(op->regions[0]);
    int carried = value->index;
    if (!end || carried >= end->operand_count) return NULL;
    if (end->operands[carried] != op->regions[0]->arguments[carried + 1]) return NULL;
    return form_copy(former, form_of(former, op->operands[3 + carried]));
}

/* ---- one case per operation ---- */

static Form *form_cast(Former *former, const Op *op, const Value *result) {
    Type from = op->operands[0]->type;
    Type to = result->type;
    if (from.kind == TYPE_POINTER && to.kind == TYPE_POINTER) {
        if (!dtype_equal(from.element, to.element)) return NULL;
    } else if (dtype_is_float(from.element) || from.kind == TYPE_POINTER ||
               to.kind == TYPE_POINTER || to.element.code == DTYPE_INT1) {
        return NULL;
    }
    return form_copy(former, form_of(former, op->operands[0]));
}

static Form *form_shift_left(Former *former, const Op *op) {
    int64_t bits;
    if (!value_is_int(op->operands[1], &bits) || bits < 0 || bits > 31) return NULL;
    return form_scale(former, form_of(former, op->operands[0]),
                      poly_constant(former->arena, (int64_t)1 << bits));
}

static Form *form_compute(Former *former, Value *value) {
    int64_t integer;
    if (value_is_int(value, &integer))
        return form_poly(former, poly_constant(former->arena, integer));
    if (!value->op) return form_argument(former, value);
    const Op *op = value->op;
    if (value_may_wrap(value)) return NULL;
    if (op->region_count) return form_region_result(former, value);
#define FORM(i) form_of(former, op->operands[i])
    switch (op->code) {
    case OP_ADD: return form_add(former, FORM(0), FORM(1), 1);
    case OP_SUB: return form_add(former, FORM(0), FORM(1), -1);
    case OP_MUL: return form_multiply(former, FORM(0), FORM(1));
    case OP_NEG: return form_scale(former, FORM(0), poly_constant(former->arena, -1));
    case OP_SHL: return form_shift_left(former, op);
    case OP_FLOORDIV: return form_floordiv(former, FORM(0), FORM(1));
    case OP_MOD: return form_wrap(former, FORM(0), FORM(1), op->operands[0]);
    case OP_WHERE: return form_where(former, value->op);
    case OP_CAST: return form_cast(former, op, value);
    case OP_ARANGE: {
        const Form *start = FORM(0);
        if (!start->affine.known || start->affine.rank) return NULL;
        Form *form = form_new(former, 1);
        form->affine.base = start->affine.base;
        form->affine.lane[0] = poly_constant(former->arena, 1);
        return form;
    }
    case OP_FULL: {
        Value *fill = operand_named(op, "value");
        const Form *inner = fill ? form_of(former, fill) : NULL;
        if (!inner || !inner->affine.known || inner->affine.rank) return NULL;
        return form_widen(former, form_copy(former, inner), value->type.rank);
    }
    case OP_EXPAND_DIMS: return form_expand_dims(former, op);
    case OP_BROADCAST_TO: return form_widen(former, form_copy(former, FORM(0)), value->type.rank);
    case OP_TRANS:
    case OP_PERMUTE: return form_permute(former, op, value);
    case OP_RESHAPE:
    case OP_VIEW: return form_reshape(former, op, value);
    case OP_MAKE_BLOCK_POINTER: return form_block(former, op, operand_named(op, "offsets"));
    case OP_MAKE_TENSOR_DESCRIPTOR: return form_block(former, op, NULL);
    case OP_ADVANCE: {
        const Form *block = FORM(0);
        Form *shift = form_shift(former, block, op->operands[1]);
        return shift ? form_add(former, block, shift, 1) : NULL;
    }
    case OP_ITEM: {
        Value **items;
        int count = tuple_items(op->operands[0], &items);
        if (count < 0 || !value_is_int(op->operands[1], &integer)) return NULL;
        return integer >= 0 && integer < count ? form_copy(former, form_of(former, items[integer]))
                                               : NULL;
    }
    default:
        if (op_rows[op->code].kind == KIND_HINT && op->operand_count && op->operands[0])
            return form_copy(former, FORM(0));
        return NULL;
    }
#undef FORM
}

static const Form *form_of(Former *former, Value *value) {
    if (!value) return form_unknown(former, NULL);
    Form *form = map_get_pointer(&former->forms, value);
    if (form) return form;
    if (former->depth < DEPTH_LIMIT) {
        former->depth++;
        form = form_compute(former, value);
        former->depth--;
    }
    if (!form || !form->affine.known || !form_is_whole(form)) {
        Value *root = form ? form->root : NULL;
        form = form_atom(former, value);
        if (!form->affine.known) form->root = root;
    }
    map_set_pointer(&former->forms, value, form);
    return form;
}

/* ---- what others call ---- */

Affine affine_by(Former *former, Value *value) { return form_of(former, value)->affine; }

/// What is left of a form when the memory that it was worked out in is freed.
static Affine affine_copy(Arena *arena, const Affine *affine) {
    Affine copy = *affine;
    copy.base = poly_copy(arena, affine->base);
    for (int i = 0; i < TYPE_MAX_RANK; i++) copy.lane[i] = poly_copy(arena, affine->lane[i]);
    for (int i = 0; i < affine->wrap_count; i++)
        copy.wraps[i].modulus = poly_copy(arena, affine->wraps[i].modulus);
    return copy;
}

Affine affine_of(Arena *arena, Value *value) {
    Arena *notes = arena_new_scratch();
    Former former = {notes, map_new(notes), 0};
    const Affine found = affine_by(&former, value);
    const Affine copy = affine_copy(arena, &found);
    arena_free(notes);
    return copy;
}

/// Where a pointer whose offset is not affine starts from: the one pointer operand, followed to its end.
static Value *pointer_root(Value *value) {
    for (int depth = 0; value && depth < DEPTH_LIMIT; depth++) {
        if (!value->op) {
            const Op *owner = value->region ? value->region->parent : NULL;
            if (!owner || value->index == 0) return value;
            bool counted = owner->code == OP_FOR || owner->code == OP_STATIC_FOR;
            if (!counted && owner->code != OP_WHILE) return NULL;
            int operand = counted ? value->index + 2 : value->index;
            value = operand < owner->operand_count ? owner->operands[operand] : NULL;
            continue;
        }
        const Op *op = value->op;
        Value *next = NULL;
        switch (op->code) {
        case OP_ADD: next = op->operands[op->operands[0]->type.kind == TYPE_POINTER ? 0 : 1]; break;
        case OP_SUB:
        case OP_ADVANCE:
        case OP_MAKE_BLOCK_POINTER:
        case OP_MAKE_TENSOR_DESCRIPTOR: next = op->operands[0]; break;
        case OP_CAST:
            next = op->operands[0]->type.kind == TYPE_POINTER ? op->operands[0] : NULL;
            break;
        default: next = op_has(op->code, TRAIT_LAYOUT) ? op->operands[0] : NULL;
        }
        if (!next) return value;
        value = next;
    }
    return NULL;
}

Affine pointer_affine_of(Arena *arena, Value *pointer, Value **root) {
    Arena *notes = arena_new_scratch();
    Former former = {notes, map_new(notes), 0};
    const Form *form = form_of(&former, pointer);
    *root = form->affine.known ? form->root : pointer_root(pointer);
    const Affine copy = affine_copy(arena, &form->affine);
    arena_free(notes);
    return copy;
}

static bool is_parameter(const Value *value) {
    return value && !value->op && value->region && !value->region->parent;
}

bool op_is_access(const Op *op) {
    int effects = op_rows[op->code].effects;
    if (!(effects & (EFFECT_READS | EFFECT_WRITES)) || !op->operand_count || !op->operands[0])
        return false;
    TypeKind kind = op->operands[0]->type.kind;
    return kind == TYPE_POINTER || kind == TYPE_BLOCK_POINTER || kind == TYPE_DESCRIPTOR;
}

Former *former_new(Arena *arena) {
    Former *former = ARENA_NEW(arena, Former);
    *former = (Former){arena, map_new(arena), 0};
    return former;
}

Access access_by(Former *former, Op *op) {
    Access access = {.op = op, .mask = operand_named(op, "mask")};
    Value *pointer = op->operands[0];
    const Form *form = form_of(former, pointer);
    if (pointer->type.kind == TYPE_DESCRIPTOR) {
        Form *shift = form_shift(former, form, operand_named(op, "offsets"));
        const Form *moved = shift ? form_add(former, form, shift, 1) : NULL;
        form = moved ? moved : form_unknown(former, pointer);
    }
    access.offset = form->affine;
    Value *root = form->affine.known ? form->root : pointer_root(pointer);
    if (is_parameter(root)) access.parameter = root;
    return access;
}

Arena *former_arena(const Former *former) { return former->arena; }

Access access_of(Arena *arena, Op *op) {
    Arena *notes = arena_new_scratch();
    Former former = {notes, map_new(notes), 0};
    Access access = access_by(&former, op);
    access.offset = affine_copy(arena, &access.offset);
    arena_free(notes);
    return access;
}

const char *affine_print(Arena *arena, const Affine *affine) {
    if (!affine->known) return "?";
    Buffer buffer = buffer_new(arena);
    buffer_puts(&buffer, poly_print(arena, affine->base));
    for (int i = 0; i < affine->rank; i++) {
        int64_t constant;
        if (poly_is_constant(affine->lane[i], &constant) && constant == 0) continue;
        if (poly_is_constant(affine->lane[i], &constant) && constant == 1)
            buffer_printf(&buffer, " + i%d", i);
        else
            buffer_printf(&buffer, " + (%s)*i%d", poly_print(arena, affine->lane[i]), i);
    }
    if (affine->wrapped) buffer_puts(&buffer, " wrapped");
    return buffer_text(&buffer);
}
