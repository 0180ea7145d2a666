// From addresses to the parameters that they come from, and what is loaded and stored there.
#include "analysis/parameters/pointees.h"

#include "analysis/ir/walk.h"

// --- From an address to its parameter

static intptr_t trace_parameter(ValueWalk *walk, const Value *value) {
    if (!value) return -1;
    if (value->region) {
        const Op *owner = value->region->parent;
        if (!owner) return value->index;
        int shift = owner->code == OP_WHILE ? 0 : 1;
        int first = owner->code == OP_WHILE ? 0 : 3;
        bool is_loop = op_is_loop(owner->code);
        if (!is_loop || value->index < shift) return -1;
        return walk_ask(walk, owner->operands[first + value->index - shift]);
    }
    const Op *op = value->op;
    switch (op->code) {
    case OP_ADD:
        if (value_is_numeric(op->operands[0])) return walk_ask(walk, op->operands[1]);
        return walk_ask(walk, op->operands[0]);
    case OP_FOR:
    case OP_STATIC_FOR: return walk_ask(walk, op->operands[3 + value->index]);
    case OP_WHILE: return walk_ask(walk, op->operands[value->index]);
    case OP_IF: {
        for (int branch = 0; branch < 2; branch++) {
            const Op *yield = region_terminator(op->regions[branch]);
            intptr_t found = yield ? walk_ask(walk, yield->operands[value->index]) : -1;
            if (found >= 0) return found;
        }
        return -1;
    }
    case OP_WHERE: {  // of addresses: lanes choose between two
        intptr_t found = walk_ask(walk, op->operands[1]);
        return found >= 0 ? found : walk_ask(walk, op->operands[2]);
    }
    case OP_SUB:
    case OP_CAST:
    case OP_ADVANCE:
    case OP_MAKE_BLOCK_POINTER:
    case OP_MAKE_TENSOR_DESCRIPTOR: return walk_ask(walk, op->operands[0]);
    default: return op_has(op->code, TRAIT_MOVES) ? walk_ask(walk, op->operands[0]) : -1;
    }
}

int pointee_parameter(const Value *address) {
    return (int)walk_from(address, trace_parameter, -1, NULL);
}

// --- What pointers point to

/// The value that an address is computed from, one operation back; NULL at its end.
static const Value *address_before(const Value *value) {
    const Op *owner = value->region ? value->region->parent : NULL;
    const Op *op = owner ? owner : value->op;
    if (!op || op->code == OP_LOAD) return NULL;
    bool is_loop = op_is_loop(op->code);
    if (owner && !is_loop) return NULL;
    int first = op->code == OP_WHILE ? 0 : 3, shift = owner && op->code != OP_WHILE ? 1 : 0;
    int operand = is_loop ? first + value->index - shift : 0;
    if (owner && value->index < shift) return NULL;
    if (operand >= op->operand_count) return NULL;
    bool second = op->code == OP_ADD && value_is_numeric(op->operands[0]);
    return op->operands[second ? 1 : operand];
}

enum { MOST_STEPS_TO_BRANCHES = 400 };  // an address of more branches has some that are not noted

/// Notes the access on each parameter that branches or lanes choose from.
static void note_branches(Function *function, const Value *pointer, int effects, int *steps) {
    while (pointer && (*steps)-- > 0) {
        bool is_branch = pointer->op && pointer->op->code == OP_IF;
        for (int branch = 0; is_branch && branch < 2; branch++) {
            const Op *yield = region_terminator(pointer->op->regions[branch]);
            if (yield) note_branches(function, yield->operands[pointer->index], effects, steps);
        }
        bool is_choice = pointer->op && pointer->op->code == OP_WHERE;
        for (int side = 1; is_choice && side <= 2; side++)
            note_branches(function, pointer->op->operands[side], effects, steps);
        if (is_branch || is_choice) return;
        if (pointer->region == function->body) {
            Parameter *parameter = &function->parameters[pointer->index];
            parameter->is_loaded |= (effects & EFFECT_READS) != 0;
            parameter->is_stored |= (effects & EFFECT_WRITES) != 0;
            return;
        }
        pointer = address_before(pointer);
    }
}

