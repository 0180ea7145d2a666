// A loop whose states its adjoint needs in; stores of them in its recomputation and loads of them in its reversal out.
#include "autodiff/tape/tape.h"
#include "analysis/build/build.h"
#include "analysis/build/clone.h"
#include "analysis/ir/walk.h"
#include "autodiff/rewrite/rewrite.h"
#include "autodiff/tape/tape_size.h"

#include <string.h>

enum { FEW_TRIPS = 4 };

/* ---- which loops ---- */

static int loop_first(const Op *loop) { return loop->code == OP_WHILE ? 0 : 3; }
static int loop_shift(const Op *loop) { return loop->code == OP_WHILE ? 0 : 1; }
static Region *loop_body(const Op *loop) { return loop->regions[loop->code == OP_WHILE ? 1 : 0]; }

static bool has_few_trips(const Op *loop) {
    int64_t bounds[3];
    if (loop->code == OP_WHILE) return false;
    for (int i = 0; i < 3; i++)
        if (!value_is_int(loop->operands[i], &bounds[i])) return false;
    return bounds[2] != 0 && (bounds[1] - bounds[0]) / bounds[2] <= FEW_TRIPS;
}

bool tape_holds(Type type) {
    if (type.kind != TYPE_NUMBER) return false;
    for (int i = 0; i < type.rank; i++)
        if (!type.dims[i]) return false;
    return true;
}

/// The latest recomputation of a primal loop, in the region under way. NULL where it is not there as it was.
static Op *recomputed_loop(const Differentiation *state, const Op *loop) {
    Op *sweep = loop->result_count ? recomputed(state, loop->results[0])->op : NULL;
    if (!sweep || sweep->code != loop->code || sweep->parent != state->builder.region) return NULL;
    if (sweep->result_count != loop->result_count) return NULL;
    for (int i = 0; i < loop->result_count; i++)
        if (recomputed(state, loop->results[i]) != sweep->results[i]) return NULL;
    return sweep;
}

/// What a `while` adds to a carried integer in each iteration. NULL where it does something else, or elsewhere: in a `for`,
/// these are expressions of its variable by now.
static Value *increment_of(const Op *loop, int index) {
    if (loop->code != OP_WHILE) return NULL;
    const Value *argument = loop->regions[1]->arguments[index];
    const Op *next = region_terminator(loop->regions[1])->operands[index]->op;
    if (!next || next->code != OP_ADD || next->operands[0] != argument) return NULL;
    Value *step = next->operands[1];
    bool is_whole = dtype_is_integer(argument->type.element) &&
                    (dtype_is_integer(step->type.element) || value_is_int(step, NULL));
    return is_whole && !region_defines(loop->regions[1], step) ? step : NULL;
}

/// A carried value that counts the iterations of a `while`. -1: none does.
static int own_counter(const Op *loop) {
    int64_t first, step;
    for (int i = 0; i < loop->result_count; i++) {
        const Value *increment = increment_of(loop, i);
        if (increment && value_is_int(increment, &step) && step == 1 &&
            value_is_int(loop->operands[i], &first) && first == 0)
            return i;
    }
    return -1;
}

/* ---- parameters ---- */

Value *backward_add_parameter(Differentiation *state, const char *name, Type type) {
    const char *unique = name;
    for (int i = 0, next = 1; i < state->backward->parameter_count; i++) {
        if (strcmp(state->backward->parameters[i].name, unique) != 0) continue;
        unique = arena_printf(state->arena, "%s_%d", name, next++);
        i = -1;
    }
    return function_add_parameter(state->backward, unique, type);
}

