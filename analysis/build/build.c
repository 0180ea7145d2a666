// The usual way to make ops: constants folded, equal constexpr expressions shared, types inferred.
#include "analysis/build/build.h"

#include <string.h>

#include "analysis/build/fold.h"
#include "analysis/build/infer_rules.h"
#include "analysis/ir/ir.h"
#include "analysis/ir/walk.h"
#include "base/error.h"

/// Pure ops that are one value wherever they stand: constexpr arithmetic and the program's place in the grid.
static bool op_is_shareable(OpCode code, Value *const *operands, int operand_count) {
    switch (code) {
    case OP_CONSTANT:
    case OP_PROGRAM_ID:
    case OP_NUM_PROGRAMS: break;
    case OP_IS_NONE:
    case OP_DTYPE_OF:
    case OP_ELEMENT_TYPE_OF:
    case OP_DTYPE_QUESTION: break;
    case OP_ITEM:
        return value_is_open_tuple(operands[0]) &&
               (operands[1]->constant || operands[1]->type.is_constexpr);
    default:
        if (!op_stays_constexpr(code)) return false;
    }
    for (int i = 0; i < operand_count; i++) {
        const Value *operand = operands[i];
        if (!operand || operand->constant || operand->type.is_constexpr) continue;
        bool is_parameter = operand->region && !operand->region->parent;
        bool asks_about_parameter =
            code == OP_IS_NONE || code == OP_DTYPE_OF || code == OP_ELEMENT_TYPE_OF;
        if (!(is_parameter && asks_about_parameter)) return false;
    }
    return true;
}

/// What tells constants of one kind apart, but for text; returns how many numbers.
static int constant_numbers(const Constant *constant, int64_t *numbers) {
    switch (constant->kind) {
    case CONSTANT_NONE:
    case CONSTANT_STRING: return 0;
    case CONSTANT_BOOL:
    case CONSTANT_INT: numbers[0] = constant->integer; return 1;
    case CONSTANT_FLOAT: memcpy(numbers, &constant->number, sizeof constant->number); return 1;
    case CONSTANT_DTYPE:
        numbers[0] = constant->dtype.code;
        numbers[1] = constant->dtype.parameter;
        numbers[2] = constant->is_pointer;
        return 3;
    case CONSTANT_FUNCTION:
        numbers[0] = (int64_t)(intptr_t)constant->function;
        numbers[1] = constant->op;
        return 2;
    case CONSTANT_TUPLE: numbers[0] = (int64_t)(intptr_t)constant->items; return 1;
    }
    return 0;
}

/// Bytes that are equal where the op, its operands and the constant are.
static Str share_key(Arena *arena, OpCode code, Value *const *operands, int operand_count,
                     const Constant *constant) {
    enum { MOST_NUMBERS = 8 };
    Str text = constant && constant->kind == CONSTANT_STRING ? constant->string : (Str){0};
    int64_t *key =
        arena_alloc(arena, sizeof *key * (size_t)(operand_count + MOST_NUMBERS) + text.size);
    int count = 0;
    key[count++] = code;
    key[count++] = operand_count;
    for (int i = 0; i < operand_count; i++) key[count++] = operands[i] ? operands[i]->id : -1;
    if (constant) {
        key[count++] = constant->kind;
        count += constant_numbers(constant, &key[count]);
    }
    if (text.size) memcpy(&key[count], text.data, text.size);
    return (Str){(const char *)key, sizeof *key * (size_t)count + text.size};
}

static const Region *value_home(const Value *value) {
    return value->region ? value->region : value->op ? value->op->parent : NULL;
}

/// How deep a region lies in the function, -1 where it is not (or no longer) part of it.
static int region_depth(const Function *function, const Region *region) {
    int depth = 0;
    while (region && region != function->body) {
        region = region->parent ? region->parent->parent : NULL;
        depth++;
    }
    return region ? depth : -1;
}

bool op_comes_before(const Op *first, const Op *second) {
    for (const Op *op = first->next; op; op = op->next)
        if (op == second) return true;
    return false;
}

