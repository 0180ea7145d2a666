// A kernel of one program's tile in; one of the tiles of several programs out.
#include "autodiff/together/side_by_side.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/build/build.h"
#include "analysis/build/value_poly.h"
#include "analysis/launches/launch_least.h"
#include "autodiff/rewrite/rewrite.h"
#include "autodiff/together/launch_parameter.h"
#include "autodiff/together/lift.h"

enum { WIDE_TILE = 1024 };  // elements of a program that has enough to do

typedef struct SideBySide {
    Members values;  // `root`: the number of a program
    int axis;
    Value *programs;
    const Poly *
        least;  // programs that store elements which lie side by side; NULL: as many are one as fit
} SideBySide;

typedef struct AxisIds {
    Value *ids[PROGRAM_AXES];
    bool is_twice;
} AxisIds;

static bool visit_id(void *context, Op *op) {
    AxisIds *search = context;
    for (int axis = 0; axis < PROGRAM_AXES && op->code == OP_PROGRAM_ID; axis++) {
        if (!value_is_program_id(op->results[0], axis)) continue;
        search->is_twice = search->is_twice || search->ids[axis] || op->parent->parent;
        search->ids[axis] = op->results[0];
    }
    return true;
}

/// Whether a number is what a program's own number leaves, in one division or two: those that follow each other have others.
static bool is_remainder_of(const Value *value, const Value *id) {
    for (int deep = 0; deep < 2 && value->op && value->op->code == OP_MOD && !value->type.rank;
         deep++)
        value = value->op->operands[0];
    return value == id;
}

typedef struct Interleaved {
    const SideBySide *own;
    const Poly
        *digits;  // the address has a remainder of the program's number by so many; NULL: by none
    const Poly *lanes;  // and a tile times so many
    const Poly *steps;  // of the stores before
    bool fits;
} Interleaved;

enum { MOST_DEEP = 10 };  // sums within one another in an address

/// Looks through what an address is the sum of.
static void visit_term(Interleaved *search, const Value *value, int depth) {
    Arena *arena = search->own->values.state->arena;
    const Op *op = value->op;
    if (!op || depth > MOST_DEEP) return;
    switch (op->code) {
    case OP_ADD:
        visit_term(search, op->operands[0], depth + 1);
        visit_term(search, op->operands[1], depth + 1);
        return;
    case OP_EXPAND_DIMS:
    case OP_BROADCAST_TO:
    case OP_CAST: visit_term(search, op->operands[0], depth + 1); return;
    case OP_MOD:
        if (is_remainder_of(value, search->own->values.root))
            search->digits = value_poly(arena, op->operands[1]);
        return;
    case OP_MUL:
        for (int i = 0; i < 2; i++)
            if (op->operands[i]->type.rank && !op->operands[1 - i]->type.rank &&
                op->operands[1 - i]->type.is_constexpr)
                search->lanes = value_poly(arena, op->operands[1 - i]);
        return;
    default: return;
    }
}

/// Lanes lie some elements apart, and a remainder of the program's number by as many says which of those it has.
static bool visit_interleaved(void *context, Op *op) {
    Interleaved *search = context;
    if (op->code != OP_STORE) return search->fits;
    search->digits = search->lanes = NULL;
    visit_term(search, op->operands[0], 0);
    search->fits = search->digits && search->lanes && poly_equal(search->digits, search->lanes) &&
                   (!search->steps || poly_equal(search->digits, search->steps));
    search->steps = search->digits;
    return search->fits;
}

/// Programs of which each stores every second element, or every third: as many as store all of them are one.
static bool programs_interleave(SideBySide *own) {
    Interleaved search = {.own = own, .fits = true};
    region_walk(own->values.function->body, visit_interleaved, &search);
    own->least = search.fits ? search.steps : NULL;
    return own->least != NULL;
}

/// Programs that follow each other along the last axis have what lies together in memory. Where branches ask for that program's number, those
/// along another axis take the same one.
static bool function_fits(SideBySide *own, bool is_small) {
    const Members none = own->values;
    const Function *function = none.function;
    AxisIds search = {0};
    region_walk(function->body, visit_id, &search);
    for (own->axis = PROGRAM_AXES - 1; own->axis >= 0 && !search.is_twice; own->axis--) {
        if (!search.ids[own->axis]) continue;
        own->values = none;
        own->values.ranks = map_new(none.state->arena);
        own->values.root = search.ids[own->axis];
        own->values.takes_any_lanes = programs_interleave(own);
        if (!own->least && !is_small) continue;
        if (members_fit(&own->values, function->body)) return true;
    }
    return false;
}