/// Whether a carried value that starts as `value` is float32 whatever the launch passes.
static intptr_t is_single(ValueWalk *walk, const Value *value) {
    if (value->constant) return true;
    if (!value->op) {
        const Op *loop = value->region ? value->region->parent : NULL;
        int initial = loop ? value->index - loop_shift(loop) + loop_first(loop) : -1;
        return loop && loop->code != OP_IF && initial >= loop_first(loop) &&
               initial < loop->operand_count && walk_ask(walk, loop->operands[initial]);
    }
    const Op *op = value->op;
    switch (op->code) {
    case OP_FULL:
    case OP_CAST: return value->type.element.code == DTYPE_FLOAT32;
    case OP_ADD:
    case OP_SUB:
    case OP_MUL: return walk_ask(walk, op->operands[0]) && walk_ask(walk, op->operands[1]);
    case OP_FOR:
    case OP_WHILE: return walk_ask(walk, op->operands[loop_first(op) + value->index]);
    case OP_IF:
        for (int r = 0; r < 2; r++)
            if (!walk_ask(walk, region_terminator(op->regions[r])->operands[value->index]))
                return false;
        return true;
    default: return false;
    }
}

/// An element type of torch that holds every value of the state; NULL: the launch decides.
static const char *torch_dtype(const Value *initial, Type type) {
    if (dtype_is_integer(type.element) || type.element.code == DTYPE_ANY_INT) return "int64";
    if (type.element.code == DTYPE_FLOAT64) return "float64";
    if (type.element.code == DTYPE_FLOAT32)
        return walk_from(initial, is_single, false, NULL) ? "float32" : NULL;
    return dtype_bits(type.element.code) > 0 && dtype_bits(type.element.code) < 32 ? "float32"
                                                                                   : NULL;
}

Type tape_type(const char *dtype) {
    DTypeCode code = !dtype || strcmp(dtype, "float32") == 0 ? DTYPE_FLOAT32
                     : strcmp(dtype, "int64") == 0           ? DTYPE_INT64
                                                             : DTYPE_FLOAT64;
    return (Type){.kind = TYPE_POINTER, .element = dtype_of(code)};
}

/* ---- addresses ---- */

typedef struct Axes {
    bool used[PROGRAM_AXES];
} Axes;

static bool visit_program(void *context, Op *op) {
    Axes *axes = context;
    int64_t axis;
    if (op->code == OP_PROGRAM_ID && value_is_int(op->operands[0], &axis) && axis >= 0 &&
        axis < PROGRAM_AXES)
        axes->used[axis] = true;
    return true;
}

Value *program_number(const Differentiation *state, Builder *b, bool is_wide) {
    Axes axes;
    memcpy(axes.used, state->stores.adding_axes, sizeof axes.used);
    region_walk(state->primal->body, visit_program, &axes);
    Value *number = NULL;
    for (int axis = 0; axis < PROGRAM_AXES; axis++) {
        if (!axes.used[axis]) continue;
        Value *along = build_int(b, axis), *id = build_unary(b, OP_PROGRAM_ID, along);
        if (!number) {
            number =
                is_wide ? build_binary(b, OP_CAST, id, build_dtype(b, dtype_of(DTYPE_INT64))) : id;
            continue;
        }
        Value *programs = build_unary(b, OP_NUM_PROGRAMS, along);
        if (!programs->name) programs->name = "programs";
        number = build_binary(b, OP_ADD, build_binary(b, OP_MUL, number, programs), id);
    }
    if (number && !number->name) number->name = "program";
    return number;
}

/// Elements of a tile. NULL for a scalar.
static Value *tile_size(Builder *b, Type type) {
    Value *size = NULL;
    for (int i = 0; i < type.rank; i++) {
        Value *dim = build_poly(b, type.dims[i]);
        size = size ? build_binary(b, OP_MUL, size, dim) : dim;
    }
    return size;
}

/// So many tiles, or the place of a tile, in elements.
static Value *in_elements(Builder *b, Value *tiles, Value *size) {
    return size ? build_binary(b, OP_MUL, tiles, size) : tiles;
}

