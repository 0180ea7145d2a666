// A call of a helper whose derivative is given by hand: one operation, of which only the types are known.
#include "analysis/calls/lower_given.h"

#include "analysis/build/build.h"
#include "analysis/module/given_rules.h"
#include "analysis/module/module_scope.h"
#include "analysis/syntax/syntax_nodes.h"

/// What a kernel of `module` calls the function: as it is written here, else its own name. Empty: nothing.
static Str visible_name(const Lowering *lowering, const Module *module,
                        const FunctionDefinition *callee, SyntaxNode node) {
    Arena *arena = lowering->arena;
    SyntaxNode written = node_field(node, "function");
    if (lowering->frame->module == module && !node_is_null(written)) {
        ScopeEntry entry = scope_of_expression(arena, module, written);
        if (entry.kind == SCOPE_FUNCTION && entry.function == callee)
            return lowering_text(lowering, written);
    }
    ScopeEntry entry = module_resolve(arena, module, callee->name);
    return entry.kind == SCOPE_FUNCTION && entry.function == callee ? callee->name : (Str){0};
}

typedef struct BodySearch {
    int first_op;
    bool has_effects;
    bool
        has_bits;  // of floats, PTX or numbers cut off: differences of it say nothing of its derivative
} BodySearch;

static bool is_float(const Value *value) {
    return value && value->type.kind == TYPE_NUMBER && !dtype_is_integer(value->type.element) &&
           value->type.element.code != DTYPE_ANY_INT && !value->type.is_constexpr;
}

static bool visit_body(void *context, Op *op) {
    BodySearch *search = context;
    if (op->id < search->first_op) return true;
    const OpRow *row = &op_rows[op->code];
    const Value *result = op->result_count ? op->results[0] : NULL;
    bool reads_float = op->operand_count && is_float(op->operands[0]);
    bool is_cut = op->code == OP_CAST && reads_float && !is_float(result);
    bool is_rounded = row->gradient_none && reads_float && is_float(result);
    search->has_effects |= (row->effects & (EFFECT_READS | EFFECT_WRITES | EFFECT_ATOMIC)) != 0;
    bool is_opaque = row->gradient_unsupported && !row->has_slope;
    search->has_bits |= is_opaque || is_cut || is_rounded;
    return true;
}

static const char *fault_of_arguments(Arena *arena, const FunctionDefinition *callee,
                                      Value *const *values) {
    for (int i = 0; i < callee->parameter_count; i++) {
        bool is_number = values[i]->type.kind == TYPE_NUMBER;
        if (is_number || values[i]->constant) continue;
        return arena_printf(arena,
                            "`%.*s` gets something else than a number or a tile of numbers for "
                            "`%.*s`",
                            STR_ARGS(callee->name), STR_ARGS(callee->parameters[i].name));
    }
    return NULL;
}

static const char *fault_of_result(Arena *arena, Type result, Type inferred) {
    const char *what = "a rule by hand is for helpers that work element by element";
    if (result.kind != TYPE_NUMBER)
        return arena_printf(arena, "it does not return one tile of numbers: %s", what);
    if (dtype_is_integer(result.element)) return "it returns whole numbers, which have no gradient";
    bool is_same = inferred.rank == result.rank;
    for (int i = 0; is_same && i < result.rank; i++)
        is_same = poly_equal(result.dims[i], inferred.dims[i]);
    return is_same ? NULL
                   : arena_printf(arena, "its result has not the shape of its arguments: %s", what);
}

/// The element type of the result: the number of the argument that has it, else the type.
static Value *element_of(Builder *builder, const FunctionDefinition *callee, Value *const *values,
                         Type result) {
    for (int i = 0; i < callee->parameter_count; i++)
        if (values[i]->type.kind == TYPE_NUMBER && !values[i]->type.is_constexpr &&
            dtype_equal(values[i]->type.element, result.element))
            return build_int(builder, i);
    return build_dtype(builder, result.element);
}

