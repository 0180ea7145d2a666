// From the text around a launch to the strides that may be 0 there: `stride = 0 if w.numel() == 1 else w.stride(0)`; and to
// the tensors that it asks for them.
//
// A launcher is evaluated on one way through its conditions; what the other ways pass is read here, by name.
#include "analysis/launches/launch_strides.h"

#include <string.h>

#include "analysis/host/host_expression.h"
#include "analysis/host_values/host.h"
#include "analysis/syntax/syntax_nodes.h"

/// What a launcher says about one of its variables, or about an expression.
typedef struct StrideText {
    const Source *source;
    Str name;
    bool is_zero;   // on some way
    bool is_asked;  // which way is taken does not tell whether there is a tensor
    bool is_conditional;
    const HostLaunch *launch;
} StrideText;

static bool text_holds(Str text, const char *word) {
    size_t size = strlen(word);
    for (size_t i = 0; i + size <= text.size; i++)
        if (memcmp(text.data + i, word, size) == 0) return true;
    return false;
}

/// Whether a condition may be about a tensor that is there. Of one that is absent, as `None` or by a flag that the kernel
/// gets, too, nothing is read, whatever its stride.
static bool may_be_present(const StrideText *text, SyntaxNode condition);

static bool visit_number(void *context, SyntaxNode node) {
    StrideText *text = context;
    SyntaxKind kind = node_kind(node);
    if (kind == SYNTAX_INTEGER) text->is_zero |= str_is(node_text(text->source, node), "0");
    if (kind == SYNTAX_CONDITIONAL) {
        SyntaxNode condition = node_child(node, 1);
        text->is_conditional = true;
        text->is_asked |= may_be_present(text, condition);
    }
    return kind != SYNTAX_CALL && kind != SYNTAX_SUBSCRIPT;
}

static void note_name(void *context, SyntaxNode identifier, bool is_item) {
    (void)is_item;
    StrideText *text = context;
    if (str_equal(node_text(text->source, identifier), text->name)) text->name.size = 0;
}

/// An assignment to the variable: a 0 in it, and the conditions around it.
static bool visit_assignment(void *context, SyntaxNode node) {
    StrideText *text = context;
    if (node_kind(node) != SYNTAX_ASSIGNMENT) return true;
    StrideText target = {.source = text->source, .name = text->name};
    syntax_targets(node_field(node, "left"), note_name, &target);
    if (target.name.size) return true;
    syntax_walk(node_field(node, "right"), visit_number, text);
    for (SyntaxNode at = node_parent(node); !node_is_null(at); at = node_parent(at)) {
        if (node_kind(at) == SYNTAX_FUNCTION) break;
        if (node_kind(at) != SYNTAX_IF && node_kind(at) != SYNTAX_ELIF) continue;
        SyntaxNode condition = node_field(at, "condition");
        text->is_conditional = true;
        text->is_asked |= may_be_present(text, condition);
    }
    return true;
}

/// Whether a flag is made from a comparison with None, or handed to the kernel.
typedef struct FlagSearch {
    const StrideText *text;
    bool is_told;
} FlagSearch;

static bool visit_presence(void *context, SyntaxNode node) {
    FlagSearch *search = context;
    const StrideText *text = search->text;
    if (node_kind(node) != SYNTAX_ASSIGNMENT) return true;
    StrideText target = {.source = text->source, .name = text->name};
    syntax_targets(node_field(node, "left"), note_name, &target);
    search->is_told |=
        !target.name.size && text_holds(node_text(text->source, node_field(node, "right")), "None");
    return true;
}

static bool visit_flag(void *context, SyntaxNode node) {
    FlagSearch *search = context;
    if (node_kind(node) != SYNTAX_IDENTIFIER) return true;
    const HostLaunch *launch = search->text->launch;
    StrideText flag = {.source = search->text->source};
    flag.name = node_text(flag.source, node);
    for (int i = 0; i < launch->argument_count; i++) {
        Range range = launch->arguments[i].range;
        search->is_told |= range.source == flag.source && str_equal(source_slice(range), flag.name);
    }
    FlagSearch assigned = {.text = &flag};
    syntax_walk(launch->site->launcher->body, visit_presence, &assigned);
    search->is_told |= assigned.is_told;
    return true;
}

static bool may_be_present(const StrideText *text, SyntaxNode condition) {
    static const char *const questions[] = {".shape", ".dim()", ".ndim",   ".numel()",
                                            ".size",  "len(",   ".stride", ".is_contiguous"};
    Str words = node_text(text->source, condition);
    if (text_holds(words, "None")) return false;
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
        if (text_holds(words, questions[i])) return true;
    FlagSearch search = {.text = text};
    syntax_walk(condition, visit_flag, &search);
    return !search.is_told;
}