/// Offsets of a tile's elements, row by row; NULL for a scalar.
static Value *tile_lanes(Builder *b, Type type) {
    Value *lanes = NULL;
    for (int i = 0; i < type.rank; i++) {
        Value *along = build_binary(b, OP_ARANGE, build_int(b, 0), build_poly(b, type.dims[i]));
        for (int axis = 0; axis < type.rank; axis++)
            if (axis != i) along = build_binary(b, OP_EXPAND_DIMS, along, build_int(b, axis));
        for (int inner = i + 1; inner < type.rank; inner++)
            along = build_binary(b, OP_MUL, along, build_poly(b, type.dims[inner]));
        lanes = lanes ? build_binary(b, OP_ADD, lanes, along) : along;
    }
    if (type.rank > 1) lanes->name = "lanes";
    return lanes;
}

Value *tape_address(Builder *b, const TapedValue *value, Value *slot) {
    Value *address = build_binary(b, OP_ADD, value->slice, in_elements(b, slot, value->size));
    return value->lanes ? build_binary(b, OP_ADD, address, value->lanes) : address;
}

Value *tape_slice(Builder *b, TapedValue *value, Value *buffer, Type type, Value *program,
                  Value *tiles, const char *name) {
    value->lanes = tile_lanes(b, type);
    value->size = tile_size(b, type);
    value->slice = buffer;
    Value *elements = in_elements(b, tiles, value->size);
    if (!program) return elements;
    Value *behind = in_elements(b, build_binary(b, OP_MUL, program, tiles), value->size);
    value->slice = build_binary(b, OP_ADD, buffer, behind);
    value->slice->name = arena_printf(b->function->arena, "%s_slice", name);
    value->slice->op->note = "own memory";
    return elements;
}

const char *tape_tile_text(Differentiation *state, Type type) {
    Region *body = state->backward->body;
    Builder start = {.function = state->backward, .region = body, .before = body->first};
    Value *size = tile_size(&start, type);
    return size ? host_text(state->arena, state->backward, size, false) : "1";
}

Tape *tape_of_value(Differentiation *state, Builder *b, const Value *value, Value **address) {
    const char *hint = value->name ? arena_printf(state->arena, "%s_saved", value->name) : "saved";
    const char *dtype = torch_dtype(value, value->type);
    Value *buffer = backward_add_parameter(state, hint, tape_type(dtype));
    TapedValue taped = {0};
    tape_slice(b, &taped, buffer, value->type, program_number(state, b, true), build_int(b, 1),
               hint);
    *address = taped.lanes ? build_binary(b, OP_ADD, taped.slice, taped.lanes) : taped.slice;
    Tape *tape = ARENA_NEW(state->arena, Tape);
    *tape = (Tape){.name = hint,
                   .buffer = buffer,
                   .elements = tape_tile_text(state, value->type),
                   .dtype = dtype};
    tape->tile = tape->elements;
    LIST_PUSH(state->arena, &state->tapes.tapes, tape);
    return tape;
}

/* ---- the way forwards ---- */

static void keep_op(Differentiation *state, const TapedLoop *taped, Op *op) {
    for (int i = 0; i < taped->loop->result_count; i++)
        if (taped->values[i].tape) LIST_PUSH(state->arena, &taped->values[i].tape->ops, op);
}

static void add_barrier(Differentiation *state, const TapedLoop *taped, Builder place) {
    keep_op(state, taped, op_append(&place, OP_DEBUG_BARRIER, NULL, 0, 0));
}

Value *iteration_number(Builder *b, Value *variable, Value *lower, Value *step) {
    int64_t number;
    if (value_is_int(step, &number) && number == -1)
        return build_binary(b, OP_SUB, lower, variable);
    bool from_zero = value_is_int(lower, &number) && number == 0;
    Value *distance = from_zero ? variable : build_binary(b, OP_SUB, variable, lower);
    bool by_one = value_is_int(step, &number) && number == 1;
    return by_one ? distance : build_binary(b, OP_FLOORDIV, distance, step);
}

