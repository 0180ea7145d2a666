// A loop that carries a running mean in; the numbers that it ends with, and two loops that only add up, out.
#include "autodiff/joins/moments.h"

#include <math.h>
#include <string.h>

#include "analysis/build/build.h"
#include "autodiff/rewrite/algebra.h"
#include "autodiff/rewrite/copying.h"
#include "autodiff/rewrite/rewrite.h"

enum {
    MOST_ELEMENTS = 64,  // of a tile, with the sizes that are drawn
    MOST_ITERATIONS = 5,
    MOST_CARRIED = 8,  // numbers: a mean and a variance have three. Beyond: the loop stays
    MOST_DEPTH = 24,
    MOST_DRAWS = 80,
    PROBES = 4,  // draws in which the numbers have to be right
    FIRST_CARRIED = 3,
};

typedef struct DrawnNumbers {
    int rank, dims[TYPE_MAX_RANK], count;
    double of[MOST_ELEMENTS];
} DrawnNumbers;

/// One run of a loop, in numbers.
typedef struct LoopRun {
    Arena *arena;
    const Op *loop;
    Map outside, inside;  // Value -> DrawnNumbers *: for all of the run, and for an iteration
    uint64_t state;
    bool failed;
} LoopRun;

/// The elements that the moments may be of, and those of its lanes that count.
typedef struct MomentElements {
    Value *tile, *mask;  // of the loop's body; the mask may be NULL
} MomentElements;

/// What a loop ends with: which of the values that it carries is which; -1: none.
typedef struct Moments {
    int mean, squares, count;
} Moments;

static Region *body(const Op *loop) { return loop->regions[0]; }

/// What an operation gets for a parameter; NULL: nothing, or None.
static Value *operand_for(const Op *op, const char *parameter) {
    int index = op_parameter_index(op->code, str_from(parameter));
    Value *value = index >= 0 && index < op->operand_count ? op->operands[index] : NULL;
    return value && !value_is_none(value) ? value : NULL;
}

static double draw(LoopRun *run) {
    run->state ^= run->state << 13;
    run->state ^= run->state >> 7;
    run->state ^= run->state << 17;
    return (double)(run->state % 100003) / 100003.0;
}

/* ---- one run ---- */

static const DrawnNumbers *numbers_of(LoopRun *run, const Value *value);

static double number_of(LoopRun *run, const Value *value) {
    const DrawnNumbers *numbers = numbers_of(run, value);
    run->failed |= !numbers || numbers->rank != 0;
    return run->failed ? 0 : numbers->of[0];
}

static double dim_of(LoopRun *run, const Poly *poly) {
    double sum = 0;
    for (int t = 0; poly && t < poly->count; t++) {
        double product = (double)poly->terms[t].coefficient;
        for (int i = 0; i < poly->terms[t].atom_count; i++)
            product *= number_of(run, poly->terms[t].atoms[i]);
        sum += product;
    }
    run->failed |= !poly || !(sum >= 1 && sum <= MOST_ELEMENTS);
    return run->failed ? 1 : sum;
}

static DrawnNumbers *shaped_as(LoopRun *run, const Value *value) {
    DrawnNumbers *numbers = ARENA_NEW(run->arena, DrawnNumbers);
    run->failed |= value->type.kind != TYPE_NUMBER;
    *numbers = (DrawnNumbers){.rank = run->failed ? 0 : value->type.rank, .count = 1};
    for (int i = 0; i < numbers->rank; i++) {
        numbers->dims[i] = (int)dim_of(run, value->type.dims[i]);
        numbers->count *= numbers->dims[i];
        if (numbers->count > MOST_ELEMENTS) run->failed = true;
        if (run->failed) numbers->count = 1;
    }
    return numbers;
}

/// The element of a smaller tile that stands at a place of a larger one.
static double element_at(const DrawnNumbers *tile, const DrawnNumbers *larger, int place) {
    int at = 0, step = 1;
    for (int i = 1; i <= larger->rank; i++) {
        int size = larger->dims[larger->rank - i], digit = place % size;
        place /= size;
        if (i > tile->rank) continue;
        int own = tile->dims[tile->rank - i];
        at += (own == 1 ? 0 : digit < own ? digit : 0) * step;
        step *= own;
    }
    return tile->of[at];
}

