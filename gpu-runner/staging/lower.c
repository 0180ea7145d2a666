// The frame of the lowering: a function, its regions and control flow. Operations are in stage_*.c.
#include "gpu-runner/staging/lower.h"

#include "gpu-runner/staging/chains.h"

enum {
    LONGEST_WHILE = 1 << 24,
    LONGEST_TEXT = 1 << 18,  // characters; NVRTC takes many seconds for more
};

const Staged *stage_value(Staging *staging, const Value *value) {
    const Staged *staged = staging->values[value->id];
    if (staged) return staged;
    if (!value->constant) stage_refuse(staging, "a value that is used before it is set");
    staged = staged_known(staging, tile_from_constant(&staging->folding->pool, value->constant));
    stage_bind(staging, value, staged);
    return staged;
}

void stage_bind(Staging *staging, const Value *value, const Staged *staged) {
    Staged *copy = ARENA_NEW(staging->arena, Staged);
    *copy = *chain_bound(staging, value, staged);
    staging->values[value->id] = copy;
}

void stage_results(Staging *staging, const Op *op, const Staged *const *staged, int count) {
    if (op->result_count == count)
        for (int i = 0; i < count; i++) stage_bind(staging, op->results[i], staged[i]);
    else
        stage_result(staging, op, staged_tuple(staging, staged, count));
}

// --- what regions pass on -----------------------------------------------------------------------------------------------

/// A variable that can hold what `like` is; of tuples and blocks each part.
static const Staged *slot_new(Staging *staging, const Staged *like) {
    if (like->kind == TILE_NUMBER || like->kind == TILE_POINTER) {
        Staged *slot = staged_new(staging, like->kind, like->dtype, like->rank, like->dims);
        slot->is_weak = like->is_weak && staged_is_float(like);
        return slot;
    }
    if (!like->item_count) return like;
    const Staged **items = ARENA_ARRAY(staging->arena, const Staged *, like->item_count);
    for (int i = 0; i < like->item_count; i++) items[i] = slot_new(staging, like->items[i]);
    Staged *slot = staged_tuple(staging, items, like->item_count);
    Staged *const *held = slot->items;
    *slot = *like;
    slot->items = held;
    slot->tile = NULL;
    return slot;
}

static bool fits(const Staged *slot, const Staged *value) {
    if (slot->kind != value->kind || slot->item_count != value->item_count ||
        slot->rank != value->rank || staged_is_float(slot) != staged_is_float(value))
        return false;
    for (int i = 0; i < slot->rank; i++)
        if (slot->dims[i] != value->dims[i]) return false;
    if (slot->kind == TILE_NUMBER && !staged_is_float(slot) && slot->dtype != value->dtype)
        return false;
    if (slot->kind == TILE_POINTER && slot->dtype != value->dtype) return false;
    if (slot->kind == TILE_CONSTANT && slot->tile->constant != value->tile->constant &&
        !str_equal(slot->tile->constant->string, value->tile->constant->string))
        return false;
    for (int i = 0; i < slot->item_count; i++)
        if (!fits(slot->items[i], value->items[i])) return false;
    return true;
}

/// The elements of `value` into those of `slot`.
static void slot_set(Staging *staging, const Staged *slot, const Staged *value) {
    if (value->kind == TILE_UNDEFINED || slot->kind == TILE_UNDEFINED) return;
    if (!fits(slot, value))
        stage_refuse(staging, "a variable whose type or shape changes on the way");
    for (int i = 0; i < slot->item_count; i++) slot_set(staging, slot->items[i], value->items[i]);
    if (slot->item_count || !slot->text || strcmp(slot->text, value->text) == 0) return;
    if (slot->count == 1) {
        stage_line(staging, "%s = %s;", slot->text, value->text);
        return;
    }
    stage_fill(staging, slot, staged_at(staging, value, "i"));
}

/// Whether the text of `value` is a variable of `slots` other than the one at `own`.
static bool is_held(const Staged *value, const Staged *const *slots, int count, int own) {
    for (int i = 0; i < value->item_count; i++)
        if (is_held(value->items[i], slots, count, own)) return true;
    for (int i = 0; i < count; i++) {
        if (i == own) continue;
        if (slots[i]->text && value->text && strcmp(slots[i]->text, value->text) == 0) return true;
        if (slots[i]->item_count &&
            is_held(value, (const Staged *const *)slots[i]->items, slots[i]->item_count, -1))
            return true;
    }
    return false;
}

