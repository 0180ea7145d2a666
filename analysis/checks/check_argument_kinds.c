// From what a launch passes, as it is written, to arguments of another kind than the kernel takes: tuples and tensors for
// numbers, numbers for pointers, methods that are not called.
#include "analysis/checks/check_arguments.h"
#include "analysis/host_values/torch.h"
#include "analysis/syntax/syntax_nodes.h"

typedef enum ArgumentKind {
    KIND_UNCLEAR,
    KIND_NUMBER,
    KIND_TENSOR,
    KIND_TUPLE,
    KIND_TEXT,
    KIND_METHOD,
} ArgumentKind;

static const char *const kind_names[] = {"",        "a number", "a tensor",
                                         "a tuple", "a text",   "a method that is not called"};

static bool is_any(Str text, const char *const *words, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (str_is(text, words[i])) return true;
    return false;
}

/// What a call of a method of a tensor, or of torch, makes.
static ArgumentKind kind_of_call(const Source *source, SyntaxNode call) {
    SyntaxNode function = node_field(call, "function");
    if (node_kind(function) != SYNTAX_ATTRIBUTE) return KIND_UNCLEAR;
    Str name = node_text(source, node_field(function, "attribute"));
    uint32_t count = node_child_count(node_field(call, "arguments"));
    if (str_is(node_text(source, node_field(function, "object")), "torch"))
        return torch_allocation(source, call) ? KIND_TENSOR : KIND_UNCLEAR;
    if (str_is(name, "numel") && count == 0) return KIND_NUMBER;
    if (!str_is(name, "stride") && !str_is(name, "size")) return KIND_UNCLEAR;
    return count == 0 ? KIND_TUPLE : count == 1 ? KIND_NUMBER : KIND_UNCLEAR;
}

static bool is_shape(const Source *source, SyntaxNode node) {
    return node_kind(node) == SYNTAX_ATTRIBUTE &&
           str_is(node_text(source, node_field(node, "attribute")), "shape");
}

static ArgumentKind kind_of(const Source *source, const FunctionDefinition *launcher,
                            SyntaxNode value) {
    static const char *const methods[] = {"numel", "data_ptr", "element_size", "contiguous"};
    switch (node_kind(value)) {
    case SYNTAX_INTEGER:
    case SYNTAX_FLOAT: return KIND_NUMBER;
    case SYNTAX_STRING: return KIND_TEXT;
    case SYNTAX_LIST: return KIND_TUPLE;
    case SYNTAX_CALL: return kind_of_call(source, value);
    case SYNTAX_SUBSCRIPT: {
        SyntaxNode index = node_child(value, 1);
        bool is_axis = node_kind(index) == SYNTAX_INTEGER || node_kind(index) == SYNTAX_UNARY;
        return is_axis && is_shape(source, node_child(value, 0)) ? KIND_NUMBER : KIND_UNCLEAR;
    }
    case SYNTAX_ATTRIBUTE: {
        Str name = node_text(source, node_field(value, "attribute"));
        bool is_method = is_any(name, methods, sizeof methods / sizeof *methods) &&
                         node_kind(node_field(value, "object")) == SYNTAX_IDENTIFIER &&
                         !str_is(node_text(source, node_field(value, "object")), "self");
        return is_method ? KIND_METHOD : is_shape(source, value) ? KIND_TUPLE : KIND_UNCLEAR;
    }
    case SYNTAX_IDENTIFIER: {
        SyntaxNode bound = launcher_binding(launcher, node_text(source, value));
        bool is_made = !node_is_null(bound) && node_kind(bound) == SYNTAX_CALL;
        return is_made && kind_of_call(source, bound) == KIND_TENSOR ? KIND_TENSOR : KIND_UNCLEAR;
    }
    default: return KIND_UNCLEAR;
    }
}

/// Whether the kernel computes with the parameter as only numbers can.
static bool is_number(const Check *check, const Parameter *parameter) {
    if (parameter->is_constexpr || parameter->value->type.kind != TYPE_NUMBER) return false;
    const Uses *uses = check_uses(check, parameter->value);
    for (LIST_EACH(int, i, uses->list)) {
        OpCode code = uses->list.items[i]->code;
        bool is_numeric = op_is_ordering(code) || code == OP_MUL || code == OP_FLOORDIV;
        if ((is_numeric || code == OP_MOD) && !check_is_optional(uses->list.items[i])) return true;
    }
    return false;
}

/// Whether the kernel loads or stores there, whatever its flags are.
static bool is_pointer(const Check *check, const Parameter *parameter) {
    for (LIST_EACH(int, i, check->memory)) {
        const Access *access = check->memory.items[i];
        if (access->parameter == parameter->value && !check_is_optional(access->op)) return true;
    }
    return false;
}

static void check_kind(Check *check, const LaunchSite *site, const CheckedArgument *argument,
                       const Parameter *parameter) {
    const Source *source = site->kernel->module->source;
    bool takes_pointer = is_pointer(check, parameter);
    if (!takes_pointer && !is_number(check, parameter)) return;
    if (takes_pointer && node_kind(argument->value) == SYNTAX_IDENTIFIER) return;
    ArgumentKind kind = kind_of(source, site->launcher, argument->value);
    bool fits = kind == KIND_UNCLEAR || (takes_pointer && kind == KIND_TENSOR);
    if (!fits && takes_pointer)
        check_report_at(check, DIAGNOSTIC_LAUNCH_ARGUMENTS, node_range(source, argument->value),
                        "%s is a pointer, and this is %s", parameter->name, kind_names[kind]);
    else if (!takes_pointer && kind > KIND_NUMBER)
        check_report_at(check, DIAGNOSTIC_LAUNCH_ARGUMENTS, node_range(source, argument->value),
                        "%s is a number, and this is %s", parameter->name, kind_names[kind]);
}

void check_argument_kinds(Check *check) {
    const FunctionDefinition *kernel = check->kernel->definition;
    const Module *module = kernel->module;
    for (LIST_EACH(int, i, module->launches)) {
        const LaunchSite *site = &module->launches.items[i];
        if (site->kernel != kernel || node_has_error(site->call)) continue;
        CheckedArguments arguments =
            arguments_read(check, module->source, site->launcher, site->call);
        for (int p = 0; p < check->function->parameter_count && p < kernel->parameter_count; p++) {
            const CheckedArgument *argument = arguments_find(kernel, &arguments, p);
            if (arguments.has_splat || !argument || node_is_null(argument->value)) continue;
            check_kind(check, site, argument, &check->function->parameters[p]);
        }
    }
}