static void sum_along(LoopRun *run, const Op *op, DrawnNumbers *result) {
    const DrawnNumbers *input = numbers_of(run, op->operands[0]);
    const Value *axis = operand_for(op, "axis"), *keeps = operand_for(op, "keep_dims");
    int64_t along = -1;
    bool is_kept = false;
    bool is_all = !axis;
    run->failed |= !input || (keeps && (!value_is_bool(keeps, &is_kept) || is_kept)) ||
                   (!is_all && (!value_is_int(axis, &along) || along < 0 || along >= input->rank));
    if (run->failed) return;
    memset(result->of, 0, sizeof result->of);
    int behind = 1;
    for (int i = (int)along + 1; i < input->rank; i++) behind *= input->dims[i];
    for (int i = 0; i < input->count; i++) {
        int at = is_all ? 0 : i / (behind * input->dims[along]) * behind + i % behind;
        result->of[at] += input->of[i];
    }
}

static double compared(OpCode code, double a, double b) {
    switch (code) {
    case OP_LT: return a < b;
    case OP_LE: return a <= b;
    case OP_GT: return a > b;
    case OP_GE: return a >= b;
    case OP_NE: return a < b || a > b;
    default: return !(a < b) && !(a > b);
    }
}

static void each_element(LoopRun *run, const Op *op, DrawnNumbers *result) {
    const DrawnNumbers *inputs[3] = {NULL};
    bool is_copy = op->code == OP_FULL || op->code == OP_CAST || op->code == OP_BROADCAST_TO;
    int first = op->code == OP_FULL ? 1 : 0, count = is_copy ? 1 : op->operand_count;
    for (int i = 0; i < count && i < 3; i++)
        if (op->operands[first + i] && op->operands[first + i]->type.kind == TYPE_NUMBER)
            inputs[i] = numbers_of(run, op->operands[first + i]);
    for (int i = 0; i < result->count && !run->failed; i++) {
        double x[3] = {0};
        for (int k = 0; k < 3; k++)
            if (inputs[k]) x[k] = element_at(inputs[k], result, i);
        if (is_copy)
            result->of[i] = x[0];
        else if (op_is_comparison(op->code))
            result->of[i] = compared(op->code, x[0], x[1]);
        else if (op->code == OP_AND)
            result->of[i] = (double)((int64_t)x[0] & (int64_t)x[1]);
        else if (!op_value(op->code, x[0], x[1], x[2], &result->of[i]))
            run->failed = true;
    }
}

/// What is loaded is anything; beyond the mask it is what the load says.
static void loaded(LoopRun *run, const Op *op, DrawnNumbers *result) {
    const Value *mask = operand_for(op, "mask"), *other = operand_for(op, "other");
    const DrawnNumbers *kept = mask ? numbers_of(run, mask) : NULL,
                       *else_is = other ? numbers_of(run, other) : NULL;
    for (int i = 0; i < result->count && !run->failed; i++) {
        result->of[i] = 6 * draw(run) - 3;
        if (kept && element_at(kept, result, i) == 0 && else_is)
            result->of[i] = element_at(else_is, result, i);
    }
}

static const DrawnNumbers *computed(LoopRun *run, const Op *op) {
    if (op->result_count != 1 || op->region_count) run->failed = true;
    if (run->failed) return NULL;
    DrawnNumbers *result = shaped_as(run, op->results[0]);
    if (run->failed) return NULL;
    int64_t start;
    switch (op->code) {
    case OP_LOAD: loaded(run, op, result); break;
    case OP_SUM: sum_along(run, op, result); break;
    case OP_ARANGE:
        run->failed |= !value_is_int(op->operands[0], &start);
        for (int i = 0; i < result->count && !run->failed; i++) result->of[i] = (double)(start + i);
        break;
    case OP_EXPAND_DIMS: {
        const DrawnNumbers *input = numbers_of(run, op->operands[0]);
        run->failed |= !input || input->count != result->count;
        if (!run->failed) memcpy(result->of, input->of, sizeof result->of);
        break;
    }
    default:
        run->failed |= !op_is_pure(op);
        if (!run->failed) each_element(run, op, result);
    }
    return run->failed ? NULL : result;
}