HostZero host_argument_zero(const HostLaunch *launch, int parameter) {
    const HostArgument *argument = &launch->arguments[parameter];
    const FunctionDefinition *launcher = launch->site->launcher;
    if (!launcher || argument->range.source != launcher->module->source) return HOST_ZERO_NEVER;
    if (argument->is_default || argument->is_tuned) return HOST_ZERO_NEVER;
    StrideText text = {.source = argument->range.source, .launch = launch};
    SyntaxNode node =
        node_at(syntax_root(launcher->module->tree), argument->range.start, argument->range.end);
    if (host_is_spread(node)) node = node_child(node, 0);
    if (node_kind(node) == SYNTAX_SUBSCRIPT) node = node_field(node, "value");  // of a tuple
    if (node_kind(node) == SYNTAX_IDENTIFIER) {
        text.name = node_text(text.source, node);
        syntax_walk(launcher->body, visit_assignment, &text);
    } else {
        syntax_walk(node, visit_number, &text);
    }
    if (!text.is_zero) return HOST_ZERO_NEVER;
    return text.is_asked         ? HOST_ZERO_PRESENT
           : text.is_conditional ? HOST_ZERO_ABSENT
                                 : HOST_ZERO_NEVER;
}

/// The expression that a launch passes for a parameter; a null node where it does not stand in the launcher.
static SyntaxNode argument_node(const HostLaunch *launch, int parameter) {
    const HostArgument *argument = &launch->arguments[parameter];
    const FunctionDefinition *launcher = launch->site->launcher;
    if (!launcher || argument->range.source != launcher->module->source) return (SyntaxNode){0};
    if (argument->is_default || argument->is_tuned) return (SyntaxNode){0};
    return node_at(syntax_root(launcher->module->tree), argument->range.start, argument->range.end);
}

/// The number between the brackets of `y.stride(-1)`; false where there is none, or something else.
static bool axis_asked(const Source *source, SyntaxNode list, int *axis) {
    if (node_child_count(list) != 1) return false;
    Str text = node_text(source, node_child(list, 0));
    bool is_behind = str_starts(text, "-");
    size_t digit = is_behind;
    if (text.size != digit + 1 || text.data[digit] < '0' || text.data[digit] > '9') return false;
    *axis = text.data[digit] - '0';
    if (is_behind) *axis = -*axis;
    return true;
}

int host_argument_stride_axis(const HostLaunch *launch, int parameter, int tensor) {
    int count = launch->argument_count;  // 0 where the evaluation has not come as far as the launch
    if (tensor < 0 || tensor >= count || parameter < 0 || parameter >= count) return -1;
    const HostValue *value = launch->arguments[tensor].value;
    SyntaxNode node = argument_node(launch, parameter), name = argument_node(launch, tensor);
    if (node_is_null(node) || node_is_null(name) || !value || value->kind != HOST_TENSOR) return -1;
    const Source *source = launch->site->launcher->module->source;
    bool is_spread = host_is_spread(node);
    if (is_spread) node = node_child(node, 0);
    SyntaxNode function = node_field(node, "function"), list = node_field(node, "arguments");
    if (node_kind(name) != SYNTAX_IDENTIFIER || node_kind(node) != SYNTAX_CALL ||
        node_kind(function) != SYNTAX_ATTRIBUTE ||
        !str_is(node_text(source, node_field(function, "attribute")), "stride") ||
        !str_equal(node_text(source, node_field(function, "object")), node_text(source, name)))
        return -1;
    int axis = 0;
    if (!is_spread) {
        if (!axis_asked(source, list, &axis)) return -1;
        if (axis < 0) axis += value->tensor->rank;
    } else {
        if (node_child_count(list)) return -1;
        uint32_t start = launch->arguments[parameter].range.start;
        while (axis < parameter && launch->arguments[parameter - axis - 1].range.start == start)
            axis++;
    }
    return axis >= 0 && axis < value->tensor->rank ? axis : -1;
}

/* ---- what callers of the launcher pass ---- */

typedef struct TensorCallers {
    const Module *module;
    const FunctionDefinition *called;
    int parameter;
    SyntaxNode list;  // of the arguments of the call that is looked at
    int calls, asked;
} TensorCallers;

static Str text_of(const TensorCallers *callers, SyntaxNode node) {
    return node_text(callers->module->source, node);
}

static bool is_attribute(const TensorCallers *callers, SyntaxNode node, const char *name) {
    return !node_is_null(node) && node_kind(node) == SYNTAX_ATTRIBUTE &&
           str_is(text_of(callers, node_field(node, "attribute")), name);
}

/// Whether a call passes this very expression.
static bool is_passed(const TensorCallers *callers, SyntaxNode tensor) {
    for (uint32_t i = 0; i < node_child_count(callers->list); i++) {
        SyntaxNode child = node_child(callers->list, i);
        if (node_kind(child) == SYNTAX_KEYWORD_ARGUMENT) child = node_field(child, "value");
        if (str_equal(text_of(callers, child), text_of(callers, tensor))) return true;
    }
    return false;
}

