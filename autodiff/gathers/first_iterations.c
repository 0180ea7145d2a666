// From a loop, and what its numbers begin with, to a loop with one iteration more in front. What a number begins with is matched, value by value, with
// what an iteration takes, with the number of the iteration before the first in the variable's place.
#include "autodiff/gathers/first_iterations.h"

#include <math.h>

#include "analysis/addresses/strides.h"
#include "analysis/build/build.h"
#include "analysis/build/infer.h"
#include "analysis/build/value_poly.h"
#include "analysis/ir/loops.h"
#include "analysis/ir/walk.h"
#include "autodiff/addresses/offset_sum.h"
#include "autodiff/addresses/place.h"
#include "autodiff/rewrite/copying.h"
#include "autodiff/rewrite/rewrite.h"

enum {
    FOR_BOUNDS = 3,  // operands of a loop over a range, in front of what it carries
    MOST_STEPS =
        64,  // values that one match compares: what an iteration takes is short, or the loop stays as it is
};

typedef struct FirstIteration {
    Arena *arena;
    const WrittenRoots *writes;
    Op *loop;
    Value *variable;
    const Poly *number;  // of the iteration before the first
    int left;
} FirstIteration;

static bool is_same(FirstIteration *first, Value *inside, Value *outside);

/// Whether two pointers are one, where the variable is that number.
static bool is_same_address(const FirstIteration *first, Value *inside, Value *outside) {
    Arena *arena = first->arena;
    const OffsetSum a = offset_sum_of(arena, inside), b = offset_sum_of(arena, outside);
    if (!a.known || !b.known || a.root != b.root) return false;
    const Poly *distance = offset_sum_distance(arena, &a, &b);
    return distance &&
           poly_is_zero(poly_substitute(arena, distance, first->variable, first->number));
}

static bool is_same_number(const FirstIteration *first, Value *inside, Value *outside) {
    const Poly *a = value_poly(first->arena, inside), *b = value_poly(first->arena, outside);
    return a && b &&
           poly_equal(poly_substitute(first->arena, a, first->variable, first->number), b);
}

/// Whether a value of an iteration, of that number, is the one in front of the loop.
static bool is_same(FirstIteration *first, Value *inside, Value *outside) {
    if (inside == outside) return !inside || !region_defines(first->loop->regions[0], inside);
    if (!inside || !outside || first->left-- <= 0) return false;
    if (!type_equal(inside->type, outside->type)) return false;
    if (inside->type.kind == TYPE_POINTER) return is_same_address(first, inside, outside);
    if (inside->type.kind == TYPE_NUMBER && inside->type.rank == 0 &&
        dtype_is_integer(inside->type.element))
        return is_same_number(first, inside, outside);
    const Op *a = inside->op, *b = outside->op;
    double left, right;
    if (value_is_number(inside, &left) && value_is_number(outside, &right)) return left == right;
    if (!a || !b || a->code != b->code || a->operand_count != b->operand_count || a->region_count ||
        a->result_count != 1)
        return false;
    bool is_stable =
        a->code == OP_LOAD && load_is_stable(first->writes, a) && load_is_stable(first->writes, b);
    if (!is_stable && !(op_is_pure(a) && op_is_by_element(a))) return false;
    for (int i = 0; i < a->operand_count; i++)
        if (!is_same(first, a->operands[i], b->operands[i])) return false;
    return true;
}

/// What the `index`-th carried number is put together with in each iteration, by a maximum, a minimum or a sum of floats; NULL of others.
static Value *taken_by(const Op *loop, int index, const Map *readers) {
    const Region *body = loop->regions[0];
    const Value *carried = body->arguments[1 + index],
                *after = region_terminator(body)->operands[index];
    const Op *op = after->op;
    bool takes = op && op->parent == body &&
                 (op->code == OP_MAXIMUM || op->code == OP_MINIMUM || op->code == OP_ADD) &&
                 dtype_is_float(after->type.element) && type_equal(after->type, carried->type) &&
                 value_readers(readers, carried)->count == 1 &&
                 value_readers(readers, after)->count == 1;
    if (!takes || op->operands[0] == op->operands[1]) return NULL;
    for (int i = 0; i < 2; i++)
        if (op->operands[i] == carried) return op->operands[1 - i];
    return NULL;
}

