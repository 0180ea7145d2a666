// One jit function in, its tile IR out: passes over the syntax until the kinds of the parameters are known.
#include "analysis/lowering.h"

#include <stdarg.h>
#include <string.h>

enum {
    DEFAULT_MAX_OPS = 30000,
    DEFAULT_MAX_DEPTH = 48,
    MAX_PASSES = 8,
    NESTING_LIMIT = 700,
    STEPS_PER_OP = 2
};

// --- Frames and variables

Frame *frame_enter(Lowering *lowering, Frame *frame) {
    frame->slots = map_new(lowering->arena);
    frame->scalars = map_new(lowering->arena);
    frame->caller = lowering->frame;
    if (lowering->frame) frame->unknown_conditions = lowering->frame->unknown_conditions;
    lowering->frame = frame;
    return frame;
}

void frame_leave(Lowering *lowering, Frame *frame) { lowering->frame = frame->caller; }

int variable_slot(Lowering *lowering, Str name) {
    Frame *frame = lowering->frame;
    intptr_t slot = (intptr_t)map_get(&frame->slots, name);
    if (slot) return (int)slot - 1;
    LIST_PUSH(lowering->arena, &frame->names, name);
    map_set(&frame->slots, name, (void *)(intptr_t)frame->names.count);
    return frame->names.count - 1;
}

Value *variable_get(Lowering *lowering, Str name) {
    const Frame *frame = lowering->frame;
    intptr_t slot = (intptr_t)map_get(&frame->slots, name);
    if (!slot || slot > frame->variables.count) return NULL;
    return frame->variables.values[slot - 1];
}

void variable_set(Lowering *lowering, Str name, Value *value) {
    int slot = variable_slot(lowering, name);
    Variables *variables = &lowering->frame->variables;
    if (slot >= variables->count) {
        int count = lowering->frame->names.count + 8;
        variables->values =
            arena_grow(lowering->arena, variables->values,
                       sizeof(Value *) * (size_t)variables->count, sizeof(Value *) * (size_t)count);
        variables->count = count;
    }
    variables->values[slot] = value;
}

Variables variables_copy(Lowering *lowering) {
    Variables old = lowering->frame->variables;
    Variables copy = {ARENA_ARRAY(lowering->arena, Value *, old.count + 1), old.count};
    if (old.count) memcpy(copy.values, old.values, sizeof(Value *) * (size_t)old.count);
    return copy;
}

// --- Places and reports

Str lowering_text(const Lowering *lowering, SyntaxNode node) {
    return node_text(lowering->frame->source, node);
}

Range lowering_at(Lowering *lowering, SyntaxNode node) {
    Range former = lowering->builder.range;
    // What a rule makes belongs to the user's expression that asked for it.
    if (lowering->frame->module && !node_is_null(node))
        lowering->builder.range = node_range(lowering->frame->source, node);
    return former;
}

/// Counted from the definition, so that the key holds when the text above it changes.
static uint64_t sighting_key(const FunctionDefinition *definition, uint32_t start, uint32_t end) {
    uint32_t from = definition ? definition->range.start : 0;
    return (uint64_t)(start - from) << 32 | (end - from);
}

void lowering_sight(Lowering *lowering, SyntaxNode node, Value *value) {
    const Frame *frame = lowering->frame;
    if (!lowering->keeps_sightings || lowering->global_depth) return;
    Function *function = lowering->builder.function;
    if (frame->caller && node_kind(node) != SYNTAX_IDENTIFIER) return;
    Range range = node_range(frame->source, node);
    if (frame->caller)
        lowering_sight_inlined(lowering, range.start, range.end, value);
    else
        map_set_number(&function->sightings,
                       sighting_key(function->definition, range.start, range.end), value);
}

