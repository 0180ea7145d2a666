// Calls: arguments, operations of the table, methods, and jit functions inlined where they are called.
#include "analysis/lowering.h"

#include "base/error.h"

enum { RECURSION_UNDER_UNKNOWN = 2 };

// --- Arguments

static void argument_splat(Lowering *lowering, Arguments *arguments, SyntaxNode node) {
    Value *splat = lower_value(lowering, node_child(node, 0));
    int count;
    if (!value_is_tuple(splat, &count)) {
        arguments->is_open = true;
        return;
    }
    for (int i = 0; i < count; i++)
        LIST_PUSH(lowering->arena, &arguments->positional, tuple_item(lowering, splat, i));
}

static Arguments arguments_lower(Lowering *lowering, SyntaxNode list) {
    Arguments arguments = {.range = node_range(lowering->frame->source, list)};
    if (node_kind(list) == SYNTAX_GENERATOR) {
        LIST_PUSH(lowering->arena, &arguments.positional, lower_value(lowering, list));
        return arguments;
    }
    SyntaxNode *children;
    int count = node_children(lowering->arena, list, &children);
    for (int i = 0; i < count; i++) {
        switch (node_kind(children[i])) {
        case SYNTAX_KEYWORD_ARGUMENT: {
            SyntaxNode name = node_field(children[i], "name");
            Keyword keyword = {str_dup(lowering->arena, lowering_text(lowering, name)),
                               lower_value(lowering, node_field(children[i], "value"))};
            LIST_PUSH(lowering->arena, &arguments.keywords, keyword);
            LIST_PUSH(lowering->arena, &arguments.keyword_ranges,
                      node_range(lowering->frame->source, name));
            break;
        }
        case SYNTAX_LIST_SPLAT: argument_splat(lowering, &arguments, children[i]); break;
        case SYNTAX_DICTIONARY_SPLAT: arguments.is_open = true; break;
        case SYNTAX_ERROR: arguments.is_open = true; break;
        default:
            LIST_PUSH(lowering->arena, &arguments.positional, lower_value(lowering, children[i]));
            break;
        }
    }
    return arguments;
}

// --- Operations of the table

/// Keywords that the compiler itself passes; user code may hand them on.
static bool keyword_is_internal(const char *name) { return name[0] == '_'; }

/// `name=value` among the arguments of a call; the call where it is not written there.
static SyntaxNode keyword_node(Lowering *lowering, SyntaxNode call, const char *name) {
    SyntaxNode *arguments;
    int count = node_children(lowering->arena, node_field(call, "arguments"), &arguments);
    for (int i = 0; i < count; i++)
        if (node_kind(arguments[i]) == SYNTAX_KEYWORD_ARGUMENT &&
            str_is(lowering_text(lowering, node_field(arguments[i], "name")), name))
            return arguments[i];
    return call;
}

void lowering_report_keyword(Lowering *lowering, OpCode code, const char *callee,
                             const char *keyword, SyntaxNode node) {
    int count;
    const OpParameter *parameters = op_parameters(code, &count);
    const char *nearest = NULL;
    int nearest_distance = 3;
    for (int i = 0; i < count; i++) {
        int distance = str_distance(parameters[i].name, str_from(keyword));
        if (distance >= nearest_distance) continue;
        nearest_distance = distance;
        nearest = str_dup(lowering->arena, parameters[i].name);
    }
    Diagnostic *diagnostic =
        lowering_report(lowering, DIAGNOSTIC_WRONG_ARGUMENT, node,
                        nearest ? "`%s` has no parameter `%s`; did you mean `%s`?"
                                : "`%s` has no parameter `%s`.%s",
                        callee, keyword, nearest ? nearest : "");
    // A release that we do not know may have it.
    if (diagnostic && !nearest) diagnostic->severity = SEVERITY_WARNING;
}

static Value *variadic_operand(Lowering *lowering, const Arguments *arguments, int from) {
    int count = arguments->positional.count - from;
    int inner;
    if (count <= 0) return NULL;
    Value *first = arguments->positional.items[from];
    if (count == 1 && (value_is_tuple(first, &inner) || first->type.kind == TYPE_TUPLE))
        return first;
    return build_tuple(&lowering->builder, arguments->positional.items + from, count);
}

