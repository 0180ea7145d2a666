// What the uses of a value say that it is: a pointer, an integer, a float, a type.
#include "analysis/parameters/roles.h"

enum { ROLE_ROUNDS = 12 };

int role_of(const Roles *roles, const Value *value) { return value ? roles->roles[value->id] : 0; }

static void role_add(Roles *roles, const Value *value, int role) {
    if (!value || value->constant || (roles->roles[value->id] & role) == role) return;
    roles->roles[value->id] = (unsigned short)(roles->roles[value->id] | role);
    roles->changed = true;
    // An item of a tuple, all items of one.
    if (value->op && value->op->code == OP_TUPLE)
        for (int i = 0; i < value->op->operand_count; i++)
            role_add(roles, value->op->operands[i], role);
}

bool value_is_of_floats(const Value *value) {
    return value && value->type.kind == TYPE_NUMBER && dtype_is_float(value->type.element);
}

bool value_is_of_integers(const Value *value) {
    return value && value->type.kind == TYPE_NUMBER && dtype_is_integer(value->type.element);
}

/// Of a sum so many terms are looked at; one that has more is not known to be a number.
enum { MOST_TERMS = 64 };

static bool is_numeric(const Value *value, int *terms_left) {
    if (--*terms_left < 0) return false;
    if (value->constant || value->type.kind == TYPE_NUMBER) return true;
    if (!value->op) return false;
    switch (value->op->code) {
    case OP_MUL:
    case OP_DIV:
    case OP_FLOORDIV:
    case OP_MOD:
    case OP_NEG:
    case OP_ARANGE:
    case OP_PROGRAM_ID:
    case OP_AND:
    case OP_OR:
    case OP_SHL:
    case OP_SHR: return true;
    case OP_ADD:
    case OP_SUB:
        return is_numeric(value->op->operands[0], terms_left) &&
               is_numeric(value->op->operands[1], terms_left);
    default: return false;
    }
}

bool value_is_numeric(const Value *value) {
    int terms_left = MOST_TERMS;
    return is_numeric(value, &terms_left);
}

// --- One op's say

static void roles_of_sum(Roles *roles, const Op *op, int role) {
    Value *a = op->operands[0];
    Value *b = op->operands[1];
    if (role & ROLE_POINTER || op->results[0]->type.kind == TYPE_POINTER) {
        bool b_is_pointer =
            b->type.kind == TYPE_POINTER || (value_is_numeric(a) && !value_is_numeric(b));
        if (a->type.kind == TYPE_POINTER) b_is_pointer = false;
        if (op->code == OP_SUB) b_is_pointer = false;
        role_add(roles, b_is_pointer ? b : a, ROLE_POINTER);
        role_add(roles, b_is_pointer ? a : b, ROLE_INT);
        return;
    }
    role_add(roles, a, role & ROLES_OF_NUMBERS);
    role_add(roles, b, role & ROLES_OF_NUMBERS);
    if (a->type.kind == TYPE_POINTER) role_add(roles, b, ROLE_INT);
    if (b->type.kind == TYPE_POINTER) role_add(roles, a, ROLE_INT);
}

/// A number that is written in the kernel, maybe as a tile: what it meets need not be of its type.
static bool is_written(const Value *value) {
    while (value->op && (value->op->code == OP_FULL || value->op->code == OP_BROADCAST_TO))
        value = value->op->operands[value->op->code == OP_FULL ? 1 : 0];
    return value->constant || value->type.is_constexpr;
}

static void roles_of_mates(Roles *roles, const Op *op) {
    for (int i = 0; i < op->operand_count; i++)
        for (int j = 0; j < op->operand_count; j++) {
            const Value *known = op->operands[i];
            if (i == j || !known || !op->operands[j]) continue;
            if (value_is_of_floats(known) ||
                (known->constant && known->constant->kind == CONSTANT_FLOAT))
                role_add(roles, op->operands[j], ROLE_FLOAT | ROLE_REAL);
            else if (value_is_of_integers(known) && !is_written(known) && op->code >= OP_EQ &&
                     op->code <= OP_GE)
                role_add(roles, op->operands[j], ROLE_WHOLE);
        }
}

static void roles_of_dtypes(Roles *roles, const Op *op) {
    int count;
    const OpParameter *parameters = op_parameters(op->code, &count);
    for (int i = 0; i < count && i < op->operand_count; i++) {
        const Value *operand = op->operands[i];
        if (!operand) continue;
        Str name = parameters[i].name;
        Str missing = parameters[i].default_text;
        if (str_is(name, "dtype") || str_is(name, "out_dtype"))
            role_add(roles, operand, ROLE_DTYPE);
        if (missing.size && missing.data[0] == '\'') role_add(roles, operand, ROLE_STRING);
        if (str_is(name, "input_precision")) role_add(roles, operand, ROLE_STRING);
        if (str_is(name, "shape") || str_is(name, "block_shape"))
            role_add(roles, operand, ROLE_INT | ROLE_SIZE);
    }
}