/// Carries one more value around a loop: the number of iterations before this one.
static Value *add_counter(Differentiation *state, Op *loop, Builder *before, Value **trips) {
    Type type = {.kind = TYPE_NUMBER, .element = dtype_of(DTYPE_INT32)};
    Value *counter = NULL;
    op_append_operand(state->backward, loop, build_int(before, 0));
    for (int r = 0; r < 2; r++)
        counter = region_add_argument(state->backward, loop->regions[r], type, "trips");
    Op *yield = region_terminator(loop->regions[1]);
    Builder inside = {.function = state->backward, .region = loop->regions[1], .before = yield};
    op_append_operand(state->backward, yield,
                      build_binary(&inside, OP_ADD, counter, build_int(&inside, 1)));
    Value *result = op_append_result(state->backward, loop, type);
    result->name = "trips";
    if (trips) *trips = result;
    return counter;
}

Value *while_count(Differentiation *state, const Op *loop, Builder *place) {
    Map copy = map_new(state->arena);
    int own = own_counter(loop);
    for (int i = 0; i < state->values.count; i++)
        map_set_number(&copy, state->values.entries[i].number, state->values.entries[i].value);
    Op *counted = op_clone(place, loop, &copy);
    if (own >= 0) return counted->results[own];
    Value *trips = NULL;
    add_counter(state, counted, place, &trips);
    return trips;
}

static void add_stores(Differentiation *state, TapedLoop *taped, Value *counter) {
    Region *body = loop_body(taped->sweep);
    Builder inside = {.function = state->backward,
                      .region = body,
                      .before = body->first,
                      .range = taped->loop->range};
    Op *sweep = taped->sweep;
    Value *slot = counter ? counter
                          : iteration_number(&inside, sweep->regions[0]->arguments[0],
                                             sweep->operands[0], sweep->operands[2]);
    Builder end = {.function = state->backward};
    if (taped->every) {
        Value *past = build_binary(&inside, OP_MOD, slot, taped->every);
        Value *is_kept = build_binary(&inside, OP_EQ, past, build_int(&inside, 0));
        Op *branch = op_append(&inside, OP_IF, &is_kept, 1, 0);
        for (int r = 0; r < 2; r++) {
            end.region = op_add_region(&inside, branch);
            op_append(&end, OP_YIELD, NULL, 0, 0);
        }
        inside.region = branch->regions[0];
        inside.before = branch->regions[0]->first;
        slot = build_binary(&inside, OP_FLOORDIV, slot, taped->every);
        slot->name = "slot";
    }
    for (int i = 0; i < taped->loop->result_count; i++) {
        Tape *tape = taped->values[i].tape;
        if (!tape) continue;
        Value *address = tape_address(&inside, &taped->values[i], slot);
        build(&inside, OP_STORE, (Value *[]){address, body->arguments[i + loop_shift(taped->loop)]},
              2);
        LIST_PUSH(state->arena, &tape->ops, inside.before->previous);
    }
}

static void add_tape(Differentiation *state, TapedLoop *taped, int index, Builder *b,
                     Value *program, Value *steps) {
    const Op *loop = taped->loop;
    TapedValue *value = &taped->values[index];
    const Value *argument = loop_body(loop)->arguments[index + loop_shift(loop)];
    Type type = type_mapped(state->arena, argument->type, &state->values);
    const char *hint = argument->name ? argument->name : "state";
    const char *dtype = torch_dtype(loop->operands[loop_first(loop) + index], type);
    Value *tiles = steps ? steps : taped->trips;
    Value *buffer = backward_add_parameter(state, arena_printf(state->arena, "%s_tape", hint),
                                           tape_type(dtype));
    Value *elements = tape_slice(b, value, buffer, type, program, tiles, hint);
    Tape *tape = value->tape = ARENA_NEW(state->arena, Tape);
    *tape = (Tape){
        .buffer = buffer,
        .sweep = taped->sweep,
        .name = hint,
        .steps = steps,
        .elements = host_text(state->arena, state->backward, elements, false),
        .tile = value->size ? host_text(state->arena, state->backward, value->size, false) : "1",
        .trips = host_text(state->arena, state->backward, taped->trips, steps != NULL),
        .dtype = dtype,
    };
    LIST_PUSH(state->arena, &state->tapes.tapes, tape);
}

