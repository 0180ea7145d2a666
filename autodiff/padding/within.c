// From the branches around an addition, and its mask, to what they say: comparisons that are joined by `and`, or by `or` where the
// branch is not taken, with minima and maxima as bounds.
#include "autodiff/padding/within.h"

#include "analysis/build/value_poly.h"
#include "autodiff/addresses/place.h"

enum { MOST_PARTS = 32 };  // of conditions and bounds that are looked at. Beyond: nothing is said

typedef struct AskedNumber {
    Arena *arena;
    const Poly *number;  // 0 or more?
    int left;
} AskedNumber;

static bool is_whole(const Value *value) {
    return value->type.kind == TYPE_NUMBER && value->type.rank == 0 &&
           dtype_is_integer(value->type.element);
}

/// The parts of a bound: what is above a maximum is above both sides, what is below a minimum below both.
static const Op *sides_of(const Value *bound, OpCode code) {
    const Op *op = bound->op;
    while (op && op_keeps_numbers(op) && is_whole(op->operands[0])) op = op->operands[0]->op;
    return op && op->code == code ? op : NULL;
}

/// Whether `high - low >= least` says it.
static bool distance_says(AskedNumber *question, Value *high, Value *low, int least) {
    if (question->left-- <= 0) return false;
    const Op *lower = sides_of(high, OP_MINIMUM), *higher = sides_of(low, OP_MAXIMUM);
    for (int i = 0; i < 2; i++) {
        if (lower && distance_says(question, lower->operands[i], low, least)) return true;
        if (higher && distance_says(question, high, higher->operands[i], least)) return true;
    }
    Arena *arena = question->arena;
    int64_t more;
    const Poly *known = poly_subtract(arena, value_poly(arena, high), value_poly(arena, low));
    known = poly_subtract(arena, known, poly_constant(arena, least));
    return poly_is_constant(poly_subtract(arena, question->number, known), &more) && more >= 0;
}

static bool comparison_says(AskedNumber *question, const Op *op, bool holds) {
    bool is_less = op->code == OP_LT || op->code == OP_LE;
    bool is_strict = op->code == OP_LT || op->code == OP_GT;
    if ((!is_less && op->code != OP_GT && op->code != OP_GE) || !is_whole(op->operands[0]) ||
        !is_whole(op->operands[1]))
        return false;
    bool left_is_low = is_less == holds;
    return distance_says(question, op->operands[left_is_low], op->operands[!left_is_low],
                         is_strict == holds);
}

static bool condition_says(AskedNumber *question, const Value *condition, bool holds) {
    const Op *op = condition ? condition->op : NULL;
    if (!op || condition->type.rank || condition->type.element.code != DTYPE_INT1 ||
        question->left-- <= 0)
        return false;
    if (op->code == OP_LOGICAL_NOT) return condition_says(question, op->operands[0], !holds);
    bool joins =
        holds ? op_has(op->code, TRAIT_BOTH) : op->code == OP_LOGICAL_OR || op->code == OP_OR;
    if (joins)
        return condition_says(question, op->operands[0], holds) ||
               condition_says(question, op->operands[1], holds);
    return comparison_says(question, op, holds);
}

bool conditions_say_nonnegative(Arena *arena, const Op *op, const Poly *number) {
    AskedNumber question = {arena, number, MOST_PARTS};
    int64_t known;
    if (poly_is_constant(number, &known)) return known >= 0;
    const Value *mask = access_mask(op);
    if (mask && condition_says(&question, mask, true)) return true;
    for (const Region *region = op->parent; region->parent; region = region->parent->parent) {
        const Op *branch = region->parent;
        if (branch->code == OP_IF &&
            condition_says(&question, branch->operands[0], region == branch->regions[0]))
            return true;
    }
    return false;
}
