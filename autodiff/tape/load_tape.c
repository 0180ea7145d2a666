// A load whose value the kernel overwrites later in; the same load of a copy, a store to scratch memory and a load of that out.
#include "autodiff/tape/load_tape.h"

#include "analysis/build/build.h"
#include "autodiff/tape/replay.h"
#include "autodiff/tape/tape.h"
#include "autodiff/tape/tape_size.h"

/// Parts of a bound that is computed before a loop. Beyond: no bound, and so no tape.
enum { BOUND_STEPS = 200 };

/* ---- how often it happens, at most ---- */

/// A bound of a whole number that is known before the outermost loop.
typedef struct TapeBounds {
    const Differentiation *state;
    const Op *outermost;
    Builder *before;
    int *steps;  // that were asked about so far
} TapeBounds;

static bool is_known_before(const TapeBounds *bounds, const Value *value) {
    for (int r = 0; r < bounds->outermost->region_count; r++)
        if (region_defines(bounds->outermost->regions[r], value)) return false;
    return host_text(bounds->state->arena, bounds->state->primal, value, false);
}

static Value *bound(const TapeBounds *bounds, Value *value, bool is_upper);

static bool steps_up(const Op *loop) {
    int64_t step;
    return !value_is_int(loop->operands[2], &step) || step > 0;
}

/// The first or the last value that a loop's variable can have.
static Value *bound_of_variable(const TapeBounds *bounds, const Op *loop, bool is_upper) {
    bool is_first = steps_up(loop) != is_upper;
    Value *edge = bound(bounds, loop->operands[is_first ? 0 : 1], is_upper);
    if (!edge || is_first) return edge;
    return build_binary(bounds->before, is_upper ? OP_SUB : OP_ADD, edge,
                        build_int(bounds->before, 1));
}

static bool is_zero(const Value *value) {
    int64_t number;
    return value_is_int(value, &number) && number == 0;
}

static Value *bound_of_sum(const TapeBounds *bounds, const Op *op, bool is_upper) {
    Value *a = bound(bounds, op->operands[0], is_upper);
    Value *b = bound(bounds, op->operands[1], is_upper == (op->code == OP_ADD));
    if (!a || !b || is_zero(b)) return b ? a : NULL;
    return build_binary(bounds->before, op->code, a, b);
}

/// A value times, or divided by, a block size or a count.
static Value *bound_of_scaled(const TapeBounds *bounds, const Op *op, bool is_upper) {
    Value *factor = op->operands[1];
    int64_t number = 1;
    bool is_size = value_is_int(factor, &number) || factor->type.is_constexpr;
    if (!is_size || number <= 0 || !is_known_before(bounds, factor)) return NULL;
    Value *value = bound(bounds, op->operands[0], is_upper);
    return value ? build_binary(bounds->before, op->code, value, factor) : NULL;
}

/// The larger of two is at most the larger bound; the smaller is at most either.
static Value *bound_of_choice(const TapeBounds *bounds, const Op *op, bool is_upper) {
    Value *a = bound(bounds, op->operands[0], is_upper);
    Value *b = bound(bounds, op->operands[1], is_upper);
    bool either = is_upper == (op->code == OP_MINIMUM);
    if (!a || !b) return either ? (a ? a : b) : NULL;
    return build_binary(bounds->before, op->code, a, b);
}

static Value *bound(const TapeBounds *bounds, Value *value, bool is_upper) {
    if (!value || ++*bounds->steps > BOUND_STEPS) return NULL;
    if (is_known_before(bounds, value)) return value;
    const Op *loop = !value->op && value->region ? value->region->parent : NULL;
    bool is_variable =
        loop && (loop->code == OP_FOR || loop->code == OP_STATIC_FOR) && value->index == 0;
    if (is_variable) return bound_of_variable(bounds, loop, is_upper);
    if (!value->op) return NULL;
    switch (value->op->code) {
    case OP_PROGRAM_ID: return is_upper ? NULL : build_int(bounds->before, 0);
    case OP_CAST: return bound(bounds, value->op->operands[0], is_upper);
    case OP_ADD:
    case OP_SUB: return bound_of_sum(bounds, value->op, is_upper);
    case OP_MUL:
    case OP_FLOORDIV: return bound_of_scaled(bounds, value->op, is_upper);
    case OP_MINIMUM:
    case OP_MAXIMUM: return bound_of_choice(bounds, value->op, is_upper);
    default: return NULL;
    }
}

