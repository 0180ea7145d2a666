// Bounds of loops in; which constexprs have to be multiples of others, out: a loop that goes on behind the end of its block is in that of
// the next program.
#include "autodiff/joins/whole_steps.h"

#include <string.h>

#include "analysis/addresses/affine.h"
#include "analysis/build/value_poly.h"
#include "analysis/ir/walk.h"
#include "analysis/launches/launch_values.h"

bool multiple_is_broken_by_launch(const Function *function, const Value *size, const Value *of) {
    LaunchValues sizes = launches_values(function, size->index),
                 others = launches_values(function, of->index);
    for (int i = 0; i < sizes.count; i++)
        for (int k = 0; k < others.count; k++)
            if (others.items[k] <= 0 || sizes.items[i] % others.items[k]) return true;
    return false;
}

/// The constexpr parameter that a number is; or NULL.
static const Value *constexpr_of(const Function *function, const Poly *number) {
    if (!number || number->count != 1 || number->terms[0].atom_count != 1 ||
        number->terms[0].coefficient != 1)
        return NULL;
    const Value *atom = number->terms[0].atoms[0];
    bool is_parameter = !atom->op && !atom->constant && atom->region == function->body;
    return is_parameter && function->parameters[atom->index].is_constexpr ? atom : NULL;
}

typedef struct PartSteps {
    Arena *arena;
    const Function *function;
    LIST(Multiple) found;
} PartSteps;

static bool visit_part_steps(void *context, Op *op) {
    PartSteps *search = context;
    const Function *function = search->function;
    if (op->code != OP_FOR) return true;
    const Poly *length = poly_subtract(search->arena, value_poly(search->arena, op->operands[1]),
                                       value_poly(search->arena, op->operands[0]));
    const Value *size = constexpr_of(function, length);
    const Value *part = constexpr_of(function, value_poly(search->arena, op->operands[2]));
    if (size && part && size != part && !multiple_is_broken_by_launch(function, size, part))
        LIST_PUSH(search->arena, &search->found,
                  ((Multiple){function->parameters[size->index].name,
                              function->parameters[part->index].name}));
    return true;
}

static PartSteps part_steps_of(Arena *arena, const Function *function) {
    PartSteps search = {.arena = arena, .function = function};
    region_walk(function->body, visit_part_steps, &search);
    return search;
}

bool function_has_part_steps(Arena *arena, const Function *function) {
    return part_steps_of(arena, function).found.count > 0;
}

bool whole_steps_note(Differentiation *state) {
    PartSteps steps = part_steps_of(state->arena, state->primal);
    for (LIST_EACH(int, i, steps.found)) {
        const Multiple *own = &steps.found.items[i];
        bool is_known = false;
        for (LIST_EACH(int, k, state->joins.multiples)) {
            const Multiple *known = &state->joins.multiples.items[k];
            is_known = is_known || (!strcmp(known->size, own->size) && !strcmp(known->of, own->of));
        }
        if (!is_known) LIST_PUSH(state->arena, &state->joins.multiples, *own);
    }
    return steps.found.count > 0;
}

/* ---- blocks in numbered parts ---- */

enum { MOST_PARTS = 8 };  // kinds of blocks in parts. Beyond: nothing is taken for granted of them

typedef struct PartBlocks {
    Arena *arena;
    const Function *function;
    Former *former;
    LIST(BlockParts) found;
} PartBlocks;

static bool are_same(const char *a, const char *b) {
    return a == b || (a && b && strcmp(a, b) == 0);
}

static int64_t least_launched(const Function *function, const Value *parameter) {
    LaunchValues values = launches_values(function, parameter->index);
    int64_t least = INT64_MAX;
    for (int i = 0; i < values.count; i++)
        least = values.items[i] < least ? values.items[i] : least;
    return least;
}

static int64_t most_launched(const Function *function, const Value *parameter) {
    LaunchValues values = launches_values(function, parameter->index);
    int64_t most = 0;
    for (int i = 0; i < values.count; i++) most = values.items[i] > most ? values.items[i] : most;
    return most;
}

