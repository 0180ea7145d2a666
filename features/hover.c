// What is under the cursor, in words: types, addresses, loops, memory, derivatives, documentation.
#include "analysis/lowering/lower.h"
#include "analysis/module/given_rules.h"
#include "analysis/syntax/syntax_nodes.h"
#include "base/escape.h"
#include "features/describe/describe.h"
#include "features/describe/describe_cost.h"
#include "features/describe/describe_memory.h"
#include "features/features.h"
#include "features/names/arguments.h"
#include "features/names/values.h"

enum { CALL_LIMIT = 4, LAUNCH_LIMIT = 4 };

typedef struct LaunchOptionRow {
    const char *name;
    const char *doc;
} LaunchOptionRow;

static const LaunchOptionRow launch_options[] = {
#define LAUNCH_OPTION(name, doc) {name, doc},
#include "features/names/launch_options.def"
#undef LAUNCH_OPTION
};

static const char *kind_word(const Value *value) {
    Type type = value->type;
    if (type.is_constexpr || value->constant) return "constexpr";
    switch (type.kind) {
    case TYPE_POINTER: return type.rank ? "tile of pointers" : "pointer";
    case TYPE_BLOCK_POINTER: return "block pointer";
    case TYPE_DESCRIPTOR: return "tensor descriptor";
    case TYPE_NUMBER: return type.rank ? "tile" : "scalar";
    case TYPE_TUPLE: return "tuple";
    default: return "value";
    }
}

static void put_headline(Buffer *out, const char *kind, Str name, const char *type) {
    buffer_printf(out, "```python\n(%s) %.*s: %s\n```", kind, STR_ARGS(name), type);
}

static void put_told(Buffer *out, const char *kind, Str name, const Told *told) {
    put_headline(out, kind, name, told->label ? told->label : told->varies ? "varies" : "?");
    if (told->varies) buffer_printf(out, "\n\nVaries: %s.", told->varies);
}

// --- Parameters

static void put_passed(Buffer *out, FileNames *names, const FunctionDefinition *function,
                       int index) {
    Str name = function->parameters[index].name;
    int told = 0;
    for (LIST_EACH(int, i, names->snapshot->module->launches)) {
        const LaunchSite *site = &names->snapshot->module->launches.items[i];
        if (!function_is_same(names, site->kernel, function)) continue;
        Range range = snapshot_range(names->snapshot, site->range);
        SyntaxNode call = node_at(names->root, range.start, range.end);
        SyntaxNode argument = argument_of(names, node_field(call, "arguments"), index, name);
        Str text = text_of(names, argument);
        if (node_is_null(argument) || text.size > 80 || told++ >= LAUNCH_LIMIT) continue;
        buffer_printf(out, "\n- line %d passes `%s`", range_line(range_of(names, argument)),
                      code_visible(out->arena, text));
    }
    Views tuned = tuned_values(names, function, name);
    for (LIST_EACH(int, i, tuned.list))
        buffer_printf(out, i ? ", `%s`" : "\n- tuned: `%s`",
                      code_visible(out->arena, tuned.list.items[i]));
}

static void put_parameter_facts(Buffer *out, const Parameter *parameter) {
    Type type = parameter->value->type;
    bool is_memory = type.kind == TYPE_POINTER || type.kind == TYPE_DESCRIPTOR;
    if (is_memory && parameter->is_loaded && parameter->is_stored)
        buffer_puts(out, "\n\nThe kernel loads from it and stores to it.");
    else if (is_memory && parameter->is_loaded)
        buffer_puts(out, "\n\nAn input: the kernel only loads from it.");
    else if (is_memory && parameter->is_stored)
        buffer_puts(out, "\n\nAn output: the kernel only stores to it.");
    if (is_memory && type.element.code == DTYPE_OF_PARAMETER)
        buffer_puts(out, " The tensor that is passed decides the element type.");
    if (is_memory && type.kind == TYPE_POINTER)
        buffer_puts(
            out,
            " Where its address is a multiple of 16 bytes, Triton compiles a version that relies on it.");
    if (type.kind == TYPE_NUMBER && !type.is_constexpr && dtype_is_integer(type.element) &&
        dtype_class(type.element) != CLASS_BOOL)
        buffer_puts(
            out,
            "\n\nTriton compiles versions of their own for the value 1 and for multiples of 16.");
    if (parameter->is_optional) buffer_puts(out, "\n\nIt may be `None`.");
    if (parameter->default_text.size)
        buffer_printf(out, "\n\nDefault: `%s`.", code_visible(out->arena, parameter->default_text));
}