/// The most iterations that a loop takes.
static Value *most_trips(const TapeBounds *bounds, const Op *loop) {
    Value *edges[2];
    for (int i = 0; i < 2; i++)
        edges[i] = bound(bounds, loop->operands[i], (i == 1) == steps_up(loop));
    Value *step = loop->operands[2];
    if (!edges[0] || !edges[1]) return NULL;
    if (!is_known_before(bounds, step)) return NULL;
    Builder *b = bounds->before;
    Value *trips = build_trip_count(b, edges[0], edges[1], step);
    // A quotient that may be below 0 is no factor of a size.
    bool is_factor = is_known_before(bounds, build_binary(b, OP_MUL, trips, trips));
    if (is_factor || !steps_up(loop)) return trips;
    Value *zero = build_int(b, 0);
    Value *distance = is_zero(edges[0]) ? edges[1] : build_binary(b, OP_SUB, edges[1], edges[0]);
    return build_trip_count(b, zero, build_binary(b, OP_MAXIMUM, distance, zero), step);
}

/* ---- the plan ---- */

/// Iterations of all loops around an op, and which of them it is in: the number of the tile. False where nobody knows.
typedef struct Iterations {
    Value *most;
    Value *now;
} Iterations;

static bool iterations_of(const TapeBounds *bounds, Builder *here, Op *op, Iterations *iterations) {
    LIST(const Op *) loops = {0};
    for (const Op *outer = op->parent->parent; outer; outer = outer->parent->parent)
        if (outer->code != OP_IF) LIST_PUSH(bounds->state->arena, &loops, outer);
    *iterations = (Iterations){build_int(bounds->before, 1), build_int(here, 0)};
    for (int i = loops.count - 1; i >= 0; i--) {
        const Op *loop = loops.items[i];
        if (loop->code == OP_WHILE) return false;
        Value *trips = most_trips(bounds, loop);
        if (!trips) return false;
        Value *number = iteration_number(here, loop->regions[0]->arguments[0], loop->operands[0],
                                         loop->operands[2]);
        bool is_first = i == loops.count - 1;
        iterations->most =
            is_first ? trips : build_binary(bounds->before, OP_MUL, iterations->most, trips);
        iterations->now =
            is_first ? number
                     : build_binary(here, OP_ADD,
                                    build_binary(here, OP_MUL, iterations->now, trips), number);
    }
    return true;
}

/// An element type of torch that holds what is loaded.
static const char *torch_dtype(DType element) {
    if (dtype_is_integer(element)) return "int64";
    if (element.code == DTYPE_FLOAT64) return "float64";
    return dtype_bits(element.code) > 0 ? "float32" : NULL;
}

static const char *unused_name(const Function *function, const char *hint) {
    const char *name = hint;
    for (int i = 0, next = 1; i < function->parameter_count; i++) {
        if (!str_is(str_from(function->parameters[i].name), name)) continue;
        name = arena_printf(function->arena, "%s_%d", hint, next++);
        i = -1;
    }
    return name;
}