/// Operands by the row's parameters. False (reported) when the arguments do not fit.
static bool operands_bind(Lowering *lowering, OpCode code, const Arguments *arguments,
                          Value ***operands, int *operand_count, SyntaxNode node) {
    int count;
    const OpParameter *parameters = op_parameters(code, &count);
    const char *callee = op_rows[code].name ? op_rows[code].name : op_rows[code].id;
    *operands = ARENA_ARRAY(lowering->arena, Value *, count + 1);
    *operand_count = count;
    int position = 0;
    for (int i = 0; i < count && position < arguments->positional.count; i++) {
        if (parameters[i].is_variadic) {
            (*operands)[i] = variadic_operand(lowering, arguments, position);
            position = arguments->positional.count;
        } else if (!parameters[i].is_keyword_only) {
            (*operands)[i] = arguments->positional.items[position++];
        }
    }
    if (position < arguments->positional.count) {
        lowering_report(lowering, DIAGNOSTIC_WRONG_ARGUMENT, node, "`%s` takes at most %d %s.",
                        callee, position, position == 1 ? "argument" : "arguments");
        return false;
    }
    for (LIST_EACH(int, k, arguments->keywords)) {
        const Keyword *keyword = &arguments->keywords.items[k];
        int index = op_parameter_index(code, str_from(keyword->name));
        if (index >= 0 && (*operands)[index]) {
            lowering_report(lowering, DIAGNOSTIC_WRONG_ARGUMENT, node, "`%s` gets `%s` twice.",
                            callee, keyword->name);
            return false;
        }
        if (index >= 0)
            (*operands)[index] = keyword->value;
        else if (!keyword_is_internal(keyword->name))
            lowering_report_keyword(lowering, code, callee, keyword->name,
                                    keyword_node(lowering, node, keyword->name));
    }
    for (int i = 0; i < count; i++) {
        bool is_missing =
            !(*operands)[i] && !parameters[i].default_text.size && !parameters[i].is_variadic;
        if (!is_missing) continue;
        if (!arguments->is_open)
            lowering_report(lowering, DIAGNOSTIC_WRONG_ARGUMENT, node, "`%s` needs `%.*s`.", callee,
                            STR_ARGS(parameters[i].name));
        return false;
    }
    return true;
}

static Value *combine_argument(Lowering *lowering, Region *region, const Value *item) {
    Type type = item->type;
    type.rank = 0;
    type.dims = NULL;
    type.is_constexpr = false;
    return region_add_argument(lowering->builder.function, region, type, NULL);
}

static Value *lower_combine(Lowering *lowering, OpCode code, Value *const *operands,
                            int operand_count, SyntaxNode node);

typedef struct CombineChoice {
    OpCode code;
    Value *const *operands;
    int operand_count;
    Value *functions[2];
    SyntaxNode node;
} CombineChoice;

static Value *combine_arm(Lowering *lowering, void *context, bool is_first) {
    const CombineChoice *choice = context;
    Value **operands = ARENA_ARRAY(lowering->arena, Value *, choice->operand_count);
    for (int i = 0; i < choice->operand_count; i++) operands[i] = choice->operands[i];
    operands[op_parameter_index(choice->code, STR("combine_fn"))] =
        choice->functions[is_first ? 0 : 1];
    return lower_combine(lowering, choice->code, operands, choice->operand_count, choice->node);
}