/// Whether the launches of the file pass sizes in which the parts have no room.
static bool parts_are_broken_by_launch(const Function *function, const Value *whole,
                                       const Value *count, const Value *part, int64_t times) {
    const int64_t room = least_launched(function, whole), size = most_launched(function, part);
    const int64_t number = count ? most_launched(function, count) : 1;
    return size > 0 && number > 0 && room / size / number < times;
}

static void add_parts(PartBlocks *search, const Value *whole, const Value *count, const Value *part,
                      int64_t times) {
    const Function *function = search->function;
    if (whole == part || whole == count || part == count ||
        parts_are_broken_by_launch(function, whole, count, part, times))
        return;
    const Parameter *parameters = function->parameters;
    BlockParts parts = {.whole = parameters[whole->index].name,
                        .count = count ? parameters[count->index].name : NULL,
                        .part = parameters[part->index].name,
                        .times = times};
    for (LIST_EACH(int, i, search->found)) {
        BlockParts *known = &search->found.items[i];
        if (!are_same(known->whole, parts.whole) || !are_same(known->count, parts.count) ||
            !are_same(known->part, parts.part))
            continue;
        if (known->times < times) known->times = times;
        return;
    }
    if (search->found.count < MOST_PARTS) LIST_PUSH(search->arena, &search->found, parts);
}

/// A constexpr that is a factor of a term, what else the term is made of (NULL: nothing) and its number; NULL where it has more factors.
static const Value *sized_term(const PartBlocks *search, const Monomial *term, Value **other) {
    const Value *size = NULL;
    *other = NULL;
    for (int i = 0; i < term->atom_count; i++) {
        const Poly *atom = poly_atom(search->arena, term->atoms[i]);
        const Value *own = constexpr_of(search->function, atom);
        if (own ? size != NULL : *other != NULL) return NULL;
        if (own)
            size = own;
        else
            *other = term->atoms[i];
    }
    return term->coefficient > 0 ? size : NULL;
}

/// The constexpr that a remainder, or the end of the loop that a variable is of, is below; or NULL.
static const Value *count_of(const PartBlocks *search, const Value *value) {
    if (value_is_loop_variable(value) && value->region->parent->code == OP_FOR) {
        const Poly *end = value_poly(search->arena, value->region->parent->operands[1]);
        const Value *own = constexpr_of(search->function, end);
        if (own) return own;
        if (end->count != 1 || end->terms[0].atom_count != 1) return NULL;
        value = end->terms[0].atoms[0];
    }
    return value->op && value->op->code == OP_MOD
               ? constexpr_of(search->function, value_poly(search->arena, value->op->operands[1]))
               : NULL;
}

static bool visit_part_blocks(void *context, Op *op) {
    PartBlocks *search = context;
    if (op->code != OP_ADD || !dtype_is_integer(op->results[0]->type.element)) return true;
    Affine form = affine_by(search->former, op->results[0]);
    for (int i = 0; form.known && i < form.base->count; i++) {
        Value *block, *number;
        const Value *whole = sized_term(search, &form.base->terms[i], &block);
        if (!whole || !block || form.base->terms[i].coefficient != 1) continue;
        for (int k = 0; k < form.base->count; k++) {
            const Monomial *term = &form.base->terms[k];
            const Value *part = k == i ? NULL : sized_term(search, term, &number);
            const Value *count = part && number ? count_of(search, number) : NULL;
            if (part && !number) add_parts(search, whole, NULL, part, term->coefficient + 1);
            if (count && term->coefficient == 1) add_parts(search, whole, count, part, 1);
        }
    }
    return true;
}

static PartBlocks part_blocks_of(Arena *arena, const Function *function) {
    PartBlocks search = {.arena = arena, .function = function, .former = former_new(arena)};
    region_walk(function->body, visit_part_blocks, &search);
    return search;
}

bool function_has_block_parts(Arena *arena, const Function *function) {
    return part_blocks_of(arena, function).found.count > 0;
}

bool block_parts_note(Differentiation *state) {
    PartBlocks blocks = part_blocks_of(state->arena, state->primal);
    state->primal->parts = blocks.found.items;
    state->primal->part_count = blocks.found.count;
    return blocks.found.count > 0;
}
