// Numerics: sums in too few bits, softmax without a maximum, variances that cancel, random numbers that repeat.
#include "analysis/checks/check.h"

#include <math.h>

#include "analysis/ir/loops.h"
#include "analysis/ir/walk.h"

enum { SEARCH_LIMIT = 400 };

static bool is_half(DType dtype) {
    return dtype.code == DTYPE_FLOAT16 || dtype.code == DTYPE_BFLOAT16;
}

static bool is_float_tile(const Value *value) {
    return value && value->type.kind == TYPE_NUMBER && value->type.rank > 0 &&
           dtype_is_float(value->type.element);
}

/* ---- sums ---- */

/// `arange(0, BLOCK)`, also shifted or turned round: each lane has a number of its own.
static bool numbers_lanes(Value *value, int depth) {
    enum { DEEPEST = 6 };
    value = check_strip(value);
    const Op *op = value ? value->op : NULL;
    if (!op || depth == DEEPEST) return false;
    if (op->code == OP_ARANGE) return true;
    if (op->code != OP_ADD && op->code != OP_SUB) return false;
    for (int i = 0; i < 2; i++)
        if (check_strip(op->operands[1 - i])->type.rank == 0 &&
            numbers_lanes(op->operands[i], depth + 1))
            return true;
    return false;
}

/// `where(lanes == i, x, 0)`: one term that counts, which a sum in any type gives as it is.
static bool is_one_lane(const Op *made) {
    double rest;
    if (!made || made->code != OP_WHERE) return false;
    const Value *condition = check_strip(made->operands[0]),
                *others = check_strip(made->operands[2]);
    if (others && others->op && others->op->code == OP_FULL) others = others->op->operands[1];
    const Op *compared = condition ? condition->op : NULL;
    if (!compared || compared->code != OP_EQ || !others || !value_is_number(others, &rest) ||
        rest != 0)
        return false;
    for (int i = 0; i < 2; i++)
        if (check_strip(compared->operands[1 - i])->type.rank == 0 &&
            numbers_lanes(compared->operands[i], 0))
            return true;
    return false;
}

static void check_sum(Check *check, Op *op) {
    Value *input = op->operands[0];
    if (!is_float_tile(input) || check_operand(op, "dtype")) return;
    const Op *made = input->op;
    if (is_one_lane(made)) return;
    Type from = made && made->code == OP_CAST ? made->operands[0]->type : input->type;
    if (made && made->code == OP_CAST && is_half(input->type.element) &&
        from.element.code == DTYPE_FLOAT32) {
        Diagnostic *said = check_report(
            check, DIAGNOSTIC_CAST_BEFORE_REDUCTION, op,
            "the terms were rounded to %s before they are summed: cast the sum instead",
            dtype_name(input->type.element.code));
        check_relate(check, said, made, "rounded here");
        return;
    }
    if (is_half(input->type.element))
        check_report(check, DIAGNOSTIC_LOW_PRECISION_SUM, op,
                     "this sum is computed in %s: add `.to(tl.float32)` to its input",
                     dtype_name(input->type.element.code));
    else if (input->type.element.code == DTYPE_OF_PARAMETER)
        check_report(
            check, DIAGNOSTIC_SUM_IN_INPUT_TYPE, op,
            "this sum is computed in the type of %s, which may have 16 bits: add `.to(tl.float32)` to its input",
            check->function->parameters[input->type.element.parameter].name);
}

static void check_accumulators(Check *check, Op *loop) {
    Carried *carried = loop_classify(check->arena, loop);
    for (int i = 3; i < loop->operand_count; i++) {
        Type type = loop->results[i - 3]->type;
        const Carried *sum = &carried[i - 3];
        if (sum->class != CARRIED_SUM || type.kind != TYPE_NUMBER || !is_half(type.element) ||
            !sum->link_count)
            continue;
        const char *name = loop->regions[0]->arguments[i - 2]->name;
        Diagnostic *said = check_report(check, DIAGNOSTIC_LOW_PRECISION_ACCUMULATION,
                                        sum->links[sum->link_count - 1],
                                        "%s accumulates over the loop in %s: start it as float32",
                                        name ? name : "the sum", dtype_name(type.element.code));
        check_relate(check, said, loop, "the loop");
    }
}

void check_sums(Check *check) {
    for (LIST_EACH(int, i, check->ops)) {
        Op *op = check->ops.items[i];
        if (op->code == OP_SUM && op->operands[0]) check_sum(check, op);
        if (op->code == OP_FOR) check_accumulators(check, op);
    }
}

/* ---- softmax ---- */

