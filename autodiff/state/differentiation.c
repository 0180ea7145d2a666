// The state of a derivation: what every pass may ask of it, and how it fails.
#include "autodiff/state/differentiation.h"
#include "analysis/build/build.h"
#include "analysis/ir/walk.h"

#include <stdarg.h>

Differentiation differentiation_new(Arena *arena) {
    return (Differentiation){.arena = arena,
                             .values = map_new(arena),
                             .activity.active = map_new(arena),
                             .activity.constant = map_new(arena),
                             .activity.bits = map_new(arena),
                             .buffers.gradients = map_new(arena),
                             .buffers.upstreams = map_new(arena),
                             .buffers.running = map_new(arena),
                             .buffers.kept = map_new(arena),
                             .descriptors.numbers = map_new(arena),
                             .descriptors.pointer_names = map_new(arena),
                             .versions.origins = map_new(arena),
                             .versions.replays = map_new(arena),
                             .versions.load_tapes = map_new(arena),
                             .versions.first_stores = map_new(arena),
                             .versions.lost = map_new(arena),
                             .versions.iterations_apart = map_new(arena),
                             .versions.ordered = map_new(arena),
                             .stores.owners = map_new(arena),
                             .stores.distinct = map_new(arena),
                             .stores.upstreams = map_new(arena),
                             .stores.told = map_new(arena),
                             .stores.tellings = map_new(arena),
                             .stores.ends_unknown = map_new(arena),
                             .parts.part_strides = map_new(arena),
                             .parts.optional = map_new(arena)};
}

bool parameter_points_to_float(const Parameter *parameter) {
    return parameter->value->type.kind == TYPE_POINTER &&
           !dtype_is_integer(parameter->value->type.element) &&
           parameter->value->type.element.code != DTYPE_ANY_INT;
}

const Parameter *parameter_of_root(const Differentiation *state, const Value *root) {
    const Value *origin = map_get_pointer(&state->versions.origins, root);
    return &state->primal->parameters[(origin ? origin : root)->index];
}

void adjoint_fail(Differentiation *state, DiagnosticId id, Range range, const char *format, ...) {
    if (state->failed) return;
    va_list arguments;
    va_start(arguments, format);
    state->failure = arena_vprintf(state->arena, format, arguments);
    va_end(arguments);
    state->failed = true;
    state->failure_range = range;
    state->failure_id = (int)id;
}

Type type_recomputed(const Differentiation *state, Type type) {
    return type_mapped(state->arena, type, &state->values);
}

Value *adjoint_zeros(Differentiation *state, Builder *builder, Type type, Range range) {
    DTypeCode code = type.element.code == DTYPE_FLOAT64 ? DTYPE_FLOAT64 : DTYPE_FLOAT32;
    if (type.rank == 0) return build_float(builder, 0.0);
    Value *shape = build_shape(builder, type_recomputed(state, type));
    if (!shape) {
        adjoint_fail(state, DIAGNOSTIC_GRADIENT_UNKNOWN_SHAPE, range,
                     "the shape of this value is not known, so its gradient cannot be accumulated");
        return build_float(builder, 0.0);
    }
    return build_ternary(builder, OP_FULL, shape, build_float(builder, 0.0),
                         build_dtype(builder, dtype_of(code)));
}

/// What was not understood and left a value without a type. NULL: nothing of the kind.
static intptr_t unknown_behind(ValueWalk *walk, const Value *value) {
    const Op *op = value ? value->op : NULL;
    if (!op || value->type.kind == TYPE_NUMBER) return 0;
    if (op->code == OP_UNKNOWN) return op->note ? (intptr_t)op : 0;
    intptr_t found = 0;
    for (int i = 0; i < op->operand_count && !found; i++) found = walk_ask(walk, op->operands[i]);
    for (int r = 0; r < op->region_count && !found; r++) {
        const Op *yield = region_terminator(op->regions[r]);
        if (yield && value->index < yield->operand_count)
            found = walk_ask(walk, yield->operands[value->index]);
    }
    return found;
}

void adjoint_refuse_unknown(Differentiation *state, const Value *value) {
    const Op *cause = (const Op *)walk_from(value, unknown_behind, 0, NULL);
    if (cause)
        adjoint_fail(state, DIAGNOSTIC_GRADIENT_UNKNOWN_SHAPE, cause->range,
                     "a gradient has to pass through what was not understood: %s", cause->note);
    else
        adjoint_fail(
            state, DIAGNOSTIC_GRADIENT_UNKNOWN_SHAPE, value->range,
            "the type of this value is not known, so its gradient cannot be summed over the axes it is broadcast along");
}