/// All at once: what is taken from a variable that is set here as well is copied first.
static void slots_set(Staging *staging, const Staged *const *slots, const Staged *const *values,
                      int count) {
    const Staged **ready = ARENA_ARRAY(staging->arena, const Staged *, count + 1);
    for (int i = 0; i < count; i++) {
        ready[i] = values[i];
        if (!is_held(values[i], slots, count, values[i]->item_count ? -1 : i)) continue;
        ready[i] = slot_new(staging, values[i]);
        slot_set(staging, ready[i], values[i]);
    }
    for (int i = 0; i < count; i++) slot_set(staging, slots[i], ready[i]);
}

static void yielded(Staging *staging, const Op *end, const Staged *const *slots, int count,
                    int first) {
    if (!end || end->operand_count - first != count)
        stage_refuse(staging, "a region that yields something else");
    const Staged **values = ARENA_ARRAY(staging->arena, const Staged *, count + 1);
    for (int i = 0; i < count; i++) values[i] = stage_value(staging, end->operands[first + i]);
    slots_set(staging, slots, values, count);
}

// --- loops --------------------------------------------------------------------------------------------------------------

/// Variables for what a loop carries, with their first values.
static const Staged **carried_new(Staging *staging, const Op *op, int first, int count) {
    const Staged **slots = ARENA_ARRAY(staging->arena, const Staged *, count + 1);
    for (int i = 0; i < count; i++) {
        const Staged *initial = stage_value(staging, op->operands[first + i]);
        slots[i] = slot_new(staging, initial);
        slot_set(staging, slots[i], initial);
    }
    return slots;
}

static void stage_for(Staging *staging, const Op *op) {
    DTypeCode dtype = DTYPE_INT32;
    const char *bounds[3];
    for (int i = 0; i < 3; i++) {
        const Staged *bound = staged_number(staging, op, i);
        if (staged_is_float(bound) || bound->count != 1)
            stage_refuse(staging, "a loop bound that is no integer");
        if (bound->dtype == DTYPE_INT64 || bound->dtype == DTYPE_UINT64) dtype = DTYPE_INT64;
        bounds[i] = bound->text;
    }
    if (op->code == OP_STATIC_FOR) stage_refuse(staging, "a static_range that is not unrolled");
    const Region *body = op->regions[0];
    int count = body->argument_count - 1;
    const Staged **slots = carried_new(staging, op, 3, count);
    const char *at = arena_printf(staging->arena, "v%d", ++staging->names);
    int64_t room = staging->room;
    stage_open(staging, "for (long long %s = %s; %s > 0 ? %s < %s : %s > %s; %s += %s)", at,
               bounds[0], bounds[2], at, bounds[1], at, bounds[1], at, bounds[2]);
    const char *wrapped = stage_wrap(staging, at, dtype);
    stage_bind(staging, body->arguments[0], staged_scalar(staging, TILE_NUMBER, dtype, wrapped));
    for (int i = 0; i < count; i++) stage_bind(staging, body->arguments[i + 1], slots[i]);
    yielded(staging, stage_region(staging, body), slots, count, 0);
    stage_close(staging);
    staging->room = room;
    for (int i = 0; i < count; i++) stage_bind(staging, op->results[i], slots[i]);
}

/// A condition of one element, in C; NULL where it is known, with `*known`.
static const char *condition_text(Staging *staging, const Staged *condition, bool *known) {
    if (condition->kind == TILE_UNDEFINED || condition->count > 1)
        stage_refuse(staging, "a condition that is no number");
    if (condition->tile) {
        *known = tile_truth(condition->tile);
        return NULL;
    }
    return arena_printf(staging->arena, "(%s) != 0",
                        staged_plain(staging, condition, condition->text));
}

static void stage_while(Staging *staging, const Op *op) {
    const Region *condition = op->regions[0], *body = op->regions[1];
    int count = condition->argument_count;
    const Staged **slots = carried_new(staging, op, 0, count);
    int64_t room = staging->room;
    const char *turns = arena_printf(staging->arena, "v%d", ++staging->names);
    stage_open(staging, "for (int %s = 0;; %s++)", turns, turns);
    for (int i = 0; i < count; i++) stage_bind(staging, condition->arguments[i], slots[i]);
    const Op *end = stage_region(staging, condition);
    bool holds = true;
    if (!end || end->operand_count < 1) stage_refuse(staging, "a while without a condition");
    const char *text = condition_text(staging, stage_value(staging, end->operands[0]), &holds);
    stage_line(staging, "if (!(%s)) break;", text ? text : holds ? "1" : "0");
    stage_line(staging, "if (%s == %d) { tad_fault(launch, %d, %d, program, 0, 0); break; }", turns,
               LONGEST_WHILE, LOWERED_ENDLESS, op->range.source ? range_line(op->range) : 0);
    for (int i = 0; i < count; i++) stage_bind(staging, body->arguments[i], slots[i]);
    yielded(staging, stage_region(staging, body), slots, count, 0);
    stage_close(staging);
    staging->room = room;
    for (int i = 0; i < count; i++) stage_bind(staging, op->results[i], slots[i]);
}