void lowering_sight_inlined(Lowering *lowering, uint32_t start, uint32_t end, Value *value) {
    enum { MOST_TYPES = 4 };
    const FunctionDefinition *helper = lowering->frame->definition;
    bool is_asked = lowering->keeps_sightings && !lowering->global_depth && helper &&
                    lowering->frame->source == lowering->root;
    if (!is_asked || value->type.kind == TYPE_UNKNOWN) return;
    Map *inlined = &lowering->builder.function->inlined;
    Map *places = map_get_pointer(inlined, helper->node.id);
    if (!places) {
        places = ARENA_NEW(lowering->arena, Map);
        *places = map_new(lowering->arena);
        map_set_pointer(inlined, helper->node.id, places);
    }
    uint64_t key = sighting_key(helper, start, end);
    InlinedValue *first = map_get_number(places, key);
    InlinedValue *last = NULL;
    int count = 0;
    for (InlinedValue *each = first; each; each = each->next, count++) {
        if (type_equal(each->value->type, value->type)) return;
        last = each;
    }
    if (count == MOST_TYPES) return;
    InlinedValue *fresh = ARENA_NEW(lowering->arena, InlinedValue);
    fresh->value = value;
    if (last)
        last->next = fresh;
    else
        map_set_number(places, key, fresh);
}

Value *function_value_at(const Function *function, uint32_t start, uint32_t end) {
    return map_get_number(&function->sightings, sighting_key(function->definition, start, end));
}

const InlinedValue *function_inlined_at(const Function *function, const FunctionDefinition *helper,
                                        uint32_t start, uint32_t end) {
    const Map *places = map_get_pointer(&function->inlined, helper->node.id);
    return places ? map_get_number(places, sighting_key(helper, start, end)) : NULL;
}

Diagnostic *lowering_report(Lowering *lowering, DiagnosticId id, SyntaxNode node,
                            const char *format, ...) {
    if (!lowering->diagnostics || lowering->global_depth) return NULL;
    // What a helper is called with decides what it means; its callers tell.
    bool is_helper = !lowering->builder.function->definition ||
                     lowering->builder.function->definition->is_helper;
    if (id == DIAGNOSTIC_NOT_UNDERSTOOD && is_helper && lowering->root) return NULL;
    va_list arguments;
    va_start(arguments, format);
    const char *message = arena_vprintf(lowering->diagnostics->arena, format, arguments);
    va_end(arguments);
    Range range = lowering->builder.range;
    if (lowering->frame->module && !node_is_null(node))
        range = node_range(lowering->frame->source, node);
    Range inner = range;
    const CallSite *call = lowering->builder.call;
    while (call && range.source != lowering->root) {
        range = call->range;
        call = call->outer;
    }
    Diagnostic *diagnostic = diagnose(lowering->diagnostics, id, range, "%s", message);
    // In an arm that only some instances of the kernel compile, nothing is certain.
    for (const Assumption *known = lowering->assumptions; known; known = known->outer)
        if (!known->holds && known->condition->type.is_constexpr &&
            diagnostic->severity == SEVERITY_ERROR)
            diagnostic->severity = SEVERITY_WARNING;
    if (range.source != inner.source)
        diagnostic_relate(lowering->diagnostics, diagnostic, inner, "in the helper, here");
    return diagnostic;
}

Value *lowering_silent(Lowering *lowering, const char *note) {
    if (lowering->global_depth) return lowering_opaque(lowering, note);
    return build_unknown(&lowering->builder, note);
}

Value *lowering_opaque(Lowering *lowering, const char *note) {
    Value *value = build_unknown(&lowering->builder, note);
    value->type.is_constexpr = true;
    return value;
}

Value *lowering_unknown(Lowering *lowering, SyntaxNode node, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const char *note = arena_vprintf(lowering->arena, format, arguments);
    va_end(arguments);
    lowering_report(lowering, DIAGNOSTIC_NOT_UNDERSTOOD, node, "%s", note);
    return lowering_silent(lowering, note);
}

bool lowering_deeper(Lowering *lowering, SyntaxNode node) {
    if (++lowering->depth < NESTING_LIMIT) return !lowering->stopped;
    if (!lowering->stopped)
        lowering_report(lowering, DIAGNOSTIC_LIMIT_REACHED, node,
                        "This is nested more than %d levels deep; the analysis stops here.",
                        NESTING_LIMIT);
    lowering->stopped = true;
    return false;
}