/// Sizes are 2 or 4 where they are the kernel's, other whole numbers up to 12.
static const DrawnNumbers *drawn(LoopRun *run, const Value *value) {
    DrawnNumbers *result = shaped_as(run, value);
    bool is_float = dtype_is_float(value->type.element);
    for (int i = 0; i < result->count && !run->failed; i++)
        result->of[i] = value->type.is_constexpr ? (draw(run) < 0.5 ? 2 : 4)
                        : is_float               ? 4 * draw(run) - 2
                                                 : 1 + floor(12 * draw(run));
    return run->failed ? NULL : result;
}

static const DrawnNumbers *numbers_of(LoopRun *run, const Value *value) {
    double number;
    if (run->failed) return NULL;
    if (value_is_number(value, &number)) {
        DrawnNumbers *constant = ARENA_NEW(run->arena, DrawnNumbers);
        *constant = (DrawnNumbers){.count = 1, .of = {number}};
        return constant;
    }
    const DrawnNumbers *known = map_get_pointer(&run->inside, value);
    if (!known) known = map_get_pointer(&run->outside, value);
    if (known) return known;
    bool is_inside = region_defines(body(run->loop), value);
    const Op *op = value->op;
    bool is_open = !op || op->code == OP_LOAD || op->code == OP_PROGRAM_ID || op->region_count ||
                   op->code == OP_NUM_PROGRAMS || op->result_count != 1;
    if (is_inside && is_open) run->failed = true;  // it would have been met before
    known = run->failed ? NULL : is_open ? drawn(run, value) : computed(run, op);
    if (known)
        map_set_pointer(is_inside ? &run->inside : &run->outside, value, (void *)(uintptr_t)known);
    return known;
}

/* ---- what a run ends with ---- */

typedef struct SeenElements {
    double of[MOST_ELEMENTS * MOST_ITERATIONS];
    int count;
    bool is_cut;  // some lanes did not count
} SeenElements;

static bool see(LoopRun *run, const MomentElements *elements, SeenElements *seen) {
    const DrawnNumbers *tile = numbers_of(run, elements->tile),
                       *mask = elements->mask ? numbers_of(run, elements->mask) : NULL;
    int before = seen->count;
    for (int i = 0; !run->failed && i < tile->count; i++) {
        bool counts = !mask || element_at(mask, tile, i) != 0;
        seen->is_cut |= !counts;
        if (counts) seen->of[seen->count++] = tile->of[i];
    }
    return !run->failed && seen->count > before;
}

/// Runs the loop with numbers that are drawn. False where these give it no, or too many iterations, or one without an element.
static bool run_loop(LoopRun *run, const MomentElements *elements, SeenElements *seen,
                     double *results) {
    const Op *loop = run->loop, *end = region_terminator(body(loop));
    double lower = number_of(run, loop->operands[0]), upper = number_of(run, loop->operands[1]),
           step = number_of(run, loop->operands[2]);
    if (run->failed || !(step > 0) || upper <= lower + step ||
        upper > lower + step * MOST_ITERATIONS)
        return false;
    const DrawnNumbers *carried[MOST_CARRIED];
    for (int i = 0; i < loop->result_count; i++)
        carried[i] = numbers_of(run, loop->operands[FIRST_CARRIED + i]);
    for (int turn = 0; lower + turn * step < upper && !run->failed; turn++) {
        run->inside = map_new(run->arena);
        DrawnNumbers *variable = ARENA_NEW(run->arena, DrawnNumbers);
        *variable = (DrawnNumbers){.count = 1, .of = {lower + turn * step}};
        map_set_pointer(&run->inside, body(loop)->arguments[0], variable);
        for (int i = 0; i < loop->result_count; i++)
            map_set_pointer(&run->inside, body(loop)->arguments[1 + i],
                            (void *)(uintptr_t)carried[i]);
        for (const Op *op = body(loop)->first; op != end && !run->failed; op = op->next) {
            if (op->result_count == 1 && op->results[0]->type.kind != TYPE_NUMBER) continue;
            const DrawnNumbers *made = computed(run, op);
            if (made) map_set_pointer(&run->inside, op->results[0], (void *)(uintptr_t)made);
        }
        if (run->failed || !see(run, elements, seen)) return false;
        for (int i = 0; i < loop->result_count; i++) carried[i] = numbers_of(run, end->operands[i]);
    }
    for (int i = 0; i < loop->result_count && !run->failed; i++) {
        run->failed |= carried[i]->rank != 0;
        results[i] = carried[i]->of[0];
    }
    return !run->failed;
}