/// Whether a maximum, a stored statistic or anything carried or bounded goes into `value`: then its exponential may be safe.
static bool is_shifted(Check *check, Value *value) {
    LIST(Value *) work = {0};
    Map seen = map_new(check->arena);
    LIST_PUSH(check->arena, &work, value);
    for (int i = 0; i < work.count; i++) {
        Value *next = work.items[i];
        if (map_has_pointer(&seen, next)) continue;
        map_set_pointer(&seen, next, next);
        if (i > SEARCH_LIMIT || !next->op) {
            if (check_is_parameter(next) || next->constant) continue;
            return true;  // carried
        }
        if (next->op->code == OP_LOAD) {
            // A row statistic that is subtracted comes from memory.
            if (i > 0 && next->type.rank < value->type.rank) return true;
            continue;
        }
        bool is_whole = next->type.kind == TYPE_NUMBER && dtype_is_integer(next->type.element);
        if (is_whole || next->constant) continue;
        if (!op_has(next->op->code, TRAIT_LINEAR | TRAIT_GROWS)) return true;
        for (int k = 0; k < next->op->operand_count; k++)
            if (next->op->operands[k]) LIST_PUSH(check->arena, &work, next->op->operands[k]);
    }
    return false;
}

/// e / sum(e): the denominator is a sum of what is divided.
static const Op *sum_of(Value *denominator, const Value *numerator) {
    Value *value = check_strip(denominator);
    if (!value || !value->op || value->op->code != OP_SUM) return NULL;
    return check_strip(value->op->operands[0]) == numerator ? value->op : NULL;
}

/// The axis that is reduced, from the front; -1 where all are, or it is not known.
static int reduced_axis(const Op *op) {
    int64_t axis;
    const Value *given = check_operand(op, "axis");
    int rank = op->operands[0]->type.rank;
    if (!given || !value_is_int(given, &axis) || axis < -rank || axis >= rank) return -1;
    return (int)(axis < 0 ? axis + rank : axis);
}

/// `sum(exp(x - max(x, axis=0)), axis=1)`: the maximum is that of other rows. `sum(exp(x - min(x)))`: it is no maximum.
static void check_axis_of_maximum(Check *check, const Op *sum) {
    const Value *summed = check_strip(sum->operands[0]);
    const Op *grown = summed ? summed->op : NULL;
    if (!grown || (grown->code != OP_EXP && grown->code != OP_EXP2)) return;
    const Value *shifted = check_strip(grown->operands[0]);
    const Op *difference = shifted ? shifted->op : NULL;
    if (!difference || difference->code != OP_SUB) return;
    const Value *from = check_strip(difference->operands[0]);
    const Value *largest = check_strip(difference->operands[1]);
    const Op *maximum = largest ? largest->op : NULL;
    if (!maximum || (maximum->code != OP_MAX && maximum->code != OP_MIN) ||
        check_strip(maximum->operands[0]) != from ||
        maximum->operands[0]->type.rank != sum->operands[0]->type.rank)
        return;
    if (maximum->code == OP_MIN) {
        Diagnostic *said =
            check_report(check, DIAGNOSTIC_SOFTMAX_WITHOUT_MAXIMUM, grown,
                         "this subtracts the minimum, so that no exponent is below 0: subtract "
                         "the row's maximum");
        check_relate(check, said, sum, "summed here");
        return;
    }
    int wanted = reduced_axis(sum), axis = reduced_axis(maximum);
    if (wanted < 0 || axis < 0 || wanted == axis) return;
    Diagnostic *said =
        check_report(check, DIAGNOSTIC_SOFTMAX_WITHOUT_MAXIMUM, maximum,
                     "this maximum is along axis %d, and the exponentials are summed along axis "
                     "%d: what is subtracted differs within a sum",
                     axis, wanted);
    check_relate(check, said, sum, "summed here");
}

void check_softmax(Check *check) {
    for (LIST_EACH(int, i, check->ops)) {
        Op *op = check->ops.items[i];
        if (op->code == OP_SUM) check_axis_of_maximum(check, op);
        if (op->code != OP_DIV) continue;
        Value *numerator = check_strip(op->operands[0]);
        if (!numerator || !numerator->op || !sum_of(op->operands[1], numerator)) continue;
        const Op *exponential = numerator->op;
        for (int k = 0; k < 2 && exponential && exponential->code == OP_WHERE; k++) {
            Value *chosen = check_strip(exponential->operands[1]);
            exponential = chosen ? chosen->op : NULL;
        }
        if (!exponential || (exponential->code != OP_EXP && exponential->code != OP_EXP2)) continue;
        if (is_shifted(check, exponential->operands[0])) continue;
        Diagnostic *said = check_report(
            check, DIAGNOSTIC_SOFTMAX_WITHOUT_MAXIMUM, exponential,
            "this exponential overflows for inputs above 88 (11 in float16): subtract the row's maximum first");
        check_relate(check, said, op, "normalised here");
    }
}