// --- branches -----------------------------------------------------------------------------------------------------------

static void take_branch(Staging *staging, const Op *op, const Region *region) {
    const Op *end = stage_region(staging, region);
    if ((end ? end->operand_count : 0) != op->result_count)
        stage_refuse(staging, "a branch that yields something else");
    for (int i = 0; i < op->result_count; i++)
        stage_bind(staging, op->results[i], stage_value(staging, end->operands[i]));
}

/// What both branches come to, from a trial that leaves no text.
static const Staged **branch_types(Staging *staging, const Op *op) {
    const Staged **slots = ARENA_ARRAY(staging->arena, const Staged *, op->result_count + 1);
    Staging before = *staging;
    staging->text = buffer_new(staging->arena);
    for (int side = 0; side < 2; side++) {
        const Op *end = stage_region(staging, op->regions[side]);
        if ((end ? end->operand_count : 0) != op->result_count)
            stage_refuse(staging, "a branch that yields something else");
        for (int i = 0; i < op->result_count; i++) {
            const Staged *value = stage_value(staging, end->operands[i]);
            bool is_open = !slots[i] || slots[i]->kind == TILE_UNDEFINED;
            if (is_open) slots[i] = value;
        }
    }
    staging->text = before.text;
    staging->indent = before.indent;
    staging->room = before.room;
    return slots;
}

static void stage_if(Staging *staging, const Op *op) {
    bool holds = true;
    const char *text = condition_text(staging, stage_value(staging, op->operands[0]), &holds);
    if (!text) {
        take_branch(staging, op, op->regions[holds ? 0 : 1]);
        return;
    }
    const Staged **slots = branch_types(staging, op);
    for (int i = 0; i < op->result_count; i++) slots[i] = slot_new(staging, slots[i]);
    int64_t room = staging->room;
    for (int side = 0; side < 2; side++) {
        if (side == 0)
            stage_open(staging, "if (%s)", text);
        else
            stage_open(staging, "else");
        const Op *end = stage_region(staging, op->regions[side]);
        if (op->result_count) yielded(staging, end, slots, op->result_count, 0);
        stage_close(staging);
        staging->room = room;
    }
    for (int i = 0; i < op->result_count; i++) stage_bind(staging, op->results[i], slots[i]);
}

// --- others -------------------------------------------------------------------------------------------------------------

static void stage_tuple(Staging *staging, const Op *op) {
    const Staged **items = ARENA_ARRAY(staging->arena, const Staged *, op->operand_count + 1);
    for (int i = 0; i < op->operand_count; i++) items[i] = stage_value(staging, op->operands[i]);
    stage_result(staging, op, staged_tuple(staging, items, op->operand_count));
}

static void stage_item(Staging *staging, const Op *op) {
    const Staged *tuple = staged_operand(staging, op, 0);
    int64_t at = staged_int(staging, op, "index", 0);
    if (!tuple || tuple->kind != TILE_TUPLE) stage_refuse(staging, "an item of what is no tuple");
    if (at < 0) at += tuple->item_count;
    if (at < 0 || at >= tuple->item_count) stage_refuse(staging, "an item beyond a tuple");
    stage_result(staging, op, tuple->items[at]);
}

static void stage_constant(Staging *staging, const Op *op) { stage_value(staging, op->results[0]); }

static void stage_undefined(Staging *staging, const Op *op) {
    stage_result(
        staging, op,
        staged_known(staging, tile_special(&staging->folding->pool, TILE_UNDEFINED, NULL)));
}

static void stage_program_id(Staging *staging, const Op *op) {
    int64_t axis = staged_int(staging, op, "axis", 0);
    if (axis < 0 || axis > 2) stage_refuse(staging, "a program axis beyond 2");
    const char *what = op->code == OP_PROGRAM_ID ? "program_id" : "launch->grid[";
    stage_result(
        staging, op,
        staged_scalar(staging, TILE_NUMBER, DTYPE_INT32,
                      arena_printf(staging->arena, "(long long)(int)%s%lld%s", what,
                                   (long long)axis, op->code == OP_PROGRAM_ID ? "" : "]")));
}

