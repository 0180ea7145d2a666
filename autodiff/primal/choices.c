// A function with accesses through pointers that branches or lanes choose in; one with an access for each tensor out.
#include "autodiff/primal/choices.h"

#include "analysis/build/build.h"
#include "autodiff/rewrite/distance.h"

enum { MOST_TENSORS = 4 };  // to choose from: each is a copy of the access

/// A tree of conditions with parameters as its leaves.
typedef struct Choice {
    Value *root;       // of a leaf
    Value *condition;  // of what is no leaf
    const struct Choice *branches[2];
    int leaves;
} Choice;

/// The pointer that a branch yields: where it starts, and how far from there it is.
typedef struct Chosen {
    const Choice *choice;
    Value *offset;
} Chosen;

typedef struct Choices {
    Function *function;
    Map chosen;  // result of a branch -> Chosen
} Choices;

/// What an address is an expression of: a parameter, the result of a branch, or something else.
static Value *base_of(Value *pointer) {
    while (pointer && pointer->op) {
        const Op *op = pointer->op;
        switch (op->code) {
        case OP_ADD:
            pointer = op->operands[op->operands[0]->type.kind == TYPE_POINTER ? 0 : 1];
            break;
        case OP_SUB: pointer = op->operands[0]; break;
        default:
            if (!op_has(op->code, TRAIT_LAYOUT) && op_rows[op->code].kind != KIND_HINT)
                return pointer;
            pointer = op->operands[0];
        }
    }
    return pointer;
}

static bool is_nothing(const Value *value) {
    return value_is_none(value) || (value->op && value->op->code == OP_UNDEFINED);
}

/// Hands a condition of a branch on as a result of the branch: false where the other branch runs.
static Value *condition_out(Choices *choices, Op *branch, int side, Value *condition) {
    if (!region_defines(branch->regions[side], condition)) return condition;
    Function *function = choices->function;
    Value *out = op_append_result(function, branch, condition->type);
    for (int r = 0; r < 2; r++) {
        Op *yield = region_terminator(branch->regions[r]);
        Builder b = {.function = function, .region = branch->regions[r], .before = yield};
        op_append_operand(function, yield, r == side ? condition : build_bool(&b, false));
    }
    return out;
}

static const Choice *choice_out(Choices *choices, Op *branch, int side, const Choice *choice) {
    if (choice->root) return choice;
    Choice *out = ARENA_NEW(choices->function->arena, Choice);
    *out = *choice;
    out->condition = condition_out(choices, branch, side, choice->condition);
    for (int r = 0; r < 2; r++)
        out->branches[r] = choice_out(choices, branch, side, choice->branches[r]);
    return out;
}

/// Where a branch's pointer starts; NULL where that is not known. `*offset`: how far from there it is, built in the branch.
static const Choice *branch_choice(Choices *choices, Op *branch, int side, Value *pointer,
                                   Value **offset) {
    Function *function = choices->function;
    Builder b = {.function = function,
                 .region = branch->regions[side],
                 .before = region_terminator(branch->regions[side]),
                 .range = branch->range};
    Value *base = base_of(pointer);
    const Chosen *inner = map_get_pointer(&choices->chosen, base);
    bool is_parameter = base && !base->op && base->region == function->body;
    if (!inner && !is_parameter) return NULL;
    *offset = pointer_distance(&b, pointer, base);
    if (*offset && inner) *offset = build_binary(&b, OP_ADD, inner->offset, *offset);
    if (!*offset) return NULL;
    if (inner) return choice_out(choices, branch, side, inner->choice);
    Choice *leaf = ARENA_NEW(function->arena, Choice);
    *leaf = (Choice){.root = base, .leaves = 1};
    return leaf;
}

static Value *offset_spread(Builder *b, Value *offset, Type type) {
    Value *wide = build_binary(b, OP_CAST, offset, build_dtype(b, dtype_of(DTYPE_INT64)));
    Value *shape = type.rank > wide->type.rank ? build_shape(b, type) : NULL;
    return shape ? build_binary(b, OP_BROADCAST_TO, wide, shape) : wide;
}

/// Notes of a pointer that a branch yields what it chooses from, and has the branch yield its offset.
static void choose(Choices *choices, Op *branch, int index) {
    Function *function = choices->function;
    Type type = branch->results[index]->type;
    const Choice *branches[2] = {NULL, NULL};
    Value *offsets[2] = {NULL, NULL};
    for (int r = 0; r < 2; r++) {
        Value *pointer = region_terminator(branch->regions[r])->operands[index];
        if (is_nothing(pointer)) continue;
        branches[r] = branch_choice(choices, branch, r, pointer, &offsets[r]);
        if (!branches[r]) return;
    }
    if (!branches[0] || !branches[1] || branches[0]->leaves + branches[1]->leaves > MOST_TENSORS)
        return;
    Choice *choice = ARENA_NEW(function->arena, Choice);
    *choice = (Choice){.condition = branch->operands[0],
                       .branches = {branches[0], branches[1]},
                       .leaves = branches[0]->leaves + branches[1]->leaves};
    type.kind = TYPE_NUMBER;
    type.element = dtype_of(DTYPE_INT64);
    type.is_constexpr = false;
    Chosen *chosen = ARENA_NEW(function->arena, Chosen);
    *chosen = (Chosen){.choice = choice, .offset = op_append_result(function, branch, type)};
    for (int r = 0; r < 2; r++) {
        Op *yield = region_terminator(branch->regions[r]);
        Builder b = {.function = function, .region = branch->regions[r], .before = yield};
        op_append_operand(function, yield, offset_spread(&b, offsets[r], type));
    }
    const char *name = branch->results[index]->name;
    if (name) chosen->offset->name = arena_printf(function->arena, "%s_offset", name);
    map_set_pointer(&choices->chosen, branch->results[index], chosen);
}