/// tl.reduce and tl.associative_scan: the combine function becomes a region.
static Value *lower_combine(Lowering *lowering, OpCode code, Value *const *operands,
                            int operand_count, SyntaxNode node) {
    int function_index = op_parameter_index(code, STR("combine_fn"));
    CombineChoice choice = {code, operands, operand_count, {NULL, NULL}, node};
    Value *condition = function_choice(operands[function_index], choice.functions);
    if (condition) return lower_choice(lowering, condition, combine_arm, &choice);
    const Constant *combine = operands[function_index] ? operands[function_index]->constant : NULL;
    int count = 1;
    bool is_tuple = value_is_tuple(operands[0], &count);
    if (!combine || combine->kind != CONSTANT_FUNCTION)
        return lowering_unknown(lowering, node, "The combine function is not known.");
    int results = infer_result_count(code, operands, operand_count);
    Op *op = op_append(&lowering->builder, code, operands, operand_count, results);
    Region *region = op_add_region(&lowering->builder, op);
    Builder outside = lowering->builder;
    lowering->builder.region = region;
    lowering->builder.before = NULL;
    Arguments arguments = {0};
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < count; i++) {
            const Value *item = is_tuple ? tuple_item(lowering, operands[0], i) : operands[0];
            LIST_PUSH(lowering->arena, &arguments.positional,
                      combine_argument(lowering, region, item));
        }
    Entity callee = {.kind = ENTITY_VALUE, .value = operands[function_index]};
    Value *combined = lower_entity_call(lowering, callee, &arguments, node);
    int combined_count = 1;
    Value **yields = &combined;
    if (value_is_tuple(combined, &combined_count)) yields = combined->op->operands;
    if (combined_count != count) {
        if (combined->type.kind == TYPE_NUMBER || combined_count > 1)
            lowering_report(lowering, DIAGNOSTIC_WRONG_ARGUMENT, node,
                            "the combine function returns %d %s where %d %s combined.",
                            combined_count, combined_count == 1 ? "value" : "values", count,
                            count == 1 ? "is" : "are");
        Value **unknown = ARENA_ARRAY(lowering->arena, Value *, count);
        for (int i = 0; i < count; i++)
            unknown[i] = lowering_silent(lowering, "a combine function of another length");
        yields = unknown;
    }
    op_append(&lowering->builder, OP_YIELD, yields, count, 0);
    lowering->builder = outside;
    infer_op(lowering->arena, op, lowering->builder.diagnostics);
    if (results == 1) return op->results[0];
    return build_tuple(&lowering->builder, op->results, results);
}

static Value *lower_removed(Lowering *lowering, OpCode code, SyntaxNode node) {
    const OpRow *row = &op_rows[code];
    lowering_report(lowering, DIAGNOSTIC_REMOVED_OPERATION, node, "Triton no longer has `%s`%s%s.",
                    row->name ? row->name : row->id, row->instead ? "; use " : "",
                    row->instead ? row->instead : "");
    return lowering_silent(lowering, "an operation that Triton no longer has");
}

Value *lower_operation(Lowering *lowering, OpCode code, Arguments *arguments, SyntaxNode node) {
    Value **operands;
    int count;
    switch (op_rows[code].kind) {
    case KIND_EXPANDS: return lower_expansion(lowering, code, arguments, node);
    case KIND_REMOVED: return lower_removed(lowering, code, node);
    case KIND_STRUCTURAL:
        if (code != OP_FOR && code != OP_STATIC_FOR)
            return lowering_unknown(lowering, node, "`tl.%s` is a type, no operation.",
                                    op_rows[code].name);
        return lowering_unknown(lowering, node, "A range has a meaning in a `for` only.");
    default: break;
    }
    if (!operands_bind(lowering, code, arguments, &operands, &count, node))
        return lowering_silent(lowering, "a call with wrong arguments");
    Value *understood = code == OP_INLINE_ASM ? lower_assembly(lowering, operands, count) : NULL;
    if (understood) return understood;
    if (code == OP_REDUCE || code == OP_ASSOCIATIVE_SCAN)
        return lower_combine(lowering, code, operands, count, node);
    Value *value = build(&lowering->builder, code, operands, count);
    return value ? value : build_none(&lowering->builder);
}

static Value *lower_method(Lowering *lowering, Entity method, Arguments *arguments,
                           SyntaxNode node) {
    Value *receiver = method.value;
    if (receiver->constant && receiver->constant->kind == CONSTANT_STRING)
        return lower_text_method(lowering, receiver->constant->string, method.name, arguments);
    bool is_question = str_starts(method.name, "is_") && op_find_method(method.name) == OP_COUNT;
    if (receiver->type.kind == TYPE_DTYPE || is_question)
        return lower_dtype_question(lowering, receiver, method.name);
    Str name = method.name;
    OpCode code = OP_COUNT;
    // `desc.load([x, y])` of what the host made: nothing but a descriptor takes a list.
    int offsets;
    bool takes_list =
        arguments->positional.count && value_is_tuple(arguments->positional.items[0], &offsets);
    if (receiver->type.kind == TYPE_DESCRIPTOR ||
        (receiver->type.kind == TYPE_UNKNOWN && takes_list))
        code = descriptor_method(lowering, name);
    if (code == OP_COUNT) code = op_find_method(name);
    if (code == OP_COUNT)
        return lowering_unknown(lowering, node, "The method `%.*s` is not understood.",
                                STR_ARGS(name));
    Arguments all = *arguments;
    all.positional.items = NULL;
    all.positional.count = all.positional.capacity = 0;
    LIST_PUSH(lowering->arena, &all.positional, receiver);
    for (LIST_EACH(int, i, arguments->positional))
        LIST_PUSH(lowering->arena, &all.positional, arguments->positional.items[i]);
    // `math.sqrt(x)` where nothing defines `math`: only a tensor's methods are ours.
    int parameter_count;
    const OpParameter *parameters = op_parameters(code, &parameter_count);
    bool takes_more = parameter_count && parameters[parameter_count - 1].is_variadic;
    if (receiver->type.kind == TYPE_UNKNOWN && all.positional.count > parameter_count &&
        !takes_more)
        return lowering_silent(lowering, "a method of something that is not known");
    return lower_operation(lowering, code, &all, node);
}