static bool is_close(double a, double b) { return fabs(a - b) <= 1e-9 * (fabs(a) + fabs(b) + 1); }

/// Whether the results still fit: -2 stands for what no run has told yet.
static bool take_results(const Op *loop, const SeenElements *seen, const double *results,
                         Moments *moments) {
    double mean = 0, squares = 0;
    for (int i = 0; i < seen->count; i++) mean += seen->of[i] / seen->count;
    for (int i = 0; i < seen->count; i++) squares += (seen->of[i] - mean) * (seen->of[i] - mean);
    const double wanted[] = {mean, squares, seen->count};
    int *found[] = {&moments->mean, &moments->squares, &moments->count};
    for (int k = 0; k < 3; k++) {
        if (*found[k] == -2) {
            *found[k] = -1;
            for (int i = 0; i < loop->result_count; i++)
                if (is_close(results[i], wanted[k])) *found[k] = i;
        } else if (*found[k] >= 0 && !is_close(results[*found[k]], wanted[k])) {
            *found[k] = -1;
        }
    }
    return moments->mean >= 0 && moments->squares >= 0;
}

static bool are_moments(Arena *arena, const Op *loop, const MomentElements *elements,
                        Moments *moments) {
    *moments = (Moments){-2, -2, -2};
    bool is_cut = !elements->mask;
    int right = 0;
    for (int i = 0; i < MOST_DRAWS && (right < PROBES || !is_cut); i++) {
        LoopRun run = {.arena = arena,
                       .loop = loop,
                       .outside = map_new(arena),
                       .inside = map_new(arena),
                       .state = 88172645463325252u + 7919u * (uint64_t)i};
        SeenElements seen = {.count = 0};
        double results[MOST_CARRIED];
        for (int k = 0; k < 8; k++) draw(&run);
        if (!run_loop(&run, elements, &seen, results)) continue;
        if (!take_results(loop, &seen, results, moments)) return false;
        is_cut |= seen.is_cut;
        right++;
    }
    return right >= PROBES && is_cut;
}

/* ---- what the draws can tell ---- */

static const Value *without_layout(const Value *value) {
    while (value->op && op_has(value->op->code, TRAIT_LAYOUT)) value = value->op->operands[0];
    return value;
}

/// Whether a value is as long as a block of the tile: `min(BLOCK, n - start)` counts the lanes of a last one.
static bool is_size_of(const Value *tile, const Value *value) {
    for (int d = 0; d < tile->type.rank; d++) {
        const Poly *dim = tile->type.dims[d];
        if (dim && dim->count == 1 && dim->terms[0].coefficient == 1 &&
            dim->terms[0].atom_count == 1 && dim->terms[0].atoms[0] == value)
            return true;
    }
    return false;
}

typedef struct SmoothSearch {
    const Op *loop;
    const MomentElements *elements;
    Map seen;
} SmoothSearch;

