// The call at the cursor: its parameters, and which of them is being written.
#include "features/describe/describe.h"
#include "features/features.h"
#include "features/names/arguments.h"
#include "features/names/scan.h"
#include "features/names/values.h"

static void parameter_put(Arena *arena, Signature *signature, Buffer *label, bool *any,
                          const char *text, const char *documentation) {
    if (*any) buffer_puts(label, ", ");
    *any = true;
    SignatureParameter parameter = {.start = (uint32_t)label->size, .documentation = documentation};
    buffer_puts(label, text);
    parameter.end = (uint32_t)label->size;
    LIST_PUSH(arena, &signature->parameters, parameter);
}

typedef struct ArgumentPosition {
    Str keyword;  // of the argument at the cursor, size 0: by position
    int index;
} ArgumentPosition;

static const char *values_text(Arena *arena, OpCode code, Str parameter) {
    const char *doc = argument_documentation(code, parameter);
    ArgumentValues values = argument_values(arena, code, parameter);
    if (!values.list.count) return doc;
    Buffer out = buffer_new(arena);
    if (doc) buffer_puts(&out, doc);
    for (LIST_EACH(int, i, values.list))
        buffer_printf(&out, "%s`%s`",
                      i     ? ", "
                      : doc ? " One of "
                            : "One of ",
                      values.list.items[i].text);
    return buffer_text(&out);
}

static Signature signature_operation(Arena *arena, const Callee *callee,
                                     ArgumentPosition position) {
    Signature signature = {.active = -1};
    bool is_method = callee->kind == CALLEE_METHOD;
    const OpRow *row = &op_rows[callee->op];
    Str whole = str_from(operation_label(arena, callee->op, is_method));
    size_t open = 0;
    while (open < whole.size && whole.data[open] != '(') open++;
    Buffer label = buffer_new(arena);
    buffer_add(&label, whole.data, open + 1);
    int count;
    const OpParameter *parameters = op_parameters(callee->op, &count);
    bool any = false;
    for (int i = is_method ? 1 : 0; i < count; i++) {
        const OpParameter *parameter = &parameters[i];
        int shown = signature.parameters.count;
        const char *text =
            arena_printf(arena, parameter->default_text.size ? "%s%.*s=%.*s" : "%s%.*s%.*s",
                         parameter->is_variadic ? "*" : "", STR_ARGS(parameter->name),
                         STR_ARGS(parameter->default_text));
        parameter_put(arena, &signature, &label, &any, text,
                      values_text(arena, callee->op, parameter->name));
        bool is_active = position.keyword.size
                             ? str_equal(position.keyword, parameter->name)
                             : (shown == position.index && !parameter->is_keyword_only) ||
                                   (parameter->is_variadic && shown <= position.index);
        if (is_active) signature.active = shown;
    }
    buffer_puts(&label, ")");
    signature.label = buffer_text(&label);
    signature.documentation = row->doc;
    return signature;
}

static Signature signature_function(Arena *arena, FileNames *names, const Callee *callee,
                                    ArgumentPosition position) {
    Signature signature = {.active = -1};
    const FunctionDefinition *function = callee->function;
    const Kernel *kernel = kernel_of_function(names, function);
    Buffer label = buffer_new(arena);
    buffer_printf(&label, callee->kind == CALLEE_LAUNCH ? "%.*s[grid](" : "%.*s(",
                  STR_ARGS(function->name));
    bool any = false;
    for (int i = 0; i < function->parameter_count; i++) {
        const ParameterDefinition *parameter = &function->parameters[i];
        const Value *value = kernel && kernel->function && i < kernel->function->parameter_count
                                 ? kernel->function->parameters[i].value
                                 : NULL;
        const char *type = parameter->is_constexpr ? "constexpr"
                           : value_is_told(value)  ? value_label(arena, value)
                                                   : NULL;
        Buffer text = buffer_new(arena);
        buffer_printf(&text, "%s%.*s", parameter->is_variadic ? "*" : "",
                      STR_ARGS(parameter->name));
        if (type) buffer_printf(&text, ": %s", type);
        if (parameter->default_text.size)
            buffer_printf(&text, "%s%.*s", type ? " = " : "=", STR_ARGS(parameter->default_text));
        bool is_tuned = false;
        for (LIST_EACH(int, k, function->tuned_names))
            is_tuned = is_tuned || str_equal(function->tuned_names.items[k], parameter->name);
        parameter_put(arena, &signature, &label, &any, buffer_text(&text),
                      is_tuned ? "Set by autotune or heuristics: not passed." : NULL);
        bool is_active = position.keyword.size ? str_equal(position.keyword, parameter->name)
                                               : i == position.index;
        if (is_active) signature.active = i;
    }
    const char *back = kernel ? return_label(names, kernel) : NULL;
    buffer_printf(&label, ")%s%s", back ? " -> " : "", back ? back : "");
    signature.label = buffer_text(&label);
    Str documentation = function_documentation(function);
    signature.documentation = documentation.size ? stranger_text(arena, documentation) : NULL;
    return signature;
}

Signature signature_at(Arena *arena, const Snapshot *snapshot, uint32_t offset) {
    Signature nothing = {.active = -1};
    if (offset > snapshot->source->text.size) return nothing;
    FileNames names = names_of(arena, snapshot);
    Scan scan = scan_to(&names, offset);
    if (scan.in_comment) return nothing;
    const Kernel *kernel = kernel_at(&names, offset);
    OpenBracket open = {0};
    Callee callee = callee_around(&names, kernel, &scan, &open);
    ArgumentPosition position = {keyword_of(snapshot->source, open.item_start, offset),
                                 open.commas};
    switch (callee.kind) {
    case CALLEE_OPERATION:
    case CALLEE_METHOD: return signature_operation(arena, &callee, position);
    case CALLEE_FUNCTION:
        // What host code calls like a function is no launch: Triton refuses it, and says so.
    case CALLEE_LAUNCH: return signature_function(arena, &names, &callee, position);
    case CALLEE_NONE:
    case CALLEE_DECORATOR: break;
    }
    return nothing;
}
