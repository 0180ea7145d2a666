// The tile IR's own mechanics: making, linking, walking and copying ops. What is worth knowing is in ir.h.
#include "analysis/ir/ir.h"

#include <string.h>

#include "base/budget.h"
#include "base/error.h"

Function *function_new(Arena *arena, const char *name) {
    Function *function = ARENA_NEW(arena, Function);
    function->arena = arena;
    function->name = arena_strdup(arena, name);
    function->sightings = map_new(arena);
    function->inlined = map_new(arena);
    function->body = region_new(function);
    return function;
}

static Value *value_new(Function *function, Type type) {
    Value *value = ARENA_NEW(function->arena, Value);
    value->id = function->value_count++;
    value->type = type;
    return value;
}

Region *region_new(Function *function) { return ARENA_NEW(function->arena, Region); }

/// A copy of `items` with one more at the end.
static void *array_append(Arena *arena, const void *items, int count, const void *item,
                          size_t size) {
    char *grown = arena_grow(arena, items, size * (size_t)count, size * (size_t)(count + 1));
    memcpy(grown + size * (size_t)count, item, size);
    return grown;
}

Value *region_add_argument(Function *function, Region *region, Type type, const char *name) {
    Value *value = value_new(function, type);
    value->region = region;
    value->index = region->argument_count;
    value->name = name;
    region->arguments = array_append(function->arena, region->arguments, region->argument_count,
                                     &value, sizeof value);
    region->argument_count++;
    return value;
}

Value *function_add_parameter(Function *function, const char *name, Type type) {
    const char *copy = arena_strdup(function->arena, name);
    Parameter parameter = {.name = copy,
                           .value = region_add_argument(function, function->body, type, copy)};
    function->parameters = array_append(function->arena, function->parameters,
                                        function->parameter_count, &parameter, sizeof parameter);
    function->parameter_count++;
    return parameter.value;
}

static void op_link(const Builder *builder, Op *op) {
    Region *region = builder->region;
    op->parent = region;
    region->is_numbered = false;
    op->next = builder->before;
    op->previous = builder->before ? builder->before->previous : region->last;
    if (op->previous)
        op->previous->next = op;
    else
        region->first = op;
    if (op->next)
        op->next->previous = op;
    else
        region->last = op;
}

Op *op_append(Builder *builder, OpCode code, Value *const *operands, int operand_count,
              int result_count) {
    Function *function = builder->function;
    Op *op = ARENA_NEW(function->arena, Op);
    op->code = code;
    op->id = function->op_count++;
    op->operands = ARENA_ARRAY(function->arena, Value *, operand_count);
    if (operand_count) memcpy(op->operands, operands, sizeof(Value *) * (size_t)operand_count);
    op->operand_count = operand_count;
    op->results = ARENA_ARRAY(function->arena, Value *, result_count);
    op->range = builder->range;
    op->call = builder->call;
    op->result_count = result_count;
    for (int i = 0; i < result_count; i++) {
        Value *result = value_new(function, (Type){0});
        result->op = op;
        result->index = i;
        result->range = builder->range;
        op->results[i] = result;
    }
    op_link(builder, op);
    return op;
}

Region *op_add_region(Builder *builder, Op *op) {
    Arena *arena = builder->function->arena;
    Region *region = region_new(builder->function);
    region->parent = op;
    op->regions = array_append(arena, op->regions, op->region_count, &region, sizeof region);
    op->region_count++;
    return region;
}

void op_set_operand(Op *op, int index, Value *value) {
    if (index < 0 || index >= op->operand_count)
        BUG("%s has no operand %d", op_id(op->code), index);
    op->operands[index] = value;
}

void op_append_operand(Function *function, Op *op, Value *value) {
    op->operands =
        array_append(function->arena, op->operands, op->operand_count, &value, sizeof value);
    op->operand_count++;
}

Value *op_append_result(Function *function, Op *op, Type type) {
    Value *result = value_new(function, type);
    result->op = op;
    result->index = op->result_count;
    result->range = op->range;
    op->results =
        array_append(function->arena, op->results, op->result_count, &result, sizeof result);
    op->result_count++;
    return result;
}

void op_remove(Op *op) {
    Region *region = op->parent;
    if (!region) return;
    if (op->previous)
        op->previous->next = op->next;
    else
        region->first = op->next;
    if (op->next)
        op->next->previous = op->previous;
    else
        region->last = op->previous;
    op->parent = NULL;
    op->previous = op->next = NULL;
}

typedef struct Replacement {
    const Value *from;
    Value *to;
} Replacement;

static bool replace_in_op(void *context, Op *op) {
    const Replacement *replacement = context;
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i] == replacement->from) op->operands[i] = replacement->to;
    for (int i = 0; i < op->keyword_count; i++)
        if (op->keywords[i].value == replacement->from) op->keywords[i].value = replacement->to;
    return true;
}

void region_replace_uses(Region *region, const Value *from, Value *to) {
    Replacement replacement = {from, to};
    region_walk(region, replace_in_op, &replacement);
}

bool region_defines(const Region *region, const Value *value) {
    const Region *at = value->region ? value->region : value->op ? value->op->parent : NULL;
    while (at) {
        if (at == region) return true;
        at = at->parent ? at->parent->parent : NULL;
    }
    return false;
}

