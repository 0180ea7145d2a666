// Variable lengths: `start = load(offsets + program)`, `end = load(offsets + program + 1)`, and indices from start to below end.
//
// The address is `weight * index + rest`, where index is what the mask holds below the end. Two things make it the program's own:
// the index lies between its offsets, and the address tells the index, whatever the rest is.
#include "autodiff/addresses/segments.h"

#include "analysis/addresses/affine_axes.h"
#include "autodiff/rewrite/rewrite.h"

enum { MASK_STEPS = 200 };  // parts of a mask that are looked at. Beyond: it bounds nothing

typedef struct Segments {
    Arena *arena;
    const Function *function;
    const FunctionAxes *around;
    const Access *access;
    int program_axis;
    Value *program;
    Value *offsets;  // the parameter
    Value *
        first;  // what the index counts from: the offset, or the variable of a loop that starts there
    const Poly *index;                 // of lane 0
    const Poly *lanes[TYPE_MAX_RANK];  // by the access's axes
} Segments;

static const Value *without_casts(const Value *value) {
    while (value && value->op && op_keeps_numbers(value->op)) value = value->op->operands[0];
    return value;
}

/// The parameter where the value is `load(parameter + program + ahead)`, read by each program before anything else decides.
static Value *offset_of_program(const Segments *segments, const Value *value, int64_t ahead) {
    value = without_casts(value);
    Op *op = value ? value->op : NULL;
    bool is_plain = op && op->code == OP_LOAD && value->type.rank == 0 && !op->parent->parent &&
                    (op->operand_count < 2 || !op->operands[1] || value_is_none(op->operands[1]));
    if (!is_plain || !op_is_stable_load(segments->function, op)) return NULL;
    Access access = access_of(segments->arena, op);
    if (!access.parameter || !access.offset.known || access.offset.rank) return NULL;
    int64_t distance;
    const Poly *program = poly_atom(segments->arena, segments->program);
    return poly_is_constant(poly_subtract(segments->arena, access.offset.base, program),
                            &distance) &&
                   distance == ahead
               ? access.parameter
               : NULL;
}

/// The value of a form that is one value.
static Value *atom_of(Arena *arena, Value *value) {
    Affine form = affine_of(arena, value);
    bool is_atom = form.known && form.rank == 0 && form.base->count == 1 &&
                   form.base->terms[0].coefficient == 1 && form.base->terms[0].atom_count == 1;
    return is_atom ? form.base->terms[0].atoms[0] : NULL;
}

static Value *start_of_loop(Arena *arena, const Value *variable) {
    return value_is_loop_variable(variable) ? atom_of(arena, variable->region->parent->operands[0])
                                            : NULL;
}

/// Sets what indices count from: an atom of the address.
static bool find_first(Segments *segments) {
    const Poly *base = segments->access->offset.base;
    for (int t = 0; t < base->count; t++)
        for (int i = 0; i < base->terms[t].atom_count; i++) {
            Value *atom = base->terms[t].atoms[i];
            Value *start = start_of_loop(segments->arena, atom);
            segments->offsets = offset_of_program(segments, start ? start : atom, 0);
            segments->first = atom;
            if (segments->offsets) return true;
        }
    return false;
}

/* ---- the index ---- */

/// What is never below 0: block sizes, ids, and variables of loops from 0 on.
static bool is_count(const Value *value) {
    int64_t lower;
    if (value_is_loop_variable(value)) {
        const Op *loop = value->region->parent;
        int64_t step;
        bool is_up = value_is_int(loop->operands[2], &step) ? step > 0
                                                            : loop->operands[2]->type.is_constexpr;
        return is_up && value_is_int(loop->operands[0], &lower) && lower >= 0;
    }
    return value_is_program_id(value, -1) || value->type.is_constexpr;
}

/// Whether the index lies behind what it counts from.
static bool counts_up(const Segments *segments) {
    const Poly *first = poly_atom(segments->arena, segments->first);
    const Poly *behind = poly_subtract(segments->arena, segments->index, first);
    for (int t = 0; t < behind->count; t++) {
        if (behind->terms[t].coefficient < 0) return false;
        for (int i = 0; i < behind->terms[t].atom_count; i++) {
            const Value *atom = behind->terms[t].atoms[i];
            if (atom == segments->first || !is_count(atom)) return false;
        }
    }
    for (int i = 0; i < segments->access->offset.rank; i++) {
        int64_t step;
        if (!poly_is_constant(segments->lanes[i], &step) || step < 0) return false;
    }
    return true;
}

static void clear_lanes(Segments *segments) {
    for (int i = 0; i < TYPE_MAX_RANK; i++) segments->lanes[i] = poly_constant(segments->arena, 0);
}

/// `index < end`, in the spelling that the comparison has: it may be of lengths (`lane < end - start`).
static bool compares_index(Segments *segments, const Op *op, const int *axes) {
    bool is_below = op->code == OP_LT || op->code == OP_LE;
    bool has_end = op->code == OP_LE || op->code == OP_GE;
    Value *side = op->operands[is_below ? 0 : 1];
    Affine index = affine_of(segments->arena, side);
    Affine bound = affine_of(segments->arena, op->operands[is_below ? 1 : 0]);
    if (!index.known || !bound.known || index.wrapped || bound.wrapped || bound.rank) return false;
    const Poly *distance = poly_subtract(segments->arena, index.base, bound.base);
    if (has_end)
        distance = poly_subtract(segments->arena, distance, poly_constant(segments->arena, 1));
    Value *end = NULL;
    for (int t = 0; t < distance->count; t++) {
        const Monomial *term = &distance->terms[t];
        bool is_end = term->coefficient == -1 && term->atom_count == 1 &&
                      offset_of_program(segments, term->atoms[0], 1) == segments->offsets;
        if (is_end) end = term->atoms[0];
    }
    if (!end) return false;
    segments->index = poly_add(segments->arena, distance, poly_atom(segments->arena, end));
    clear_lanes(segments);
    int missing = op->results[0]->type.rank - index.rank;
    for (int i = 0; i < index.rank; i++) segments->lanes[axes[missing + i]] = index.lane[i];
    return counts_up(segments);
}