static void roles_of_comparison(Roles *roles, const Op *op) {
    for (int i = 0; i < 2; i++) {
        const Constant *constant = op->operands[i]->constant;
        Value *other = op->operands[1 - i];
        if (constant && constant->kind == CONSTANT_STRING) role_add(roles, other, ROLE_STRING);
        if (op->operands[i]->type.kind == TYPE_DTYPE) role_add(roles, other, ROLE_DTYPE);
        // x % 2 == 0
        bool asks_remainder = constant && constant->kind == CONSTANT_INT && other->op &&
                              other->op->code == OP_MOD && (op->code == OP_EQ || op->code == OP_NE);
        if (asks_remainder) role_add(roles, other, ROLE_INT);
        // code == 2; a float may be compared with 0 and 1, too
        bool is_equality = op->code == OP_EQ || op->code == OP_NE;
        if (is_equality && constant && constant->kind == CONSTANT_INT && constant->integer != 0 &&
            constant->integer != 1)
            role_add(roles, other, ROLE_WHOLE);
        // mask == True
        if (constant && constant->kind == CONSTANT_BOOL) role_add(roles, other, ROLE_WHOLE);
    }
    roles_of_mates(roles, op);
}

static void roles_of_cast(Roles *roles, const Op *op, int role) {
    const Constant *target = op->operands[1] ? op->operands[1]->constant : NULL;
    Value *input = op->operands[0];
    const Op *typed = op->operands[1] ? op->operands[1]->op : NULL;
    // tl.cast(x, y.dtype)
    if (role & ROLE_POINTER && typed && typed->code == OP_DTYPE_OF)
        role_add(roles, typed->operands[0], ROLE_POINTER);
    if (role & ROLE_POINTER && !value_is_numeric(input)) {
        role_add(roles, input, ROLE_POINTER);
        return;
    }
    if (!target || target->kind != CONSTANT_DTYPE) return;
    if (target->is_pointer) {
        if (!value_is_numeric(input) && !(input->op && input->op->code == OP_LOAD))
            role_add(roles, input, ROLE_POINTER);
        else
            role_add(roles, input, ROLE_INT);
    } else if (dtype_is_float(target->dtype)) {
        role_add(roles, input, ROLE_FLOAT);
    } else if (dtype_is_integer(target->dtype)) {
        role_add(roles, input, ROLE_CUT);
    }
}

/// `tl.full(shape, number, tl.int32)` cuts the number as a cast does.
static void roles_of_full(Roles *roles, const Op *op) {
    const Constant *target =
        op->operand_count > 2 && op->operands[2] ? op->operands[2]->constant : NULL;
    if (target && target->kind == CONSTANT_DTYPE && dtype_is_integer(target->dtype))
        role_add(roles, op->operands[1], ROLE_CUT);
}

static void roles_of_regions(Roles *roles, const Op *op) {
    if (op->code == OP_IF) {
        role_add(roles, op->operands[0], ROLE_INT);
        for (int branch = 0; branch < 2; branch++) {
            const Op *yield = region_terminator(op->regions[branch]);
            for (int i = 0; yield && i < op->result_count; i++)
                role_add(roles, yield->operands[i], role_of(roles, op->results[i]));
        }
        return;
    }
    int first = op->code == OP_WHILE ? 0 : 3;
    int shift = op->code == OP_WHILE ? 0 : 1;
    const Region *body = op->regions[op->region_count - 1];
    const Op *yield = region_terminator(body);
    for (int i = 0; i < op->result_count; i++) {
        int role = role_of(roles, op->results[i]) | role_of(roles, body->arguments[i + shift]);
        if (op->code == OP_WHILE) role |= role_of(roles, op->regions[0]->arguments[i]);
        if (body->arguments[i + shift]->type.kind == TYPE_POINTER) role |= ROLE_POINTER;
        // What starts as an integer stays one in a loop that Triton compiles.
        const Value *initial = op->operands[first + i];
        bool starts_whole = initial->constant ? initial->constant->kind == CONSTANT_INT
                                              : value_is_of_integers(initial);
        if (op->code != OP_STATIC_FOR && starts_whole) role |= ROLE_INT;
        role_add(roles, op->operands[first + i], role);
        if (yield) role_add(roles, yield->operands[i], role);
    }
    for (int i = 0; i < first; i++) role_add(roles, op->operands[i], ROLE_INT | ROLE_SIZE);
}