/// Notes on the parameter what the access does with its memory.
static void note_access(Function *function, const Op *access, const Value *root) {
    int effects = op_rows[access->code].effects;
    Parameter *parameter = &function->parameters[root->index];
    parameter->is_loaded |= (effects & (EFFECT_READS | EFFECT_ATOMIC)) != 0;
    parameter->is_stored |= (effects & (EFFECT_WRITES | EFFECT_ATOMIC)) != 0;
}

/// The access at each leaf of the choice; its result, NULL for a store.
static Value *access_each(Builder *b, const Op *access, const Choice *choice, Value *distance) {
    if (choice->root) {
        Value **operands = ARENA_ARRAY(b->function->arena, Value *, access->operand_count);
        for (int i = 0; i < access->operand_count; i++) operands[i] = access->operands[i];
        operands[0] = build_binary(b, OP_ADD, choice->root, distance);
        note_access(b->function, access, choice->root);
        return build(b, access->code, operands, access->operand_count);
    }
    Op *branch = op_append(b, OP_IF, &choice->condition, 1, 0);
    for (int r = 0; r < 2; r++) {
        Builder side = *b;
        side.region = op_add_region(b, branch);
        side.before = NULL;
        Value *result = access_each(&side, access, choice->branches[r], distance);
        int count = access->result_count && result ? 1 : 0;
        op_append(&side, OP_YIELD, &result, count, 0);
    }
    if (access->result_count == 0) return NULL;
    return op_append_result(b->function, branch, access->results[0]->type);
}

/// One of the tensors that the lanes of an address choose from: `tl.where(condition, a + x, b + y)`.
typedef struct LaneChoice {
    Value *root, *offset;
    Value *lanes;  // that choose it; NULL: all
} LaneChoice;

typedef LIST(LaneChoice) LaneChoices;

/// A number or a tile in the shape of a tile of addresses; NULL where it is of another rank, or the shape is not known.
static Value *fill_shape(Builder *b, Value *tile, Type type) {
    bool is_same = tile && tile->type.rank == type.rank;
    for (int i = 0; is_same && i < type.rank; i++)
        is_same = poly_equal(tile->type.dims[i], type.dims[i]);
    if (!tile || is_same) return tile;
    bool is_known = tile->type.rank == 0 || tile->type.rank == type.rank;
    Value *shape = is_known ? build_shape(b, type) : NULL;
    if (!shape) return NULL;
    Value *full[] = {shape, tile, build_dtype(b, tile->type.element)};
    return tile->constant ? build(b, OP_FULL, full, 3)
                          : build_binary(b, OP_BROADCAST_TO, tile, shape);
}

/// A tile beside the address `base`, brought to the shape of `pointer`, which is an expression of `base`.
static Value *spread_beside(Builder *b, const Value *pointer, const Value *base, Value *tile) {
    if (pointer == base || !tile) return fill_shape(b, tile, pointer->type);
    const Op *op = pointer->op;
    bool is_second = op->code == OP_ADD && op->operands[0]->type.kind != TYPE_POINTER;
    tile = spread_beside(b, op->operands[is_second], base, tile);
    if (!tile || !op_has(op->code, TRAIT_LAYOUT)) return fill_shape(b, tile, pointer->type);
    if (op->operand_count > TYPE_MAX_RANK) return NULL;
    Value *operands[TYPE_MAX_RANK] = {tile};
    for (int i = 1; i < op->operand_count; i++) operands[i] = op->operands[i];
    return build(b, op->code, operands, op->operand_count);
}

enum { DEEPEST_CHOICE = 4 };  // of a choice within a choice, as many as there are tensors

