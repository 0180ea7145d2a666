// exp(x) is exp2(x * log2(e)), and the factor goes to where it costs least: into a number, into a row.
#include "autodiff/products/base_two.h"

#include <math.h>

#include "analysis/build/build.h"
#include "analysis/ir/walk.h"
#include "autodiff/products/rows.h"
#include "autodiff/rewrite/algebra.h"
#include "autodiff/rewrite/rewrite.h"
#include "autodiff/state/names.h"

static const double LOG2_E = 1.4426950408889634;
/// Constants up to this are scores like others. The ones beyond stand for -inf: a row of nothing but these has them as its
/// logarithm of a sum, too, and their difference has to be taken before it is rounded otherwise.
static const double LARGEST_SCORE = 65536;

enum { MOST_TERMS = 12 };

/// One exponential on its way to base 2.
typedef struct Exponent {
    Builder builder;
    const Map *readers;
    Type type;       // of the exponential
    int multiplied;  // tiles that are multiplied by log2(e) themselves
    int gathered;    // numbers that take it in
    bool has_row;    // a sum that the multiplication fuses with
    bool has_product;
} Exponent;

/* ---- what a score is made of ---- */

typedef enum Score {
    SCORE_OPEN,      // may be of any size, as what is loaded may
    SCORE_MEASURED,  // a number of moderate size, or an infinity
    SCORE_PRODUCT,   // the same, and a product of matrices is in it
} Score;

/// The number that a value is in all of its lanes.
static bool is_constant(const Value *value, double *number) {
    if (made_by(value, OP_FULL)) value = value->op->operands[1];
    return value_is_number(value, number);
}

static bool is_score(double number) { return isinf(number) || fabs(number) <= LARGEST_SCORE; }

static intptr_t score_of_all(ValueWalk *walk, Value *const *values, int count) {
    intptr_t all = SCORE_MEASURED;
    for (int i = 0; i < count; i++) {
        if (!values[i]) continue;
        intptr_t one = walk_ask(walk, values[i]);
        if (one == SCORE_OPEN) return SCORE_OPEN;
        if (one == SCORE_PRODUCT) all = SCORE_PRODUCT;
    }
    return all;
}

static intptr_t score_of_branches(ValueWalk *walk, const Op *branch, int index) {
    Value *values[2];
    for (int r = 0; r < 2; r++) values[r] = region_terminator(branch->regions[r])->operands[index];
    return score_of_all(walk, values, 2);
}

/// Whether an op makes each element of its result of elements in the same place, and nothing large of what is not.
static bool is_lanewise(const Op *op) {
    OpShape shape = op_rows[op->code].shape;
    bool is_bounded = op_has(op->code, TRAIT_FINITE) || !op_has(op->code, TRAIT_GROWS) ||
                      (op->code == OP_DIV && op->operands[1]->type.rank == 0);
    return op->result_count == 1 && op->region_count == 0 && op_is_pure(op) &&
           op->code != OP_BITCAST && is_bounded &&
           (shape == SHAPE_BROADCAST || shape == SHAPE_SAME);
}

static intptr_t score_rule(ValueWalk *walk, const Value *value) {
    const Op *op = value->op;
    double number;
    if (value->type.kind != TYPE_NUMBER) return SCORE_OPEN;
    if (is_constant(value, &number)) return is_score(number) ? SCORE_MEASURED : SCORE_OPEN;
    if (!dtype_is_float(value->type.element) || value->type.rank == 0) return SCORE_MEASURED;
    if (!op) return SCORE_OPEN;
    switch (op->code) {
    case OP_DOT: return SCORE_PRODUCT;
    case OP_IF: return score_of_branches(walk, op, value->index);
    case OP_WHERE: return score_of_all(walk, op->operands + 1, 2);
    case OP_CAST: return op->operands[3] ? SCORE_OPEN : score_of_all(walk, op->operands, 1);
    case OP_EXPAND_DIMS:
    case OP_BROADCAST_TO:
    case OP_TRANS: return score_of_all(walk, op->operands, 1);
    default:
        return is_lanewise(op) ? score_of_all(walk, op->operands, op->operand_count) : SCORE_OPEN;
    }
}

static Score score_of(const Value *value) {
    return (Score)walk_from(value, score_rule, SCORE_OPEN, NULL);
}

/* ---- numbers and rows ---- */

/// What a number or row is called, or the tensor that it is loaded from; or NULL.
static const char *name_of(Arena *arena, const Value *value) {
    while (made_by(value, OP_CAST) && !value->name) value = value->op->operands[0];
    if (value->name || !made_by(value, OP_LOAD)) return value->name;
    const Value *root = pointer_root(value->op->operands[0]);
    return root && root->name ? name_of_tensor(arena, root->name) : NULL;
}

static Value *times_log2_e(Builder *b, Value *value) {
    Value *product = build_binary(b, OP_MUL, row_as_float(b, value), build_float(b, LOG2_E));
    const char *name = name_of(b->function->arena, value);
    if (name && product->op && !product->constant && !product->name)
        product->name = arena_printf(b->function->arena, "%s_log2e", name);
    return product;
}

/// A row that a score is added to, or taken from.
typedef struct Row {
    Value *value;  // NULL: none
    OpCode code;   // OP_ADD, OP_SUB
} Row;

static Value *named(Value *value, const char *name) {
    if (value->op && !value->name) value->name = name;
    return value;
}

/// score + row, times log2(e), of a score that has it.
static Value *with_row(Exponent *exponent, Value *score, Row row, const char *name) {
    Builder *b = &exponent->builder;
    if (!row.value) return score;
    Value *inner = times_log2_e(b, row_inside(row.value));
    return named(build_binary(b, row.code, score, row_with(b, row.value, inner)), name);
}

