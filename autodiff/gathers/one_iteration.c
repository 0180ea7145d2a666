// Loops around an addition that each lane makes in one iteration in; that addition, with the iteration's number computed, out.
#include "autodiff/gathers/one_iteration.h"

#include "analysis/build/build.h"
#include "analysis/build/value_poly.h"
#include "autodiff/addresses/place.h"
#include "autodiff/atomics/readers.h"
#include "autodiff/padding/vanishing.h"
#include "autodiff/rewrite/algebra.h"
#include "autodiff/rewrite/copying.h"
#include "autodiff/rewrite/rewrite.h"

/// A nest of loops around one addition.
typedef struct LoneAddition {
    Function *function;
    Op *addition, *loops[LOOPS_MOST_NESTED];  // from inside
    int count;
    LIST(Value *) terms;  // of the mask, without `is_it`
    Value *is_it, *place;
    Value *counts;  // whether the lane's place is the number of some iteration
    Map known;      // values of the loops -> what they are in the lane's one iteration
} LoneAddition;

static bool is_within(const LoneAddition *lone, const Value *value) {
    return region_defines(lone->loops[lone->count - 1]->regions[0], value);
}

/// Whether a loop counts from 0 on, carries nothing, and has nothing that is seen from outside but what is in `inner`.
static bool is_plain(const Function *function, const Op *loop, const Op *inner) {
    int64_t lower, step;
    bool counts = (loop->code == OP_FOR || loop->code == OP_STATIC_FOR) && !loop->result_count &&
                  loop->operand_count == 3 && value_is_int(loop->operands[0], &lower) &&
                  lower == 0 && value_is_int(loop->operands[2], &step) && step == 1;
    for (const Op *op = counts ? loop->regions[0]->first : NULL; op; op = op->next) {
        if (op == inner || op->code == OP_YIELD) continue;
        counts &= !op->region_count && (op_is_pure(op) || op_is_stable_load(function, op));
    }
    return counts;
}

static bool find_loops(LoneAddition *lone) {
    const Op *inner = lone->addition;
    for (Op *loop = inner->parent->parent; loop; loop = loop->parent->parent) {
        if (lone->count == LOOPS_MOST_NESTED || !is_plain(lone->function, loop, inner)) break;
        lone->loops[lone->count++] = loop;
        inner = loop;
    }
    while (lone->count > 1 &&
           region_defines(lone->loops[lone->count - 1]->regions[0], lone->loops[0]->operands[1]))
        lone->count--;
    return lone->count > 0;
}

/// The iteration's number, counted from 0 on over the innermost `count` loops.
static const Poly *iteration_number(const LoneAddition *lone, int count) {
    Arena *arena = lone->function->arena;
    const Poly *number = poly_constant(arena, 0);
    for (int i = count - 1; i >= 0; i--) {
        const Op *loop = lone->loops[i];
        number = poly_multiply(arena, number, value_poly(arena, loop->operands[1]));
        number = poly_add(arena, number, poly_atom(arena, loop->regions[0]->arguments[0]));
    }
    return number;
}

static void list_terms(LoneAddition *lone, Value *mask) {
    Arena *arena = lone->function->arena;
    const Op *op = mask->op;
    if (op && op->code == OP_AND && is_within(lone, mask)) {
        list_terms(lone, op->operands[0]);
        list_terms(lone, op->operands[1]);
        return;
    }
    if (op && op->code == OP_EQ && is_within(lone, mask) && !lone->is_it)
        for (int i = 0; i < 2; i++) {
            Value *place = op->operands[i], *number = op->operands[1 - i];
            bool is_number = place->type.rank && !number->type.rank && !is_within(lone, place) &&
                             dtype_is_integer(place->type.element) &&
                             dtype_is_integer(number->type.element);
            const Poly *found = is_number ? value_poly(arena, number) : NULL;
            for (int k = lone->count; found && k > 0 && !lone->is_it; k--) {
                if (!poly_equal(found, iteration_number(lone, k))) continue;
                lone->is_it = mask;
                lone->place = place;
                lone->count = k;
            }
        }
    if (lone->is_it != mask) LIST_PUSH(arena, &lone->terms, mask);
}

static bool is_the_choice(void *context, const Value *part) {
    return part == ((const LoneAddition *)context)->is_it;
}

/// Lanes that do not count do not load either: their place may be any number, as -1 in an index that a user wrote. NULL
/// where the shapes do not let the mask say so.
static Value *load_where_it_counts(LoneAddition *lone, Builder *b, const Op *load,
                                   Value **operands) {
    const Value *mask = access_mask(load);
    if (mask && mask_has_part(mask, is_the_choice, lone))
        return build(b, OP_LOAD, operands, load->operand_count);
    bool fits = same_shape(load->results[0]->type, lone->counts->type);
    return fits ? load_where_also(b, load, operands, lone->counts) : NULL;
}

