// A load whose value the kernel overwrites later in; the same load of a copy, a store to scratch memory and a load of that out.
#include "autodiff/load_tape.h"

#include "autodiff/replay.h"
#include "autodiff/tape.h"

enum { DEEPEST = 16 };

/* ---- how often it happens, at most ---- */

/// A bound of a whole number that is known before the outermost loop.
typedef struct Bounds {
    const Differentiation *state;
    const Op *outermost;
    Builder *before;
} Bounds;

static bool is_known_before(const Bounds *bounds, const Value *value) {
    for (int r = 0; r < bounds->outermost->region_count; r++)
        if (region_defines(bounds->outermost->regions[r], value)) return false;
    return host_text(bounds->state->arena, bounds->state->primal, value, false);
}

static Value *bound(const Bounds *bounds, Value *value, bool is_upper, int depth);

static bool steps_up(const Op *loop) {
    int64_t step;
    return !value_is_int(loop->operands[2], &step) || step > 0;
}

/// The first or the last value that a loop's variable can have.
static Value *bound_of_variable(const Bounds *bounds, const Op *loop, bool is_upper, int depth) {
    bool is_first = steps_up(loop) != is_upper;
    Value *edge = bound(bounds, loop->operands[is_first ? 0 : 1], is_upper, depth + 1);
    if (!edge || is_first) return edge;
    return build_binary(bounds->before, is_upper ? OP_SUB : OP_ADD, edge,
                        build_int(bounds->before, 1));
}

static bool is_zero(const Value *value) {
    int64_t number;
    return value_is_int(value, &number) && number == 0;
}

static Value *bound_of_sum(const Bounds *bounds, const Op *op, bool is_upper, int depth) {
    Value *a = bound(bounds, op->operands[0], is_upper, depth + 1);
    Value *b = bound(bounds, op->operands[1], is_upper == (op->code == OP_ADD), depth + 1);
    if (!a || !b || is_zero(b)) return b ? a : NULL;
    return build_binary(bounds->before, op->code, a, b);
}

/// A value times, or divided by, a block size or a count.
static Value *bound_of_scaled(const Bounds *bounds, const Op *op, bool is_upper, int depth) {
    Value *factor = op->operands[1];
    int64_t number = 1;
    bool is_size = value_is_int(factor, &number) || factor->type.is_constexpr;
    if (!is_size || number <= 0 || !is_known_before(bounds, factor)) return NULL;
    Value *value = bound(bounds, op->operands[0], is_upper, depth + 1);
    return value ? build_binary(bounds->before, op->code, value, factor) : NULL;
}

/// The larger of two is at most the larger bound; the smaller is at most either.
static Value *bound_of_choice(const Bounds *bounds, const Op *op, bool is_upper, int depth) {
    Value *a = bound(bounds, op->operands[0], is_upper, depth + 1);
    Value *b = bound(bounds, op->operands[1], is_upper, depth + 1);
    bool either = is_upper == (op->code == OP_MINIMUM);
    if (!a || !b) return either ? (a ? a : b) : NULL;
    return build_binary(bounds->before, op->code, a, b);
}

static Value *bound(const Bounds *bounds, Value *value, bool is_upper, int depth) {
    if (!value || depth > DEEPEST) return NULL;
    if (is_known_before(bounds, value)) return value;
    const Op *loop = !value->op && value->region ? value->region->parent : NULL;
    bool is_variable =
        loop && (loop->code == OP_FOR || loop->code == OP_STATIC_FOR) && value->index == 0;
    if (is_variable) return bound_of_variable(bounds, loop, is_upper, depth);
    if (!value->op) return NULL;
    switch (value->op->code) {
    case OP_PROGRAM_ID: return is_upper ? NULL : build_int(bounds->before, 0);
    case OP_CAST: return bound(bounds, value->op->operands[0], is_upper, depth + 1);
    case OP_ADD:
    case OP_SUB: return bound_of_sum(bounds, value->op, is_upper, depth);
    case OP_MUL:
    case OP_FLOORDIV: return bound_of_scaled(bounds, value->op, is_upper, depth);
    case OP_MINIMUM:
    case OP_MAXIMUM: return bound_of_choice(bounds, value->op, is_upper, depth);
    default: return NULL;
    }
}