/// What is combined bit by bit is integers: so is what a parameter points to whose element type it was cast to.
static void note_bits(Pointees *pointees, const Op *op) {
    for (int i = 0; op_has(op->code, TRAIT_INTEGERS) && i < op->operand_count; i++) {
        const Value *operand = op->operands[i];
        if (!operand || operand->type.kind != TYPE_NUMBER ||
            operand->type.element.code != DTYPE_OF_PARAMETER)
            continue;
        int parameter = operand->type.element.parameter;
        if (parameter >= 0 && parameter < pointees->function->parameter_count)
            pointees->loaded[parameter] = (unsigned short)(pointees->loaded[parameter] | ROLE_INT);
    }
}

static bool visit_pointees(void *context, Op *op) {
    Pointees *pointees = context;
    note_bits(pointees, op);
    int effects = op_rows[op->code].effects;
    if (!(effects & (EFFECT_READS | EFFECT_WRITES)) || op->operand_count == 0) return true;
    int steps = MOST_STEPS_TO_BRANCHES;
    note_branches(pointees->function, op->operands[0], effects, &steps);
    int parameter = pointee_parameter(op->operands[0]);
    if (parameter < 0 || parameter >= pointees->function->parameter_count) return true;
    Parameter *to = &pointees->function->parameters[parameter];
    if (effects & EFFECT_READS) {
        to->is_loaded = true;
        if (op->result_count) {
            int role = role_of(pointees->roles, op->results[0]);
            // A number that is cast to an integer here and to a float there is an integer.
            if (role & (ROLE_WHOLE | ROLE_CUT) && !(role & ROLE_REAL)) role &= ~ROLE_FLOAT;
            pointees->loaded[parameter] = (unsigned short)(pointees->loaded[parameter] | role);
        }
    }
    if (effects & EFFECT_WRITES) {
        to->is_stored = true;
        int value = op_parameter_index(op->code, STR("value"));
        if (value < 0) value = op_parameter_index(op->code, STR("val"));
        const Value *stored = value >= 0 && value < op->operand_count ? op->operands[value] : NULL;
        // Who counts adds integers; a plain store of 0 may be meant for floats.
        bool is_count = (effects & EFFECT_READS) != 0;
        int role = value_is_of_floats(stored)                          ? ROLE_FLOAT
                   : value_is_of_integers(stored) && !stored->constant ? ROLE_INT
                   : value_is_of_integers(stored) && is_count          ? ROLE_WHOLE
                                                                       : 0;
        pointees->stored[parameter] = (unsigned short)(pointees->stored[parameter] | role);
    }
    return true;
}

DTypeClass pointee_class(int loaded, int stored) {
    if (loaded & (ROLE_INT | ROLE_POINTER))
        return (loaded & ROLE_FLOAT) && (stored & ROLE_FLOAT) ? CLASS_FLOAT : CLASS_SIGNED;
    if (loaded & ROLE_FLOAT) return CLASS_FLOAT;
    if (loaded & ROLE_WHOLE) return stored & ROLE_FLOAT ? CLASS_FLOAT : CLASS_SIGNED;
    if (stored & ROLE_FLOAT) return CLASS_FLOAT;
    return stored & (ROLE_INT | ROLE_WHOLE) ? CLASS_SIGNED : CLASS_UNKNOWN;
}

static bool visit_optional(void *context, Op *op) {
    Function *function = context;
    if (op->code == OP_IS_NONE) {
        int parameter = pointee_parameter(op->operands[0]);
        if (parameter >= 0) function->parameters[parameter].is_optional = true;
    }
    return true;
}

Pointees pointees_find(Arena *arena, Function *function, const Roles *roles) {
    Pointees pointees = {
        .roles = roles,
        .loaded = ARENA_ARRAY(arena, unsigned short, function->parameter_count + 1),
        .stored = ARENA_ARRAY(arena, unsigned short, function->parameter_count + 1),
        .function = function};
    region_walk(function->body, visit_pointees, &pointees);
    return pointees;
}

void optionals_find(Function *function) { region_walk(function->body, visit_optional, function); }