static void add_tapes(Differentiation *state, TapedLoop *taped, Builder *b, Value *steps) {
    Value *program = program_number(state, b, true);  // it counts whole slices
    taped->values = ARENA_ARRAY(state->arena, TapedValue, taped->loop->result_count);
    for (int i = 0; i < taped->loop->result_count; i++) {
        taped->values[i].increment = increment_of(taped->loop, i);
        if (!taped->values[i].increment) add_tape(state, taped, i, b, program, steps);
    }
}

/// Whether a launcher can tell how many iterations there are, and can pay for a tile for each.
static bool keeps_each(Differentiation *state, const Op *loop, const Value *trips) {
    for (int i = 0; i < loop->result_count; i++)
        if (loop->results[i]->type.rank > 1) return false;
    return loop->code != OP_WHILE && host_text(state->arena, state->backward, trips, false);
}

/// Whether the launcher can tell how large the tiles are.
static bool sizes_are_known(Differentiation *state, const Op *loop, Builder *b) {
    for (int i = 0; i < loop->result_count; i++) {
        const Value *argument = loop_body(loop)->arguments[i + loop_shift(loop)];
        if (!tape_holds(argument->type)) return false;
        Type type = type_mapped(state->arena, argument->type, &state->values);
        Value *size = tile_size(b, type);
        if (size && !host_text(state->arena, state->backward, size, false)) return false;
    }
    return true;
}

TapedLoop *tape_keep(Differentiation *state, const Op *loop) {
    if (loop->code == OP_STATIC_FOR || has_few_trips(loop)) return NULL;
    Op *sweep = recomputed_loop(state, loop);
    if (!sweep) return NULL;
    Builder before = {.function = state->backward,
                      .region = sweep->parent,
                      .before = sweep,
                      .range = loop->range};
    if (!sizes_are_known(state, loop, &before)) return NULL;
    TapedLoop *taped = ARENA_NEW(state->arena, TapedLoop);
    *taped = (TapedLoop){.loop = loop, .sweep = sweep};
    bool is_while = loop->code == OP_WHILE;
    taped->trips = is_while ? while_count(state, loop, &before)
                            : build_trip_count(&before, sweep->operands[0], sweep->operands[1],
                                               sweep->operands[2]);
    Value *steps = NULL;
    if (!keeps_each(state, loop, taped->trips)) {
        Type whole = {.kind = TYPE_NUMBER, .element = dtype_of(DTYPE_INT32)};
        steps = backward_add_parameter(state, "tape_steps", whole);
        Value *sum = build_binary(&before, OP_ADD, taped->trips, steps);
        Value *slack = build_binary(&before, OP_SUB, sum, build_int(&before, 1));
        taped->every = build_binary(&before, OP_FLOORDIV, slack, steps);
        taped->every->name = "every";
    }
    add_tapes(state, taped, &before, steps);
    int own = is_while ? own_counter(loop) : -1;
    Value *counter = own >= 0   ? sweep->regions[1]->arguments[own]
                     : is_while ? add_counter(state, sweep, &before, NULL)
                                : NULL;
    if (op_is_in_loop(sweep)) add_barrier(state, taped, before);
    add_stores(state, taped, counter);
    Builder after = before;
    after.before = sweep->next;
    add_barrier(state, taped, after);
    return taped;
}

