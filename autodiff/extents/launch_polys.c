// From the numbers that a launch passes to polynomials over what its launcher gets from outside.
#include "autodiff/extents/launch_polys.h"

#include <string.h>

#include "analysis/host/launch_concrete.h"
#include "analysis/host_values/host_value.h"
#include "analysis/launches/launch_chosen.h"
#include "analysis/launches/launch_strides.h"

enum { MOST_NESTED_NUMBERS = 16 };

LaunchPolys launch_polys_of(Arena *arena, const HostLaunch *launch, const Function *function,
                            int stored, Value *const *programs) {
    LaunchPolys polys = {.arena = arena,
                         .launch = launch,
                         .function = function,
                         .stored = stored,
                         .programs = programs,
                         .sizes = map_new(arena)};
    launch_note_dimensions(&polys.sizes, launch);
    return polys;
}

static const Poly *poly_of_atom(LaunchPolys *polys, const char *text, bool may_be_zero) {
    LaunchAtom *atom = NULL;
    for (LIST_EACH(int, i, polys->atoms))
        if (strcmp(polys->atoms.items[i].text, text) == 0) atom = &polys->atoms.items[i];
    if (!atom) {
        Value *value = ARENA_NEW(polys->arena, Value);
        *value = (Value){.id = INT32_MIN + polys->atoms.count, .name = text};
        LIST_PUSH(polys->arena, &polys->atoms, ((LaunchAtom){text, value, may_be_zero}));
        atom = &polys->atoms.items[polys->atoms.count - 1];
    }
    const Poly *own = poly_atom(polys->arena, atom->value);
    return atom->may_be_zero ? poly_subtract(polys->arena, own, poly_constant(polys->arena, 1))
                             : own;
}

static const Poly *poly_of_number(LaunchPolys *polys, const HostValue *value, int depth);

/// `size // 2` as a quotient that is known to be one (sizes_are_nonnegative), where its numerator is a size; NULL.
static const Poly *poly_of_quotient(LaunchPolys *polys, const HostValue *value, int depth) {
    Arena *arena = polys->arena;
    int64_t divisor;
    bool is_quotient = value->kind == HOST_OPERATION && value->operation == HOST_OP_FLOOR_DIVIDE &&
                       value->count == 2;
    if (!is_quotient || value->items[1]->kind != HOST_CONSTANT ||
        !host_int(value->items[1], &divisor) || divisor < 1)
        return NULL;
    const Poly *above = poly_of_number(polys, value->items[0], depth + 1);
    bool is_atom = above && above->count == 1 && above->terms[0].atom_count == 1 &&
                   above->terms[0].coefficient == 1;
    if (!is_atom) return NULL;
    const Poly *own = poly_of_atom(polys, host_print(arena, value), true);
    Value *quotient = NULL;
    for (LIST_EACH(int, i, polys->atoms))
        if (poly_mentions(own, polys->atoms.items[i].value)) quotient = polys->atoms.items[i].value;
    if (!quotient->op) {
        Constant *constant = ARENA_NEW(arena, Constant);
        *constant = (Constant){.kind = CONSTANT_INT, .integer = divisor};
        Value *below = ARENA_NEW(arena, Value);
        *below = (Value){.id = quotient->id, .constant = constant};
        Op *op = ARENA_NEW(arena, Op);
        *op = (Op){
            .code = OP_FLOORDIV, .operands = ARENA_ARRAY(arena, Value *, 2), .operand_count = 2};
        op->operands[0] = above->terms[0].atoms[0];
        op->operands[1] = below;
        quotient->op = op;
    }
    return own;
}

static const Poly *poly_of_number(LaunchPolys *polys, const HostValue *value, int depth) {
    Arena *arena = polys->arena;
    int64_t number;
    if (depth > MOST_NESTED_NUMBERS || value->kind == HOST_UNKNOWN) return NULL;
    if (value->kind == HOST_CONSTANT)
        return host_int(value, &number) ? poly_constant(arena, number) : NULL;
    bool is_sum = value->kind == HOST_OPERATION && value->count == 2 &&
                  (value->operation == HOST_OP_ADD || value->operation == HOST_OP_SUBTRACT ||
                   value->operation == HOST_OP_MULTIPLY);
    if (is_sum) {
        const Poly *a = poly_of_number(polys, value->items[0], depth + 1),
                   *b = poly_of_number(polys, value->items[1], depth + 1);
        if (!a || !b) return NULL;
        if (value->operation == HOST_OP_ADD) return poly_add(arena, a, b);
        return value->operation == HOST_OP_MULTIPLY ? poly_multiply(arena, a, b)
                                                    : poly_subtract(arena, a, b);
    }
    const Poly *quotient = poly_of_quotient(polys, value, depth);
    if (quotient) return quotient;
    bool is_size = value->kind == HOST_SIZE ||
                   (value->kind == HOST_INPUT && map_has_pointer(&polys->sizes, value->input));
    return poly_of_atom(polys, host_print(arena, value), !is_size);
}

/// Whether the launch passes, by its text, a stride of the stored tensor, which its caller made: it may be any number.
static bool is_given_stride(const LaunchPolys *polys, int parameter) {
    const HostLaunch *launch = polys->launch;
    if (polys->stored < 0 || polys->stored >= launch->argument_count) return false;
    const HostValue *tensor = launch->arguments[polys->stored].value;
    return tensor && tensor->kind == HOST_TENSOR &&
           tensor->tensor->buffer->contents == CONTENTS_INPUT &&
           host_argument_stride_axis(launch, parameter, polys->stored) >= 0;
}

static const Poly *poly_of_parameter(LaunchPolys *polys, int parameter) {
    const HostLaunch *launch = polys->launch;
    if (parameter >= launch->argument_count) return NULL;
    const HostArgument *argument = &launch->arguments[parameter];
    const char *name = polys->function->parameters[parameter].name;
    if (argument->is_tuned)
        return poly_atom(polys->arena, polys->function->parameters[parameter].value);
    if (!argument->value) return NULL;
    if (is_given_stride(polys, parameter))
        return poly_of_atom(polys, arena_printf(polys->arena, "stride %s", name), true);
    return poly_of_number(polys, argument->value, 0);
}

/// What an atom of the kernel's is in the launcher's numbers.
static const Poly *poly_of_value(LaunchPolys *polys, Value *atom) {
    for (int axis = 0; axis < PROGRAM_AXES; axis++) {
        if (atom != polys->programs[axis]) continue;
        if (axis >= polys->launch->grid_rank)
            return polys->launch->grid_rank ? poly_constant(polys->arena, 1) : NULL;
        const HostValue *programs = polys->launch->grid[axis];
        return programs ? poly_of_number(polys, programs, 0) : NULL;
    }
    bool is_parameter = !atom->op && atom->region == polys->function->body;
    return is_parameter ? poly_of_parameter(polys, atom->index) : poly_atom(polys->arena, atom);
}

const Poly *launch_poly(LaunchPolys *polys, const Poly *poly) {
    const Poly *sum = poly_constant(polys->arena, 0);
    for (int t = 0; t < poly->count; t++) {
        const Poly *product = poly_constant(polys->arena, poly->terms[t].coefficient);
        for (int i = 0; i < poly->terms[t].atom_count; i++) {
            const Poly *factor = poly_of_value(polys, poly->terms[t].atoms[i]);
            if (!factor) return NULL;
            product = poly_multiply(polys->arena, product, factor);
        }
        sum = poly_add(polys->arena, sum, product);
    }
    return sum;
}