/// `x.shape[1]`, `x.size(1)`, and `x.stride(0)`: that of an inner axis may be 1.
static bool is_of_tensor(const TensorCallers *callers, SyntaxNode node) {
    if (node_is_null(node)) return false;
    if (node_kind(node) == SYNTAX_SUBSCRIPT) {
        SyntaxNode all = node_field(node, "value");
        return is_attribute(callers, all, "shape") && is_passed(callers, node_field(all, "object"));
    }
    if (node_kind(node) != SYNTAX_CALL) return false;
    SyntaxNode method = node_field(node, "function"), list = node_field(node, "arguments");
    bool is_size = is_attribute(callers, method, "size"),
         is_stride = is_attribute(callers, method, "stride");
    if ((!is_size && !is_stride) || node_is_null(list) || node_child_count(list) != 1) return false;
    return (is_size || str_is(text_of(callers, node_child(list, 0)), "0")) &&
           is_passed(callers, node_field(method, "object"));
}

typedef struct NumberBindings {
    const TensorCallers *callers;
    SyntaxNode function;  // nested functions have names of their own
    Str name;
    int count, asked;
} NumberBindings;

static bool is_among(const NumberBindings *bindings, SyntaxNode tuple) {
    for (uint32_t i = 0; i < node_child_count(tuple); i++)
        if (str_equal(text_of(bindings->callers, node_child(tuple, i)), bindings->name))
            return true;
    return false;
}

static bool visit_binding(void *context, SyntaxNode node) {
    NumberBindings *bindings = context;
    SyntaxKind kind = node_kind(node);
    if (kind == SYNTAX_FUNCTION && !node_same(node, bindings->function)) return false;
    SyntaxNode left = node_field(node, "left");
    if (node_is_null(left)) return true;
    const TensorCallers *callers = bindings->callers;
    SyntaxNode right = node_field(node, "right");
    bool is_whole = str_equal(text_of(callers, left), bindings->name);
    if (!is_whole && !is_among(bindings, left)) return true;
    bool is_asked = is_whole ? is_of_tensor(callers, right)
                             : is_attribute(callers, right, "shape") &&
                                   is_passed(callers, node_field(right, "object"));
    bindings->count++;
    bindings->asked += kind == SYNTAX_ASSIGNMENT && is_asked;
    return true;
}

/// Whether what a call passes is a number of a tensor that it passes as well, or a name of one.
static bool is_asked(const TensorCallers *callers, SyntaxNode node) {
    if (is_of_tensor(callers, node)) return true;
    if (node_is_null(node) || node_kind(node) != SYNTAX_IDENTIFIER) return false;
    SyntaxNode function = node;
    while (!node_is_null(function) && node_kind(function) != SYNTAX_FUNCTION)
        function = node_parent(function);
    if (node_is_null(function)) return false;
    NumberBindings bindings = {
        .callers = callers, .function = function, .name = text_of(callers, node)};
    syntax_walk(function, visit_binding, &bindings);
    return bindings.count > 0 && bindings.asked == bindings.count;
}

static SyntaxNode passed_for(const TensorCallers *callers, SyntaxNode list) {
    int position = 0;
    for (uint32_t i = 0; i < node_child_count(list); i++) {
        SyntaxNode child = node_child(list, i);
        if (node_kind(child) == SYNTAX_COMMENT) continue;
        if (node_kind(child) == SYNTAX_KEYWORD_ARGUMENT) {
            if (str_equal(text_of(callers, node_field(child, "name")),
                          callers->called->parameters[callers->parameter].name))
                return node_field(child, "value");
        } else if (position++ == callers->parameter) {
            return child;
        }
    }
    return (SyntaxNode){0};
}

static bool visit_call(void *context, SyntaxNode node) {
    TensorCallers *callers = context;
    if (node_kind(node) != SYNTAX_CALL) return true;
    SyntaxNode function = node_field(node, "function");
    if (!str_equal(text_of(callers, function), callers->called->name)) return true;
    callers->calls++;
    callers->list = node_field(node, "arguments");
    callers->asked += is_asked(callers, passed_for(callers, callers->list));
    return true;
}

bool callers_ask_tensors(const HostLaunch *launch, const HostValue *value) {
    const FunctionDefinition *launcher = launch->site->launcher;
    if (!launcher || !value || value->kind != HOST_INPUT) return false;
    TensorCallers callers = {.module = launcher->module, .called = launcher, .parameter = -1};
    for (int i = 0; i < launcher->parameter_count; i++)
        if (str_is(launcher->parameters[i].name, value->input->name)) callers.parameter = i;
    if (callers.parameter < 0) return false;
    syntax_walk(syntax_root(launcher->module->tree), visit_call, &callers);
    return callers.calls > 0 && callers.asked == callers.calls;
}