Op *region_terminator(const Region *region) {
    Op *last = region->last;
    return last && (last->code == OP_YIELD || last->code == OP_CONDITION) ? last : NULL;
}

bool region_walk(const Region *region, OpVisitor *visit, void *context) {
    for (Op *op = region->first, *next; op; op = next) {
        next = op->next;  // the visitor may remove the op
        budget_take(1);
        if (!visit(context, op)) return false;
        for (int i = 0; i < op->region_count; i++)
            if (!region_walk(op->regions[i], visit, context)) return false;
    }
    return true;
}

static bool op_is_understood(void *context, Op *op) {
    (void)context;
    bool is_global = op->result_count && op->results[0]->type.is_constexpr;
    if (op->code == OP_UNKNOWN && !is_global) return false;
    for (int i = 0; i < op->result_count; i++)
        if (op->results[i]->type.kind == TYPE_UNKNOWN) return false;
    return true;
}

bool function_is_understood(const Function *function) {
    return region_walk(function->body, op_is_understood, NULL);
}

static const Poly *atom_mapped(Arena *arena, Value *atom, const Map *values) {
    const Value *mapped = value_mapped(values, atom);
    int64_t integer;
    return value_is_int(mapped, &integer) ? poly_constant(arena, integer)
                                          : poly_atom(arena, value_mapped(values, atom));
}

/// Dims are over values, so a copy's dims are over the copies.
static const Poly *poly_mapped(Arena *arena, const Poly *poly, const Map *values) {
    if (!poly) return NULL;
    const Poly *sum = poly_constant(arena, 0);
    for (int i = 0; i < poly->count; i++) {
        const Poly *product = poly_constant(arena, poly->terms[i].coefficient);
        for (int k = 0; k < poly->terms[i].atom_count; k++)
            product =
                poly_multiply(arena, product, atom_mapped(arena, poly->terms[i].atoms[k], values));
        sum = poly_add(arena, sum, product);
    }
    return sum;
}

Type type_mapped(Arena *arena, Type type, const Map *values) {
    if (type.rank == 0 || values->count == 0) return type;
    const Poly **dims = ARENA_ARRAY(arena, const Poly *, type.rank);
    for (int i = 0; i < type.rank; i++) dims[i] = poly_mapped(arena, type.dims[i], values);
    type.dims = dims;
    return type;
}

bool value_is_int(const Value *value, int64_t *integer) {
    const Constant *constant = value ? value->constant : NULL;
    if (!constant || !constant_is_int(constant) || constant_is_beyond_int64(constant)) return false;
    if (integer) *integer = constant->integer;
    return true;
}

bool value_is_number(const Value *value, double *number) {
    int64_t integer;
    if (value_is_int(value, &integer)) {
        if (number) *number = (double)integer;
        return true;
    }
    if (!value || !value->constant || value->constant->kind != CONSTANT_FLOAT) return false;
    if (number) *number = value->constant->number;
    return true;
}

bool value_is_none(const Value *value) {
    return value && value->constant && value->constant->kind == CONSTANT_NONE;
}

bool value_is_bool(const Value *value, bool *boolean) {
    if (!value || !value->constant || value->constant->kind != CONSTANT_BOOL) return false;
    if (boolean) *boolean = value->constant->integer != 0;
    return true;
}

bool value_is_tuple(const Value *value, int *count) {
    if (!value || !value->op || value->op->code != OP_TUPLE) return false;
    *count = value->op->operand_count;
    return true;
}

bool value_is_open_tuple(const Value *value) {
    bool is_parameter = value && value->region && !value->region->parent;
    return is_parameter && value->type.kind == TYPE_TUPLE;
}

enum { WIDE_BITS = 32 };  // in which an offset counts as what arithmetic says

/// 0: no whole number.
static int bits_of_numbers(const Value *value) {
    DType element = value->type.element;
    if (value->type.kind != TYPE_NUMBER || !dtype_is_integer(element)) return 0;
    int bits = dtype_bits(element.code);
    return bits ? bits : WIDE_BITS;
}

bool op_is_pure(const Op *op) {
    const OpRow *row = &op_rows[op->code];
    if (op->code == OP_YIELD || op->code == OP_CONDITION || op->code == OP_UNKNOWN) return false;
    if (row->effects & (EFFECT_READS | EFFECT_WRITES | EFFECT_ATOMIC | EFFECT_ORDERED))
        return false;
    if (op_is_loop(op->code) || op->code == OP_IF) return false;
    return true;
}

bool op_keeps_numbers(const Op *op) {
    if (op->code != OP_CAST) return false;
    int from = bits_of_numbers(op->operands[0]), to = bits_of_numbers(op->results[0]);
    return from && to && (to >= WIDE_BITS || to >= from);
}

bool value_may_wrap(const Value *value) {
    int bits = bits_of_numbers(value);
    const Op *op = value->op;
    if (!op || bits <= 1 || bits >= WIDE_BITS || value->constant || value->type.is_constexpr)
        return false;
    if (op->code == OP_CAST) return !op_keeps_numbers(op);
    return op_rows[op->code].has_value && op_rows[op->code].kind != KIND_HINT;
}
