// One jit function in, its tile IR out: passes over the syntax until the kinds of the parameters are known.
#include "analysis/lowering/lower.h"

#include <string.h>

#include "analysis/build/build.h"
#include "analysis/expressions/lower_expression.h"
#include "analysis/frames/conditions.h"
#include "analysis/frames/lowering.h"
#include "analysis/frames/recursion.h"
#include "analysis/lowering/lower_cleanup.h"
#include "analysis/lowering/spread_uses.h"
#include "analysis/parameters/descriptor_blocks.h"
#include "analysis/parameters/params.h"
#include "analysis/syntax/syntax_nodes.h"
#include "base/budget.h"

enum { DEFAULT_MAX_OPS = 30000, DEFAULT_MAX_DEPTH = 48, MAX_PASSES = 8 };

typedef struct KernelPass {
    const FunctionDefinition *definition;
    const LowerOptions *options;
    ParameterKnowledge *knowledge;
    Diagnostics *diagnostics;
    bool has_limit;     // out: a limit was reached
    bool keeps_shapes;  // where branches meet
} KernelPass;

static const Binding *binding_of(const LowerOptions *options, Str name) {
    for (int i = 0; options && i < options->binding_count; i++)
        if (str_equal(options->bindings[i].name, name)) return &options->bindings[i];
    return NULL;
}

static Value *lower_default(Lowering *lowering, const ParameterDefinition *parameter) {
    if (node_is_null(parameter->default_node)) return NULL;
    lowering->global_depth++;
    Value *value = lower_value(lowering, parameter->default_node);
    lowering->global_depth--;
    return value;
}

/// Sizes that an earlier pass learnt, over the parameters of this one.
static void blocks_renew(Lowering *lowering, Type *type) {
    const Poly **dims = ARENA_ARRAY(lowering->arena, const Poly *, type->rank + 1);
    for (int axis = 0; axis < type->rank; axis++)
        if (type->dims[axis]) dims[axis] = poly_in_function(&lowering->builder, type->dims[axis]);
    type->dims = dims;
}

/// A tuple as its items, of which operators, loops and len() know.
static Value *constant_value(Lowering *lowering, const Constant *constant) {
    if (constant->kind != CONSTANT_TUPLE) return build_constant(&lowering->builder, *constant);
    Value **items = ARENA_ARRAY(lowering->arena, Value *, constant->item_count + 1);
    for (int i = 0; i < constant->item_count; i++)
        items[i] = constant_value(lowering, &constant->items[i]);
    return build_tuple(&lowering->builder, items, constant->item_count);
}

/// A tuple of so many integers that nobody knows yet.
static Value *open_tuple(Lowering *lowering, Value *parameter) {
    Builder *builder = &lowering->builder;
    int count = parameter->type.rank;
    Value **items = ARENA_ARRAY(lowering->arena, Value *, count + 1);
    for (int i = 0; i < count; i++)
        items[i] = build_binary(builder, OP_ITEM, parameter, build_int(builder, i));
    return build_tuple(builder, items, count);
}

static void parameters_add(Lowering *lowering, const KernelPass *pass) {
    const FunctionDefinition *definition = pass->definition;
    Function *function = lowering->builder.function;
    for (int i = 0; i < definition->parameter_count; i++) {
        const ParameterDefinition *from = &definition->parameters[i];
        function_add_parameter(function, str_dup(lowering->arena, from->name),
                               pass->knowledge->types[i]);
        Parameter *to = &function->parameters[i];
        to->is_constexpr = from->is_constexpr;
        to->may_be_descriptor = pass->knowledge->may_be_descriptor[i];
        to->annotation = from->annotation;
        to->default_text = from->default_text;
        to->range = from->range;
        to->value->range = from->range;
    }
    for (int i = 0; i < definition->parameter_count; i++) {
        const ParameterDefinition *from = &definition->parameters[i];
        Parameter *to = &function->parameters[i];
        Value *value = to->value;
        const Binding *binding = binding_of(pass->options, from->name);
        if (binding && binding->constant) {
            value->constant = binding->constant;
            value = constant_value(lowering, binding->constant);
            to->value->type = value->type;
        } else if (value->type.kind == TYPE_TUPLE) {
            value = open_tuple(lowering, value);
        }
        if (from->is_variadic) value = lowering_opaque(lowering, ARGUMENTS_WITHOUT_NUMBER);
        variable_set(lowering, from->name, value);
        const Value *missing = lower_default(lowering, from);
        if (missing) to->default_value = missing->constant;
    }
    for (int i = 0; i < definition->parameter_count; i++) {
        Type *type = &function->parameters[i].value->type;
        if (type->kind == TYPE_DESCRIPTOR) blocks_renew(lowering, type);
    }
}

