// From the numbers that a launch passes to polynomials over what its launcher gets from outside.
#include "autodiff/extents/launch_polys.h"

#include <string.h>

#include "analysis/addresses/strides.h"
#include "analysis/build/value_poly.h"
#include "analysis/host/launch_concrete.h"
#include "analysis/host_values/host_value.h"
#include "analysis/launches/launch_chosen.h"
#include "analysis/launches/launch_strides.h"
#include "autodiff/rewrite/rewrite.h"

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

static LaunchAtom *atom_of_text(LaunchPolys *polys, const char *text, bool may_be_zero) {
    for (LIST_EACH(int, i, polys->atoms))
        if (strcmp(polys->atoms.items[i].text, text) == 0) return &polys->atoms.items[i];
    Value *value = ARENA_NEW(polys->arena, Value);
    *value = (Value){.id = INT32_MIN + polys->atoms.count, .name = text};
    value->type.is_constexpr = true;  // the same in all programs
    LIST_PUSH(polys->arena, &polys->atoms,
              ((LaunchAtom){.text = text, .value = value, .may_be_zero = may_be_zero}));
    return &polys->atoms.items[polys->atoms.count - 1];
}

static const Poly *poly_of_atom(LaunchPolys *polys, const LaunchAtom *atom) {
    const Poly *own = poly_atom(polys->arena, atom->value);
    return atom->may_be_zero ? poly_subtract(polys->arena, own, poly_constant(polys->arena, 1))
                             : own;
}

static const Poly *poly_of_number(LaunchPolys *polys, const HostValue *value, int depth);

/// The atom of the launcher's that a polynomial is all of, or NULL.
static LaunchAtom *atom_of_poly(LaunchPolys *polys, const Poly *poly) {
    for (LIST_EACH(int, i, polys->atoms))
        if (poly_equal(poly, poly_of_atom(polys, &polys->atoms.items[i])))
            return &polys->atoms.items[i];
    return NULL;
}

static Value *value_of_number(Arena *arena, int64_t number) {
    Constant *constant = ARENA_NEW(arena, Constant);
    *constant = (Constant){.kind = CONSTANT_INT, .integer = number};
    Value *value = ARENA_NEW(arena, Value);
    *value = (Value){.constant = constant};
    return value;
}

/// Makes the atom of a quotient known to be one (sizes_are_nonnegative): its numerator and its divisor are at least 1.
static void relate_quotient(LaunchPolys *polys, LaunchAtom *atom) {
    Arena *arena = polys->arena;
    int64_t number = 0;
    LaunchAtom *above = atom_of_poly(polys, atom->above), *below = atom_of_poly(polys, atom->below);
    bool is_number = !below && poly_is_constant(atom->below, &number) && number > 0;
    if (!above || above->may_be_zero || (below ? below->may_be_zero : !is_number)) return;
    Op *op = ARENA_NEW(arena, Op);
    *op = (Op){.code = OP_FLOORDIV, .operands = ARENA_ARRAY(arena, Value *, 2), .operand_count = 2};
    op->operands[0] = above->value;
    op->operands[1] = below ? below->value : value_of_number(arena, number);
    atom->value->op = op;
}

static LaunchAtom *quotient_of(LaunchPolys *polys, const Poly *above, const Poly *below) {
    for (LIST_EACH(int, i, polys->atoms)) {
        LaunchAtom *atom = &polys->atoms.items[i];
        if (poly_equal(atom->above, above) && poly_equal(atom->below, below)) return atom;
    }
    return NULL;
}

/// `above // below`. One that may be 0 is not related to what it is a quotient of.
static const Poly *poly_of_quotient(LaunchPolys *polys, const Poly *above, const Poly *below) {
    if (!above || !below) return NULL;
    Arena *arena = polys->arena;
    const Poly *whole = poly_divide_exact(arena, above, below);
    if (whole) return whole;
    LaunchAtom *atom = quotient_of(polys, above, below);
    if (!atom) {
        // by a name that no host code has: numbers of one name may be the kernel's and the launcher's
        atom = atom_of_text(polys, arena_printf(arena, "quotient %d", polys->atoms.count), true);
        atom->above = above;
        atom->below = below;
    }
    if (!atom->may_be_zero && !atom->value->op) relate_quotient(polys, atom);
    return poly_of_atom(polys, atom);
}

/// Notes that the atom is not 0; neither is the numerator of a quotient that is not. Whether that was news.
static bool note_positive(LaunchPolys *polys, LaunchAtom *atom) {
    if (!atom || !atom->may_be_zero) return false;
    LaunchAtom *above = atom->above ? atom_of_poly(polys, atom->above) : NULL,
               *below = atom->below ? atom_of_poly(polys, atom->below) : NULL;
    atom->may_be_zero = false;
    note_positive(polys, above);
    note_positive(polys, below);
    return true;
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
    bool is_quotient = value->kind == HOST_OPERATION && value->count == 2 &&
                       value->operation == HOST_OP_FLOOR_DIVIDE;
    const Poly *quotient =
        is_quotient ? poly_of_quotient(polys, poly_of_number(polys, value->items[0], depth + 1),
                                       poly_of_number(polys, value->items[1], depth + 1))
                    : NULL;
    if (quotient) return quotient;
    bool is_size = value->kind == HOST_SIZE ||
                   (value->kind == HOST_INPUT && map_has_pointer(&polys->sizes, value->input));
    return poly_of_atom(polys, atom_of_text(polys, host_print(arena, value), !is_size));
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
        return poly_of_atom(
            polys, atom_of_text(polys, arena_printf(polys->arena, "stride %s", name), true));
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
    if (is_parameter) return poly_of_parameter(polys, atom->index);
    const Poly *quotient = NULL;
    if (atom->op && atom->op->code == OP_FLOORDIV && value_is_of_parameters(atom))
        quotient = poly_of_quotient(
            polys, launch_poly(polys, value_poly(polys->arena, atom->op->operands[0])),
            launch_poly(polys, value_poly(polys->arena, atom->op->operands[1])));
    return quotient ? quotient : poly_atom(polys->arena, atom);
}

bool launch_note_positive(LaunchPolys *polys, const Poly *poly) {
    bool is_news = false;
    if (!poly || poly->count != 1) return false;
    for (int i = 0; i < poly->terms[0].atom_count; i++) {
        const Poly *factor = poly_of_value(polys, poly->terms[0].atoms[i]);
        if (factor) is_news |= note_positive(polys, atom_of_poly(polys, factor));
    }
    return is_news;
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