// --- Inlining

static Value *default_value(Lowering *lowering, const FunctionDefinition *callee,
                            const ParameterDefinition *parameter) {
    Frame frame = {.module = callee->module, .source = callee->module->source};
    frame_enter(lowering, &frame);
    lowering->global_depth++;
    Value *value = lower_value(lowering, parameter->default_node);
    lowering->global_depth--;
    frame_leave(lowering, &frame);
    return value;
}

static const Value *keyword_find(const Arguments *arguments, Str name, int *index) {
    for (LIST_EACH(int, i, arguments->keywords))
        if (str_is(name, arguments->keywords.items[i].name)) {
            *index = i;
            return arguments->keywords.items[i].value;
        }
    return NULL;
}

/// Values by the callee's parameters. False (reported) when the arguments do not fit.
static bool parameters_bind(Lowering *lowering, const FunctionDefinition *callee,
                            const Arguments *arguments, Value **values, SyntaxNode node) {
    int position = 0;
    int used_keywords = 0;
    bool takes_all_keywords = false;
    for (int i = 0; i < callee->parameter_count; i++) {
        const ParameterDefinition *parameter = &callee->parameters[i];
        int keyword = -1;
        if (parameter->is_variadic) {
            Str written = source_slice(parameter->range);
            takes_all_keywords = takes_all_keywords || str_starts(written, "**");
            int count = str_starts(written, "**") ? 0 : arguments->positional.count - position;
            if (count < 0) count = 0;
            values[i] =
                build_tuple(&lowering->builder, arguments->positional.items + position, count);
            position += count;
        } else if (keyword_find(arguments, parameter->name, &keyword)) {
            values[i] = arguments->keywords.items[keyword].value;
            used_keywords++;
        } else if (position < arguments->positional.count && !parameter->is_keyword_only) {
            values[i] = arguments->positional.items[position++];
        } else if (!node_is_null(parameter->default_node)) {
            values[i] = default_value(lowering, callee, parameter);
        } else {
            if (!arguments->is_open)
                lowering_report(lowering, DIAGNOSTIC_WRONG_ARGUMENT, node, "`%.*s` needs `%.*s`.",
                                STR_ARGS(callee->name), STR_ARGS(parameter->name));
            values[i] = lowering_silent(lowering, "an argument that is missing");
            if (!arguments->is_open) return false;
        }
    }
    if (position < arguments->positional.count) {
        lowering_report(lowering, DIAGNOSTIC_WRONG_ARGUMENT, node,
                        "`%.*s` takes %d arguments, not %d.", STR_ARGS(callee->name), position,
                        arguments->positional.count);
        return false;
    }
    if (used_keywords == arguments->keywords.count || takes_all_keywords) return true;
    for (LIST_EACH(int, k, arguments->keywords)) {
        const char *name = arguments->keywords.items[k].name;
        bool is_known = str_is(STR("num_warps"), name) || str_is(STR("num_stages"), name);
        for (int i = 0; i < callee->parameter_count; i++)
            is_known = is_known || str_is(callee->parameters[i].name, name);
        if (is_known) continue;
        lowering_report(lowering, DIAGNOSTIC_WRONG_ARGUMENT, node, "`%.*s` has no parameter `%s`.",
                        STR_ARGS(callee->name), name);
        return false;
    }
    return true;
}

