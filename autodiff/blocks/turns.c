// A kernel whose programs take turns in one loop around all that it does in; how many turns there are out: as many programs are as right.
#include "autodiff/blocks/origins.h"

typedef struct TurnSearch {
    Blocks *blocks;
    Map numbered;    // values that depend on the number of a program, or on how many there are
    const Op *loop;  // whose turns programs take
    const Poly *step;
    bool fits;
} TurnSearch;

enum { TURN_AXIS = 0 };  // the grid has room for any number of programs there alone

static bool is_own_number(const Value *value) { return value_is_program_id(value, TURN_AXIS); }

static bool is_count(const Value *value) {
    int64_t axis;
    return value->op && value->op->code == OP_NUM_PROGRAMS &&
           value_is_int(value->op->operands[0], &axis) && axis == TURN_AXIS;
}

static bool has_number(const Op *op) {
    bool found = op->code == OP_TILE_INDEX;
    for (int i = 0; i < op->result_count; i++)
        found = found || is_own_number(op->results[i]) || is_count(op->results[i]);
    return found;
}

static bool is_numbered(const TurnSearch *search, const Value *value) {
    return value && map_has_pointer(&search->numbered, value);
}

/// The number that `poly` is `of` times, for one term with each atom once; NULL.
static const Poly *without(Arena *arena, const Poly *poly, bool of(const Value *value)) {
    if (!poly || poly->count != 1) return NULL;
    const Monomial *term = &poly->terms[0];
    const Poly *rest = poly_constant(arena, term->coefficient);
    int found = 0;
    for (int i = 0; i < term->atom_count && rest; i++) {
        bool is_it = of(term->atoms[i]);
        found += is_it;
        if (!is_it) rest = poly_multiply(arena, rest, poly_atom(arena, term->atoms[i]));
    }
    return found == 1 ? rest : NULL;
}

/// `range(program * step, end, programs * step)`, with nothing that it hands on.
static bool takes_turns(TurnSearch *search, const Op *loop) {
    Blocks *blocks = search->blocks;
    const Poly *first =
                   without(blocks->arena, scalar_poly(blocks, loop->operands[0]), is_own_number),
               *step = without(blocks->arena, scalar_poly(blocks, loop->operands[2]), is_count);
    search->step = step;
    return loop->code == OP_FOR && !loop->result_count && first && step &&
           poly_equal(first, step) && !is_numbered(search, loop->operands[1]);
}

static bool visit_inside(void *context, Op *op) {
    TurnSearch *search = context;
    search->fits &= !has_number(op);
    for (int i = 0; i < op->operand_count; i++)
        search->fits &= !is_numbered(search, op->operands[i]);
    return search->fits;
}

static bool changes_memory(const Op *op) {
    return op_rows[op->code].effects & (EFFECT_WRITES | EFFECT_ATOMIC | EFFECT_ORDERED);
}

static bool visit_outside(void *context, Op *op) {
    TurnSearch *search = context;
    search->fits &= !changes_memory(op);
    return visit_inside(search, op);
}

/// An operation of the kernel's body, behind those before it.
static void take_operation(TurnSearch *search, Op *op) {
    bool is_of_program = false;
    for (int i = 0; i < op->operand_count; i++)
        is_of_program |= is_numbered(search, op->operands[i]);
    bool is_turn =
        is_of_program && op->region_count == 1 && !search->loop && takes_turns(search, op);
    if (is_turn) {
        search->loop = op;
        region_walk(op->regions[0], visit_inside, search);
        return;
    }
    search->fits &= !changes_memory(op) && (!is_of_program || !op->region_count);
    for (int r = 0; r < op->region_count; r++) region_walk(op->regions[r], visit_outside, search);
    for (int i = 0; i < op->result_count; i++)
        if (is_of_program || has_number(op)) map_set_pointer(&search->numbered, op->results[i], op);
}

void turns_describe(Blocks *blocks, BackwardLaunch *launch) {
    TurnSearch search = {.blocks = blocks, .numbered = map_new(blocks->arena), .fits = true};
    if (!launch->tile || !launch_is_repeatable(launch, false)) return;
    for (Op *op = blocks->function->body->first; op && search.fits; op = op->next)
        take_operation(&search, op);
    if (!search.fits || !search.loop) return;
    const char *end = launch_number_text(blocks, launch,
                                         scalar_poly(blocks, search.loop->operands[1])),
               *step = launch_number_text(blocks, launch, search.step);
    launch->turns_end = step ? end : NULL;
    launch->turns_step = end ? step : NULL;
}