/// Whether each lane of the mask has an index below the end. `axes`: of the access, by the mask's.
static bool mask_bounds(Segments *segments, const Value *mask, const int *axes, int *steps) {
    const Op *op = mask ? mask->op : NULL;
    if (!op || ++*steps > MASK_STEPS) return false;
    int64_t axis;
    int rank = mask->type.rank;
    switch (op->code) {
    case OP_LT:
    case OP_LE:
    case OP_GT:
    case OP_GE: return compares_index(segments, op, axes);
    case OP_AND:
        for (int i = 0; i < 2; i++)
            if (mask_bounds(segments, op->operands[i], axes + rank - op->operands[i]->type.rank,
                            steps))
                return true;
        return false;
    case OP_BROADCAST_TO:
        return mask_bounds(segments, op->operands[0], axes + rank - op->operands[0]->type.rank,
                           steps);
    case OP_EXPAND_DIMS: {
        if (!value_is_int(op->operands[1], &axis)) return false;
        if (axis < 0) axis += rank;
        int inner[TYPE_MAX_RANK] = {0};
        for (int i = 0, count = 0; i < rank; i++)
            if (i != axis) inner[count++] = axes[i];
        return mask_bounds(segments, op->operands[0], inner, steps);
    }
    default: return false;
    }
}

/// Whether a loop with this variable runs up to the next offset, counted from `from` (NULL: from 0).
static bool ends_at_next(const Segments *segments, const Value *variable, Value *from) {
    const Op *loop = variable->region->parent;
    Affine upper = affine_of(segments->arena, loop->operands[1]);
    int64_t step;
    if (!value_is_int(loop->operands[2], &step) || step < 1 || !upper.known || upper.rank)
        return false;
    const Poly *end = upper.base;
    if (from) end = poly_add(segments->arena, end, poly_atom(segments->arena, from));
    return end->count == 1 && end->terms[0].coefficient == 1 && end->terms[0].atom_count == 1 &&
           offset_of_program(segments, end->terms[0].atoms[0], 1) == segments->offsets;
}

/// The variable of a loop from one offset up to the next, or of one over as many iterations as lie between them.
static bool loop_bounds(Segments *segments) {
    Value *first = segments->first;
    const Poly *base = segments->access->offset.base;
    clear_lanes(segments);
    if (value_is_loop_variable(first)) {
        segments->index = poly_atom(segments->arena, first);
        return ends_at_next(segments, first, NULL);
    }
    for (int t = 0; t < base->count; t++)
        for (int i = 0; i < base->terms[t].atom_count; i++) {
            Value *atom = base->terms[t].atoms[i];
            if (!value_is_loop_variable(atom) || !ends_at_next(segments, atom, first)) continue;
            segments->index = poly_add(segments->arena, poly_atom(segments->arena, first),
                                       poly_atom(segments->arena, atom));
            return counts_up(segments);
        }
    return false;
}

/// Whether the address tells the index: with the program's id in the index's place it would be the program's.
static bool index_is_told(const Segments *segments) {
    Arena *arena = segments->arena;
    const Poly *weight, *rest;
    Access told = *segments->access;
    if (!poly_split(arena, told.offset.base, segments->first, &weight, &rest)) return false;
    rest = poly_subtract(arena, told.offset.base, poly_multiply(arena, weight, segments->index));
    if (poly_depends_on_axis(arena, rest, segments->program)) return false;
    told.offset.base =
        poly_add(arena, rest, poly_multiply(arena, weight, poly_atom(arena, segments->program)));
    for (int i = 0; i < told.offset.rank; i++)
        told.offset.lane[i] = poly_subtract(arena, told.offset.lane[i],
                                            poly_multiply(arena, weight, segments->lanes[i]));
    Axis axes[ACCESS_MOST_AXES];
    AxisDependence dependence[ACCESS_MOST_AXES];
    int count = access_axes(arena, segments->around, &told, axes, dependence, ACCESS_MOST_AXES);
    for (int i = 0; i < count; i++)
        if (axes[i].is_program && axes[i].program_axis == segments->program_axis)
            return axes[i].digit == AXIS_WHOLE && dependence[i] == AXIS_OWNED;
    return false;
}

Value *segments_of_programs(Arena *arena, const Function *function, const FunctionAxes *around,
                            const Access *access, int program_axis) {
    Segments segments = {.arena = arena,
                         .function = function,
                         .around = around,
                         .access = access,
                         .program_axis = program_axis,
                         .program = around->programs[program_axis]};
    if (!segments.program || !access->parameter || !access->offset.known || access->offset.wrapped)
        return NULL;
    if (!find_first(&segments)) return NULL;
    int axes[TYPE_MAX_RANK] = {0}, steps = 0;
    int rank = access->mask ? access->mask->type.rank : 0;
    for (int i = 0; i < rank; i++) axes[i] = access->offset.rank - rank + i;
    bool is_bounded =
        (rank <= access->offset.rank && mask_bounds(&segments, access->mask, axes, &steps)) ||
        loop_bounds(&segments);
    return is_bounded && index_is_told(&segments) ? segments.offsets : NULL;
}