bool lowering_over(Lowering *lowering, SyntaxNode node) {
    if (lowering->stopped) return true;
    bool is_small = lowering->builder.function->op_count < lowering->max_ops;
    if (is_small && ++lowering->steps < STEPS_PER_OP * lowering->max_ops) return false;
    lowering->stopped = true;
    lowering_report(
        lowering, DIAGNOSTIC_LIMIT_REACHED, node,
        "This makes more than %d operations once loops are unrolled and helpers are inlined; "
        "the analysis stops here.",
        lowering->max_ops);
    return true;
}

// --- Kernels

typedef struct KernelPass {
    const FunctionDefinition *definition;
    const LowerOptions *options;
    ParameterKnowledge *knowledge;
    Diagnostics *diagnostics;
    bool has_limit;  // out: a limit was reached
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
        if (type->dims[axis])
            dims[axis] =
                poly_in_function(lowering->arena, type->dims[axis], lowering->builder.function);
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

/// A constexpr tuple of so many integers that nobody knows yet.
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
        if (value->type.kind == TYPE_DESCRIPTOR) blocks_renew(lowering, &value->type);
        const Binding *binding = binding_of(pass->options, from->name);
        if (binding && binding->constant) {
            value->constant = binding->constant;
            value = constant_value(lowering, binding->constant);
            to->value->type = value->type;
        } else if (value->type.kind == TYPE_TUPLE && from->is_constexpr) {
            value = open_tuple(lowering, value);
        }
        if (from->is_variadic) value = lowering_opaque(lowering, "arguments without number");
        variable_set(lowering, from->name, value);
        const Value *missing = lower_default(lowering, from);
        if (missing) to->default_value = missing->constant;
    }
}

static Function *kernel_pass(Arena *arena, KernelPass *pass) {
    const FunctionDefinition *definition = pass->definition;
    Function *function = function_new(arena, str_dup(arena, definition->name));
    function->definition = definition;
    const LowerOptions *options = pass->options;
    Lowering lowering = {
        .arena = arena,
        .options = options,
        .diagnostics = pass->diagnostics,
        .root = definition->module->source,
        .max_ops = options && options->max_ops ? options->max_ops : DEFAULT_MAX_OPS,
        .max_depth = options && options->max_depth ? options->max_depth : DEFAULT_MAX_DEPTH};
    lowering.builder = (Builder){.function = function,
                                 .region = function->body,
                                 .range = definition->header_range,
                                 .diagnostics = pass->diagnostics};
    // What a helper is called with is certain in its callers only; type errors are told there.
    if (definition->is_helper) lowering.builder.diagnostics = NULL;
    lowering.keeps_sightings = pass->diagnostics != NULL;
    Frame frame = {.definition = definition,
                   .module = definition->module,
                   .source = definition->module->source};
    frame_enter(&lowering, &frame);
    parameters_add(&lowering, pass);
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

Function *lower_kernel(Arena *arena, const FunctionDefinition *definition,
                       const LowerOptions *options, Diagnostics *diagnostics) {
    // Memory of the search is given back.
    Arena *search = arena_new();
    ParameterKnowledge knowledge = {0};
    KernelPass pass = {definition, options, &knowledge, NULL, false};
    bool *is_fixed = ARENA_ARRAY(search, bool, definition->parameter_count + 1);
    knowledge_start(search, &pass, is_fixed);
    BugGuard guard;
    if (BUG_GUARD(&guard)) {
        Function *function = kinds_search(arena, search, &pass, is_fixed, diagnostics);
        if (!function) function = lasting_pass(arena, &pass, diagnostics);
        parameters_describe(function);
        bug_guard_end(&guard);
        arena_free(search);
        return function;
    }
    arena_free(search);
    BUG("%s", guard.message);
}