/// Whether a value follows from the elements, their mask and numbers by arithmetic alone. A choice by another condition (a distance that is
/// clipped, a count that ends) may be one that no draw meets: the draws say nothing of it.
static bool is_arithmetic(SmoothSearch *search, const Value *value, int depth) {
    const MomentElements *elements = search->elements;
    if (value == elements->tile || (elements->mask && without_layout(value) == elements->mask) ||
        !region_defines(body(search->loop), value) || !value->op)
        return true;
    if (map_has_pointer(&search->seen, value)) return true;
    map_set_pointer(&search->seen, value, search);
    const Op *op = value->op;
    if (depth == 0 || op->code == OP_LOAD) return false;
    bool is_choice =
        op->code == OP_WHERE && elements->mask && without_layout(op->operands[0]) == elements->mask;
    bool is_count = op->code == OP_MINIMUM && (is_size_of(elements->tile, op->operands[0]) ||
                                               is_size_of(elements->tile, op->operands[1]));
    bool is_made = op->code == OP_FULL || op->code == OP_CAST || op_has(op->code, TRAIT_LAYOUT);
    bool is_sum = op->code == OP_SUM || op->code == OP_ADD || op->code == OP_SUB;
    bool is_product = op->code == OP_MUL || op->code == OP_DIV || op->code == OP_FDIV;
    bool is_plain = is_made || is_sum || is_product || op->code == OP_NEG;
    if (!is_choice && !is_count && !is_plain) return false;
    for (int i = 0; i < op->operand_count; i++) {
        const Value *operand = op->operands[i];
        bool is_data = operand && operand->type.kind == TYPE_NUMBER;
        if (is_data && !is_arithmetic(search, operand, depth - 1)) return false;
    }
    return true;
}

static bool is_told_by_draws(Arena *arena, const Op *loop, const MomentElements *elements) {
    const Op *end = region_terminator(body(loop));
    SmoothSearch search = {loop, elements, map_new(arena)};
    for (int i = 0; i < end->operand_count; i++)
        if (!is_arithmetic(&search, end->operands[i], MOST_DEPTH)) return false;
    return true;
}

/* ---- the loops that add up ---- */

/// Whether the value is made of the iteration's number and memory alone.
static bool is_of_iteration(const Op *loop, const Value *value, int depth) {
    if (!region_defines(body(loop), value) || value == body(loop)->arguments[0]) return true;
    const Op *op = value->op;
    if (!op || depth == 0 || op->region_count) return false;
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i] && !is_of_iteration(loop, op->operands[i], depth - 1)) return false;
    return true;
}

typedef struct Splitting {
    Function *function;
    Op *loop;
    Map copies;
} Splitting;

static bool note_outside(void *context, Value *value) {
    Splitting *splitting = context;
    if (!region_defines(body(splitting->loop), value))
        map_set_pointer(&splitting->copies, value, value);
    return true;
}

static Value *masked(Builder *b, Value *tile, Value *mask) {
    return mask ? build_ternary(b, OP_WHERE, mask, tile, build_float(b, 0.0)) : tile;
}

/// Carries the sum of such terms out of a loop; `b` is at the end of its body.
static Value *carry_sum(Builder *b, Op *loop, Value *term, const char *name) {
    Builder before = *b;
    before.region = loop->parent;
    before.before = loop;
    Value *sum = build_unary(b, OP_SUM, term);
    op_append_operand(b->function, loop, build_float(&before, 0.0));
    Value *argument = region_add_argument(b->function, body(loop), sum->type, name),
          *next = build_binary(b, OP_ADD, argument, sum);
    next->name = name;
    op_append_operand(b->function, region_terminator(body(loop)), next);
    Value *result = op_append_result(b->function, loop, sum->type);
    result->name = name;
    return result;
}