static void hover_parameter(Buffer *out, FileNames *names, const Name *name) {
    const FunctionDefinition *function = name->function;
    const ParameterDefinition *definition = &function->parameters[name->parameter];
    const Kernel *kernel = kernel_of_function(names, function);
    const Parameter *parameter =
        kernel && kernel->function && name->parameter < kernel->function->parameter_count
            ? &kernel->function->parameters[name->parameter]
            : NULL;
    const char *kind = definition->is_constexpr ? "constexpr parameter" : "parameter";
    if (!parameter) {
        put_headline(out, kind, name->text, definition->is_constexpr ? "tl.constexpr" : "?");
        return;
    }
    Range place = snapshot_range(names->snapshot, definition->range);
    place.end = place.start + (uint32_t)definition->name.size;
    // Inside a branch or a loop it may stand for something else by now.
    const Value *here = name->is_keyword ? NULL : value_of_node(names, name->kernel, name->node);
    bool is_changed = here && here != parameter->value && value_is_told(here) && !here->constant;
    Told told = is_changed ? told_at(names, kernel, name->range, here)
                           : told_at(names, kernel, place, parameter->value);
    if (definition->is_constexpr && !is_changed) told = (Told){.label = "tl.constexpr"};
    put_told(out, kind, name->text, &told);
    put_parameter_facts(out, parameter);
    if (is_changed) describe_value(out, names, kernel, here);
    if (!parameter->is_constexpr) describe_accesses(out, names, kernel, parameter->value);
    put_passed(out, names, function, name->parameter);
}

// --- Functions

static const char *role_of(const FunctionDefinition *function) {
    if (!function->is_jit) return "function";
    return function->is_helper ? "helper" : "kernel";
}

/// The types of the arguments, call by call.
static void put_called_with(Buffer *out, FileNames *names, const FunctionDefinition *function) {
    Words words = words_of(names, function->name);
    int told = 0;
    for (LIST_EACH(int, i, words.list)) {
        SyntaxNode call = node_parent(words.list.items[i]);
        if (node_kind(call) == SYNTAX_ATTRIBUTE) call = node_parent(call);
        const Kernel *caller = kernel_around(names, call);
        if (node_kind(call) != SYNTAX_CALL || !caller || told == CALL_LIMIT) continue;
        Name callee = callee_resolve(names, call);
        if (callee.kind != NAME_FUNCTION || !function_is_same(names, callee.function, function))
            continue;
        bool any = false;
        for (int k = 0; k < function->parameter_count; k++) {
            Str name = function->parameters[k].name;
            SyntaxNode argument = argument_of(names, node_field(call, "arguments"), k, name);
            const Value *value = value_of_node(names, caller, argument);
            if (!value_is_told(value)) continue;
            if (!any)
                buffer_printf(out, "\n- line %d calls it with ", range_line(range_of(names, call)));
            buffer_printf(out, any ? ", `%.*s: %s`" : "`%.*s: %s`", STR_ARGS(name),
                          value_label(names->arena, value));
            any = true;
        }
        told += any;
    }
}

