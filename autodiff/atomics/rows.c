// From a row's address and its launches to whether the row ends where the kernel stops to read it.
#include "autodiff/atomics/rows.h"

#include <string.h>

#include "analysis/host/launch.h"

/// Whether one row starts where the one before ends: some number in its address counts as many elements.
static bool rows_are_dense(Arena *arena, const RowTiles *tiles) {
    const Poly *length = poly_multiply(arena, tiles->weight, tiles->end), *step, *rest;
    for (int t = 0; t < tiles->base->count; t++)
        for (int i = 0; i < tiles->base->terms[t].atom_count; i++) {
            Value *atom = tiles->base->terms[t].atoms[i];
            if (!poly_mentions(tiles->end, atom) &&
                poly_split(arena, tiles->base, atom, &step, &rest) && poly_equal(step, length))
                return true;
        }
    return false;
}

static bool is_same_number(const HostValue *a, const HostValue *b) {
    if (!a || !b) return false;
    if (a == b) return a->kind != HOST_UNKNOWN;
    if (a->kind != b->kind) return false;
    if (a->kind == HOST_SIZE) return a->input == b->input && a->axis == b->axis;
    return a->kind == HOST_CONSTANT && a->constant.kind == CONSTANT_INT &&
           b->constant.kind == CONSTANT_INT && a->constant.integer == b->constant.integer;
}

static int parameter_named(const Function *function, const char *name) {
    for (int i = 0; i < function->parameter_count; i++)
        if (strcmp(function->parameters[i].name, name) == 0) return i;
    return -1;
}

/// The parameter of the forward that the backward has a value for, or -1.
static int parameter_of(const Differentiation *state, const Value *value) {
    for (int i = 0; i < state->backward->parameter_count; i++)
        if (state->backward->parameters[i].value == value)
            return parameter_named(state->primal, state->backward->parameters[i].name);
    return -1;
}

static bool is_size_in_launches(const Differentiation *state, int size, int tensor) {
    if (size < 0 || tensor < 0 || !state->primal->definition) return false;
    HostLaunches launches =
        host_launches_by_flags(state->arena, state->primal->definition, state->primal);
    for (LIST_EACH(int, i, launches)) {
        const HostLaunch *launch = launches.items[i];
        if (size >= launch->argument_count || tensor >= launch->argument_count) return false;
        const HostValue *value = launch->arguments[tensor].value;
        if (!value || value->kind != HOST_TENSOR || !value->tensor->rank) return false;
        const HostTensor *passed = value->tensor;
        if (!is_same_number(launch->arguments[size].value, passed->dims[passed->rank - 1]))
            return false;
    }
    return launches.count > 0;
}

bool row_is_whole(const Differentiation *state, const RowTiles *tiles) {
    if (rows_are_dense(state->arena, tiles)) return true;
    int64_t one;
    const Poly *end = tiles->end;
    bool is_number =
        end->count == 1 && end->terms[0].atom_count == 1 && end->terms[0].coefficient == 1;
    return is_number && poly_is_constant(tiles->weight, &one) && one == 1 &&
           is_size_in_launches(state, parameter_of(state, end->terms[0].atoms[0]),
                               parameter_named(state->primal, tiles->input->name));
}