/* ---- variances and inverse roots ---- */

static const Op *square_of(Value *value) {
    value = check_strip(value);
    const Op *op = value ? value->op : NULL;
    return op && op->code == OP_MUL && check_strip(op->operands[0]) == check_strip(op->operands[1])
               ? op
               : NULL;
}

/// sum(x * x) / n or sum(x * x) * (1 / n); NULL where it is no mean of squares. Returns x.
static const Value *mean_of_squares(Value *value) {
    value = check_strip(value);
    const Op *op = value ? value->op : NULL;
    if (!op || (op->code != OP_DIV && op->code != OP_MUL)) return NULL;
    Value *sum = check_strip(op->operands[0]);
    if (!sum || !sum->op || sum->op->code != OP_SUM) return NULL;
    const Op *square = square_of(sum->op->operands[0]);
    return square ? check_strip(square->operands[0]) : NULL;
}

static bool adds_something(const Value *value) {
    return value && value->op &&
           (value->op->code == OP_ADD || value->op->code == OP_MAXIMUM ||
            value->op->code == OP_CLAMP);
}

static void check_inverse_root(Check *check, const Op *op, Value *radicand) {
    radicand = check_strip(radicand);
    if (adds_something(radicand) || !mean_of_squares(radicand)) return;
    check_report(
        check, DIAGNOSTIC_MISSING_EPSILON, op,
        "a row of zeros divides by zero here: add a small constant to the mean of squares");
}

void check_variances(Check *check) {
    for (LIST_EACH(int, i, check->ops)) {
        Op *op = check->ops.items[i];
        if (op->code == OP_SUB && op->operands[0] && op->operands[1] &&
            mean_of_squares(op->operands[0]) && square_of(op->operands[1]))
            check_report(
                check, DIAGNOSTIC_CANCELLING_VARIANCE, op,
                "mean(x * x) - mean(x) * mean(x) cancels where the mean is large: sum (x - mean)^2 instead");
        if (op->code == OP_RSQRT) check_inverse_root(check, op, op->operands[0]);
        if (op->code != OP_DIV) continue;
        Value *denominator = check_strip(op->operands[1]);
        if (denominator && denominator->op &&
            (denominator->op->code == OP_SQRT || denominator->op->code == OP_SQRT_RN))
            check_inverse_root(check, op, denominator->op->operands[0]);
    }
}

/* ---- random numbers ---- */

/// A seed that is a tile beside an offset that is one number: the random numbers of neighbours begin anew.
static void check_seed(Check *check, const Op *op) {
    const Value *seed = check_operand(op, "seed"), *offset = check_operand(op, "offset");
    if (!seed || !offset || !type_is_tile(seed->type) || offset->type.kind != TYPE_NUMBER ||
        type_is_tile(offset->type))
        return;
    check_report(check, DIAGNOSTIC_REPEATED_RANDOM, op,
                 "the seed is a tile, and the offset is one number: are they exchanged?");
}

/// Whether a number comes from memory: what an atomic gave differs from program to program, and so may what is loaded.
static intptr_t is_from_memory(ValueWalk *walk, const Value *value) {
    const Op *op = value ? value->op : NULL;
    const Op *loop = value && value->region ? value->region->parent : NULL;
    if (loop) {  // counted or carried by a loop: what it starts with
        int first = loop->code == OP_WHILE ? 0 : 3, shift = loop->code == OP_WHILE ? 0 : 1;
        if (!op_is_loop(loop->code)) return true;
        return value->index >= shift &&
               walk_ask(walk, loop->operands[first + value->index - shift]);
    }
    if (!op) return false;
    if (op->region_count || op_rows[op->code].effects & EFFECT_READS) return true;
    for (int i = 0; i < op->operand_count; i++)
        if (walk_ask(walk, op->operands[i])) return true;
    return false;
}

void check_random(Check *check) {
    if (check->kernel->is_helper ||
        (!check->axes.programs[0] && !check->axes.programs[1] && !check->axes.programs[2]))
        return;
    for (LIST_EACH(int, i, check->ops)) {
        Op *op = check->ops.items[i];
        if (op->code != OP_RAND && op->code != OP_RANDN && op->code != OP_RANDINT) continue;
        check_seed(check, op);
        if (check_depends_on_program(check, op->results[0], -1) ||
            op->results[0]->type.kind == TYPE_UNKNOWN)
            continue;
        if (!walk_from(op->operands[0], is_from_memory, true, NULL) &&
            !walk_from(op->operands[1], is_from_memory, true, NULL))
            check_report(
                check, DIAGNOSTIC_REPEATED_RANDOM, op,
                "neither seed nor offset depends on the program id: every program draws the same numbers");
    }
}