void tape_refused(Differentiation *state, const Op *loop) {
    if (loop->code == OP_STATIC_FOR || has_few_trips(loop)) return;
    LoopNote note = {.range = loop->range,
                     .is_recomputed = true,
                     .text =
                         "its backward runs this loop again up to each iteration: what it carries "
                         "cannot be saved in memory"};
    LIST_PUSH(state->arena, &state->tapes.loop_notes, note);
}

/* ---- the way back ---- */

Value *tape_read(Builder *b, const Tape *tape, Value *address, DType element) {
    Value *saved = build(b, OP_LOAD, &address, 1);
    DTypeCode stored = tape_type(tape->dtype).element.code;
    bool is_other = element.code >= DTYPE_OF_PARAMETER && element.code != stored;
    return is_other ? build_binary(b, OP_CAST, saved, build_dtype(b, element)) : saved;
}

static Value *recall_value(Differentiation *state, const TapedLoop *taped, int index, Value *slot) {
    Builder *b = &state->builder;
    const Value *argument = loop_body(taped->loop)->arguments[index + loop_shift(taped->loop)];
    DType element = type_mapped(state->arena, argument->type, &state->values).element;
    Value *saved = tape_read(b, taped->values[index].tape,
                             tape_address(b, &taped->values[index], slot), element);
    saved->name = argument->name;
    return saved;
}

/// A carried value of equal steps, at the start of iteration `trip`.
static Value *stepped(Differentiation *state, const TapedLoop *taped, int index, Value *trip) {
    const Op *loop = taped->loop;
    Builder *b = &state->builder;
    Value *initial = recomputed(state, loop->operands[loop_first(loop) + index]);
    Value *step = recomputed(state, taped->values[index].increment);
    int64_t number;
    bool by_one = value_is_int(step, &number) && number == 1;
    Value *distance = by_one ? trip : build_binary(b, OP_MUL, trip, step);
    bool from_zero = value_is_int(initial, &number) && number == 0;
    return from_zero ? distance : build_binary(b, OP_ADD, initial, distance);
}

void tape_map_steps(Differentiation *state, const TapedLoop *taped, Value *trip) {
    const Op *loop = taped->loop;
    for (int i = 0; i < loop->result_count; i++)
        if (taped->values[i].increment)
            map_set_pointer(&state->values, loop_body(loop)->arguments[i + loop_shift(loop)],
                            stepped(state, taped, i, trip));
}

Value *tape_recall(Differentiation *state, const TapedLoop *taped, Value *trip, Value **values) {
    Builder *b = &state->builder;
    Value *slot = taped->every ? build_binary(b, OP_FLOORDIV, trip, taped->every) : trip;
    Value *from = taped->every ? build_binary(b, OP_MUL, slot, taped->every) : trip;
    if (taped->every) slot->name = "slot";
    for (int i = 0; i < taped->loop->result_count; i++)
        values[i] = taped->values[i].increment ? stepped(state, taped, i, from)
                                               : recall_value(state, taped, i, slot);
    return from;
}

/* ---- cleaning ---- */

typedef struct TapeReadSearch {
    const Value *buffer;
    bool found;
} TapeReadSearch;

static bool visit_read(void *context, Op *op) {
    TapeReadSearch *search = context;
    if (op->code == OP_LOAD && pointer_root(op->operands[0]) == search->buffer)
        search->found = true;
    return !search->found;
}

/// Removes from the function what no tape but this one needs.
static void drop_ops(const Differentiation *state, Tape *tape) {
    for (LIST_EACH(int, i, tape->ops)) {
        Op *op = tape->ops.items[i];
        bool is_shared = false;
        for (LIST_EACH(int, t, state->tapes.tapes)) {
            const Tape *other = state->tapes.tapes.items[t];
            for (LIST_EACH(int, k, other->ops))
                is_shared = is_shared || (other != tape && other->ops.items[k] == op);
        }
        if (!is_shared) op_remove(op);
    }
}