/// Moves the builder to the earliest place where all operands are there. False where that is not known.
static bool builder_hoist(Builder *builder, Value *const *operands, int operand_count) {
    const Function *function = builder->function;
    if (region_depth(function, builder->region) < 0) return false;
    Region *home = function->body;
    Op *after = NULL;  // the last op of `home` that has to come first
    int depth = 0;
    for (int i = 0; i < operand_count; i++) {
        const Value *operand = operands[i];
        if (!operand) continue;
        const Region *region = value_home(operand);
        int operand_depth = region_depth(function, region);
        if (operand_depth < 0) return false;
        bool is_deeper = operand_depth > depth;
        if (is_deeper) {
            home = operand->region ? operand->region : operand->op->parent;
            depth = operand_depth;
            after = operand->op;
        } else if (operand_depth == depth && operand->op &&
                   (!after || op_comes_before(after, operand->op))) {
            after = operand->op;
        }
    }
    builder->region = home;
    builder->before = after ? after->next : home->first;
    return true;
}

static Value *shared_find(const Function *function, Str key) {
    Value *found = map_get(&function->shared, key);
    return found && region_depth(function, found->op->parent) >= 0 ? found : NULL;
}

/// Whether a value of the function can be read where the builder is. What was made as early as its operands were there may lie in a branch
/// that these have left since.
static bool is_in_reach(const Builder *builder, const Value *value) {
    const Region *region = builder->region, *home = value_home(value);
    if (region_depth(builder->function, region) < 0) return true;  // whoever puts it there knows
    while (region && region != home) region = region->parent ? region->parent->parent : NULL;
    return region != NULL;
}

/// The one value of a constexpr expression, made at its earliest place if it is not there yet. NULL where none can be.
static Value *shared_build(Builder *builder, OpCode code, Value *const *operands, int operand_count,
                           const Constant *constant) {
    Function *function = builder->function;
    if (!function->shared.arena) function->shared = map_new(function->arena);
    Str key = share_key(function->arena, code, operands, operand_count, constant);
    Value *found = shared_find(function, key);
    if (found && is_in_reach(builder, found)) return found;
    Builder hoisted = *builder;
    if (!builder_hoist(&hoisted, operands, operand_count)) return NULL;
    Op *op = op_append(&hoisted, code, operands, operand_count, 1);
    if (constant) {
        Constant *copy = ARENA_NEW(function->arena, Constant);
        *copy = *constant;
        op->results[0]->constant = copy;
    }
    infer_op(function->arena, op, builder->diagnostics);
    map_set(&function->shared, key, op->results[0]);
    return op->results[0];
}

Value *op_clone_shared(Builder *builder, const Op *op, Value *const *operands) {
    if (op->result_count != 1 || op->region_count > 0) return NULL;
    if (!op_is_shareable(op->code, operands, op->operand_count)) return NULL;
    return shared_build(builder, op->code, operands, op->operand_count, op->results[0]->constant);
}

Value *build_constant(Builder *builder, Constant constant) {
    Value *shared = shared_build(builder, OP_CONSTANT, NULL, 0, &constant);
    if (shared) return shared;
    Op *op =
        op_append(builder, OP_CONSTANT, NULL, 0, 1);  // a region that is not in the function yet
    Constant *copy = ARENA_NEW(builder->function->arena, Constant);
    *copy = constant;
    op->results[0]->constant = copy;
    infer_op(builder->function->arena, op, builder->diagnostics);
    return op->results[0];
}

static intptr_t may_be_real(ValueWalk *walk, const Value *value) {
    if (value->constant || value->type.kind != TYPE_NUMBER) return false;
    if (!dtype_is_integer(value->type.element)) return false;
    const Op *op = value->op;
    if (!op) {  // a parameter, or what a loop carries; its turns are numbered by integers
        const Op *loop = value->region->parent;
        bool is_loop = loop && (loop->code == OP_FOR || loop->code == OP_STATIC_FOR);
        return !is_loop || value->index > 0;
    }
    if (op->region_count) return true;
    switch (op->code) {
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_NEG:
    case OP_MOD:
    case OP_MINIMUM:
    case OP_MAXIMUM:
    case OP_WHERE:
    case OP_EXPAND_DIMS:
    case OP_BROADCAST_TO:
    case OP_RESHAPE: break;
    default: return false;
    }
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i] && walk_ask(walk, op->operands[i])) return true;
    return false;
}

bool value_may_be_real(const Value *value) { return walk_from(value, may_be_real, true, NULL); }