/// The same of a constant. One that stands for -inf meets its row before it is rounded otherwise.
static Value *constant_with_row(Exponent *exponent, double number, Row row) {
    Builder *b = &exponent->builder;
    if (isinf(number)) return build_float(b, number);
    if (!row.value) return is_score(number) ? build_float(b, number * LOG2_E) : NULL;
    Value *inner = row_as_float(b, row_inside(row.value));
    Value *sum = build_binary(b, row.code, build_float(b, number), inner);
    return row_with(b, row.value, named(times_log2_e(b, sum), "masked"));
}

/* ---- the factor on its way ---- */

static bool is_read_once(const Exponent *exponent, const Value *value) {
    return value_readers(exponent->readers, value)->count == 1;
}

static Value *scaled(Exponent *exponent, Value *value, Row row, int depth);

/// log2(e) in the number that a tile is multiplied with, or divided by; else in the tile.
static Value *scaled_product(Exponent *exponent, Value *value, Row row) {
    Builder *b = &exponent->builder;
    const Op *op = value->op;
    Score score = score_of(value);
    if (score == SCORE_OPEN) return NULL;
    exponent->has_product = exponent->has_product || score == SCORE_PRODUCT;
    bool is_factor =
        op && (op->code == OP_MUL || op->code == OP_DIV) && is_read_once(exponent, value);
    int number = !is_factor                                              ? -1
                 : op->operands[1]->type.rank == 0                       ? 1
                 : op->operands[0]->type.rank == 0 && op->code == OP_MUL ? 0
                                                                         : -1;
    Value *product;
    if (number < 0) {
        exponent->multiplied++;
        product = times_log2_e(b, value);
    } else {
        exponent->gathered++;
        Value *factor = op->operands[number];
        factor = op->code == OP_MUL
                     ? times_log2_e(b, factor)
                     : build_binary(b, OP_DIV, build_float(b, LOG2_E), row_as_float(b, factor));
        product = build_binary(b, OP_MUL, op->operands[1 - number], factor);
    }
    exponent->has_row = exponent->has_row || row.value;
    return with_row(exponent, product, row, value->name);
}

static Value *scaled_sum(Exponent *exponent, const Op *op, Row row, int depth) {
    Value *left = op->operands[0], *right = op->operands[1];
    if (!row.value && is_row(&exponent->type, right))
        return scaled(exponent, left, (Row){right, op->code}, depth);
    if (!row.value && op->code == OP_ADD && is_row(&exponent->type, left))
        return scaled(exponent, right, (Row){left, OP_ADD}, depth);
    if (is_row(&exponent->type, left) || is_row(&exponent->type, right)) return NULL;
    left = scaled(exponent, left, row, depth);
    right = scaled(exponent, right, (Row){0}, depth);
    return left && right ? build_binary(&exponent->builder, op->code, left, right) : NULL;
}

static Value *scaled_choice(Exponent *exponent, const Op *op, Row row, int depth) {
    const char *name = op->results[0]->name;
    Value *branches[3] = {op->operands[0]};
    for (int i = 1; i < 3; i++) {
        double number;
        branches[i] = is_constant(op->operands[i], &number)
                          ? constant_with_row(exponent, number, row)
                          : scaled(exponent, op->operands[i], row, depth);
        if (!branches[i]) return NULL;
    }
    return named(build(&exponent->builder, OP_WHERE, branches, 3), name);
}

/// (value + row) * log2(e), or NULL where that would cost more than it saves.
static Value *scaled(Exponent *exponent, Value *value, Row row, int depth) {
    const Op *op = value->op;
    if (depth == 0 || !op) return NULL;
    if (!is_read_once(exponent, value)) return scaled_product(exponent, value, row);
    switch (op->code) {
    case OP_ADD:
    case OP_SUB: return scaled_sum(exponent, op, row, depth - 1);
    case OP_WHERE: return scaled_choice(exponent, op, row, depth - 1);
    default: return scaled_product(exponent, value, row);
    }
}

/// Whether less is computed for each element than a difference, a product and an exponential.
static bool is_cheaper(const Exponent *exponent) {
    int most = exponent->has_row ? 1 : 0;
    return exponent->has_product && exponent->multiplied <= most &&
           (exponent->has_row || exponent->gathered > 0);
}

/* ---- where ---- */

typedef struct Exponentials {
    Arena *arena;
    OpList ops;
} Exponentials;

static bool visit(void *context, Op *op) {
    Exponentials *found = context;
    bool is_tile = op->code == OP_EXP && op->results[0]->type.kind == TYPE_NUMBER &&
                   op->results[0]->type.rank > 1 &&
                   op->results[0]->type.element.code == DTYPE_FLOAT32;
    if (is_tile && op_is_in_loop(op)) LIST_PUSH(found->arena, &found->ops, op);
    return true;
}

static void take_base_two(Function *function, Op *op) {
    Map readers = function_readers(function->arena, function);
    Exponent exponent = {.builder = {.function = function,
                                     .region = op->parent,
                                     .before = op,
                                     .range = op->range,
                                     .call = op->call},
                         .readers = &readers,
                         .type = op->results[0]->type};
    Value *power = scaled(&exponent, op->operands[0], (Row){0}, MOST_TERMS);
    if (!power || !is_cheaper(&exponent)) return;
    Value *result = build_unary(&exponent.builder, OP_EXP2, power);
    if (!same_type(result, op->results[0])) return;
    result->name = op->results[0]->name;
    region_replace_uses(function->body, op->results[0], result);
}

void function_take_base_two(Function *function) {
    Exponentials found = {.arena = function->arena};
    region_walk(function->body, visit, &found);
    for (LIST_EACH(int, i, found.ops)) take_base_two(function, found.ops.items[i]);
    if (found.ops.count > 0) function_clean(function);
}