/// What the comment above a loop says of the tapes that it fills.
static void tell_tapes(const Differentiation *state, Op *sweep) {
    const char *names = NULL;
    for (LIST_EACH(int, i, state->tapes.tapes)) {
        const Tape *tape = state->tapes.tapes.items[i];
        const char *name = state->backward->parameters[tape->buffer->index].name;
        if (tape->sweep != sweep || sweep->code == OP_IF) continue;
        names = names ? arena_printf(state->arena, "%s, %s", names, name) : name;
    }
    if (names) sweep->note = arena_printf(state->arena, "fills %s: the loop of line", names);
}

void tapes_prune(Differentiation *state) {
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = state->tapes.tapes.count - 1; i >= 0; i--) {
            TapeReadSearch search = {.buffer = state->tapes.tapes.items[i]->buffer};
            region_walk(state->backward->body, visit_read, &search);
            if (search.found) continue;
            drop_ops(state, state->tapes.tapes.items[i]);
            state->tapes.tapes.count--;
            memmove(state->tapes.tapes.items + i, state->tapes.tapes.items + i + 1,
                    sizeof(Tape *) * (size_t)(state->tapes.tapes.count - i));
            changed = true;
        }
        function_drop_dead(state->backward);
    }
    for (LIST_EACH(int, i, state->tapes.tapes))
        tell_tapes(state, state->tapes.tapes.items[i]->sweep);
}

/// Whether an earlier tape is of the same loop.
static bool is_told(const Differentiation *state, int index) {
    for (int i = 0; i < index; i++)
        if (state->tapes.tapes.items[i]->sweep == state->tapes.tapes.items[index]->sweep)
            return true;
    return false;
}

void tapes_describe(Differentiation *state) {
    for (LIST_EACH(int, i, state->tapes.tapes)) {
        const Tape *first = state->tapes.tapes.items[i];
        const char *what = NULL;
        if (!first->sweep) continue;
        for (int k = i; k < state->tapes.tapes.count && !is_told(state, i); k++) {
            const Tape *tape = state->tapes.tapes.items[k];
            if (tape->sweep != first->sweep) continue;
            const char *one = arena_printf(state->arena, "%s %s of `%s`", tape->elements,
                                           tape->dtype ? tape->dtype : "float32", tape->name);
            what = what ? arena_printf(state->arena, "%s, %s", what, one) : one;
        }
        if (!what) continue;
        LoopNote note = {.range = first->sweep->range};
        note.text = arena_printf(
            state->arena, "its backward keeps states of %s iterations in memory: %s a program%s",
            first->steps ? "some" : "all", what,
            first->steps ? ", as many steps as there is room for" : "");
        LIST_PUSH(state->arena, &state->tapes.loop_notes, note);
    }
}

const Tape *tape_of(const Differentiation *state, const Value *parameter) {
    for (LIST_EACH(int, i, state->tapes.tapes))
        if (state->tapes.tapes.items[i]->buffer == parameter ||
            state->tapes.tapes.items[i]->steps == parameter)
            return state->tapes.tapes.items[i];
    return NULL;
}

const Value *tape_value(const Differentiation *state, const Op *load) {
    const Value *root = state->tapes.tapes.count ? pointer_root(load->operands[0]) : NULL;
    const Tape *tape = root ? tape_of(state, root) : NULL;
    for (int i = 0; tape && i < tape->ops.count; i++)
        if (tape->ops.items[i]->code == OP_STORE &&
            pointer_root(tape->ops.items[i]->operands[0]) == root)
            return tape->ops.items[i]->operands[1];
    return NULL;
}

const char *tape_step_elements(const Differentiation *state, const Value *steps) {
    const char *sum = NULL;
    for (LIST_EACH(int, i, state->tapes.tapes)) {
        const Tape *tape = state->tapes.tapes.items[i];
        if (tape->steps != steps) continue;
        sum = sum ? arena_printf(state->arena, "%s + %s", sum, tape->tile) : tape->tile;
    }
    return sum;
}
