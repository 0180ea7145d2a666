// From the branches around an addition, and its mask, to what they say: comparisons that are joined by `and`, or by `or` where the
// branch is not taken, with minima and maxima as bounds. So do the loops around it, by their bounds.
#include "autodiff/padding/within.h"

#include "analysis/build/value_poly.h"
#include "analysis/ir/limits.h"
#include "autodiff/addresses/limits.h"
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

/* ---- loops ---- */

/// Loops around an operation, each in the iteration where what is asked for is least.
typedef struct LeastIteration {
    Arena *arena;
    const Poly *number;
    const Poly
        *ends[LOOPS_MOST_NESTED];  // above 0, as the loop has an iteration and begins at 0 or above
    int end_count;
} LeastIteration;

static bool is_number_from(const Poly *poly, int64_t least) {
    int64_t number;
    return poly_is_constant(poly, &number) && number >= least;
}

/// Puts the loop's first or last number in the place of its variable. False where it is not known which counts.
static bool take_least(LeastIteration *least, const Op *loop) {
    Arena *arena = least->arena;
    const Poly *factor, *rest;
    Value *variable = loop->regions[0]->arguments[0];
    const Poly *lower = value_poly(arena, loop->operands[0]);
    const Poly *upper = value_poly(arena, loop->operands[1]);
    if (!poly_is_size(arena, value_poly(arena, loop->operands[2])) ||
        least->end_count == LOOPS_MOST_NESTED)
        return false;
    if (is_number_from(lower, 0)) least->ends[least->end_count++] = upper;
    if (!poly_mentions(least->number, variable)) return true;
    if (!poly_split(arena, least->number, variable, &factor, &rest)) return false;
    bool grows = poly_is_size(arena, factor);
    if (!grows && !poly_is_size(arena, poly_subtract(arena, poly_constant(arena, 0), factor)))
        return false;
    const Poly *end = grows ? lower : poly_subtract(arena, upper, poly_constant(arena, 1));
    least->number = poly_add(arena, rest, poly_multiply(arena, factor, end));
    return true;
}

/// Whether it is 0 or more as `divisor * (x // divisor) <= x` of a loop's end that is such a quotient: it is above 0, so it was rounded down.
static bool end_says(const LeastIteration *least, const Poly *end) {
    Arena *arena = least->arena;
    const Poly *factor, *rest;
    Value *atom = end->count == 1 && end->terms[0].atom_count == 1 ? end->terms[0].atoms[0] : NULL;
    const Op *op = atom && poly_equal(end, poly_atom(arena, atom)) ? atom->op : NULL;
    if (!op || op->code != OP_FLOORDIV || !poly_split(arena, least->number, atom, &factor, &rest))
        return false;
    const Poly *divisor = value_poly(arena, op->operands[1]);
    const Poly *less = poly_subtract(arena, poly_constant(arena, 0), factor);
    const Poly *times = poly_divide_exact(arena, less, divisor);
    if (!poly_is_size(arena, divisor) || !times || !is_number_from(times, 1)) return false;
    less = poly_multiply(arena, times, value_poly(arena, op->operands[0]));
    return is_number_from(poly_subtract(arena, rest, less), 0);
}

/// Whether the bounds of the loops around say it: `end - i * B` is above 0 for each `i` in `range(cdiv(end, B))`.
static bool loops_say(Arena *arena, const Op *op, const Poly *number) {
    LeastIteration least = {.arena = arena, .number = number};
    for (const Op *outer = op->parent->parent; outer; outer = outer->parent->parent) {
        if (outer->code == OP_IF) continue;
        if (outer->code != OP_FOR || !take_least(&least, outer)) return false;
    }
    bool says = is_number_from(least.number, 0);
    for (int i = 0; i < least.end_count && !says; i++) says = end_says(&least, least.ends[i]);
    return says;
}

/* ---- both ---- */

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
    return loops_say(arena, op, number);
}