/// How often `callee` is being inlined already since an `if` on something unknown was entered.
static int recursion_count(const Lowering *lowering, const FunctionDefinition *callee) {
    int count = 0;
    for (const Frame *frame = lowering->frame; frame; frame = frame->caller)
        if (frame->definition == callee &&
            frame->unknown_conditions < lowering->frame->unknown_conditions)
            count++;
    return count;
}

static bool inline_allowed(Lowering *lowering, const FunctionDefinition *callee, SyntaxNode node) {
    if (lowering->call_depth >= lowering->max_depth) {
        lowering_report(
            lowering, DIAGNOSTIC_LIMIT_REACHED, node,
            "Helpers call each other more than %d levels deep; the analysis stops here.",
            lowering->max_depth);
        lowering->stopped = true;
        return false;
    }
    if (recursion_count(lowering, callee) >= RECURSION_UNDER_UNKNOWN) {
        lowering_report(lowering, DIAGNOSTIC_NOT_UNDERSTOOD, node,
                        "`%.*s` calls itself under a condition that is not known here.",
                        STR_ARGS(callee->name));
        return false;
    }
    return true;
}

/// What a helper sees of an argument: nothing of the values and parameters of its caller.
static Type type_of_caller(Arena *arena, Type type) {
    type = type_detached(arena, type);
    if (type.element.code == DTYPE_OF_PARAMETER) {
        DTypeClass class = type.element.parameter_class;
        type.element = dtype_of(class == CLASS_SIGNED  ? DTYPE_ANY_INT
                                : class == CLASS_FLOAT ? DTYPE_ANY_FLOAT
                                                       : DTYPE_ANY_NUMBER);
    }
    return type;
}

/// Keeps with what types a helper is called, so that it can be shown with them on its own.
static void call_observe(Lowering *lowering, const FunctionDefinition *callee,
                         Value *const *values) {
    Map *observed = lowering->options ? lowering->options->observed : NULL;
    if (!observed || !lowering->diagnostics) return;
    Type *types = map_get_pointer(observed, callee);
    bool is_first = !types;
    if (is_first) {
        types = ARENA_ARRAY(observed->arena, Type, callee->parameter_count + 1);
        map_set_pointer(observed, callee, types);
    }
    Type *seen = ARENA_ARRAY(observed->arena, Type, callee->parameter_count + 1);
    for (int i = 0; i < callee->parameter_count; i++) {
        seen[i] = type_of_caller(observed->arena, type_at_runtime(values[i]));
        if (values[i]->constant)
            seen[i] = (Type){.kind = values[i]->type.kind == TYPE_NUMBER ? seen[i].kind : TYPE_NONE,
                             .element = seen[i].element};
        if (is_first) types[i] = seen[i];
    }
    if (!is_first) types_observe(observed->arena, types, seen, callee->parameter_count);
}

void types_observe(Arena *arena, Type *known, const Type *seen, int count) {
    for (int i = 0; i < count; i++)
        known[i] = known[i].kind == TYPE_NONE ? seen[i] : type_join(arena, known[i], seen[i]);
}

Value *lower_inline(Lowering *lowering, const FunctionDefinition *callee, Arguments *arguments,
                    SyntaxNode node) {
    if (lowering_over(lowering, node) || !inline_allowed(lowering, callee, node))
        return lowering_silent(lowering, "a call that is not followed");
    Value **values = ARENA_ARRAY(lowering->arena, Value *, callee->parameter_count + 1);
    if (!parameters_bind(lowering, callee, arguments, values, node))
        return lowering_silent(lowering, "a call with wrong arguments");
    Builder outside = lowering->builder;
    CallSite *call = ARENA_NEW(lowering->arena, CallSite);
    *call = (CallSite){.range = outside.range, .callee = callee, .outer = outside.call};
    lowering->builder.call = call;
    lowering->call_depth++;
    Frame frame = {
        .definition = callee, .module = callee->module, .source = callee->module->source};
    frame_enter(lowering, &frame);
    call_observe(lowering, callee, values);
    for (int i = 0; i < callee->parameter_count; i++) {
        const ParameterDefinition *parameter = &callee->parameters[i];
        uint32_t start = parameter->range.start;
        variable_set(lowering, parameter->name, values[i]);
        lowering_sight_inlined(lowering, start, start + (uint32_t)parameter->name.size, values[i]);
    }
    Outcome outcome = lower_block(lowering, callee->body);
    if (outcome.value) {
        Range body = node_range(frame.source, callee->body);
        lowering_sight_inlined(lowering, body.start, body.end, outcome.value);
    }
    frame_leave(lowering, &frame);
    lowering->call_depth--;
    // Ops may have been put before the former place, so only the place in the call stack is restored.
    lowering->builder.call = outside.call;
    lowering->builder.range = outside.range;
    return outcome.value ? outcome.value : build_none(&lowering->builder);
}