static bool operand_may_be_double(ValueWalk *walk, const Value *value) {
    if (!value || value->type.kind != TYPE_NUMBER || value->type.is_constexpr) return false;
    DTypeCode code = value->type.element.code;
    bool is_open = code == DTYPE_ANY_FLOAT || code == DTYPE_ANY_NUMBER ||
                   (code == DTYPE_OF_PARAMETER && !dtype_is_integer(value->type.element));
    return is_open || walk_ask(walk, value);
}

static intptr_t may_be_double(ValueWalk *walk, const Value *value) {
    if (value->constant || value->type.element.code != DTYPE_FLOAT32) return false;
    const Op *op = value->op ? value->op : value->region->parent;
    if (!op) return false;
    switch (op->code) {
    case OP_IF: return false;
    case OP_FOR:
    case OP_STATIC_FOR:
    case OP_WHILE: {
        int first = op->code == OP_WHILE ? 0 : 3, shift = op->code == OP_WHILE || value->op ? 0 : 1;
        int at = first + value->index - shift;
        return at >= first && operand_may_be_double(walk, op->operands[at]);
    }
    case OP_CAST:
    case OP_FULL: return false;
    default: break;
    }
    for (int i = 0; i < op->operand_count; i++)
        if (operand_may_be_double(walk, op->operands[i])) return true;
    return false;
}

bool value_may_be_double(const Value *value) { return walk_from(value, may_be_double, true, NULL); }

/// What needs no op although it is no constant: an item of a known tuple, a cast to the same type, one branch of `and`.
static Value *build_forwarded(OpCode code, Value *const *operands, int operand_count) {
    Value *first = operand_count ? operands[0] : NULL;
    if (!first) return NULL;
    if (code == OP_ITEM && first->op && first->op->code == OP_TUPLE) {
        int64_t index;
        int count = first->op->operand_count;
        if (!value_is_int(operands[1], &index)) return NULL;
        if (index < 0) index += count;
        return index >= 0 && index < count ? first->op->operands[index] : NULL;
    }
    if (code == OP_CAST && operands[1] && operands[1]->constant && !first->type.is_constexpr) {
        const Constant *target = operands[1]->constant;
        bool keeps = operand_count < 4 || !operands[3] || operands[3]->constant;
        bool is_same = target->kind == CONSTANT_DTYPE &&
                       dtype_equal(target->dtype, first->type.element) &&
                       first->type.element.code > DTYPE_ANY_INT &&
                       target->is_pointer == (first->type.kind == TYPE_POINTER);
        bool has_element = first->type.kind == TYPE_NUMBER || first->type.kind == TYPE_POINTER;
        bool is_certain = !value_may_be_real(first) && !value_may_be_double(first);
        if (keeps && is_same && has_element && is_certain) return first;
    }
    return NULL;
}

/// tl.cast(..., bitcast=True) is another operation.
static OpCode code_settled(OpCode code, Value *const *operands, int operand_count) {
    bool bitcast;
    if (code == OP_CAST && operand_count == 4 && value_is_bool(operands[3], &bitcast) && bitcast)
        return OP_BITCAST;
    return code;
}

static Value *build_results(Builder *builder, Op *op) {
    if (op->result_count == 0) return NULL;
    if (op->result_count == 1) return op->results[0];
    return build_tuple(builder, op->results, op->result_count);
}

Value *build(Builder *builder, OpCode code, Value *const *given, int given_count) {
    Arena *arena = builder->function->arena;
    int count = 0;
    op_parameters(code, &count);
    if (op_rows[code].kind == KIND_STRUCTURAL && code != OP_ITEM) count = given_count;
    if (given_count > count) BUG("%s takes %d operands, not %d", op_id(code), count, given_count);
    Value **operands = ARENA_ARRAY(arena, Value *, count);
    if (given_count) memcpy(operands, given, sizeof(Value *) * (size_t)given_count);
    code = code_settled(code, operands, count);
    if (code == OP_BITCAST && count > 2) count = 2;
    const Constant *folded = fold_op(arena, code, operands, count);
    if (folded) return build_constant(builder, *folded);
    Value *forwarded = build_forwarded(code, operands, count);
    if (forwarded) return forwarded;
    if (op_is_shareable(code, operands, count)) {
        Value *shared = shared_build(builder, code, operands, count, NULL);
        if (shared) return shared;
    }
    Op *op = op_append(builder, code, operands, count, infer_result_count(code, operands, count));
    infer_op(arena, op, builder->diagnostics);
    return build_results(builder, op);
}

