// What unannotated parameters are: pointer, integer or float, and what pointers point to. Read off the IR of a lowering
// pass by how values are used; the next pass starts with it.
#include "analysis/lowering.h"

#include <string.h>

enum {
    ROLE_POINTER = 1,
    ROLE_INT = 2,
    ROLE_FLOAT = 4,
    ROLE_DTYPE = 8,
    ROLE_STRING = 16,
    ROLE_SIZE = 32,        // an integer in a shape or a loop bound
    ROLE_DESCRIPTOR = 64,  // a tensor descriptor made by the host
    ROLE_REMAINDER =
        128,  // an operand of `%`: an integer, unless something else says that it is a float
    ROLE_WHOLE =
        256,  // compared with an integer: an integer, unless arithmetic says that it is a float
    ROLE_REAL = 512,  // met a float in arithmetic, was not only cast to one
    ROLE_CUT = 1024,  // cast to an integer: is one where the passes find nothing else
    ROLES_OF_NUMBERS = ROLE_INT | ROLE_FLOAT | ROLE_WHOLE | ROLE_REAL | ROLE_CUT,
};

enum { ROLE_ROUNDS = 12, TRACE_DEPTH = 64 };

typedef struct Roles {
    Function *function;
    unsigned short *roles;  // by value id
    int *ranks;             // of descriptors, by value id
    bool changed;
} Roles;

static int role_of(const Roles *roles, const Value *value) {
    return value ? roles->roles[value->id] : 0;
}

static void role_add(Roles *roles, const Value *value, int role) {
    if (!value || value->constant || (roles->roles[value->id] & role) == role) return;
    roles->roles[value->id] = (unsigned short)(roles->roles[value->id] | role);
    roles->changed = true;
    // An item of a tuple, all items of one.
    if (value->op && value->op->code == OP_TUPLE)
        for (int i = 0; i < value->op->operand_count; i++)
            role_add(roles, value->op->operands[i], role);
}

static bool is_float(const Value *value) {
    return value && value->type.kind == TYPE_NUMBER && dtype_is_float(value->type.element);
}

static bool is_integer(const Value *value) {
    return value && value->type.kind == TYPE_NUMBER && dtype_is_integer(value->type.element);
}

/// Certainly no pointer.
static bool is_numeric(const Value *value) {
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
    case OP_SUB: return is_numeric(value->op->operands[0]) && is_numeric(value->op->operands[1]);
    default: return false;
    }
}

// --- One op's say