static void put_launches(Buffer *out, FileNames *names, const FunctionDefinition *function) {
    int told = 0;
    for (LIST_EACH(int, i, names->snapshot->module->launches)) {
        const LaunchSite *site = &names->snapshot->module->launches.items[i];
        if (!function_is_same(names, site->kernel, function) || told++ >= LAUNCH_LIMIT) continue;
        Range range = snapshot_range(names->snapshot, site->range);
        SyntaxNode call = node_at(names->root, range.start, range.end);
        SyntaxNode grid = node_field(node_field(call, "function"), "subscript");
        Str text = text_of(names, grid);
        buffer_printf(out, "\n- launched on line %d", range_line(range));
        if (site->launcher) buffer_printf(out, " by `%.*s`", STR_ARGS(site->launcher->name));
        if (text.size && text.size < 60)
            buffer_printf(out, ", grid `%s`", code_visible(out->arena, text));
    }
}

/// The derivative that a comment gives.
static void put_given(Buffer *out, FileNames *names, const FunctionDefinition *function) {
    const GivenRule *rule = given_rule_of(names->arena, names->snapshot->module, function);
    if (!rule || rule->problem) return;
    const Source *source = rule->range.source;
    const char *slash = strrchr(source->path, '/');
    bool is_here = source == names->snapshot->source;
    buffer_printf(out, "\n\nIts derivative is given by hand in line %d%s%s: `%s`",
                  range_line(rule->range), is_here ? "" : " of ",
                  is_here ? ""
                  : slash ? slash + 1
                          : source->path,
                  code_visible(out->arena, given_rule_text(rule)));
}

static void put_signature(Buffer *out, FileNames *names, const FunctionDefinition *function,
                          const Kernel *kernel) {
    const char *back = kernel ? return_label(names, kernel) : NULL;
    buffer_printf(out, "```python\n(%s) %s%s%s\n```", role_of(function),
                  function_label(out->arena, function), back ? " -> " : "", back ? back : "");
    Str documentation = function_documentation(function);
    if (documentation.size) buffer_printf(out, "\n%s", stranger_text(out->arena, documentation));
    Range range = snapshot_range(names->snapshot, function->name_range);
    if (range.source && range.source != names->source)
        buffer_printf(out, "\n\nDefined in `%s`.",
                      code_visible(out->arena, str_from(range.source->path)));
}

static void hover_function(Buffer *out, FileNames *names, const Name *name, bool is_beside) {
    const FunctionDefinition *function = name->function;
    const Kernel *kernel = kernel_of_function(names, function);
    if (!is_beside) put_signature(out, names, function, kernel);
    put_given(out, names, function);
    if (!kernel) return;
    put_called_with(out, names, function);
    put_launches(out, names, function);
}

// --- Other names

static bool entry_is_constexpr(ScopeEntry entry) {
    return text_contains(entry.annotation, "constexpr") ||
           str_starts(str_trim(node_text(entry.module->source, entry.node)), "tl.constexpr(");
}

static void hover_global(Buffer *out, FileNames *names, const Name *name) {
    const ScopeEntry *entry = &name->entry;
    Str text = entry->module ? node_text(entry->module->source, entry->node) : (Str){"", 0};
    if (!text.size || text.size > 200 || !name->kernel) return;
    bool is_constexpr = entry_is_constexpr(*entry);
    buffer_printf(out, "```python\n(%s) %.*s = %s\n```",
                  is_constexpr ? "constexpr global" : "global", STR_ARGS(name->text),
                  fence_visible(out->arena, text));
    const Value *value = value_of_node(names, name->kernel, name->node);
    if (value && value->constant) describe_value(out, names, name->kernel, value);
}

static void hover_dtype(Buffer *out, DTypeCode code) {
    buffer_printf(out, "```python\n(dtype) tl.%s\n```\n%d bits", dtype_name(code),
                  dtype_bits(code));
    if (dtype_exponent_bits(code))
        buffer_printf(out, ": sign, %d of exponent, %d of mantissa", dtype_exponent_bits(code),
                      dtype_mantissa_bits(code));
    buffer_printf(out, ". Written `%s` in shapes.", dtype_short_name(code));
}