static bool visit_effect(void *context, Op *op) {
    (void)context;
    const int effects = op_rows[op->code].effects;
    return !(effects & (EFFECT_WRITES | EFFECT_ATOMIC | EFFECT_ORDERED)) && !op_is_loop(op->code);
}

/// What changes nothing where it is taken first; NULL: the shape of the type cannot be said.
static Value *neutral(Builder *b, OpCode code, Type type) {
    Value *number = build_float(b, code == OP_ADD       ? 0.0
                                   : code == OP_MAXIMUM ? -INFINITY
                                                        : INFINITY);
    Value *element = build_dtype(b, type.element);
    if (type.rank == 0) return build_binary(b, OP_CAST, number, element);
    Value *shape = build_shape(b, type);
    return shape ? build_ternary(b, OP_FULL, shape, number, element) : NULL;
}

/// Whether the loop has the iteration in front of its first, and so one at least: its end is a number, or made of parameters, which are 1 or more.
static bool reaches(Arena *arena, Value *end, int64_t iteration) {
    const Poly *upper = value_poly(arena, end);
    for (int t = 0; upper && t < upper->count; t++)
        for (int a = 0; a < upper->terms[t].atom_count; a++)
            if (upper->terms[t].atoms[a]->op) return false;  // `n // 2` may be 0
    return upper && poly_is_nonnegative(
                        arena, poly_subtract(arena, upper, poly_constant(arena, iteration + 1)));
}

static bool roll(Function *function, const WrittenRoots *writes, const Map *readers, Op *loop) {
    int64_t lower, step;
    const int count = loop->result_count;
    if (!count || !value_is_int(loop->operands[0], &lower) ||
        !value_is_int(loop->operands[2], &step) || step < 1 ||
        !reaches(function->arena, loop->operands[1], lower - step) ||
        !region_walk(loop->regions[0], visit_effect, NULL))
        return false;
    FirstIteration first = {.arena = function->arena,
                            .writes = writes,
                            .loop = loop,
                            .variable = loop->regions[0]->arguments[0],
                            .number = poly_constant(function->arena, lower - step),
                            .left = MOST_STEPS};
    for (int i = 0; i < count; i++) {
        Value *taken = taken_by(loop, i, readers), *begins = loop->operands[FOR_BOUNDS + i];
        if (!taken || !is_same(&first, taken, begins)) return false;
    }
    Builder b = {
        .function = function, .region = loop->parent, .before = loop, .range = loop->range};
    Value **begins = ARENA_ARRAY(function->arena, Value *, count);
    for (int i = 0; i < count; i++) {
        OpCode code = region_terminator(loop->regions[0])->operands[i]->op->code;
        begins[i] = neutral(&b, code, loop->operands[FOR_BOUNDS + i]->type);
        if (!begins[i]) return false;
    }
    for (int i = 0; i < count; i++) op_set_operand(loop, FOR_BOUNDS + i, begins[i]);
    op_set_operand(loop, 0, build_int(&b, lower - step));
    return true;
}

typedef struct LoopsFound {
    Function *function;
    LIST(Op *) loops;
} LoopsFound;

static bool visit_loop(void *context, Op *op) {
    LoopsFound *found = context;
    if (op->code == OP_FOR || op->code == OP_STATIC_FOR)
        LIST_PUSH(found->function->arena, &found->loops, op);
    return true;
}

bool first_iterations_roll(Function *function) {
    LoopsFound found = {.function = function};
    region_walk(function->body, visit_loop, &found);
    if (!found.loops.count) return false;
    const WrittenRoots writes = function_writes(function);
    const Map readers = function_readers(function->arena, function);
    bool any = false;
    for (LIST_EACH(int, i, found.loops))
        any |= roll(function, &writes, &readers, found.loops.items[i]);
    if (any) function_drop_dead(function);
    return any;
}