static void roles_of_sum(Roles *roles, const Op *op, int role) {
    Value *a = op->operands[0];
    Value *b = op->operands[1];
    if (role & ROLE_POINTER || op->results[0]->type.kind == TYPE_POINTER) {
        bool b_is_pointer = b->type.kind == TYPE_POINTER || (is_numeric(a) && !is_numeric(b));
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
            if (is_float(known) || (known->constant && known->constant->kind == CONSTANT_FLOAT))
                role_add(roles, op->operands[j], ROLE_FLOAT | ROLE_REAL);
            else if (is_integer(known) && !is_written(known) && op->code >= OP_EQ &&
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
    }
    roles_of_mates(roles, op);
}

static void roles_of_cast(Roles *roles, const Op *op, int role) {
    const Constant *target = op->operands[1] ? op->operands[1]->constant : NULL;
    Value *input = op->operands[0];
    if (role & ROLE_POINTER && !is_numeric(input)) {
        role_add(roles, input, ROLE_POINTER);
        return;
    }
    if (!target || target->kind != CONSTANT_DTYPE) return;
    if (target->is_pointer) {
        if (!is_numeric(input) && !(input->op && input->op->code == OP_LOAD))
            role_add(roles, input, ROLE_POINTER);
        else
            role_add(roles, input, ROLE_INT);
    } else if (dtype_is_float(target->dtype)) {
        role_add(roles, input, ROLE_FLOAT);
    } else if (dtype_is_integer(target->dtype)) {
        role_add(roles, input, ROLE_CUT);
    }
}

static void roles_of_regions(Roles *roles, const Op *op) {
    if (op->code == OP_IF) {
        role_add(roles, op->operands[0], ROLE_INT);
        for (int arm = 0; arm < 2; arm++) {
            const Op *yield = region_terminator(op->regions[arm]);
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
        bool starts_whole =
            initial->constant ? initial->constant->kind == CONSTANT_INT : is_integer(initial);
        if (op->code != OP_STATIC_FOR && starts_whole) role |= ROLE_INT;
        role_add(roles, op->operands[first + i], role);
        if (yield) role_add(roles, yield->operands[i], role);
    }
    for (int i = 0; i < first; i++) role_add(roles, op->operands[i], ROLE_INT | ROLE_SIZE);
}

static void roles_of_memory(Roles *roles, const Op *op) {
    const Value *pointer = op->operands[0];
    if (pointer->type.kind != TYPE_BLOCK_POINTER && pointer->type.kind != TYPE_DESCRIPTOR)
        role_add(roles, pointer, ROLE_POINTER);
    int mask = op_parameter_index(op->code, STR("mask"));
    if (mask >= 0 && op->operands[mask]) role_add(roles, op->operands[mask], ROLE_INT);
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
    case OP_DESCRIPTOR_STORE:
        role_add(roles, op->operands[0], ROLE_DESCRIPTOR);
        value_is_tuple(op->operands[1], &roles->ranks[op->operands[0]->id]);
        role_add(roles, op->operands[1], ROLE_INT);
        return true;
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
    case OP_DOT:  // of integers where the result is one
        for (int i = 0; i < 2; i++) role_add(roles, op->operands[i], role & ROLE_INT);
        return true;
    case OP_SUM:
    case OP_CUMSUM: role_add(roles, op->operands[0], role & (ROLE_INT | ROLE_FLOAT)); return true;
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
    case OP_ARANGE:
        for (int i = 0; i < op->operand_count; i++) role_add(roles, op->operands[i], ROLE_INT);
        return true;
    case OP_EQ:
    case OP_NE:
    case OP_LT:
    case OP_LE:
    case OP_GT:
    case OP_GE: roles_of_comparison(roles, op); return true;
    case OP_WHERE:
        role_add(roles, op->operands[0], ROLE_INT);
        for (int i = 1; i < 3 && i < op->operand_count; i++) role_add(roles, op->operands[i], role);
        if (op->operand_count > 2) {
            if (is_float(op->operands[1])) role_add(roles, op->operands[2], ROLE_FLOAT);
            if (is_float(op->operands[2])) role_add(roles, op->operands[1], ROLE_FLOAT);
        }
        return true;
    case OP_DTYPE_QUESTION: role_add(roles, op->operands[0], ROLE_DTYPE); return true;
    case OP_CAST: roles_of_cast(roles, op, role); return true;
    case OP_ELEMENT_TYPE_OF: role_add(roles, op->operands[0], ROLE_POINTER); return true;
    case OP_GATHER: role_add(roles, op->operands[1], ROLE_INT); return true;
    case OP_HISTOGRAM: role_add(roles, op->operands[0], ROLE_INT); return true;
    case OP_IF:
    case OP_FOR:
    case OP_STATIC_FOR:
    case OP_WHILE: roles_of_regions(roles, op); return true;
    case OP_RAND:
    case OP_RANDN:
    case OP_RANDINT:
        for (int i = 0; i < op->operand_count; i++) role_add(roles, op->operands[i], ROLE_INT);
        return true;
    default: break;
    }
    const OpRow *row = &op_rows[op->code];
    if (row->effects & EFFECT_ATOMIC && op->operand_count)
        roles_of_memory(roles, op);
    else if (op->operand_count && op->operands[0] && op->result_count == 1) {
        // Movement and hints hand their input on; mathematics wants floats.
        bool passes_on = row->element == ELEMENT_SAME || row->kind == KIND_HINT;
        if (passes_on) role_add(roles, op->operands[0], role & (ROLE_POINTER | ROLES_OF_NUMBERS));
        if (row->element == ELEMENT_FLOAT)
            for (int i = 0; i < op->operand_count; i++)
                role_add(roles, op->operands[i], ROLE_FLOAT | ROLE_REAL);
    }
    return true;
}

// --- From an address to its parameter

static int trace_parameter(const Value *value, int depth) {
    if (!value || depth > TRACE_DEPTH) return -1;
    if (value->region) {
        const Op *owner = value->region->parent;
        if (!owner) return value->index;
        int shift = owner->code == OP_WHILE ? 0 : 1;
        int first = owner->code == OP_WHILE ? 0 : 3;
        bool is_loop =
            owner->code == OP_WHILE || owner->code == OP_FOR || owner->code == OP_STATIC_FOR;
        if (!is_loop || value->index < shift) return -1;
        return trace_parameter(owner->operands[first + value->index - shift], depth + 1);
    }
    const Op *op = value->op;
    switch (op->code) {
    case OP_ADD:
        if (is_numeric(op->operands[0])) return trace_parameter(op->operands[1], depth + 1);
        return trace_parameter(op->operands[0], depth + 1);
    case OP_FOR:
    case OP_STATIC_FOR: return trace_parameter(op->operands[3 + value->index], depth + 1);
    case OP_WHILE: return trace_parameter(op->operands[value->index], depth + 1);
    case OP_IF: {
        for (int arm = 0; arm < 2; arm++) {
            const Op *yield = region_terminator(op->regions[arm]);
            int found = yield ? trace_parameter(yield->operands[value->index], depth + 1) : -1;
            if (found >= 0) return found;
        }
        return -1;
    }
    case OP_SUB:
    case OP_CAST:
    case OP_EXPAND_DIMS:
    case OP_BROADCAST_TO:
    case OP_BROADCAST:
    case OP_RESHAPE:
    case OP_VIEW:
    case OP_TRANS:
    case OP_PERMUTE:
    case OP_MULTIPLE_OF:
    case OP_MAX_CONTIGUOUS:
    case OP_MAX_CONSTANCY:
    case OP_ADVANCE:
    case OP_MAKE_BLOCK_POINTER:
    case OP_MAKE_TENSOR_DESCRIPTOR: return trace_parameter(op->operands[0], depth + 1);
    default: return -1;
    }
}

// --- What pointers point to

typedef struct Pointees {
    const Roles *roles;
    unsigned short *loaded;  // by parameter: roles of what was loaded
    unsigned short *stored;  // ROLE_FLOAT, ROLE_INT, ROLE_WHOLE
    Function *function;
} Pointees;

static bool visit_pointees(void *context, Op *op) {
    Pointees *pointees = context;
    int effects = op_rows[op->code].effects;
    if (!(effects & (EFFECT_READS | EFFECT_WRITES)) || op->operand_count == 0) return true;
    int parameter = trace_parameter(op->operands[0], 0);
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
        int role = is_float(stored)                          ? ROLE_FLOAT
                   : is_integer(stored) && !stored->constant ? ROLE_INT
                   : is_integer(stored) && is_count          ? ROLE_WHOLE
                                                             : 0;
        pointees->stored[parameter] = (unsigned short)(pointees->stored[parameter] | role);
    }
    return true;
}