// --- Calls

/// `rsqrt = find("rsqrt")` with a Python function that looks through the modules where releases have libdevice.
static Value *lower_found_libdevice(Lowering *lowering, const FunctionDefinition *callee,
                                    const Arguments *arguments) {
    const Constant *name =
        arguments->positional.count == 1 ? arguments->positional.items[0]->constant : NULL;
    Str text = node_text(callee->module->source, callee->body);
    if (!name || name->kind != CONSTANT_STRING || callee->is_jit || arguments->keywords.count ||
        !text_contains(text, "libdevice") || !text_contains(text, "getattr("))
        return NULL;
    OpCode code =
        op_find(str_from(arena_printf(lowering->arena, "libdevice.%.*s", STR_ARGS(name->string))));
    if (code == OP_COUNT) return NULL;
    return build_constant(&lowering->builder, (Constant){.kind = CONSTANT_FUNCTION, .op = code});
}

static Value *call_function(Lowering *lowering, const FunctionDefinition *callee,
                            Arguments *arguments, SyntaxNode node) {
    // A global's value, computed by the user's Python: understood when it is simple, never run.
    if (lowering->global_depth && !callee->is_jit) {
        Value *found = lower_found_libdevice(lowering, callee, arguments);
        if (found) return found;
        Value *value = lowering->call_depth < 4 && !callee->decorators.count
                           ? lower_inline(lowering, callee, arguments, node)
                           : NULL;
        bool is_known = value && (value->constant || value->type.kind != TYPE_UNKNOWN) &&
                        !value_is_none(value) && value->type.is_constexpr;
        return is_known ? value : lowering_opaque(lowering, "what a Python function returns");
    }
    // A constexpr function (also one made by tl.constexpr) is Python that runs during compilation.
    for (LIST_EACH(int, i, callee->decorators)) {
        Str written = node_text(callee->module->source, callee->decorators.items[i]);
        if (callee->is_jit || !text_contains(written, "constexpr")) continue;
        lowering->global_depth++;
        Value *value = lower_inline(lowering, callee, arguments, node);
        lowering->global_depth--;
        return value;
    }
    // Other decorators may make something callable of it that we do not see.
    if (!callee->is_jit && callee->decorators.count == 0)
        lowering_report(
            lowering, DIAGNOSTIC_UNDECORATED_HELPER, node,
            "`%.*s` is called from a kernel but is not a Triton function; decorate it with @triton.jit.",
            STR_ARGS(callee->name));
    return lower_inline(lowering, callee, arguments, node);
}

static Value *call_scope(Lowering *lowering, Entity callee, Arguments *arguments, SyntaxNode node) {
    ScopeEntry entry = callee.entry;
    Str language;
    switch (entry.kind) {
    case SCOPE_FUNCTION: return call_function(lowering, entry.function, arguments, node);
    case SCOPE_CLASS: {
        Value *tuple = lower_named_tuple(lowering, entry, arguments);
        if (tuple) return tuple;
        break;
    }
    case SCOPE_ASSIGNED: {
        Value *tuple = lower_named_tuple(lowering, entry, arguments);
        if (tuple) return tuple;
        Value *value = entity_value(lowering, callee, node);
        if (value->constant && value->constant->kind == CONSTANT_FUNCTION)
            return lower_entity_call(lowering, (Entity){.kind = ENTITY_VALUE, .value = value},
                                     arguments, node);
        break;
    }
    case SCOPE_EXTERNAL: {
        Value *called = lower_external_call(lowering, entry.dotted, arguments, node);
        if (called) return called;
        Value *value = lower_external_value(lowering, entry.dotted);
        bool is_dtype = value && value->constant && value->constant->kind == CONSTANT_DTYPE;
        if (is_dtype && arguments->positional.count == 1)
            return lower_entity_call(lowering, (Entity){.kind = ENTITY_VALUE, .value = value},
                                     arguments, node);
        if (value && !(value->constant && value->constant->kind == CONSTANT_FUNCTION)) return value;
        if (scope_language_name(entry.dotted, &language)) {
            OpCode code = scope_find_operation(language);
            if (code != OP_COUNT) return lower_operation(lowering, code, arguments, node);
        }
        if (scope_language_name(entry.dotted, &language) && !lowering->global_depth)
            return entity_value(lowering, callee, node_field(node, "function"));
        break;
    }
    default: break;
    }
    if (lowering->global_depth) return lowering_opaque(lowering, "a call that is not known");
    return lowering_unknown(lowering, node, "It is not known what `%.*s` computes.",
                            STR_ARGS(lowering_text(lowering, node_field(node, "function"))));
}