/// What a combine function does with its arguments it does with what is reduced or scanned.
static void roles_of_combine(Roles *roles, const Op *op) {
    if (op->region_count != 1) return;
    const Region *combine = op->regions[0];
    const Op *tuple = op->operands[0]->op;
    bool is_tuple = tuple && tuple->code == OP_TUPLE;
    int count = combine->argument_count / 2;
    if (count != (is_tuple ? tuple->operand_count : 1)) return;
    for (int i = 0; i < count; i++) {
        int role =
            role_of(roles, combine->arguments[i]) | role_of(roles, combine->arguments[count + i]);
        role_add(roles, is_tuple ? tuple->operands[i] : op->operands[0], role & ROLE_INT);
    }
}

static void roles_of_memory(Roles *roles, const Op *op) {
    const Value *pointer = op->operands[0];
    if (pointer->type.kind != TYPE_BLOCK_POINTER && pointer->type.kind != TYPE_DESCRIPTOR)
        role_add(roles, pointer, ROLE_POINTER);
    DType element = pointer->type.element;
    bool is_float = pointer->type.kind == TYPE_POINTER && dtype_class(element) == CLASS_FLOAT;
    if (is_float && op_rows[op->code].effects & EFFECT_WRITES && op->operand_count > 1)
        role_add(roles, op->operands[1], ROLE_KEPT);
    int mask = op_parameter_index(op->code, STR("mask"));
    if (mask >= 0 && op->operands[mask]) role_add(roles, op->operands[mask], ROLE_INT);
}

static void roles_of_descriptor(Roles *roles, const Op *op) {
    role_add(roles, op->operands[0], ROLE_DESCRIPTOR);
    value_is_tuple(op->operands[1], &roles->ranks[op->operands[0]->id]);
    role_add(roles, op->operands[1], ROLE_INT);
}

/// Rows that are picked of a matrix: whole numbers, as the column is where they begin.
static void roles_of_rows(Roles *roles, const Op *op) {
    role_add(roles, op->operands[0], ROLE_DESCRIPTOR);
    roles->ranks[op->operands[0]->id] = 2;
    role_add(roles, op->operands[op_parameter_index(op->code, STR("x_offsets"))], ROLE_INT);
    role_add(roles, op->operands[op_parameter_index(op->code, STR("y_offset"))], ROLE_INT);
}

/// By what the table says of the operation.
static void roles_of_row(Roles *roles, Op *op, int role) {
    const OpRow *row = &op_rows[op->code];
    bool by_descriptor = op_parameter_index(op->code, STR("desc")) == 0;
    if (row->effects & EFFECT_ATOMIC && by_descriptor)
        roles_of_descriptor(roles, op);
    else if (row->effects & EFFECT_ATOMIC && op->operand_count)
        roles_of_memory(roles, op);
    else if (op->operand_count && op->operands[0] && op->result_count == 1) {
        // Movement and hints hand their input on; mathematics wants floats.
        bool passes_on = row->element == ELEMENT_SAME || row->kind == KIND_HINT;
        if (passes_on) role_add(roles, op->operands[0], role & (ROLE_POINTER | ROLES_OF_NUMBERS));
        if (row->element == ELEMENT_FLOAT)
            for (int i = 0; i < op->operand_count; i++)
                role_add(roles, op->operands[i], ROLE_FLOAT | ROLE_REAL);
    }
}

/// What has a gradient by hand is a float, whatever the helper does with it.
static void roles_of_given(Roles *roles, const Op *op) {
    int64_t gradients = 0;
    value_is_int(op->operands[3], &gradients);
    for (int i = GIVEN_ARGUMENTS; i < op->operand_count && i < 63; i++)
        if (gradients >> (i - GIVEN_ARGUMENTS) & 1)
            role_add(roles, op->operands[i], ROLE_FLOAT | ROLE_REAL);
}

static void roles_of_where(Roles *roles, const Op *op, int role) {
    role_add(roles, op->operands[0], ROLE_INT);
    for (int i = 1; i < 3 && i < op->operand_count; i++) role_add(roles, op->operands[i], role);
    if (op->operand_count <= 2) return;
    if (value_is_of_floats(op->operands[1])) role_add(roles, op->operands[2], ROLE_FLOAT);
    if (value_is_of_floats(op->operands[2])) role_add(roles, op->operands[1], ROLE_FLOAT);
}