static DTypeClass pointee_class(int loaded, int stored) {
    if (loaded & (ROLE_INT | ROLE_POINTER))
        return (loaded & ROLE_FLOAT) && (stored & ROLE_FLOAT) ? CLASS_FLOAT : CLASS_SIGNED;
    if (loaded & ROLE_FLOAT) return CLASS_FLOAT;
    if (loaded & ROLE_WHOLE) return stored & ROLE_FLOAT ? CLASS_FLOAT : CLASS_SIGNED;
    if (stored & ROLE_FLOAT) return CLASS_FLOAT;
    return stored & (ROLE_INT | ROLE_WHOLE) ? CLASS_SIGNED : CLASS_UNKNOWN;
}

// --- The parameters

static Type pointer_to(int parameter, DTypeClass class) {
    DType element = {.code = DTYPE_OF_PARAMETER, .parameter = parameter, .parameter_class = class};
    return (Type){.kind = TYPE_POINTER, .element = element};
}

static Type scalar_of(DTypeCode code) {
    return (Type){.kind = TYPE_NUMBER, .element = dtype_of(code)};
}

static Type constexpr_type(Type old, int role, const Parameter *parameter) {
    const Constant *missing = parameter->default_value;
    if (role & ROLE_DTYPE || (missing && missing->kind == CONSTANT_DTYPE))
        return (Type){.kind = TYPE_DTYPE, .is_constexpr = true};
    if (role & ROLE_STRING || (missing && missing->kind == CONSTANT_STRING))
        return (Type){.kind = TYPE_STRING, .is_constexpr = true};
    if (missing && missing->kind == CONSTANT_FUNCTION)
        return (Type){.kind = TYPE_FUNCTION, .is_constexpr = true};
    if (old.kind == TYPE_NUMBER && old.element.code == DTYPE_ANY_NUMBER &&
        (role & ROLE_SIZE ||
         (role & (ROLE_INT | ROLE_REMAINDER | ROLE_WHOLE | ROLE_CUT) && !(role & ROLE_FLOAT))))
        old.element = dtype_of(DTYPE_INT32);
    return old;
}