typedef struct CallChoice {
    Value *functions[2];
    Arguments *arguments;
    SyntaxNode node;
} CallChoice;

static Value *call_arm(Lowering *lowering, void *context, bool is_first) {
    const CallChoice *choice = context;
    Entity callee = {.kind = ENTITY_VALUE, .value = choice->functions[is_first ? 0 : 1]};
    return lower_entity_call(lowering, callee, choice->arguments, choice->node);
}

/// A call of what a launch passes for a constexpr: unknown here, and no mistake. NULL for other callees.
static Value *call_of_parameter(Lowering *lowering, Value *callee, const Arguments *arguments) {
    bool is_parameter = callee->region && !callee->region->parent && callee->type.is_constexpr;
    if (!is_parameter || lowering->global_depth) return NULL;
    Value *result = lowering_silent(
        lowering,
        arena_printf(lowering->arena, "it is not known which function a launch passes for `%s`",
                     callee->name ? callee->name : "a parameter"));
    Function *function = lowering->builder.function;
    op_append_operand(function, result->op, callee);
    for (LIST_EACH(int, i, arguments->positional))
        op_append_operand(function, result->op, arguments->positional.items[i]);
    for (LIST_EACH(int, i, arguments->keywords))
        op_append_operand(function, result->op, arguments->keywords.items[i].value);
    return result;
}

Value *lower_entity_call(Lowering *lowering, Entity callee, Arguments *arguments, SyntaxNode node) {
    switch (callee.kind) {
    case ENTITY_METHOD: return lower_method(lowering, callee, arguments, node);
    case ENTITY_PYTHON: return lower_builtin(lowering, callee.name, arguments, node);
    case ENTITY_SCOPE: return call_scope(lowering, callee, arguments, node);
    case ENTITY_VALUE: break;
    }
    CallChoice choice = {{NULL, NULL}, arguments, node};
    Value *condition = function_choice(callee.value, choice.functions);
    if (condition) return lower_choice(lowering, condition, call_arm, &choice);
    const Constant *constant = callee.value->constant;
    if (constant && constant->kind == CONSTANT_FUNCTION && constant->function)
        return call_function(lowering, constant->function, arguments, node);
    if (constant && constant->kind == CONSTANT_FUNCTION && constant->op != OP_COUNT)
        return lower_operation(lowering, constant->op, arguments, node);
    // tl.float32(x)
    if (constant && constant->kind == CONSTANT_DTYPE && arguments->positional.count == 1) {
        if (!lowering->global_depth && lowering->frame->module)
            lowering_report(lowering, DIAGNOSTIC_UNSUPPORTED_PYTHON, node,
                            "An element type cannot be called; use `.to(...)` or `tl.cast`.");
        Value *operands[] = {arguments->positional.items[0], callee.value};
        return build(&lowering->builder, OP_CAST, operands, 2);
    }
    Value *open = call_of_parameter(lowering, callee.value, arguments);
    if (open) return open;
    if (callee.value->type.kind == TYPE_UNKNOWN && !callee.value->type.is_constexpr)
        return lowering_silent(lowering, "a call of something that is not known");
    if (callee.value->type.is_constexpr)
        return lowering_unknown(lowering, node, "It is not known what is called here.");
    return lowering_unknown(lowering, node, "This value cannot be called.");
}