static void hover_keyword(Buffer *out, const Name *name) {
    int count;
    const OpParameter *parameters = op_parameters(name->op, &count);
    if (name->parameter < 0 || name->parameter >= count) return;
    const OpParameter *parameter = &parameters[name->parameter];
    buffer_printf(out, "```python\n(argument) %.*s", STR_ARGS(name->text));
    if (parameter->default_text.size)
        buffer_printf(out, "=%.*s", STR_ARGS(parameter->default_text));
    buffer_puts(out, "\n```");
    const char *doc = argument_documentation(name->op, name->text);
    if (doc) buffer_printf(out, "\n%s", doc);
    buffer_printf(out, "\n\nOf `%s`.", operation_label(out->arena, name->op, false));
    ArgumentValues values = argument_values(out->arena, name->op, name->text);
    for (LIST_EACH(int, i, values.list))
        buffer_printf(out, "\n- `%s`%s%s", values.list.items[i].text,
                      values.list.items[i].doc[0] ? ": " : "", values.list.items[i].doc);
}

static void hover_value(Buffer *out, FileNames *names, const Name *name) {
    const Value *value = value_of_node(names, name->kernel, name->node);
    Told told = told_at(names, name->kernel, name->range, value);
    if (!told.value) return;
    put_told(out, kind_word(told.value), name->text, &told);
    if (value_is_told(value)) describe_value(out, names, name->kernel, value);
}

static void hover_option(Buffer *out, const Name *name) {
    for (size_t i = 0; i < sizeof launch_options / sizeof *launch_options; i++)
        if (str_is(name->text, launch_options[i].name))
            buffer_printf(out, "```python\n(launch option) %s\n```\n%s", launch_options[i].name,
                          launch_options[i].doc);
}

/// The call in a kernel whose callee the name is, or a null node.
static SyntaxNode call_of_callee(const Name *name) {
    SyntaxNode node = node_parent(name->node);
    if (node_kind(node) == SYNTAX_ATTRIBUTE) node = node_parent(node);
    return name->kernel && node_kind(node) == SYNTAX_CALL ? node : (SyntaxNode){0};
}

/// What this call comes to, which is what an author looks for: before signature and documentation.
static void put_call_result(Buffer *out, FileNames *names, const Name *name) {
    SyntaxNode call = call_of_callee(name);
    if (node_is_null(call)) return;
    const Value *value = value_of_node(names, name->kernel, call);
    if (value_is_told(value) && value->type.kind != TYPE_NONE)
        buffer_printf(out, "Here: `%s`\n\n", value_label(out->arena, value));
}

/// What the call moves or computes: an estimate, so behind what is certain.
static void put_call_cost(Buffer *out, FileNames *names, const Name *name) {
    SyntaxNode call = call_of_callee(name);
    if (!node_is_null(call)) describe_cost(out, names, name->kernel, range_of(names, call));
}

static void hover_name(Buffer *out, FileNames *names, const Name *name, bool is_beside) {
    switch (name->kind) {
    case NAME_LOCAL:
    case NAME_ATTRIBUTE: hover_value(out, names, name); break;
    case NAME_PARAMETER: hover_parameter(out, names, name); break;
    case NAME_FUNCTION:
        put_call_result(out, names, name);
        hover_function(out, names, name, is_beside);
        put_call_cost(out, names, name);
        break;
    case NAME_GLOBAL: hover_global(out, names, name); break;
    case NAME_OPERATION:
    case NAME_METHOD:
        put_call_result(out, names, name);
        if (is_beside && name->kind == NAME_OPERATION && op_rows[name->op].kind != KIND_REMOVED) {
            while (out->size && out->data[out->size - 1] == '\n') out->size--;
            describe_operation_rule(out, name->op);
        } else
            describe_operation(out, name->op, name->kind == NAME_METHOD);
        put_call_cost(out, names, name);
        break;
    case NAME_OPERATION_KEYWORD: hover_keyword(out, name); break;
    case NAME_LAUNCH_OPTION: hover_option(out, name); break;
    case NAME_DTYPE: hover_dtype(out, name->dtype); break;
    case NAME_NAMESPACE:
    case NAME_NOTHING: break;
    }
}

// --- Statements and expressions

