// Adjoint of tl.dot: two products of its own; where one would sum over fewer terms than Triton's product takes, a plain sum.
#include "autodiff/sweep/adjoint_dot.h"

#include "analysis/build/build.h"
#include "analysis/host/launch.h"
#include "analysis/launches/launch_least.h"
#include "autodiff/primal/activity.h"
#include "autodiff/sweep/adjoint.h"
#include "autodiff/sweep/rule_parts.h"

/* ---- how many terms ---- */

typedef enum Width {
    WIDTH_ENOUGH,  // for tl.dot
    WIDTH_SMALL,   // never enough
    WIDTH_OPEN,    // a constexpr that may be either
} Width;

typedef struct InnerSearch {
    const Poly *terms;
    bool found;
} InnerSearch;

static bool visit_inner(void *context, Op *op) {
    InnerSearch *search = context;
    Type left = op->code == OP_DOT ? op->operands[0]->type : (Type){0};
    if (left.rank >= 2 && left.dims[left.rank - 1])
        search->found = search->found || poly_equal(left.dims[left.rank - 1], search->terms);
    return !search->found;
}

/// The parameter that a number of terms is, or -1.
static int parameter_of(const Function *function, const Poly *terms) {
    for (int i = 0; i < function->parameter_count; i++) {
        const Parameter *parameter = &function->parameters[i];
        bool is_number = parameter->is_constexpr && terms->count == 1 &&
                         terms->terms[0].atom_count == 1 && terms->terms[0].coefficient == 1;
        if (is_number && terms->terms[0].atoms[0] == parameter->value) return i;
    }
    return -1;
}

/// What tl.dot sums over at least, on any device that Triton knows.
static int64_t least_terms(DType element) {
    return element.code > DTYPE_OF_PARAMETER && dtype_bits(element.code) == 8 ? 32 : 16;
}

static Width width_of(const Differentiation *state, const Poly *terms, int64_t least) {
    int64_t number;
    if (!terms) return WIDTH_ENOUGH;
    if (poly_is_constant(terms, &number)) return number < least ? WIDTH_SMALL : WIDTH_ENOUGH;
    InnerSearch search = {.terms = terms};
    region_walk(state->primal->body, visit_inner, &search);
    int parameter = search.found ? -1 : parameter_of(state->primal, terms);
    if (parameter < 0) return WIDTH_ENOUGH;
    bool is_small = launches_least(state->arena, state->primal, parameter) < least;
    return is_small ? WIDTH_OPEN : WIDTH_ENOUGH;
}

/* ---- products ---- */

/// `gradient` in the element type of the other operand, as tl.dot asks for equal types.
static Value *cast_like(Builder *b, Value *gradient, Value *like) {
    DType element = like->type.element;
    if (dtype_equal(gradient->type.element, element) && element.code > DTYPE_OF_PARAMETER)
        return gradient;
    Value *dtype = element.code > DTYPE_OF_PARAMETER ? build_dtype(b, element)
                                                     : build_unary(b, OP_DTYPE_OF, like);
    return build_binary(b, OP_CAST, gradient, dtype);
}

static Value *swap_last(Builder *b, Value *value) {
    if (value->type.rank == 2) return build_unary(b, OP_TRANS, value);
    Value *dims[TYPE_MAX_RANK];
    int rank = value->type.rank;
    for (int i = 0; i < rank; i++)
        dims[i] = build_int(b, i == rank - 1 ? rank - 2 : i == rank - 2 ? rank - 1 : i);
    return build_binary(b, OP_PERMUTE, value, build_tuple(b, dims, rank));
}

/// Of a forward's dot, one of whose operands the gradient is for.
typedef struct DotGradient {
    const Op *op;
    Value *gradient;  // of its result
    Value *other;     // the operand that the gradient is not for, recomputed
    bool is_left;     // for operand 0
} DotGradient;

/// gradient @ other^T or other^T @ gradient.
static Value *by_product(const Differentiation *state, Builder *b, const DotGradient *dot) {
    Value *cast = cast_like(b, dot->gradient, dot->other), *turned = swap_last(b, dot->other);
    Value *precision = recomputed_operand(state, dot->op, 3),
          *tf32 = recomputed_operand(state, dot->op, 4);
    Value *left[] = {cast, turned, NULL, precision, tf32},
          *right[] = {turned, cast, NULL, precision, tf32};
    return build(b, OP_DOT, dot->is_left ? left : right, 5);
}

/// The same as sum(gradient[:, None, :] * other[None, :, :], 2) or sum(other[:, :, None] * gradient[:, None, :], 0).
static Value *by_sum(Builder *b, const DotGradient *dot) {
    int row = dot->gradient->type.rank - 2;  // 1 in a batch
    Value *spread = build_binary(b, OP_EXPAND_DIMS, dot->gradient, build_int(b, row + 1));
    Value *other =
        build_binary(b, OP_EXPAND_DIMS, dot->other, build_int(b, dot->is_left ? row : row + 2));
    Value *terms = dot->is_left ? build_binary(b, OP_MUL, spread, other)
                                : build_binary(b, OP_MUL, other, spread);
    return build_binary(b, OP_SUM, terms, build_int(b, dot->is_left ? row + 2 : row));
}

/// `if TERMS >= 16: product else: sum`, of which Triton compiles one.
static Value *by_either(Differentiation *state, const DotGradient *dot, const Poly *terms,
                        int64_t least) {
    Builder *b = &state->builder;
    Value *enough = build_binary(b, OP_GE, build_poly(b, terms), build_int(b, least));
    Op *choice = op_append(b, OP_IF, &enough, 1, 0);
    Value *results[2];
    for (int r = 0; r < 2; r++) {
        Builder branch = *b;
        branch.region = op_add_region(b, choice);
        branch.before = NULL;
        results[r] = r == 0 ? by_product(state, &branch, dot) : by_sum(&branch, dot);
        op_append(&branch, OP_YIELD, &results[r], 1, 0);
    }
    return op_append_result(state->backward, choice, results[0]->type);
}

static Value *gradient_of(Differentiation *state, const DotGradient *dot) {
    Type type = type_here(state, dot->op->results[0]);
    Type primal = dot->op->results[0]->type;
    int axis = type.rank - (dot->is_left ? 1 : 2);
    int64_t least = least_terms(dot->other->type.element);
    bool fits = type.rank < TYPE_MAX_RANK && dot->gradient->type.rank == type.rank;
    switch (fits ? width_of(state, primal.dims[axis], least) : WIDTH_ENOUGH) {
    case WIDTH_SMALL: return by_sum(&state->builder, dot);
    case WIDTH_OPEN: return by_either(state, dot, type.dims[axis], least);
    default: return by_product(state, &state->builder, dot);
    }
}

void rule_dot(Differentiation *state, const Op *op, Value *gradient) {
    for (int i = 0; i < 2; i++) {
        if (!value_is_active(state, op->operands[i])) continue;
        DotGradient dot = {op, gradient, recomputed_operand(state, op, 1 - i), i == 0};
        adjoint_add(state, op->operands[i], gradient_of(state, &dot));
    }
    if (operand(op, 2)) adjoint_add(state, op->operands[2], gradient);
}