/// The most turns that a loop takes.
static Value *most_trips(const Bounds *bounds, const Op *loop) {
    Value *edges[2];
    for (int i = 0; i < 2; i++)
        edges[i] = bound(bounds, loop->operands[i], (i == 1) == steps_up(loop), 0);
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

/// Turns of all loops around an op, and which of them it is in: the number of the tile. False where nobody knows.
typedef struct Turns {
    Value *most;
    Value *now;
} Turns;

static bool turns_of(const Bounds *bounds, Builder *here, Op *op, Turns *turns) {
    LIST(const Op *) loops = {0};
    for (const Op *outer = op->parent->parent; outer; outer = outer->parent->parent)
        if (outer->code != OP_IF) LIST_PUSH(bounds->state->arena, &loops, outer);
    *turns = (Turns){build_int(bounds->before, 1), build_int(here, 0)};
    for (int i = loops.count - 1; i >= 0; i--) {
        const Op *loop = loops.items[i];
        if (loop->code == OP_WHILE) return false;
        Value *trips = most_trips(bounds, loop);
        if (!trips) return false;
        Value *number = iteration_number(here, loop->regions[0]->arguments[0], loop->operands[0],
                                         loop->operands[2]);
        bool is_first = i == loops.count - 1;
        turns->most = is_first ? trips : build_binary(bounds->before, OP_MUL, turns->most, trips);
        turns->now = is_first ? number
                              : build_binary(here, OP_ADD,
                                             build_binary(here, OP_MUL, turns->now, trips), number);
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
    KeptLoad kept = {.load = load, .name = name};
    if (load->parent == state->primal->body) {
        LIST_PUSH(arena, &state->kept_loads, kept);
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
    Bounds bounds = {state, outermost, &before};
    Turns turns;
    if (!turns_of(&bounds, &here, load, &turns)) return false;
    kept.dtype = torch_dtype(type.element);
    TapedValue slice = {0};
    const char *tape_name = unused_name(state->primal, arena_printf(arena, "%s_tape", name));
    Value *buffer = function_add_parameter(state->primal, tape_name, tape_type(kept.dtype));
    Value *elements = tape_slice(&before, &slice, buffer, type,
                                 program_number(state, &before, true), turns.most, name);
    kept.tape = buffer;
    kept.elements = host_text(arena, state->primal, elements, false);
    kept.tile = slice.size ? host_text(arena, state->primal, slice.size, false) : "1";
    if (!kept.elements || !kept.tile) return false;
    Value *address = tape_address(&here, &slice, turns.now);
    Value *mask = load->operand_count > 1 ? load->operands[1] : NULL;
    Value *seen = load->results[0];
    Value *recalled = build(&here, OP_LOAD, (Value *[]){address, mask, load->operands[2]}, 3);
    kept.recall = recalled->op;
    recalled->name = seen->name;
    Value *value = recalled;
    if (!dtype_equal(recalled->type.element, type.element))
        value = build_binary(&here, OP_CAST, recalled, build_dtype(&here, type.element));
    region_replace_uses(state->primal->body, seen, value);
    Builder store = here;
    store.before = kept.recall;
    build(&store, OP_STORE, (Value *[]){address, seen, mask}, 3);
    map_set_pointer(&state->origins, buffer, pointer_root(load->operands[0]));
    map_set_pointer(&state->load_tapes, buffer, kept.recall);
    LIST_PUSH(arena, &state->kept_loads, kept);
    return true;
}

bool is_load_tape(const Differentiation *state, const Value *root) {
    return root && map_has_pointer(&state->load_tapes, root);
}

const Op *load_kept(const Differentiation *state, const Op *load) {
    for (LIST_EACH(int, i, state->kept_loads))
        if (state->kept_loads.items[i].recall == load) return state->kept_loads.items[i].load;
    return load;
}

/* ---- on the way forwards ---- */

static bool visit_store(void *context, Op *op) {
    Differentiation *state = context;
    if (op->code == OP_STORE && op->note) map_set_pointer(&state->first_stores, op, op);
    return true;
}

static Op *store_behind(const Op *load) {
    for (Op *op = load->next; op; op = op->next)
        if (op->code == OP_STORE && op->operands[1] == load->results[0]) return op;
    return NULL;
}

/// The tape of a load, filled where the forward is gone through.
static void fill(Differentiation *state, const KeptLoad *kept, Op *load) {
    Op *store = store_behind(load);
    Op *recall = recomputed(state, kept->recall->results[0])->op;
    if (!store) return;
    Op *outermost = load;
    while (outermost->parent->parent) outermost = outermost->parent->parent;
    Tape *tape = ARENA_NEW(state->arena, Tape);
    *tape = (Tape){.name = kept->name,
                   .sweep = outermost,
                   .buffer = recomputed(state, kept->tape),
                   .elements = kept->elements,
                   .tile = kept->tile,
                   .dtype = kept->dtype};
    Builder after = {.function = state->backward,
                     .region = outermost->parent,
                     .before = outermost->next,
                     .range = load->range};
    Op *barrier = outermost->next;  // of another load
    if (!barrier || barrier->code != OP_DEBUG_BARRIER)
        barrier = op_append(&after, OP_DEBUG_BARRIER, NULL, 0, 0);
    LIST_PUSH(state->arena, &tape->ops, store);
    LIST_PUSH(state->arena, &tape->ops, barrier);
    LIST_PUSH(state->arena, &state->tapes, tape);
    // Here the value is at hand.
    region_replace_uses(state->backward->body, recall->results[0], load->results[0]);
    map_set_pointer(&state->values, kept->recall->results[0], load->results[0]);
    op_remove(recall);
}

void loads_fill(Differentiation *state) {
    if (state->kept_loads.count) region_walk(state->backward->body, visit_store, state);
    for (LIST_EACH(int, i, state->kept_loads)) {
        const KeptLoad *kept = &state->kept_loads.items[i];
        Op *load = recomputed(state, kept->load->results[0])->op;
        replay_load(state, kept->load, load);
        if (kept->recall) fill(state, kept, load);
    }
}