/* ---- matrix products in reduced precision ---- */

/// A product summed in 16 bits that goes into a sum of 32.
static void check_product_sum(Check *check, Op *op) {
    const Value *result = op->results[0];
    const Uses *uses = check_uses(check, result);
    if (!is_half(result->type.element) || !check_operand(op, "out_dtype")) return;
    for (LIST_EACH(int, i, uses->list)) {
        const Op *use = uses->list.items[i];
        const Value *sum = use->result_count == 1 ? use->results[0] : NULL;
        // the sum casts its terms
        if (use->code == OP_CAST && check_uses(check, sum)->list.count == 1) {
            use = check_uses(check, sum)->list.items[0];
            sum = use->result_count == 1 ? use->results[0] : NULL;
        }
        if (!sum || !sum->op || sum->op->code != OP_ADD || sum->type.element.code != DTYPE_FLOAT32)
            continue;
        Diagnostic *said = check_report(
            check, DIAGNOSTIC_LOW_PRECISION_SUM, op,
            "this product is summed in %s, and then added to a sum of float32: leave `out_dtype` out",
            dtype_name(result->type.element.code));
        check_relate(check, said, sum->op, "added here");
        return;
    }
}

void check_products(Check *check) {
    for (LIST_EACH(int, i, check->ops)) {
        Op *op = check->ops.items[i];
        if (op->code != OP_DOT || !op->operands[0] || !op->operands[1]) continue;
        check_product_sum(check, op);
        bool single = op->operands[0]->type.element.code == DTYPE_FLOAT32 &&
                      op->operands[1]->type.element.code == DTYPE_FLOAT32;
        if (!single || check_operand(op, "input_precision") || check_operand(op, "allow_tf32"))
            continue;
        check_report(
            check, DIAGNOSTIC_TF32_DOT, op,
            "float32 operands are rounded to TF32 (10 bits): `input_precision=\"ieee\"` keeps them, slower");
    }
}

/* ---- constants that do not fit ---- */

static bool integer_fits(DType dtype, double value) {
    int bits = dtype_bits(dtype.code);
    bool is_signed = dtype_class(dtype) == CLASS_SIGNED;
    double low = is_signed ? -ldexp(1, bits - 1) : 0;
    double high = ldexp(1, bits) - 1;  // bit patterns are often written as unsigned numbers
    return value >= low && value <= high;
}

void check_constants(Check *check, Op *op) {
    double value;
    if (op->code != OP_FULL) return;
    Value *fill = check_operand(op, "value");
    Type type = op->results[0]->type;
    if (!fill || !value_is_number(fill, &value) || type.kind != TYPE_NUMBER || isinf(value) ||
        isnan(value))
        return;
    double largest = type.element.code == DTYPE_FLOAT16 ? 65504.0 : 3.4e38;
    bool half = type.element.code == DTYPE_FLOAT16 || type.element.code == DTYPE_BFLOAT16;
    bool integer = dtype_is_integer(type.element) && type.element.code != DTYPE_INT1 &&
                   dtype_bits(type.element.code) > 0;
    if (half && fabs(value) > largest)
        check_report(check, DIAGNOSTIC_CONSTANT_OVERFLOW, op, "%g is infinite in %s", value,
                     dtype_name(type.element.code));
    else if (integer && fill->constant->kind != CONSTANT_FLOAT &&
             !integer_fits(type.element, value))
        check_report(check, DIAGNOSTIC_CONSTANT_OVERFLOW, op, "%.0f does not fit into %s", value,
                     dtype_name(type.element.code));
}

/* ---- variables that Triton takes for constants ---- */

void check_shared_starts(Check *check, Op *op) {
    if (!check->is_entry || (op->code != OP_FOR && op->code != OP_WHILE)) return;
    const Region *body = op->regions[op->region_count - 1];
    int shift = op->code == OP_FOR ? 1 : 0;
    for (int i = 0; i < op->result_count; i++) {
        int other = loop_shared_start(op, i);
        if (other < 0) continue;
        const char *name = body->arguments[i + shift]->name;
        const char *from = body->arguments[other + shift]->name;
        if (!name || !from) continue;
        check_report(
            check, DIAGNOSTIC_SHARED_START, op,
            "Triton does not see that %s changes in this loop: it starts as %s and becomes "
            "what %s was; start it with `%s + 0`",
            name, from, from, from);
    }
}