/// Branches for the excluded numbers are left out, and an assertion says so.
static void exclude_numbers(Lowering *lowering) {
    Builder *builder = &lowering->builder;
    const LowerOptions *options = lowering->options;
    for (int i = 0; options && i < options->excluded_count; i++) {
        const Binding *excluded = &options->excluded[i];
        Value *parameter = NULL;
        for (int p = 0; p < builder->function->parameter_count; p++)
            if (str_is(excluded->name, builder->function->parameters[p].name))
                parameter = builder->function->parameters[p].value;
        if (!parameter) continue;
        Value *number = build_constant(builder, *excluded->constant);
        lowering_assume(lowering, build_binary(builder, OP_EQ, parameter, number), false, true);
        const char *message =
            arena_printf(lowering->arena, "no gradient where %.*s is %lld",
                         STR_ARGS(excluded->name), (long long)excluded->constant->integer);
        Value *operands[] = {build_binary(builder, OP_NE, parameter, number),
                             build_string(builder, message)};
        build(builder, OP_STATIC_ASSERT, operands, 2);
    }
}

static Function *kernel_pass(Arena *arena, KernelPass *pass) {
    const FunctionDefinition *definition = pass->definition;
    Function *function = function_new(arena, str_dup(arena, definition->name));
    function->definition = definition;
    const LowerOptions *options = pass->options;
    function->general = options ? options->general : NULL;
    Lowering lowering = {
        .arena = arena,
        .options = options,
        .diagnostics = pass->diagnostics,
        .root = definition->module->source,
        .reserve = budget_left() / 2,  // the other half is for passes to come, and checks
        .max_ops = options && options->max_ops ? options->max_ops : DEFAULT_MAX_OPS,
        .max_depth = options && options->max_depth ? options->max_depth : DEFAULT_MAX_DEPTH};
    lowering.builder = (Builder){.function = function,
                                 .region = function->body,
                                 .range = definition->header_range,
                                 .diagnostics = pass->diagnostics};
    // What a helper is called with is certain in its callers only; type errors are told there.
    if (definition->is_helper) lowering.builder.diagnostics = NULL;
    lowering.keeps_sightings = pass->diagnostics != NULL;
    lowering.keeps_shapes = pass->keeps_shapes;
    LoweringFrame frame = {.definition = definition,
                           .module = definition->module,
                           .source = definition->module->source};
    frame_enter(&lowering, &frame);
    parameters_add(&lowering, pass);
    exclude_numbers(&lowering);
    lower_block(&lowering, definition->body);
    frame_leave(&lowering, &frame);
    lower_clean(function);
    pass->has_limit = lowering.stopped;
    return function;
}

/// What is certain before the first pass: constexprs, bindings and annotations.
static void knowledge_start(Arena *arena, const KernelPass *pass, bool *is_fixed) {
    const FunctionDefinition *definition = pass->definition;
    ParameterKnowledge *knowledge = pass->knowledge;
    knowledge->count = definition->parameter_count;
    knowledge->types = ARENA_ARRAY(arena, Type, knowledge->count + 1);
    knowledge->may_be_descriptor = ARENA_ARRAY(arena, bool, knowledge->count + 1);
    knowledge->is_cut = ARENA_ARRAY(arena, bool, knowledge->count + 1);
    knowledge->is_kept = ARENA_ARRAY(arena, bool, knowledge->count + 1);
    knowledge->is_no_tuple = ARENA_ARRAY(arena, bool, knowledge->count + 1);
    for (int i = 0; i < definition->parameter_count; i++) {
        const ParameterDefinition *parameter = &definition->parameters[i];
        const Binding *binding = binding_of(pass->options, parameter->name);
        if (binding && !binding->constant && binding->type.kind != TYPE_UNKNOWN) {
            knowledge->types[i] = binding->type;
            is_fixed[i] = true;
        } else if (binding && binding->constant) {
            is_fixed[i] = true;
        } else if (parameter->is_constexpr) {
            knowledge->types[i] = (Type){
                .kind = TYPE_NUMBER, .element = dtype_of(DTYPE_ANY_NUMBER), .is_constexpr = true};
        } else {
            knowledge->types[i] = parameter_type_of_annotation(parameter->annotation);
        }
    }
}