Value *build_unary(Builder *builder, OpCode code, Value *a) { return build(builder, code, &a, 1); }

Value *build_binary(Builder *builder, OpCode code, Value *a, Value *b) {
    Value *operands[] = {a, b};
    return build(builder, code, operands, 2);
}

Value *build_ternary(Builder *builder, OpCode code, Value *a, Value *b, Value *c) {
    Value *operands[] = {a, b, c};
    return build(builder, code, operands, 3);
}

Value *build_int(Builder *builder, int64_t value) {
    return build_constant(builder, constant_of_int(value));
}

Value *build_float(Builder *builder, double value) {
    return build_constant(builder, constant_of_float(value));
}

Value *build_bool(Builder *builder, bool value) {
    return build_constant(builder, constant_of_bool(value));
}

Value *build_none(Builder *builder) {
    return build_constant(builder, (Constant){.kind = CONSTANT_NONE});
}

Value *build_string(Builder *builder, const char *text) {
    const char *copy = arena_strdup(builder->function->arena, text);
    return build_constant(builder, constant_of_string(str_from(copy)));
}

Value *build_dtype(Builder *builder, DType dtype) {
    return build_constant(builder, (Constant){.kind = CONSTANT_DTYPE, .dtype = dtype});
}

Value *build_tuple(Builder *builder, Value *const *items, int count) {
    Op *op = op_append(builder, OP_TUPLE, items, count, 1);
    infer_op(builder->function->arena, op, builder->diagnostics);
    return op->results[0];
}

/// Whether a value is known where the builder stands: a tile may outlive the branch that its size was computed in.
static bool is_known_here(const Builder *builder, const Value *value) {
    const Region *home = value->region ? value->region : value->op ? value->op->parent : NULL;
    if (!home) return true;
    for (const Region *region = builder->region; region != home; region = region->parent->parent)
        if (!region->parent) return region != builder->function->body;  // not linked yet
    return true;
}

static bool poly_is_known_here(const Builder *builder, const Poly *poly) {
    for (int i = 0; i < poly->count; i++)
        for (int k = 0; k < poly->terms[i].atom_count; k++)
            if (!is_known_here(builder, poly->terms[i].atoms[k])) return false;
    return true;
}

Value *build_shape(Builder *builder, Type type) {
    Value **items = ARENA_ARRAY(builder->function->arena, Value *, type.rank);
    for (int i = 0; i < type.rank; i++) {
        bool is_known = type.dims[i] && poly_is_known_here(builder, type.dims[i]);
        items[i] = is_known ? build_poly(builder, type.dims[i]) : NULL;
        if (!items[i]) return NULL;
    }
    return build_tuple(builder, items, type.rank);
}

static Value *build_term(Builder *builder, const Monomial *term, int64_t coefficient) {
    Value *product = NULL;
    if (coefficient != 1 || term->atom_count == 0) product = build_int(builder, coefficient);
    for (int i = 0; i < term->atom_count; i++)
        product = product ? build_binary(builder, OP_MUL, product, term->atoms[i]) : term->atoms[i];
    return product;
}

/// Sums positive terms before it subtracts negative ones, so that the text reads well.
Value *build_poly(Builder *builder, const Poly *poly) {
    if (!poly) return NULL;
    Value *sum = NULL;
    for (int negative = 0; negative < 2; negative++) {
        for (int i = 0; i < poly->count; i++) {
            const Monomial *term = &poly->terms[i];
            if ((term->coefficient < 0) != negative) continue;
            bool subtracts = negative && sum && term->coefficient != INT64_MIN;
            Value *value =
                build_term(builder, term, subtracts ? -term->coefficient : term->coefficient);
            sum = sum ? build_binary(builder, subtracts ? OP_SUB : OP_ADD, sum, value) : value;
        }
    }
    return sum ? sum : build_int(builder, 0);
}

Value *build_unknown(Builder *builder, const char *note) {
    Op *op = op_append(builder, OP_UNKNOWN, NULL, 0, 1);
    op->note = note ? arena_strdup(builder->function->arena, note) : NULL;
    return op->results[0];
}