/// A descriptor that comes from the host: its block's shape is not to be seen here.
static Type descriptor_type(Arena *arena, Type old, int rank, int index, DTypeClass class) {
    if (old.kind == TYPE_DESCRIPTOR &&
        (class == CLASS_UNKNOWN || old.element.parameter_class == class))
        return old;
    Type type = pointer_to(index, class);
    type.kind = TYPE_DESCRIPTOR;
    type.rank = rank < TYPE_MAX_RANK ? rank : 0;
    type.dims = ARENA_ARRAY(arena, const Poly *, type.rank + 1);
    return type;
}

static Type runtime_type(Type old, int role, int index, DTypeClass class) {
    bool is_pointer = role & ROLE_POINTER || old.kind == TYPE_POINTER;
    if (is_pointer) {
        bool is_generic = old.kind != TYPE_POINTER || old.element.code == DTYPE_OF_PARAMETER;
        if (!is_generic) return old;
        DTypeClass known = old.kind == TYPE_POINTER ? old.element.parameter_class : CLASS_UNKNOWN;
        // An integer stays one: what was float by default may turn out to be an index, not the other way round.
        return pointer_to(index, class == CLASS_UNKNOWN || known == CLASS_SIGNED ? known : class);
    }
    if (old.kind == TYPE_NUMBER && old.element.code != DTYPE_FLOAT32) return old;
    if (role & ROLE_INT) return scalar_of(DTYPE_INT32);
    if (role & ROLE_FLOAT) return scalar_of(DTYPE_FLOAT32);
    if (role & (ROLE_REMAINDER | ROLE_WHOLE | ROLE_CUT)) return scalar_of(DTYPE_INT32);
    return old;
}

Type parameter_type_of_annotation(Str annotation) {
    Str text = str_trim(annotation);
    if (text.size > 2 && (text.data[0] == '"' || text.data[0] == '\''))
        text = (Str){text.data + 1, text.size - 2};
    if (text.size && text.data[0] == '*') {
        DTypeCode code = dtype_from_name((Str){text.data + 1, text.size - 1});
        if (code == DTYPE_UNKNOWN) return (Type){0};
        return (Type){.kind = TYPE_POINTER, .element = dtype_of(code)};
    }
    DTypeCode code = dtype_from_name(text_last_component(text));
    if (code != DTYPE_UNKNOWN) return scalar_of(code);
    if (str_is(text, "int")) return scalar_of(DTYPE_INT32);
    if (str_is(text, "float")) return scalar_of(DTYPE_FLOAT32);
    if (str_is(text, "bool")) return scalar_of(DTYPE_INT1);
    return (Type){0};
}