/// torch.finfo(torch.float32): its numbers, by name. NULL for other types.
static Value *lower_type_limits(Lowering *lowering, Entity callee, SyntaxNode list) {
    static const struct {
        const char *name;
        double max, tiny, eps;
        int bits;
    } rows[] = {{"torch.float64", 0x1.fffffffffffffp1023, 0x1p-1022, 0x1p-52, 64},
                {"torch.float32", 0x1.fffffep127, 0x1p-126, 0x1p-23, 32},
                {"torch.float", 0x1.fffffep127, 0x1p-126, 0x1p-23, 32},
                {"torch.bfloat16", 0x1.fep127, 0x1p-126, 0x1p-7, 16},
                {"torch.float16", 65504, 0x1p-14, 0x1p-10, 16},
                {"torch.half", 65504, 0x1p-14, 0x1p-10, 16},
                {"torch.float8_e4m3fn", 448, 0x1p-6, 0x1p-3, 8},
                {"torch.float8_e5m2", 57344, 0x1p-14, 0x1p-2, 8}};
    if (callee.kind != ENTITY_SCOPE || callee.entry.kind != SCOPE_EXTERNAL ||
        !str_is(callee.entry.dotted, "torch.finfo") || node_child_count(list) != 1 ||
        !lowering->frame->module)
        return NULL;
    ScopeEntry type =
        scope_of_expression(lowering->arena, lowering->frame->module, node_child(list, 0));
    for (size_t i = 0; type.kind == SCOPE_EXTERNAL && i < sizeof rows / sizeof *rows; i++) {
        if (!str_is(type.dotted, rows[i].name)) continue;
        Builder *builder = &lowering->builder;
        Value *items[] = {build_float(builder, rows[i].max),  build_float(builder, -rows[i].max),
                          build_float(builder, rows[i].tiny), build_float(builder, rows[i].tiny),
                          build_float(builder, rows[i].eps),  build_int(builder, rows[i].bits)};
        Value *tuple = build_tuple(builder, items, 6);
        tuple->op->note = "max,min,tiny,smallest_normal,eps,bits,";
        return tuple;
    }
    return NULL;
}

/// hasattr(tl, "gather"): how projects ask which release they run under. NULL for other questions.
static Value *lower_has_operation(Lowering *lowering, SyntaxNode list) {
    Entity object = lower_entity(lowering, node_child(list, 0));
    const Constant *name = lower_value(lowering, node_child(list, 1))->constant;
    Str language;
    if (object.kind != ENTITY_SCOPE || object.entry.kind != SCOPE_EXTERNAL) return NULL;
    if (!name || name->kind != CONSTANT_STRING) return NULL;
    ScopeEntry asked = scope_attribute(lowering->arena, object.entry, name->string);
    if (!scope_language_name(asked.dotted, &language)) return NULL;
    return build_bool(&lowering->builder, scope_language_has(language));
}

/// tl.maximum(half, x), tl.where(c, x, half): a named number widens `x`, as beside an operator.
static void name_numbers(Lowering *lowering, OpCode code, SyntaxNode list, Arguments *arguments) {
    int first = code == OP_WHERE ? 1 : 0;
    SyntaxNode *nodes;
    int count = node_children(lowering->arena, list, &nodes);
    bool is_plain = code == OP_WHERE || code == OP_MAXIMUM || code == OP_MINIMUM;
    if (!is_plain || count < first + 2 || arguments->positional.count < first + 2) return;
    for (int i = 0; i < first + 2; i++)
        if (node_kind(nodes[i]) == SYNTAX_LIST_SPLAT) return;
    Value **values = arguments->positional.items + first;
    for (int i = 0; i < 2; i++)
        values[i] = lower_named_number(lowering, nodes[first + i], values[i], values[1 - i]);
}

Value *lower_call(Lowering *lowering, SyntaxNode node) {
    Entity callee = lower_entity(lowering, node_field(node, "function"));
    SyntaxNode list = node_field(node, "arguments");
    if (callee.kind == ENTITY_PYTHON && str_is(callee.name, "hasattr") &&
        node_child_count(list) == 2) {
        Value *known = lower_has_operation(lowering, list);
        if (known) return known;
    }
    Value *limits = lower_type_limits(lowering, callee, list);
    if (limits) return limits;
    Arguments arguments = arguments_lower(lowering, list);
    lowering_at(lowering, node);
    Str language;
    if (callee.kind == ENTITY_SCOPE && scope_language_name(callee.entry.dotted, &language))
        name_numbers(lowering, op_find(language), list, &arguments);
    return lower_entity_call(lowering, callee, &arguments, node);
}