/// What the lanes of an address choose from; false where that is not known.
static bool lane_choices(Builder *b, Value *pointer, int depth, LaneChoices *found) {
    Value *base = base_of(pointer);
    const Op *where = base ? base->op : NULL;
    bool is_parameter = base && !where && base->region == b->function->body;
    if (!is_parameter && (!where || where->code != OP_WHERE || depth > DEEPEST_CHOICE))
        return false;
    int first = found->count;
    if (is_parameter) {
        LaneChoice all = {.root = base};  // no offset: it begins there
        LIST_PUSH(b->function->arena, found, all);
    }
    for (int side = 0; where && side < 2; side++) {
        int start = found->count;
        if (!lane_choices(b, where->operands[1 + side], depth + 1, found)) return false;
        Value *lanes = where->operands[0];
        if (side) lanes = build_unary(b, OP_INVERT, lanes);
        for (int i = start; i < found->count; i++) {
            Value **chosen = &found->items[i].lanes;
            *chosen = *chosen ? build_binary(b, OP_AND, *chosen, lanes) : lanes;
        }
    }
    for (int i = first; i < found->count; i++) {
        LaneChoice *choice = &found->items[i];
        bool has_lanes = choice->lanes, has_offset = choice->offset;
        Value *distance = pointer_distance(b, pointer, base);
        choice->offset = spread_beside(b, pointer, base, choice->offset);
        choice->lanes = spread_beside(b, pointer, base, choice->lanes);
        if (!distance || has_offset != !!choice->offset || has_lanes != !!choice->lanes)
            return false;
        choice->offset = has_offset ? build_binary(b, OP_ADD, choice->offset, distance) : distance;
    }
    return found->count <= MOST_TENSORS;
}

static bool is_one_tensor(const LaneChoices *choices) {
    for (int i = 1; i < choices->count; i++)
        if (choices->items[i].root != choices->items[0].root) return false;
    return true;
}

/// The access for those lanes alone that choose this tensor.
static Value *access_lanes(Builder *b, const Op *access, const LaneChoice *choice) {
    Value **operands = ARENA_ARRAY(b->function->arena, Value *, access->operand_count + 3);
    for (int i = 0; i < access->operand_count; i++) operands[i] = access->operands[i];
    int mask = access->code == OP_LOAD ? 1 : 2;
    bool has_mask = operands[mask] && !value_is_none(operands[mask]);
    operands[0] = build_binary(b, OP_ADD, choice->root, choice->offset);
    operands[mask] =
        has_mask ? build_binary(b, OP_AND, operands[mask], choice->lanes) : choice->lanes;
    if (access->code == OP_LOAD && !has_mask) operands[2] = build_int(b, 0);
    note_access(b->function, access, choice->root);
    int least = access->code == OP_LOAD && !has_mask ? 3 : mask + 1;
    return build(b, access->code, operands,
                 access->operand_count > least ? access->operand_count : least);
}

/// Makes of an access whose lanes choose among tensors one access for each tensor.
static void open_lanes(Function *function, Op *op) {
    const Op *where = base_of(op->operands[0])->op;
    if (!where || where->code != OP_WHERE) return;
    Builder b = {.function = function,
                 .region = op->parent,
                 .before = op,
                 .range = op->range,
                 .call = op->call};
    LaneChoices choices = {0};
    if (!lane_choices(&b, op->operands[0], 0, &choices)) return;
    Value *result = NULL, *root = choices.items[0].root;
    if (is_one_tensor(&choices)) {
        Value *distance = pointer_distance(&b, op->operands[0], root);
        if (distance) op_set_operand(op, 0, build_binary(&b, OP_ADD, root, distance));
        return;
    }
    for (LIST_EACH(int, i, choices)) {
        const LaneChoice *choice = &choices.items[i];
        Value *here = access_lanes(&b, op, choice);
        result = result && here ? build_ternary(&b, OP_WHERE, choice->lanes, here, result) : here;
    }
    if (op->result_count) {
        result->name = op->results[0]->name;
        region_replace_uses(function->body, op->results[0], result);
    }
    op_remove(op);
}

static void open_access(Choices *choices, Op *op) {
    Value *base = base_of(op->operands[0]);
    if (!base) return;
    const Chosen *chosen = map_get_pointer(&choices->chosen, base);
    if (!chosen) {
        open_lanes(choices->function, op);
        return;
    }
    Builder b = {.function = choices->function,
                 .region = op->parent,
                 .before = op,
                 .range = op->range,
                 .call = op->call};
    Value *distance = pointer_distance(&b, op->operands[0], base_of(op->operands[0]));
    if (!distance) return;
    distance = build_binary(&b, OP_ADD, chosen->offset, distance);
    Value *result = access_each(&b, op, chosen->choice, distance);
    if (result) {
        result->name = op->results[0]->name;
        region_replace_uses(choices->function->body, op->results[0], result);
    }
    op_remove(op);
}

static void open_region(Choices *choices, Region *region) {
    for (Op *op = region->first, *next; op; op = next) {
        next = op->next;
        for (int r = 0; r < op->region_count; r++) open_region(choices, op->regions[r]);
        int results = op->code == OP_IF ? op->result_count : 0;
        for (int i = 0; i < results; i++)
            if (op->results[i]->type.kind == TYPE_POINTER) choose(choices, op, i);
        bool is_access = op_rows[op->code].effects & (EFFECT_READS | EFFECT_WRITES | EFFECT_ATOMIC);
        if (is_access && op->result_count <= 1 && op->operand_count && op->operands[0] &&
            op->operands[0]->type.kind == TYPE_POINTER)
            open_access(choices, op);
    }
}

void function_open_choices(Function *function) {
    Choices choices = {.function = function, .chosen = map_new(function->arena)};
    open_region(&choices, function->body);
}