static Roles roles_find(Arena *arena, Function *function) {
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

bool parameters_learn(Arena *arena, Function *function, const bool *is_fixed,
                      ParameterKnowledge *knowledge) {
    Roles roles = roles_find(arena, function);
    Pointees pointees = {.roles = &roles,
                         .loaded = ARENA_ARRAY(arena, unsigned short, knowledge->count + 1),
                         .stored = ARENA_ARRAY(arena, unsigned short, knowledge->count + 1),
                         .function = function};
    region_walk(function->body, visit_pointees, &pointees);
    bool learnt = descriptor_blocks_learn(arena, function, knowledge);
    for (int i = 0; i < knowledge->count; i++) {
        const Parameter *parameter = &function->parameters[i];
        if (is_fixed[i]) continue;
        int role = role_of(&roles, parameter->value);
        Type old = knowledge->types[i];
        DTypeClass class = pointee_class(pointees.loaded[i], pointees.stored[i]);
        knowledge->is_cut[i] = pointees.loaded[i] & ROLE_CUT && class != CLASS_FLOAT;
        // Of what may be either the kernel makes a descriptor itself.
        bool is_either = role & ROLE_DESCRIPTOR && role & ROLE_POINTER;
        bool is_described = role & ROLE_DESCRIPTOR && !is_either;
        if (is_either) knowledge->may_be_descriptor[i] = true;
        Type new = parameter->is_constexpr ? constexpr_type(old, role, parameter)
                   : is_described || old.kind == TYPE_DESCRIPTOR
                       ? descriptor_type(arena, old, roles.ranks[parameter->value->id], i, class)
                       : runtime_type(old, role, i, class);
        if (new.kind == old.kind &&dtype_equal(new.element, old.element)) continue;
        knowledge->types[i] = new;
        learnt = true;
    }
    return learnt;
}

static bool points_to_unknown(const Type *type) {
    return (type->kind == TYPE_POINTER || type->kind == TYPE_DESCRIPTOR) &&
           type->element.code == DTYPE_OF_PARAMETER &&
           type->element.parameter_class == CLASS_UNKNOWN;
}

/// Whether the text of the body has the parameter's name anywhere, be it in a comment.
static bool is_mentioned(const Function *function, int parameter) {
    const FunctionDefinition *definition = function->definition;
    if (!definition) return true;
    Str body = node_text(definition->module->source, definition->body);
    return str_contains(body, definition->parameters[parameter].name);
}

bool parameters_settle(const Function *function, ParameterKnowledge *knowledge,
                       const bool *is_fixed, bool at_once) {
    bool changed = false;
    bool is_kernel = !function->definition || !function->definition->is_helper;
    for (int i = 0; i < knowledge->count; i++) {
        const Parameter *parameter = &function->parameters[i];
        Type *type = &knowledge->types[i];
        if (is_fixed[i] || parameter->is_constexpr) continue;
        const Constant *missing = parameter->default_value;
        if (points_to_unknown(type)) {
            if (knowledge->is_cut[i]) continue;  // meets a float perhaps, once the others are known
            type->element.parameter_class = CLASS_FLOAT;
            changed = true;
        } else if (type->kind == TYPE_UNKNOWN && missing && missing->kind != CONSTANT_NONE) {
            *type = scalar_of(missing->kind == CONSTANT_FLOAT  ? DTYPE_FLOAT32
                              : missing->kind == CONSTANT_BOOL ? DTYPE_INT1
                                                               : DTYPE_INT32);
            changed = true;
        }
    }
    for (int i = 0; i < knowledge->count && (at_once || !changed); i++) {
        if (is_fixed[i] || !points_to_unknown(&knowledge->types[i])) continue;
        knowledge->types[i].element.parameter_class = CLASS_SIGNED;
        changed = true;
    }
    // What is left decides nothing; a kernel's parameter is a scalar then. A helper's may be a tile of any number.
    bool may_decide = at_once || !changed;
    for (int i = 0; i < knowledge->count; i++) {
        const Parameter *parameter = &function->parameters[i];
        if (is_fixed[i] || parameter->is_constexpr || knowledge->types[i].kind != TYPE_UNKNOWN)
            continue;
        if (function->definition && function->definition->parameters[i].is_variadic) continue;
        bool decides = is_mentioned(function, i);
        if (decides && !may_decide) continue;
        knowledge->types[i] = scalar_of(is_kernel ? DTYPE_INT32 : DTYPE_ANY_NUMBER);
        may_decide = at_once || (may_decide && !decides);
        changed = true;
    }
    return changed;
}

bool parameters_are_settled(Arena *arena, const Function *function,
                            const ParameterKnowledge *knowledge, const bool *is_fixed) {
    ParameterKnowledge trial = *knowledge;
    size_t bytes = sizeof *trial.types * (size_t)trial.count;
    trial.types = arena_grow(arena, trial.types, bytes, bytes);
    return !parameters_settle(function, &trial, is_fixed, false);
}

static bool visit_optional(void *context, Op *op) {
    Function *function = context;
    if (op->code == OP_IS_NONE) {
        int parameter = trace_parameter(op->operands[0], 0);
        if (parameter >= 0) function->parameters[parameter].is_optional = true;
    }
    return true;
}

void parameters_describe(Function *function) {
    Arena *scratch = arena_new();
    Roles roles = roles_find(scratch, function);
    Pointees pointees = {
        .roles = &roles,
        .loaded = ARENA_ARRAY(scratch, unsigned short, function->parameter_count + 1),
        .stored = ARENA_ARRAY(scratch, unsigned short, function->parameter_count + 1),
        .function = function};
    region_walk(function->body, visit_pointees, &pointees);
    region_walk(function->body, visit_optional, function);
    for (int i = 0; i < function->parameter_count; i++) {
        const Constant *missing = function->parameters[i].default_value;
        if (missing && missing->kind == CONSTANT_NONE) function->parameters[i].is_optional = true;
    }
    arena_free(scratch);
}