/// The op; `problem`: why its rule cannot be used, as far as the arguments tell.
static Value *given_build(Builder *builder, const FunctionDefinition *callee, Value *const *values,
                          Type result, Str name, int64_t gradients, bool is_checked,
                          const char *problem) {
    Arena *arena = builder->function->arena;
    int count = callee->parameter_count;
    Value **operands = ARENA_ARRAY(arena, Value *, count + GIVEN_ARGUMENTS);
    operands[0] = build_constant(builder, (Constant){.kind = CONSTANT_FUNCTION,
                                                     .function = callee,
                                                     .string = {str_dup(arena, name), name.size},
                                                     .op = OP_COUNT});
    operands[1] = element_of(builder, callee, values, result);
    operands[2] = build_bool(builder, is_checked);
    operands[3] = build_int(builder, gradients);
    for (int i = 0; i < count; i++) operands[GIVEN_ARGUMENTS + i] = values[i];
    Value *value = build(builder, OP_GIVEN, operands, count + GIVEN_ARGUMENTS);
    if (!problem) problem = fault_of_result(arena, result, value->type);
    if (problem) value->type = result;
    // So that a gradient asks for it, and finds the problem.
    if (result.kind == TYPE_NUMBER && dtype_is_integer(result.element))
        value->type.element = dtype_of(DTYPE_FLOAT32);
    value->op->note = problem;
    return value;
}

static bool any_is_data(const FunctionDefinition *callee, Value *const *values) {
    for (int i = 0; i < callee->parameter_count; i++)
        if (!values[i]->type.is_constexpr && !values[i]->constant) return true;
    return false;
}

/// What tl.reduce and tl.associative_scan combine with is known by its numbers.
static bool is_in_combine(const Region *region) {
    for (; region && region->parent; region = region->parent->parent)
        if (region->parent->code == OP_REDUCE || region->parent->code == OP_ASSOCIATIVE_SCAN)
            return true;
    return false;
}

Value *lower_given(Lowering *lowering, const FunctionDefinition *callee, Value *const *values,
                   Value *inlined, int first_op, SyntaxNode node) {
    Function *function = lowering->builder.function;
    Arena *arena = function->arena;
    bool keeps = lowering->options && lowering->options->keeps_given && !lowering->global_depth;
    if (!keeps || !function->definition) return inlined;
    if (!any_is_data(callee, values) || is_in_combine(lowering->builder.region)) return inlined;
    const Module *module = function->definition->module;
    const GivenRule *rule = given_rule_of(arena, module, callee);
    if (!rule) return inlined;
    Str name = visible_name(lowering, module, callee, node);
    BodySearch search = {.first_op = first_op};
    region_walk(function->body, visit_body, &search);
    const char *problem = rule->problem ? rule->problem : fault_of_arguments(arena, callee, values);
    if (!problem && search.has_effects)
        problem = "it reads or writes memory: a rule by hand is for helpers that work element by "
                  "element";
    if (!problem && !name.size)
        problem = arena_printf(arena, "the kernel's file has no name for `%.*s`: import it there",
                               STR_ARGS(callee->name));
    int64_t gradients = 0;
    for (int i = 0; i < callee->parameter_count && i < 63; i++)
        if (rule->problem || given_rule_may_be_gradient(rule, callee->parameters[i].name))
            gradients |= (int64_t)1 << i;
    int items;
    if (!value_is_tuple(inlined, &items))
        return given_build(&lowering->builder, callee, values, inlined->type, name, gradients,
                           !search.has_bits, problem);
    Value **each = ARENA_ARRAY(arena, Value *, items + 1);
    for (int i = 0; i < items; i++)
        each[i] =
            given_build(&lowering->builder, callee, values, inlined->op->operands[i]->type, name,
                        gradients, false, problem ? problem : "it returns several values");
    return build_tuple(&lowering->builder, each, items);
}