/// A value in the one iteration of each lane; NULL where it would have another shape than in the loops, or is not understood.
static Value *in_iteration(LoneAddition *lone, Builder *b, Value *value) {
    Value *known = value ? map_get_pointer(&lone->known, value) : NULL;
    if (known || !value || !is_within(lone, value)) return known ? known : value;
    const Op *op = value->op;
    Value *operands[OPERATION_MOST_OPERANDS] = {0};
    bool is_load = op && op->code == OP_LOAD && op->results[0]->type.rank;
    if (!op || op->result_count != 1 || op->operand_count > OPERATION_MOST_OPERANDS ||
        op->keyword_count || (!is_load && !op_is_by_element(op)))
        return NULL;
    for (int i = 0; i < op->operand_count; i++) {
        operands[i] = in_iteration(lone, b, op->operands[i]);
        if (op->operands[i] && !operands[i]) return NULL;
    }
    Value *copy = is_load ? load_where_it_counts(lone, b, op, operands)
                          : build(b, op->code, operands, op->operand_count);
    Type own = value->type;
    bool fits = copy && copy->type.kind == own.kind &&
                (!own.rank || (copy->type.rank == own.rank && type_equal(copy->type, own)));
    if (!fits || (!own.rank && copy->type.rank && copy->type.rank != lone->place->type.rank))
        return NULL;
    if (!copy->constant) copy->name = value->name;
    map_set_pointer(&lone->known, value, copy);
    return copy;
}

/// Computes the loops' variables, from the innermost; and whether the place is some iteration's.
static Value *take_variables(LoneAddition *lone, Builder *b) {
    Value *rest = lone->place, *all = NULL;
    for (int i = 0; i < lone->count; i++) {
        const Op *loop = lone->loops[i];
        Value *variable = loop->regions[0]->arguments[0], *trips = loop->operands[1], *own = rest;
        if (i + 1 < lone->count) {
            rest = build_binary(b, OP_FLOORDIV, own, trips);
            own = build_binary(b, OP_SUB, own, build_binary(b, OP_MUL, rest, trips));
        }
        own->name = own->name && own == lone->place ? own->name : variable->name;
        map_set_pointer(&lone->known, variable, own);
        all = all ? build_binary(b, OP_MUL, trips, all) : trips;
    }
    Value *is_below = build_binary(b, OP_LT, lone->place, all);
    return build_binary(b, OP_AND, build_binary(b, OP_GE, lone->place, build_int(b, 0)), is_below);
}

/// `where(is_it, x, 0)` is x in the lanes that count.
static Value *added_there(const LoneAddition *lone) {
    Value *added = lone->addition->operands[1];
    double other;
    const Op *op = added->op;
    bool chooses = op && op->code == OP_WHERE && op->operands[0] == lone->is_it &&
                   value_is_number(op->operands[2], &other) && other == 0;
    return chooses ? op->operands[1] : added;
}

static void take_iteration(Function *function, Op *addition) {
    LoneAddition lone = {
        .function = function, .addition = addition, .known = map_new(function->arena)};
    Value *mask = access_mask(addition);
    if (!mask || !find_loops(&lone)) return;
    list_terms(&lone, mask);
    if (!lone.is_it || !type_equal(lone.is_it->type, mask->type)) return;
    Op *outer = lone.loops[lone.count - 1];
    Builder b = {
        .function = function, .region = outer->parent, .before = outer, .range = addition->range};
    Value *counts = lone.counts = take_variables(&lone, &b);
    if (!type_equal(counts->type, lone.is_it->type)) return;
    map_set_pointer(&lone.known, lone.is_it, counts);
    Value *address = in_iteration(&lone, &b, addition->operands[0]),
          *added = in_iteration(&lone, &b, added_there(&lone));
    Value *all = NULL;
    for (LIST_EACH(int, i, lone.terms)) {
        Value *term = in_iteration(&lone, &b, lone.terms.items[i]);
        if (!term) return;
        all = all ? build_binary(&b, OP_AND, all, term) : term;
    }
    if (all) counts = build_binary(&b, OP_AND, all, counts);
    if (!address || !added || !type_equal(address->type, addition->operands[0]->type) ||
        !type_equal(counts->type, mask->type))
        return;
    b.call = addition->call;
    build(&b, OP_ATOMIC_ADD, (Value *[]){address, added, counts}, 3);
    op_remove(outer);
}

typedef struct Additions {
    Arena *arena;
    Map readers;
    LIST(Op *) found;
} Additions;

static bool visit(void *context, Op *op) {
    Additions *additions = context;
    bool adds = op->code == OP_ATOMIC_ADD && op->parent->parent;
    for (int i = 0; i < op->result_count && adds; i++)
        adds = value_readers(&additions->readers, op->results[i])->count == 0;
    if (adds) LIST_PUSH(additions->arena, &additions->found, op);
    return true;
}

void loops_take_one_iteration(Function *function) {
    Additions additions = {.arena = function->arena,
                           .readers = function_readers(function->arena, function)};
    region_walk(function->body, visit, &additions);
    for (LIST_EACH(int, i, additions.found)) take_iteration(function, additions.found.items[i]);
}