/// Moves what the types point to out of the search's memory.
static void knowledge_keep(Arena *arena, const FunctionDefinition *definition,
                           ParameterKnowledge *knowledge) {
    for (int i = 0; i < definition->parameter_count; i++) {
        Type *type = &knowledge->types[i];
        if (!type->dims) continue;
        const Poly **dims = ARENA_ARRAY(arena, const Poly *, type->rank + 1);
        for (int k = 0; k < type->rank; k++) dims[k] = type->dims[k];
        type->dims = dims;
    }
}

/// A pass that may be the last: what it makes, says and observes stays.
static Function *lasting_pass(Arena *arena, KernelPass *pass, Diagnostics *diagnostics) {
    knowledge_keep(arena, pass->definition, pass->knowledge);
    pass->diagnostics = diagnostics;
    Function *function = kernel_pass(arena, pass);
    pass->diagnostics = NULL;
    return function;
}

/// Passes until the kinds of the parameters are known. Once none is undecided a pass is made as if it were the
/// last; it is returned when it taught nothing more, else unsaid. NULL: a last one is still to be made.
static Function *kinds_search(Arena *arena, Arena *search, KernelPass *pass, const bool *is_fixed,
                              Diagnostics *diagnostics) {
    Map *observed = pass->options ? pass->options->observed : NULL;
    int said = diagnostics ? diagnostics->list.count : 0;
    bool may_last = false;
    for (int i = 0; i < MAX_PASSES; i++) {
        Function *function =
            may_last ? lasting_pass(arena, pass, diagnostics) : kernel_pass(search, pass);
        bool learnt = parameters_learn(search, function, is_fixed, pass->knowledge);
        bool settled = !learnt && !pass->has_limit &&
                       parameters_settle(function, pass->knowledge, is_fixed, i >= MAX_PASSES / 2);
        bool is_done = pass->has_limit || !(learnt || settled);
        if (may_last && is_done && !pass->has_limit) return function;
        if (may_last) {
            if (diagnostics) diagnostics->list.count = said;
            if (observed) *observed = map_new(observed->arena);
        }
        if (is_done) break;
        may_last = settled || parameters_are_settled(search, function, pass->knowledge, is_fixed);
    }
    return NULL;
}

/// The function once the kinds of its parameters are known.
static Function *lower_passes(Arena *arena, KernelPass *pass, Diagnostics *diagnostics) {
    // Memory of the search is given back.
    Arena *search = arena_new_scratch();
    ParameterKnowledge knowledge = {0};
    bool *is_fixed = ARENA_ARRAY(search, bool, pass->definition->parameter_count + 1);
    pass->knowledge = &knowledge;
    knowledge_start(search, pass, is_fixed);
    Function *function = kinds_search(arena, search, pass, is_fixed, diagnostics);
    if (!function) function = lasting_pass(arena, pass, diagnostics);
    function->is_cut = pass->has_limit;
    pass->knowledge = NULL;
    arena_free(search);
    return function;
}

Function *lower_kernel(Arena *arena, const FunctionDefinition *definition,
                       const LowerOptions *options, Diagnostics *diagnostics) {
    int said = diagnostics ? diagnostics->list.count : 0;
    KernelPass pass = {.definition = definition, .options = options};
    Function *function = lower_passes(arena, &pass, diagnostics);
    if (spread_is_seen(arena, function)) {
        Map *observed = options ? options->observed : NULL;
        if (observed) *observed = map_new(observed->arena);
        if (diagnostics) diagnostics->list.count = said;
        pass = (KernelPass){.definition = definition, .options = options, .keeps_shapes = true};
        function = lower_passes(arena, &pass, diagnostics);
    }
    parameters_describe(function);
    return function;
}