static void stage_type_of(Staging *staging, const Op *op) {
    const Staged *staged = staged_operand(staging, op, 0);
    if (!staged) stage_refuse(staging, "the type of None");
    if (staged->kind == TILE_CONSTANT) {
        stage_result(staging, op, staged);
        return;
    }
    Constant *constant = ARENA_NEW(staging->arena, Constant);
    *constant = (Constant){.kind = CONSTANT_DTYPE, .dtype = dtype_of(staged->dtype)};
    constant->is_pointer = staged->kind == TILE_POINTER && op->code == OP_DTYPE_OF;
    stage_result(
        staging, op,
        staged_known(staging, tile_special(&staging->folding->pool, TILE_CONSTANT, constant)));
}

static void stage_is_none(Staging *staging, const Op *op) {
    bool is_none = staged_operand(staging, op, 0) == NULL;
    stage_result(staging, op, staged_known(staging, tile_bool(&staging->folding->pool, is_none)));
}

static void stage_hint(Staging *staging, const Op *op) {
    if (op->result_count == 0) return;
    const Staged *first = staged_operand(staging, op, 0);
    stage_result(
        staging, op,
        first ? first
              : staged_known(staging, tile_special(&staging->folding->pool, TILE_NONE, NULL)));
}

static void stage_device_assert(Staging *staging, const Op *op) {
    const Staged *condition = staged_operand(staging, op, 0),
                 *mask = staged_named(staging, op, "mask");
    if (!condition || condition->kind != TILE_NUMBER || (mask && mask->kind != TILE_NUMBER))
        stage_refuse(staging, "such a device_assert");
    bool is_masked = mask && mask->count == condition->count;
    stage_line(
        staging,
        "EACH(i, %lld) if ((%s) == 0 && (%s) != 0) tad_fault(launch, %d, %d, program, i, 0);",
        (long long)condition->count,
        staged_plain(staging, condition, staged_at(staging, condition, "i")),
        is_masked ? staged_plain(staging, mask, staged_at(staging, mask, "i")) : "1",
        LOWERED_ASSERT, op->range.source ? range_line(op->range) : 0);
    stage_hint(staging, op);
}

static const struct {
    OpStaging *lower;
    bool reads_once;
} lowerings[OP_COUNT] = {
#include "gpu-runner/staging/lowerings.inc"
};

bool stage_reads_once(OpCode code) {
    bool is_elementwise = !lowerings[code].lower && code != OP_YIELD && code != OP_CONDITION;
    return is_elementwise || lowerings[code].reads_once;
}

/// Whether the interpreter can do it before the kernel runs: it computes one number, or no number, of what is known.
static bool folds(Staging *staging, const Op *op) {
    if (op->region_count || op->result_count != 1 || op->operand_count == 0) return false;
    if (op_rows[op->code].effects) return false;
    switch (op->code) {
    case OP_PROGRAM_ID:
    case OP_NUM_PROGRAMS: return false;
    default: break;
    }
    for (int i = 0; i < op->operand_count; i++) {
        if (!op->operands[i]) continue;
        const Staged *staged = stage_value(staging, op->operands[i]);
        if (!staged->tile || staged->kind == TILE_POINTER || staged->kind == TILE_UNDEFINED)
            return false;
    }
    return true;
}

static bool fold(Staging *staging, const Op *op) {
    if (!folds(staging, op)) return false;
    Tile **operands = ARENA_ARRAY(staging->arena, Tile *, op->operand_count);
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i])
            operands[i] = (Tile *)(uintptr_t)stage_value(staging, op->operands[i])->tile;
    Tile *tile = NULL;
    Error error = interp_fold(staging->folding, op, operands, &tile);
    if (error || !tile || tile->count != 1) return false;
    stage_result(staging, op, staged_known(staging, tile));
    return true;
}

static void stage_op(Staging *staging, const Op *op) {
    staging->op = op;
    if (fold(staging, op)) return;
    chains_settle_operands(staging, op);
    OpStaging *lower = lowerings[op->code].lower;
    if (!lower) lower = op_rows[op->code].kind == KIND_HINT ? stage_hint : stage_elementwise;
    lower(staging, op);
}

const Op *stage_region(Staging *staging, const Region *region) {
    for (const Op *op = region->first; op; op = op->next) {
        if (op->code == OP_YIELD || op->code == OP_CONDITION) return op;
        stage_op(staging, op);
    }
    return NULL;
}

// --- functions ----------------------------------------------------------------------------------------------------------