static void number_programs(const SideBySide *own, Members *members) {
    Op *id = members->root->op;
    Builder b = {.function = members->function,
                 .region = id->parent,
                 .before = id->next,
                 .range = id->next->range};
    Value *first = build_binary(&b, OP_MUL, id->results[0], members->together);
    Value *lanes = build_binary(&b, OP_ARANGE, build_int(&b, 0), members->together);
    Value *numbers = build_binary(&b, OP_ADD, first, lanes);
    numbers->name = id->results[0]->name;
    id->results[0]->name = NULL;
    members->first = first->op;
    members->numbers = numbers;
    members->inside = members_below(members, &b, own->programs);
}

/// How many lanes a program has at least, as all launches of the file pass them; 0: they do not say.
static int64_t least_lanes(const Differentiation *state, const char *tile) {
    int64_t lanes = 1;
    while (*tile && lanes && lanes < WIDE_TILE) {
        size_t length = strcspn(tile, " *");
        int parameter = -1;
        for (int i = 0; i < state->primal->parameter_count; i++)
            if (str_equal(str_from(state->primal->parameters[i].name), (Str){tile, length}))
                parameter = i;
        int64_t least = parameter < 0 ? strtoll(tile, NULL, 10)
                                      : launches_least(state->arena, state->primal, parameter);
        lanes = least < 1 || least > INT32_MAX ? 0 : lanes * least;
        tile += length;
        tile += strspn(tile, " *");
    }
    return lanes;
}

/// Whether the grid is the forward's, and each argument one that another grid leaves as it is.
static bool launch_fits(const Differentiation *state, const BackwardLaunch *launch) {
    const FunctionDefinition *kernel = state->primal->definition;
    bool is_chosen = launch->has_tiles || launch->loop || launch->stream || launch->elements ||
                     launch->flat_lanes || launch->turns_end || launch->row.block ||
                     launch->has_together;
    bool is_set =
        state->options && state->options->wrapper == WRAPPER_AUTOGRAD;  // who says how many?
    if (!is_set || is_chosen || kernel->is_autotuned || kernel->has_heuristics || !launch->tile ||
        launch->argument_count != state->backward->parameter_count)
        return false;
    for (int i = 0; i < launch->argument_count; i++) {
        const BackwardArgument *argument = &launch->arguments[i];
        bool is_plain = argument->use == ARGUMENT_SAME || argument->use == ARGUMENT_UPSTREAM ||
                        argument->use == ARGUMENT_GRADIENT || argument->use == ARGUMENT_FILL;
        bool has_default = state->backward->parameters[i].default_text.size > 0;
        if (!is_plain || argument->is_parts || argument->is_program_sum ||
            (has_default && argument->use != ARGUMENT_FILL))
            return false;
    }
    return true;
}

/// How many programs the forward has along the axis.
static bool visit_count(void *context, Op *op) {
    const SideBySide *own = context;
    int64_t axis;
    if (op->code == OP_NUM_PROGRAMS && value_is_int(op->operands[0], &axis) && axis == own->axis)
        region_replace_uses(own->values.function->body, op->results[0], own->programs);
    return true;
}

void programs_side_by_side(Differentiation *state, BackwardLaunch *launch) {
    SideBySide own = {.values = {.state = state,
                                 .function = state->backward,
                                 .former = former_new(state->arena),
                                 .counts_programs = true}};
    if (!launch_fits(state, launch)) return;
    if (!function_fits(&own, least_lanes(state, launch->tile) < WIDE_TILE)) return;
    own.programs = launch_add_parameter(
        state, launch, "programs", (BackwardArgument){.use = ARGUMENT_PROGRAMS, .axis = own.axis});
    own.values.together = launch_add_parameter(
        state, launch, "TOGETHER",
        (BackwardArgument){.use = ARGUMENT_TOGETHER, .axis = own.axis, .is_constexpr = true});
    number_programs(&own, &own.values);
    members_widen(&own.values, state->backward->body);
    region_walk(state->backward->body, visit_count, &own);
    function_drop_dead(state->backward);
    launch->has_together = true;
    launch->together_axis = own.axis;
    if (own.least) launch->together_least = poly_print(state->arena, own.least);
}
