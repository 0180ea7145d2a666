// From a function to its axes (program ids, loop variables) and from a value to those that it varies with.
#include "analysis/addresses/axis.h"

#include <string.h>

#include "analysis/addresses/strides.h"

#include "analysis/build/infer.h"

bool value_is_program_id(const Value *value, int axis) {
    int64_t number;
    return value->op && value->op->code == OP_PROGRAM_ID &&
           value_is_int(value->op->operands[0], &number) && (axis < 0 || number == axis);
}

bool value_is_loop_variable(const Value *value) {
    if (value->op || !value->region || !value->region->parent || value->index) return false;
    OpCode code = value->region->parent->code;
    return code == OP_FOR || code == OP_STATIC_FOR;
}

bool value_is_tile_index(const Value *value, int axis, int digit) {
    int64_t of_axis, number;
    return value->op && value->op->code == OP_TILE_INDEX &&
           value_is_int(value->op->operands[1], &of_axis) &&
           value_is_int(value->op->operands[2], &number) && (axis < 0 || of_axis == axis) &&
           (digit < 0 || number == digit);
}

bool value_is_axis(const Value *value) {
    return value_is_program_id(value, -1) || value_is_loop_variable(value) ||
           value_is_tile_index(value, -1, -1);
}

typedef LIST(const Value *) Worklist;

static void push_new(Arena *arena, Map *seen, Worklist *work, const Value *value) {
    if (!value || map_has_pointer(seen, value)) return;
    map_set_pointer(seen, value, seen);
    LIST_PUSH(arena, work, value);
}

static void push_region_results(Arena *arena, Map *seen, Worklist *work, const Value *value) {
    for (int i = 0; i < value->op->region_count; i++) {
        const Op *end = region_terminator(value->op->regions[i]);
        if (!end) continue;
        if (end->code == OP_CONDITION)
            push_new(arena, seen, work, end->operands[0]);
        else if (value->index < end->operand_count)
            push_new(arena, seen, work, end->operands[value->index]);
    }
}

AxisSources axis_sources_of(Arena *arena, const Value *value, const Value *axis) {
    AxisSources sources = {0};
    Map seen = map_new(arena);
    Worklist work = {0};
    push_new(arena, &seen, &work, value);
    while (work.count) {
        const Value *next = work.items[--work.count];
        bool same_program =
            axis && value_is_program_id(axis, -1) && next->op && next->op->code == OP_PROGRAM_ID &&
            next->op->operands[0]->constant && axis->op->operands[0]->constant &&
            next->op->operands[0]->constant->integer == axis->op->operands[0]->constant->integer;
        if (next == axis || same_program) sources.found = next;
        if (value_is_axis(next)) {
            sources.any_axis = true;
            continue;
        }
        if (next->op) {
            for (int i = 0; i < next->op->operand_count; i++)
                push_new(arena, &seen, &work, next->op->operands[i]);
            push_region_results(arena, &seen, &work, next);
            continue;
        }
        const Op *owner = next->region ? next->region->parent : NULL;
        if (!owner) continue;  // a parameter
        sources.carried_state = true;
        bool counted = owner->code == OP_FOR || owner->code == OP_STATIC_FOR;
        int carried = counted ? next->index - 1 : next->index;
        int operand = counted ? carried + 3 : carried;
        if (operand < owner->operand_count) push_new(arena, &seen, &work, owner->operands[operand]);
        // A carried value moves with its loop.
        if (counted) push_new(arena, &seen, &work, owner->regions[0]->arguments[0]);
        const Op *end = region_terminator(owner->regions[owner->region_count - 1]);
        if (end && carried < end->operand_count)
            push_new(arena, &seen, &work, end->operands[carried]);
    }
    return sources;
}

bool value_depends_on_axis(Arena *arena, const Value *value, const Value *axis) {
    return axis_sources_of(arena, value, axis).found != NULL;
}