/// A parameter's number or address, read from the launch.
static const Staged *argument(Staging *staging, int index, const Tile *tile) {
    bool is_float = tile_is_float(tile);
    const char *name = arena_printf(staging->arena, "p%d", index);
    stage_line(staging,
               is_float ? "const TadReal %s = tad_argument(launch, %d);"
                        : "const long long %s = launch->arguments[%d];",
               name, index);
    return staged_scalar(staging, tile->kind, tile->dtype, name);
}

/// A descriptor's base is read from the launch; its shape and strides are known.
static const Staged *descriptor(Staging *staging, int index, const Tile *tile) {
    const Staged *items[3] = {argument(staging, index, tile->items[0]),
                              staged_known(staging, tile->items[1]),
                              staged_known(staging, tile->items[2])};
    Staged *staged = staged_tuple(staging, items, 3);
    staged->kind = TILE_DESCRIPTOR;
    staged->dtype = tile->dtype;
    staged->rank = tile->rank;
    memcpy(staged->dims, tile->dims, sizeof staged->dims);
    staged->count = tile->count;
    staged->is_weak = tile->is_weak;
    return staged;
}

static void bind_arguments(Staging *staging, Tile *const *arguments) {
    for (int i = 0; i < staging->function->parameter_count; i++) {
        Tile *tile = arguments[i];
        const Value *value = staging->function->parameters[i].value;
        if (!tile) continue;
        bool is_number = tile->kind == TILE_NUMBER && !tile->is_weak;
        if (is_number || tile->kind == TILE_POINTER)
            stage_bind(staging, value, argument(staging, i, tile));
        else if (tile->kind == TILE_DESCRIPTOR)
            stage_bind(staging, value, descriptor(staging, i, tile));
        else
            stage_bind(staging, value, staged_known(staging, tile));
    }
}

Error lower_function(Arena *arena, const Function *function, Tile *const *arguments,
                     StagedNumbers options, Lowered *lowered) {
    InterpOptions known = {
        .max_steps = 1 << 20, .own_types = options.rounds, .allow_tf32 = options.allow_tf32};
    Interp *folding = interp_new(arena, &known);
    Staging *staging = ARENA_NEW(arena, Staging);
    staging->arena = arena;
    staging->function = function;
    staging->folding = folding;
    staging->text = buffer_new(arena);
    staging->values = ARENA_ARRAY(arena, Staged *, function->value_count + 1);
    staging->helpers = buffer_new(arena);
    chains_begin(staging);
    staging->indent = 2;
    staging->is_dual = options.is_dual;
    staging->rounds = options.rounds;
    staging->allow_tf32 = options.allow_tf32;
    staging->holds_extremes = options.holds_extremes;
    staging->adds_at_once = options.adds_at_once;
    Tile **none = ARENA_ARRAY(arena, Tile *, function->parameter_count + 1);
    interp_begin(folding, memory_new(arena), function, none, (const int64_t[3]){1, 1, 1});
    if (setjmp(staging->stop)) return staging->error;
    bind_arguments(staging, arguments);
    stage_region(staging, function->body);
    staging->op = NULL;
    if (staging->text.size > LONGEST_TEXT)
        stage_refuse(staging, "a kernel that is %zu characters of text", staging->text.size);
    Buffer text = buffer_new(arena);
    prelude_write(&text, staging, buffer_text(&staging->helpers));
    buffer_puts(
        &text,
        "KERNEL void " LOWERED_NAME "(TadLaunch *launch) {\n"
        "    __shared__ TadBits tad_box;\n"
        "    TadReal *const tad_room = launch->room + launch->room_per_block * blockIdx.x;\n"
        "    const long long programs = launch->grid[0] * launch->grid[1] * launch->grid[2];\n"
        "    (void)tad_box, (void)tad_room;\n"
        "    for (long long turn = blockIdx.x; turn < programs; turn += gridDim.x) {\n"
        "        const long long program = launch->reversed ? programs - 1 - turn : turn;\n"
        "        const long long program_id0 = program % launch->grid[0];\n"
        "        const long long program_id1 = program / launch->grid[0] % launch->grid[1];\n"
        "        const long long program_id2 = program / launch->grid[0] / launch->grid[1];\n"
        "        (void)program_id0, (void)program_id1, (void)program_id2;\n");
    buffer_puts(&text, buffer_text(&staging->text));
    buffer_puts(&text, "        __syncthreads();\n    }\n}\n");
    *lowered = (Lowered){.text = buffer_text(&text),
                         .room = staging->most,
                         .room_bytes = options.is_dual ? 16 : 8,
                         .widest = staging->widest,
                         .is_ordered = staging->is_ordered};
    return NULL;
}