bool load_keep(Differentiation *state, Op *load, const char *name) {
    Arena *arena = state->arena;
    Type type = load->results[0]->type;
    if (!tape_holds(type) || type.element.code < DTYPE_OF_PARAMETER) return false;
    SavedLoad saved = {.load = load, .name = name};
    if (load->parent == state->primal->body) {
        LIST_PUSH(arena, &state->versions.saved_loads, saved);
        return true;
    }
    Op *outermost = load;
    while (outermost->parent->parent) outermost = outermost->parent->parent;
    Builder before = {.function = state->primal,
                      .region = outermost->parent,
                      .before = outermost,
                      .range = load->range};
    Builder here = {.function = state->primal,
                    .region = load->parent,
                    .before = load->next,
                    .range = load->range,
                    .call = load->call};
    TapeBounds bounds = {state, outermost, &before, &(int){0}};
    Iterations iterations;
    if (!iterations_of(&bounds, &here, load, &iterations)) return false;
    saved.dtype = torch_dtype(type.element);
    TapedValue slice = {0};
    const char *tape_name = unused_name(state->primal, arena_printf(arena, "%s_tape", name));
    Value *buffer = function_add_parameter(state->primal, tape_name, tape_type(saved.dtype));
    Value *elements = tape_slice(&before, &slice, buffer, type,
                                 program_number(state, &before, true), iterations.most, name);
    saved.tape = buffer;
    saved.elements = host_text(arena, state->primal, elements, false);
    saved.tile = slice.size ? host_text(arena, state->primal, slice.size, false) : "1";
    if (!saved.elements || !saved.tile) return false;
    Value *address = tape_address(&here, &slice, iterations.now);
    Value *mask = load->operand_count > 1 ? load->operands[1] : NULL;
    Value *seen = load->results[0];
    Value *recalled = build(&here, OP_LOAD, (Value *[]){address, mask, load->operands[2]}, 3);
    saved.recall = recalled->op;
    recalled->name = seen->name;
    Value *value = recalled;
    if (!dtype_equal(recalled->type.element, type.element))
        value = build_binary(&here, OP_CAST, recalled, build_dtype(&here, type.element));
    region_replace_uses(state->primal->body, seen, value);
    Builder store = here;
    store.before = saved.recall;
    build(&store, OP_STORE, (Value *[]){address, seen, mask}, 3);
    map_set_pointer(&state->versions.origins, buffer, pointer_root(load->operands[0]));
    map_set_pointer(&state->versions.load_tapes, buffer, saved.recall);
    LIST_PUSH(arena, &state->versions.saved_loads, saved);
    return true;
}

bool is_load_tape(const Differentiation *state, const Value *root) {
    return root && map_has_pointer(&state->versions.load_tapes, root);
}

const Op *load_saved(const Differentiation *state, const Op *load) {
    for (LIST_EACH(int, i, state->versions.saved_loads))
        if (state->versions.saved_loads.items[i].recall == load)
            return state->versions.saved_loads.items[i].load;
    return load;
}

/* ---- on the way forwards ---- */

static bool visit_store(void *context, Op *op) {
    Differentiation *state = context;
    if (op->code == OP_STORE && op->note) map_set_pointer(&state->versions.first_stores, op, op);
    return true;
}

static Op *store_behind(const Op *load) {
    for (Op *op = load->next; op; op = op->next)
        if (op->code == OP_STORE && op->operands[1] == load->results[0]) return op;
    return NULL;
}

/// The tape of a load, filled where the forward is gone through.
static void fill(Differentiation *state, const SavedLoad *saved, Op *load) {
    Op *store = store_behind(load);
    Op *recall = recomputed(state, saved->recall->results[0])->op;
    if (!store) return;
    Op *outermost = load;
    while (outermost->parent->parent) outermost = outermost->parent->parent;
    Tape *tape = ARENA_NEW(state->arena, Tape);
    *tape = (Tape){.name = saved->name,
                   .sweep = outermost,
                   .buffer = recomputed(state, saved->tape),
                   .elements = saved->elements,
                   .tile = saved->tile,
                   .dtype = saved->dtype};
    Builder after = {.function = state->backward,
                     .region = outermost->parent,
                     .before = outermost->next,
                     .range = load->range};
    Op *barrier = outermost->next;  // of another load
    if (!barrier || barrier->code != OP_DEBUG_BARRIER)
        barrier = op_append(&after, OP_DEBUG_BARRIER, NULL, 0, 0);
    LIST_PUSH(state->arena, &tape->ops, store);
    LIST_PUSH(state->arena, &tape->ops, barrier);
    LIST_PUSH(state->arena, &state->tapes.tapes, tape);
    // Here the value is at hand.
    region_replace_uses(state->backward->body, recall->results[0], load->results[0]);
    map_set_pointer(&state->values, saved->recall->results[0], load->results[0]);
    op_remove(recall);
}

void loads_fill(Differentiation *state) {
    if (state->versions.saved_loads.count) region_walk(state->backward->body, visit_store, state);
    for (LIST_EACH(int, i, state->versions.saved_loads)) {
        const SavedLoad *saved = &state->versions.saved_loads.items[i];
        Op *load = recomputed(state, saved->load->results[0])->op;
        replay_load(state, saved->load, load);
        if (saved->recall) fill(state, saved, load);
    }
}