/// The loop adds up the elements, and one behind it the squares of their distances from the mean.
static bool split(Function *function, Op *loop, const MomentElements *elements,
                  const Moments *moments) {
    Splitting splitting = {function, loop, map_new(function->arena)};
    for (const Op *op = body(loop)->first; op; op = op->next)
        op_walk_captured(op, note_outside, &splitting);
    Builder end = {.function = function,
                   .region = body(loop),
                   .before = region_terminator(body(loop)),
                   .range = loop->range,
                   .call = loop->call},
            behind = end;
    behind.region = loop->parent;
    behind.before = loop->next;
    Value *count = moments->count >= 0 ? loop->results[moments->count] : NULL;
    Value *total = carry_sum(&end, loop, masked(&end, elements->tile, elements->mask), "total");
    if (!count) {
        Value *shape = build_shape(&end, elements->tile->type);
        Value *ones = shape ? build_ternary(&end, OP_FULL, shape, build_float(&end, 1.0),
                                            build_dtype(&end, dtype_of(DTYPE_FLOAT32)))
                            : NULL;
        if (!ones) return false;
        count = carry_sum(&end, loop, masked(&end, ones, elements->mask), "count");
    }
    Value *mean = build_binary(&behind, OP_DIV, total, count);
    mean->name = loop->results[moments->mean]->name;
    Op *second = op_append(&behind, OP_FOR, loop->operands, FIRST_CARRIED, 0);
    second->range = loop->range;
    Region *own = op_add_region(&behind, second);
    Value *variable = region_add_argument(function, own, body(loop)->arguments[0]->type,
                                          body(loop)->arguments[0]->name);
    Builder inside = {.function = function, .region = own, .range = loop->range};
    op_append(&inside, OP_YIELD, NULL, 0, 0);
    inside.before = region_terminator(own);
    map_set_pointer(&splitting.copies, body(loop)->arguments[0], variable);
    Value *tile = value_copied(&inside, elements->tile, &splitting.copies),
          *mask = value_copied(&inside, elements->mask, &splitting.copies);
    if (!tile || (elements->mask && !mask)) return false;
    Value *distance = masked(&inside, build_binary(&inside, OP_SUB, tile, mean), mask);
    Value *squares = carry_sum(&inside, second, build_binary(&inside, OP_MUL, distance, distance),
                               loop->results[moments->squares]->name);
    region_replace_uses(function->body, loop->results[moments->mean], mean);
    region_replace_uses(function->body, loop->results[moments->squares], squares);
    return true;
}

/// Whether the loop carries numbers alone, two or three of which may be moments, and does nothing else than that.
static bool may_have_moments(const Function *function, const Op *loop) {
    if (loop->keyword_count || loop->result_count < 2 || loop->result_count > MOST_CARRIED)
        return false;
    for (int i = 0; i < loop->result_count; i++)
        if (loop->results[i]->type.rank || loop->results[i]->type.kind != TYPE_NUMBER) return false;
    bool has_tiles = false, divides = false;
    for (const Op *op = body(loop)->first; op != region_terminator(body(loop)); op = op->next) {
        bool is_load = op->code == OP_LOAD && op_is_stable_load(function, op);
        if (op->region_count || (!is_load && !op_is_pure(op))) return false;
        has_tiles |= is_load && op->results[0]->type.rank > 0;
        divides |= op->code == OP_DIV || op->code == OP_FDIV;
    }
    return has_tiles && divides;
}

static bool sum_moments(Function *function, Op *loop) {
    Moments moments;
    for (const Op *load = body(loop)->first; load; load = load->next) {
        if (load->code != OP_LOAD || !load->results[0]->type.rank) continue;
        Value *mask = operand_for(load, "mask");
        for (const Op *op = load; op; op = op->next) {
            Value *tile = op->result_count == 1 ? op->results[0] : NULL;
            bool is_tile = tile && tile->type.kind == TYPE_NUMBER &&
                           tile->type.rank == load->results[0]->type.rank &&
                           tile->type.element.code == DTYPE_FLOAT32 &&
                           is_of_iteration(loop, tile, MOST_DEPTH);
            const MomentElements elements = {tile, mask};
            if (is_tile && is_told_by_draws(function->arena, loop, &elements) &&
                are_moments(function->arena, loop, &elements, &moments))
                return split(function, loop, &elements, &moments);
        }
    }
    return false;
}

typedef struct MomentLoops {
    Arena *arena;
    OpList ops;
} MomentLoops;

static bool visit(void *context, Op *op) {
    MomentLoops *loops = context;
    if (op->code == OP_FOR) LIST_PUSH(loops->arena, &loops->ops, op);
    return true;
}

bool function_sum_moments(Function *function) {
    MomentLoops loops = {.arena = function->arena};
    bool any = false;
    region_walk(function->body, visit, &loops);
    for (LIST_EACH(int, i, loops.ops))
        if (may_have_moments(function, loops.ops.items[i]))
            any |= sum_moments(function, loops.ops.items[i]);
    if (any) function_drop_dead(function);
    return any;
}
