// Bounds of loops in; which constexprs have to be multiples of others, out: a loop that goes on behind the end of its block is in that of
// the next program.
#include "autodiff/joins/whole_steps.h"

#include <string.h>

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