static bool visit_roles(void *context, Op *op) {
    Roles *roles = context;
    int role = op->result_count ? role_of(roles, op->results[0]) : 0;
    roles_of_dtypes(roles, op);
    switch (op->code) {
    case OP_LOAD:
    case OP_STORE: roles_of_memory(roles, op); return true;
    case OP_MAKE_BLOCK_POINTER:
    case OP_MAKE_TENSOR_DESCRIPTOR:
        role_add(roles, op->operands[0], ROLE_POINTER);
        for (int i = 1; i < op->operand_count; i++) role_add(roles, op->operands[i], ROLE_INT);
        return true;
    case OP_DESCRIPTOR_LOAD:
    case OP_DESCRIPTOR_STORE: roles_of_descriptor(roles, op); return true;
    case OP_DESCRIPTOR_GATHER:
    case OP_DESCRIPTOR_SCATTER: roles_of_rows(roles, op); return true;
    case OP_ADVANCE: role_add(roles, op->operands[1], ROLE_INT); return true;
    case OP_ADD:
    case OP_SUB:
        roles_of_sum(roles, op, role);
        roles_of_mates(roles, op);
        return true;
    case OP_MUL:
    case OP_MINIMUM:
    case OP_MAXIMUM:
    case OP_NEG:
        for (int i = 0; i < op->operand_count; i++)
            role_add(roles, op->operands[i], role & ROLES_OF_NUMBERS);
        roles_of_mates(roles, op);
        return true;
    case OP_SPLIT:  // its halves
        for (int i = 0; i < op->result_count; i++)
            role_add(roles, op->operands[0],
                     role_of(roles, op->results[i]) & (ROLE_POINTER | ROLES_OF_NUMBERS));
        return true;
    case OP_JOIN:
    case OP_CAT:
    case OP_INTERLEAVE:
        for (int i = 0; i < 2; i++)
            role_add(roles, op->operands[i], role & (ROLE_POINTER | ROLES_OF_NUMBERS));
        return true;
    case OP_DOT:  // of integers where the result is one
        for (int i = 0; i < 2; i++)
            role_add(roles, op->operands[i], role & ROLE_INT ? ROLE_INT : ROLE_KEPT);
        return true;
    case OP_SUM:
    case OP_MAX:
    case OP_MIN:
    case OP_CUMSUM:
    case OP_CUMPROD: role_add(roles, op->operands[0], role & (ROLE_INT | ROLE_FLOAT)); return true;
    case OP_DIV: roles_of_mates(roles, op); return true;
    case OP_MOD:
        for (int i = 0; i < 2; i++)
            role_add(roles, op->operands[i], (role & ROLES_OF_NUMBERS) | ROLE_REMAINDER);
        roles_of_mates(roles, op);
        return true;
    case OP_FLOORDIV:
    case OP_AND:
    case OP_OR:
    case OP_XOR:
    case OP_SHL:
    case OP_SHR:
    case OP_INVERT:
        for (int i = 0; i < op->operand_count; i++) role_add(roles, op->operands[i], ROLE_INT);
        return true;
    case OP_ARANGE:
        for (int i = 0; i < op->operand_count; i++)
            role_add(roles, op->operands[i], ROLE_INT | ROLE_SIZE);
        return true;
    case OP_EQ:
    case OP_NE:
    case OP_LT:
    case OP_LE:
    case OP_GT:
    case OP_GE: roles_of_comparison(roles, op); return true;
    case OP_WHERE: roles_of_where(roles, op, role); return true;
    case OP_DTYPE_QUESTION: role_add(roles, op->operands[0], ROLE_DTYPE); return true;
    case OP_CAST: roles_of_cast(roles, op, role); return true;
    case OP_FULL: roles_of_full(roles, op); break;
    case OP_GIVEN: roles_of_given(roles, op); return true;
    case OP_ELEMENT_TYPE_OF: role_add(roles, op->operands[0], ROLE_POINTER); return true;
    case OP_GATHER: role_add(roles, op->operands[1], ROLE_INT); return true;
    case OP_HISTOGRAM: role_add(roles, op->operands[0], ROLE_INT); return true;
    case OP_IF:
    case OP_FOR:
    case OP_STATIC_FOR:
    case OP_WHILE: roles_of_regions(roles, op); return true;
    case OP_REDUCE:
    case OP_ASSOCIATIVE_SCAN: roles_of_combine(roles, op); return true;
    case OP_RAND:
    case OP_RANDN:
    case OP_RANDINT:
        for (int i = 0; i < op->operand_count; i++) role_add(roles, op->operands[i], ROLE_INT);
        return true;
    default: break;
    }
    roles_of_row(roles, op, role);
    return true;
}

Roles roles_find(Arena *arena, Function *function) {
    Roles roles = {.function = function,
                   .roles = ARENA_ARRAY(arena, unsigned short, function->value_count + 1),
                   .ranks = ARENA_ARRAY(arena, int, function->value_count + 1),
                   .changed = true};
    for (int i = 0; roles.changed && i < ROLE_ROUNDS; i++) {
        roles.changed = false;
        region_walk(function->body, visit_roles, &roles);
    }
    return roles;
}