/// What each carried variable of the loop is.
static void hover_loop(Buffer *out, FileNames *names, const Kernel *kernel, SyntaxNode loop) {
    const Value *variable = value_of_node(names, kernel, node_field(loop, "left"));
    const Region *body = variable ? variable->region : NULL;
    if (!body || !body->parent) {
        if (variable && variable->constant)
            buffer_puts(out, "Unrolled: its bounds are known at compile time.");
        return;
    }
    for (int i = 1; i < body->argument_count; i++) {
        const Value *carried = body->arguments[i];
        if (!carried->name) continue;
        buffer_printf(out, "%s`%s: %s`", out->size ? "\n\n---\n\n" : "", carried->name,
                      value_label(out->arena, carried));
        describe_value(out, names, kernel, carried);
    }
    if (!out->size) buffer_puts(out, "The loop carries nothing: its iterations are independent.");
}

static void hover_condition(Buffer *out, FileNames *names, const Kernel *kernel,
                            SyntaxNode statement) {
    SyntaxNode condition = node_field(statement, "condition");
    const Value *value = value_of_node(names, kernel, condition);
    if (!value) return;
    const char *text = code_visible(out->arena, text_of(names, condition));
    if (value->constant)
        buffer_printf(out, "`%s` is `%s` in every instance of the kernel: %s.", text,
                      constant_label(out->arena, value->constant),
                      value->constant->integer ? "the other branch is not compiled"
                                               : "this branch is not compiled");
    else if (value->type.is_constexpr)
        buffer_printf(out, "`%s` is decided at compile time: one branch is compiled.", text);
    else
        buffer_printf(out, "`%s` is decided at run time: both branches are compiled.", text);
}

static Range hover_syntax(Buffer *out, FileNames *names, uint32_t offset) {
    SyntaxNode node = node_at(names->root, offset, offset);
    const Kernel *kernel = kernel_around(names, node);
    Range range = range_of(names, node);
    if (!kernel) return range;
    switch (node_kind(node)) {
    case SYNTAX_FOR:
        range.end = range.start + 3;
        if (offset <= range.end) hover_loop(out, names, kernel, node);
        break;
    case SYNTAX_IF:
    case SYNTAX_ELIF:
        range.end = range.start + (node_kind(node) == SYNTAX_IF ? 2 : 4);
        if (offset <= range.end) hover_condition(out, names, kernel, node);
        break;
    case SYNTAX_BINARY:
    case SYNTAX_BOOLEAN:
    case SYNTAX_UNARY:
    case SYNTAX_NOT:
    case SYNTAX_COMPARISON:
    case SYNTAX_CONDITIONAL:
    case SYNTAX_SUBSCRIPT: {
        const Value *value = value_of_node(names, kernel, node);
        Str text = text_of(names, node);
        if (!value_is_told(value)) break;
        bool is_short = text.size <= 60 && !memchr(text.data, '\n', text.size);
        put_headline(out, kind_word(value), is_short ? text : STR("…"),
                     value_label(out->arena, value));
        describe_value(out, names, kernel, value);
        break;
    }
    default: break;
    }
    return range;
}

static Hover hover_in(Arena *arena, const Snapshot *snapshot, uint32_t offset, bool is_beside) {
    FileNames names = names_of(arena, snapshot);
    Buffer out = buffer_new(arena);
    if (offset > snapshot->source->text.size) return (Hover){0};
    SyntaxNode identifier = identifier_at(&names, offset);
    Range range = {0};
    if (!node_is_null(identifier)) {
        Name name = name_resolve(&names, identifier);
        range = name.range;
        hover_name(&out, &names, &name, is_beside);
    } else if (!offset_is_text(&names, offset)) {
        range = hover_syntax(&out, &names, offset);
    }
    const char *text = buffer_text(&out);
    while (*text == '\n') text++;
    return (Hover){range, *text ? text : NULL};
}

Hover hover_at(Arena *arena, const Snapshot *snapshot, uint32_t offset) {
    return hover_in(arena, snapshot, offset, false);
}

Hover hover_beside(Arena *arena, const Snapshot *snapshot, uint32_t offset) {
    return hover_in(arena, snapshot, offset, true);
}