bool poly_depends_on_axis(Arena *arena, const Poly *poly, const Value *axis) {
    for (int t = 0; t < poly->count; t++)
        for (int a = 0; a < poly->terms[t].atom_count; a++)
            if (value_depends_on_axis(arena, poly->terms[t].atoms[a], axis)) return true;
    return false;
}

bool poly_is_fixed(Arena *arena, const Poly *poly) {
    for (int t = 0; t < poly->count; t++)
        for (int a = 0; a < poly->terms[t].atom_count; a++) {
            AxisSources sources = axis_sources_of(arena, poly->terms[t].atoms[a], NULL);
            if (sources.any_axis || sources.carried_state) return false;
        }
    return true;
}

/* ---- what a function says about its axes ---- */

typedef struct Gathering {
    Arena *arena;
    FunctionAxes *axes;
} Gathering;

static void note_axis(Value **of_axis, Op *op) {
    int64_t axis;
    if (value_is_int(op->operands[0], &axis) && axis >= 0 && axis < PROGRAM_AXES && !of_axis[axis])
        of_axis[axis] = op->results[0];
}

static void note_tile(FunctionAxes *axes, Op *op) {
    for (int axis = 0; axis < PROGRAM_AXES; axis++)
        for (int digit = 0; digit < TILE_MOST_DIGITS; digit++) {
            if (!value_is_tile_index(op->results[0], axis, digit)) continue;
            axes->tiles[axis][digit] = op->results[0];
            if (axes->digits[axis] <= digit) axes->digits[axis] = digit + 1;
            if (axes->digits[axis] < 2) axes->digits[axis] = 2;
        }
}

static bool gather(void *context, Op *op) {
    Gathering *gathering = context;
    switch (op->code) {
    case OP_PROGRAM_ID: note_axis(gathering->axes->programs, op); break;
    case OP_NUM_PROGRAMS: note_axis(gathering->axes->program_counts, op); break;
    case OP_TILE_INDEX: note_tile(gathering->axes, op); break;
    default:
        if (op_is_ordering(op->code))
            LIST_PUSH(gathering->arena, &gathering->axes->comparisons, op);
    }
    return true;
}

static Value *parameter_named(const Function *function, const char *name) {
    for (int i = 0; name && i < function->parameter_count; i++)
        if (strcmp(function->parameters[i].name, name) == 0) return function->parameters[i].value;
    return NULL;
}

static void note_parts(Arena *arena, const Function *function, FunctionAxes *axes) {
    for (int i = 0; i < function->part_count; i++) {
        BlockParts *parts = &function->parts[i];
        Value *whole = parameter_named(function, parts->whole);
        Value *part = parameter_named(function, parts->part);
        Value *count = parameter_named(function, parts->count);
        if (!whole || !part || (parts->count && !count)) continue;
        const Poly *least =
            poly_multiply(arena, poly_constant(arena, parts->times), poly_atom(arena, part));
        if (count) least = poly_multiply(arena, least, poly_atom(arena, count));
        LIST_PUSH(arena, &axes->parts, ((PartsOfBlock){whole, least, &parts->is_used}));
    }
}

FunctionAxes function_axes(Arena *arena, const Function *function) {
    FunctionAxes axes = {0};
    Gathering gathering = {arena, &axes};
    region_walk(function->body, gather, &gathering);
    note_parts(arena, function, &axes);
    return axes;
}

bool poly_is_nonnegative_in_parts(Arena *arena, const FunctionAxes *axes, const Poly *poly) {
    if (poly_is_nonnegative(arena, poly)) return true;
    for (LIST_EACH(int, i, axes->parts)) {
        const PartsOfBlock *parts = &axes->parts.items[i];
        const Poly *factor, *rest;
        if (!poly || !poly_mentions(poly, parts->whole) ||
            !poly_split(arena, poly, parts->whole, &factor, &rest) ||
            !poly_is_nonnegative(arena, factor))
            continue;
        const Poly *least = poly_add(arena, rest, poly_multiply(arena, factor, parts->least));
        if (!poly_is_nonnegative(arena, least)) continue;
        *parts->is_used = true;
        return true;
    }
    return false;
}
