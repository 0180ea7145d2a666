// Calls: arguments, operations of the table, methods, and jit functions inlined where they are called.
#include "analysis/calls/lower_call.h"

#include "analysis/build/build.h"
#include "analysis/calls/lower_builtin.h"
#include "analysis/calls/lower_inline.h"
#include "analysis/calls/lower_operation.h"
#include "analysis/expressions/external_value.h"
#include "analysis/expressions/lower_expression.h"
#include "analysis/expressions/lower_global.h"
#include "analysis/expressions/lower_operator.h"
#include "analysis/frames/branches.h"
#include "analysis/frames/lowering.h"
#include "analysis/frames/tuples.h"
#include "analysis/ir/type_limits.h"
#include "analysis/syntax/syntax_nodes.h"

// --- Arguments

static void argument_splat(Lowering *lowering, Arguments *arguments, SyntaxNode node) {
    Value *splat = lower_value(lowering, node_child(node, 0));
    int count;
    if (!value_is_tuple(splat, &count)) {
        tuple_asked_whole(lowering, splat);
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

// --- What is called

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

/// Python that runs inside Triton's compiler and builds its IR: `@builtin`, or a decorator that marks a function as one.
static bool is_compiler_builtin(Arena *arena, const FunctionDefinition *callee) {
    for (LIST_EACH(int, i, callee->decorators)) {
        SyntaxNode decorator = callee->decorators.items[i];
        if (node_kind(decorator) == SYNTAX_CALL) decorator = node_field(decorator, "function");
        Str written = text_last_component(node_text(callee->module->source, decorator));
        if (str_is(written, "builtin") || str_is(written, "extern")) return true;
        ScopeEntry entry = scope_of_expression(arena, callee->module, decorator);
        const FunctionDefinition *marker = entry.kind == SCOPE_FUNCTION ? entry.function : NULL;
        if (marker && scope_marks_builtin(marker)) return true;
    }
    return false;
}

/// A build's own operations are many: one note in a file.
static Value *call_compiler_builtin(Lowering *lowering, const FunctionDefinition *callee,
                                    SyntaxNode node) {
    const char *note = arena_printf(
        lowering->arena, "`%.*s` is a builtin of the compiler: it is not known what it computes.",
        STR_ARGS(callee->name));
    Diagnostic *said = lowering_report(lowering, DIAGNOSTIC_NOT_UNDERSTOOD, node, "%s", note);
    if (said) said->once_a_file = "a builtin";
    return lowering_silent(lowering, note);
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
    if (!callee->is_jit && scope_is_language(callee->module)) {
        OpCode code = op_find(callee->name);
        if (code != OP_COUNT) return lower_operation(lowering, code, arguments, node);
        return lowering_silent(lowering, "Python of Triton's own");
    }
    if (!callee->is_jit && is_compiler_builtin(lowering->arena, callee))
        return call_compiler_builtin(lowering, callee, node);
    // A constexpr function (also one made by tl.constexpr) is Python that runs during compilation.
    for (LIST_EACH(int, i, callee->decorators)) {
        Str written = node_text(callee->module->source, callee->decorators.items[i]);
        if (callee->is_jit || !text_contains(written, "constexpr")) continue;
        lowering->global_depth++;
        Value *value = lower_inline(lowering, callee, arguments, node);
        lowering->global_depth--;
        return value;
    }
    // Other decorators may make something callable of it that we do not see, and so may the other branch of a condition.
    if (!callee->is_jit && callee->decorators.count == 0 && !callee->condition)
        lowering_report(
            lowering, DIAGNOSTIC_UNDECORATED_HELPER, node,
            "`%.*s` is called from a kernel but is not a Triton function; decorate it with @triton.jit.",
            STR_ARGS(callee->name));
    return lower_inline(lowering, callee, arguments, node);
}

/// A function of PyTorch or NumPy that gets a value of the running program: these take tensors of their own.
static bool report_foreign_call(Lowering *lowering, Str dotted, const Arguments *arguments,
                                SyntaxNode node) {
    bool is_foreign = str_starts(dotted, "torch.") || str_starts(dotted, "numpy.");
    const Value *value = arguments->positional.count ? arguments->positional.items[0] : NULL;
    if (!is_foreign || lowering->global_depth || !value || value->constant ||
        value->type.is_constexpr || value->type.kind != TYPE_NUMBER || !value->op)
        return false;
    Str name = text_last_component(dotted);
    const char *instead = op_foreign(name);
    if (!instead && op_find(name) != OP_COUNT)
        instead = arena_printf(lowering->arena, "tl.%.*s", STR_ARGS(name));
    Diagnostic *said =
        lowering_report(lowering, DIAGNOSTIC_UNKNOWN_OPERATION, node,
                        "`%.*s` takes no values of a kernel%s%s%s.", STR_ARGS(dotted),
                        instead ? ": there is `" : "", instead ? instead : "", instead ? "`" : "");
    if (said) said->severity = SEVERITY_WARNING;
    return true;
}

/// A function of another package, whose text was not found.
static Value *call_not_found(Lowering *lowering, ScopeEntry entry, SyntaxNode node) {
    Str called = lowering_text(lowering, node_field(node, "function"));
    bool is_found = false;
    Str package = entry.kind == SCOPE_EXTERNAL
                      ? module_package(lowering->frame->module, entry.dotted, &is_found)
                      : (Str){"", 0};
    const char *why = "";
    if (package.size && is_found)
        why = arena_printf(lowering->arena,
                           ": in the package `%.*s` as it was found `%.*s` is no Triton function",
                           STR_ARGS(package), STR_ARGS(entry.dotted));
    else if (package.size)
        why = arena_printf(lowering->arena,
                           ": no file of the package `%.*s` was found; install it in the "
                           "project's `.venv`, or name its place by VIRTUAL_ENV or PYTHONPATH",
                           STR_ARGS(package));
    return lowering_unknown(lowering, node, "It is not known what `%.*s` computes%s.",
                            STR_ARGS(called), why);
}

/// `min(a, b)` of whole numbers, below a star of a file that was not found: Python's own. What Triton has by that name takes a
/// tile and an axis. NULL for other calls.
static Value *call_of_python(Lowering *lowering, ScopeEntry entry, Arguments *arguments,
                             SyntaxNode node) {
    Str name = lowering_text(lowering, node_field(node, "function"));
    bool is_extreme = str_is(name, "min") || str_is(name, "max");
    if (entry.kind != SCOPE_OPAQUE || !is_extreme || arguments->keywords.count ||
        arguments->positional.count < 2 || arguments->is_open)
        return NULL;
    for (LIST_EACH(int, i, arguments->positional)) {
        Type type = arguments->positional.items[i]->type;
        if (type.kind != TYPE_NUMBER || type.rank || !dtype_is_integer(type.element)) return NULL;
    }
    return lower_builtin(lowering, name, arguments, node);
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
    Value *extreme = call_of_python(lowering, entry, arguments, node);
    if (extreme) return extreme;
    if (entry.kind == SCOPE_EXTERNAL &&
        report_foreign_call(lowering, entry.dotted, arguments, node))
        return lowering_silent(lowering, "a function of another library");
    return call_not_found(lowering, entry, node);
}

typedef struct CallChoice {
    Value *functions[2];
    Arguments *arguments;
    SyntaxNode node;
} CallChoice;

static Value *call_branch(Lowering *lowering, void *context, bool is_first) {
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
    if (condition) return lower_choice(lowering, condition, call_branch, &choice);
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
    // What it comes from was told.
    bool follows = callee.value->op && callee.value->op->code == OP_UNKNOWN;
    if (callee.value->type.kind == TYPE_UNKNOWN && (!callee.value->type.is_constexpr || follows))
        return lowering_silent(lowering, "a call of something that is not known");
    if (callee.value->type.is_constexpr)
        return lowering_unknown(lowering, node, "It is not known what is called here.");
    return lowering_unknown(lowering, node, "This value cannot be called.");
}

/// `finfo` of "torch.finfo"; nothing where no such library has it.
static Str name_of_numbers(Str dotted) {
    static const char *const libraries[] = {"torch.", "numpy.", "jax.numpy."};
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        size_t size = strlen(libraries[i]);
        if (str_starts(dotted, libraries[i])) return (Str){dotted.data + size, dotted.size - size};
    }
    return (Str){0};
}

/// torch.finfo(torch.float32), np.iinfo(np.int32): its numbers, by name. NULL for other types.
static Value *lower_type_limits(Lowering *lowering, Entity callee, SyntaxNode list) {
    if (callee.kind != ENTITY_SCOPE || callee.entry.kind != SCOPE_EXTERNAL ||
        node_child_count(list) != 1 || !lowering->frame->module)
        return NULL;
    Str asked = name_of_numbers(callee.entry.dotted);
    bool is_float = str_is(asked, "finfo");
    if (!is_float && !str_is(asked, "iinfo")) return NULL;
    ScopeEntry of =
        scope_of_expression(lowering->arena, lowering->frame->module, node_child(list, 0));
    Str type = of.kind == SCOPE_EXTERNAL ? name_of_numbers(of.dotted) : (Str){0};
    TypeLimits limits;
    if (!type_limits(dtype_from_library_name(type), &limits) || limits.is_float != is_float)
        return NULL;
    Builder *builder = &lowering->builder;
    Value *floats[] = {build_float(builder, limits.high), build_float(builder, -limits.high),
                       build_float(builder, limits.tiny), build_float(builder, limits.tiny),
                       build_float(builder, limits.eps),  build_int(builder, limits.bits)};
    Value *integers[] = {build_int(builder, limits.most), build_int(builder, limits.least),
                         build_int(builder, limits.bits)};
    Value *tuple = is_float ? build_tuple(builder, floats, 6) : build_tuple(builder, integers, 3);
    tuple->op->note = is_float ? "max,min,tiny,smallest_normal,eps,bits," : "max,min,bits,";
    return tuple;
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
