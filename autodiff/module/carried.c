// A module of ours read back: the file that it carries, without what was derived from it.
#include "autodiff/module/carried.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/syntax/syntax_nodes.h"
#include "autodiff/emit/emitted.h"
#include "autodiff/module/helpers.h"
#include "autodiff/module/module_items.h"

// --- Classes that we wrote

typedef struct ClassReading {
    Arena *arena;
    const Source *source;
    CarriedFunction *found;
} ClassReading;

static void take_parameters(ClassReading *search, SyntaxNode parameters) {
    SyntaxNode *children;
    int count = node_children(search->arena, parameters, &children);
    for (int i = 1; i < count; i++)  // behind the context
        if (node_kind(children[i]) == SYNTAX_IDENTIFIER)
            LIST_PUSH(search->arena, &search->found->passed,
                      node_text(search->source, children[i]));
}

/// Takes the parameters of `forward`, and the name that it launches.
static bool visit_class(void *context, SyntaxNode node) {
    ClassReading *search = context;
    CarriedFunction *found = search->found;
    if (node_kind(node) == SYNTAX_FUNCTION) {
        bool is_forward = str_is(node_text(search->source, node_field(node, "name")), "forward");
        if (is_forward) take_parameters(search, node_field(node, "parameters"));
        return is_forward;
    }
    SyntaxNode callee = node_field(node, "function");
    if (node_kind(node) == SYNTAX_CALL && node_kind(callee) == SYNTAX_SUBSCRIPT &&
        !found->callee.size)
        found->callee = node_text(search->source, node_field(callee, "value"));
    return true;
}

/// Whether the statement is a class that we wrote, by its first sentence.
static bool function_of(Arena *arena, const Source *source, const Item *item,
                        CarriedFunction *found) {
    static const char sentence[] = "\"\"\"A launch of `";
    SyntaxNode class = item_class(item);
    if (node_is_null(class)) return false;
    Str text = source_slice(item->range);
    const char *at = strstr(str_dup(arena, text), sentence);
    if (!at) return false;
    *found = (CarriedFunction){.name = node_text(source, node_field(class, "name"))};
    at += sizeof sentence - 1;
    found->kernel = (Str){at, strcspn(at, "`")};
    ClassReading search = {arena, source, found};
    syntax_walk(class, visit_class, &search);
    return found->callee.size && found->passed.count;
}

static const CarriedFunction *function_named(const CarriedFile *carried, Str name) {
    for (LIST_EACH(int, i, carried->functions))
        if (str_equal(carried->functions.items[i].name, name)) return &carried->functions.items[i];
    return NULL;
}

// --- Launches in the place of their calls

/// `Function.apply(...)` or `Function.launch(...)` in a statement of the user's.
typedef struct CarriedCall {
    const CarriedFunction *of;
    bool is_apply;
    SyntaxNode *arguments;
    int argument_count;
    Range range;
} CarriedCall;

typedef struct CarriedCalls {
    Arena *arena;
    const Source *source;
    const CarriedFile *carried;
    LIST(CarriedCall) calls;
} CarriedCalls;

static bool visit_call(void *context, SyntaxNode node) {
    CarriedCalls *search = context;
    SyntaxNode callee = node_field(node, "function");
    if (node_kind(node) != SYNTAX_CALL || node_kind(callee) != SYNTAX_ATTRIBUTE) return true;
    Str method = node_text(search->source, node_field(callee, "attribute"));
    const CarriedFunction *of =
        function_named(search->carried, node_text(search->source, node_field(callee, "object")));
    bool is_apply = str_is(method, "apply");
    if (!of || (!is_apply && !str_is(method, "launch"))) return true;
    CarriedCall call = {.of = of, .is_apply = is_apply};
    call.range = node_range(search->source, node);
    call.argument_count =
        node_children(search->arena, node_field(node, "arguments"), &call.arguments);
    SyntaxNode parent = node_parent(node);
    // Of what the Function returns nothing is the launch's: the tensors were there before.
    if (is_apply && node_kind(parent) == SYNTAX_ASSIGNMENT)
        call.range = node_range(search->source, parent);
    LIST_PUSH(search->arena, &search->calls, call);
    return false;
}

/// `{"num_warps": 8}` as `, num_warps=8`.
static void put_options(Buffer *out, const Source *source, SyntaxNode options) {
    for (uint32_t i = 0; i < node_child_count(options); i++) {
        SyntaxNode pair = node_child(options, i);
        Str key = node_text(source, node_field(pair, "key"));
        Str value = node_text(source, node_field(pair, "value"));
        if (key.size > 2)
            buffer_printf(out, ", %.*s=%.*s", (int)key.size - 2, key.data + 1, STR_ARGS(value));
    }
}

static const ParameterDefinition *parameter_named(const FunctionDefinition *kernel, Str name) {
    for (int p = 0; p < kernel->parameter_count; p++)
        if (str_equal(kernel->parameters[p].name, name)) return &kernel->parameters[p];
    return NULL;
}

/// Whether the argument stands where the kernel has its parameter: then it is passed so, as authors do, up to the first constexpr.
static bool is_in_place(const FunctionDefinition *kernel, Str name, int place) {
    return place < kernel->parameter_count && !kernel->parameters[place].is_constexpr &&
           str_equal(kernel->parameters[place].name, name);
}

static bool is_spread(const Source *source, SyntaxNode argument) {
    return *node_text(source, argument).data == '*';
}

/// The name that `forward` has for an argument; behind `*x`, which stands for some, counted from the end. Empty where nobody knows.
static Str passed_name(const Source *source, const CarriedCall *call, int argument) {
    const CarriedNames *names = &call->of->passed;
    int place = argument;
    for (int i = 1; i < call->argument_count; i++) {
        if (!is_spread(source, call->arguments[i])) continue;
        if (i >= argument) return i == argument ? STR("") : names->items[argument];
        place = names->count - (call->argument_count - argument);
    }
    return place >= 0 && place < names->count ? names->items[place] : STR("");
}

/// `kernel[grid](x, BLOCK=64)`
static void put_launch(Buffer *out, const Source *source, const CarriedCall *call,
                       const FunctionDefinition *kernel) {
    Buffer rest = buffer_new(out->arena), options = buffer_new(out->arena);
    bool by_name = false, has_spread = false;
    for (int i = 1, first = 1; i < call->argument_count; i++) {
        SyntaxNode argument = call->arguments[i];
        Str text = node_text(source, argument);
        Str name = call->is_apply ? passed_name(source, call, i) : STR("");
        const ParameterDefinition *parameter = parameter_named(kernel, name);
        if (call->is_apply && i == 1 && !parameter && *text.data == '{') {
            put_options(&options, source, argument);
            first = 2;
            continue;
        }
        has_spread = has_spread || is_spread(source, argument);
        by_name = by_name || (parameter && (has_spread ? parameter->is_constexpr
                                                       : !is_in_place(kernel, name, i - first)));
        if (by_name && parameter)
            buffer_printf(&rest, ", %.*s=%.*s", STR_ARGS(name), STR_ARGS(text));
        else
            buffer_printf(&rest, ", %.*s", STR_ARGS(text));
    }
    buffer_puts(&rest, buffer_text(&options));
    const char *arguments = buffer_text(&rest);
    buffer_printf(out, "%.*s[%.*s](%s)", STR_ARGS(call->of->callee),
                  STR_ARGS(node_text(source, call->arguments[0])), *arguments ? arguments + 2 : "");
}

static const FunctionDefinition *kernel_named(const Module *module, Str name) {
    for (LIST_EACH(int, i, module->functions)) {
        const FunctionDefinition *function = module->functions.items[i];
        if (function->is_jit && str_equal(function->name, name)) return function;
    }
    return NULL;
}

static int by_place(const void *a, const void *b) {
    const CarriedCall *left = a, *right = b;
    return (left->range.start > right->range.start) - (left->range.start < right->range.start);
}

/// The statement with launches where it calls Functions.
static void put_statement(Buffer *out, const Module *module, const CarriedFile *carried,
                          const Item *item, Error *refusal) {
    CarriedCalls search = {.arena = out->arena, .source = module->source, .carried = carried};
    syntax_walk(item->node, visit_call, &search);
    if (search.calls.count)
        qsort(search.calls.items, (size_t)search.calls.count, sizeof *search.calls.items, by_place);
    uint32_t at = item->range.start;
    const char *text = module->source->text.data;
    for (LIST_EACH(int, i, search.calls)) {
        const CarriedCall *call = &search.calls.items[i];
        const FunctionDefinition *kernel = kernel_named(module, call->of->kernel);
        if (!kernel || !call->argument_count) {
            *refusal = arena_printf(out->arena, "what `%.*s` launches is not in it",
                                    STR_ARGS(call->of->name));
            return;
        }
        buffer_add(out, text + at, call->range.start - at);
        put_launch(out, module->source, call, kernel);
        at = call->range.end;
    }
    buffer_add(out, text + at, item->range.end - at);
}

// --- The whole file

static bool names_has(const CarriedNames *names, Str name) {
    for (LIST_EACH(int, i, *names))
        if (str_equal(names->items[i], name)) return true;
    return false;
}

static bool is_docstring(const Item *item) {
    return node_kind(item->node) == SYNTAX_EXPRESSION_STATEMENT &&
           node_kind(node_child(item->node, 0)) == SYNTAX_STRING;
}

/// Whether we wrote the statement: a backward kernel, a Function, a helper, the header.
static bool is_derived(Arena *arena, const Snapshot *module, const Item *item) {
    CarriedFunction ignored;
    if (is_docstring(item) || function_of(arena, module->source, item, &ignored)) return true;
    SyntaxNode class = item_class(item);
    Str name = item->function         ? item->function->name
               : !node_is_null(class) ? node_text(module->source, node_field(class, "name"))
                                      : STR("");
    if (helper_is_named(name)) return true;
    if (!item->function) return false;
    const Kernel *kernel = snapshot_find_kernel(module, item->function->name);
    return kernel && kernel_of_backward(module, kernel);
}

/// Forward kernels of the backwards that stand in the text.
static void find_kernels(Arena *arena, const Snapshot *module, CarriedFile *carried) {
    for (LIST_EACH(int, i, module->kernels)) {
        const Kernel *of = kernel_of_backward(module, &module->kernels.items[i]);
        if (of && !names_has(&carried->kernels, of->definition->name))
            LIST_PUSH(arena, &carried->kernels, of->definition->name);
    }
}

static CarriedFile read_functions(Arena *arena, const Snapshot *module, const Items *items) {
    CarriedFile carried = {0};
    for (LIST_EACH(int, i, *items)) {
        CarriedFunction function;
        if (function_of(arena, module->source, &items->items[i], &function))
            LIST_PUSH(arena, &carried.functions, function);
    }
    find_kernels(arena, module, &carried);
    return carried;
}

CarriedFile module_carried(Arena *arena, const Snapshot *module) {
    Items items = module_items(arena, module->module);
    CarriedFile carried = read_functions(arena, module, &items);
    if (module->module->has_syntax_errors)
        carried.refusal = "it is no Python as it stands";
    else if (!carried.kernels.count)
        carried.refusal = "it has no forward kernel with a backward";
    Buffer out = buffer_new(arena);
    uint32_t at = 0;
    const char *text = module->source->text.data;
    for (LIST_EACH(int, i, items)) {
        const Item *item = &items.items[i];
        if (carried.refusal) return carried;
        // What stands between two statements: empty lines, comments.
        if (item->range.start > at) buffer_add(&out, text + at, item->range.start - at);
        at = item->range.end;
        if (!is_derived(arena, module, item))
            put_statement(&out, module->module, &carried, item, &carried.refusal);
    }
    buffer_add(&out, text + at, module->source->text.size - at);
    carried.text = carried.refusal ? NULL : buffer_text(&out);
    return carried;
}

// --- What nobody can tell

/// The text without blanks and without what a formatter puts at the ends of lists.
static const char *squeezed(Arena *arena, Str text) {
    Buffer out = buffer_new(arena);
    for (size_t i = 0; i < text.size; i++)
        if (!strchr(" \t\r\n,()", text.data[i])) buffer_putc(&out, text.data[i]);
    return buffer_text(&out);
}

/// What a statement says apart from what its launches pass for parameters that only one of two kernels has.
static const char *statement_key(Arena *arena, const Snapshot *snapshot, const Items *items,
                                 const Item *item, const CarriedFile *other) {
    CarriedFile own = read_functions(arena, snapshot, items);
    CarriedCalls search = {.arena = arena, .source = snapshot->source, .carried = &own};
    syntax_walk(item->node, visit_call, &search);
    if (search.calls.count)
        qsort(search.calls.items, (size_t)search.calls.count, sizeof *search.calls.items, by_place);
    Buffer out = buffer_new(arena);
    uint32_t at = item->range.start;
    for (LIST_EACH(int, i, search.calls)) {
        const CarriedCall *call = &search.calls.items[i];
        const CarriedFunction *twin = function_named(other, call->of->name);
        buffer_add(&out, snapshot->source->text.data + at, call->range.start - at);
        buffer_printf(&out, "@%.*s", STR_ARGS(call->of->name));
        for (int k = 0; k < call->argument_count; k++) {
            bool has_name = call->is_apply && k < call->of->passed.count;
            Str name = has_name ? call->of->passed.items[k] : STR("");
            if (has_name && twin && !names_has(&twin->passed, name)) continue;
            buffer_printf(&out, ";%.*s=%.*s", STR_ARGS(name),
                          STR_ARGS(node_text(snapshot->source, call->arguments[k])));
        }
        at = call->range.end;
    }
    buffer_add(&out, snapshot->source->text.data + at, item->range.end - at);
    return squeezed(arena, str_from(buffer_text(&out)));
}

/// The statement that binds the first name that `item` binds; NULL where there is none.
static const Item *item_like(const Items *items, const Item *item) {
    if (!item->binds.count) return NULL;
    for (LIST_EACH(int, i, *items))
        if (map_has(&items->items[i].binds, item->binds.entries[0].key)) return &items->items[i];
    return NULL;
}

/// Whether the statement is a jit function, which a module has as its file does, whatever a hand did to it.
static bool is_forward(const Item *item) { return item->function && item->function->is_jit; }

const char *carried_base(Arena *arena, const Snapshot *base, const Snapshot *ours,
                         const Snapshot *theirs) {
    Items base_items = module_items(arena, base->module);
    Items our_items = module_items(arena, ours->module);
    Items their_items = module_items(arena, theirs->module);
    CarriedFile our_functions = read_functions(arena, ours, &our_items);
    CarriedFile their_functions = read_functions(arena, theirs, &their_items);
    Buffer out = buffer_new(arena);
    uint32_t at = 0;
    const char *text = base->source->text.data;
    for (LIST_EACH(int, i, base_items)) {
        const Item *item = &base_items.items[i];
        if (is_forward(item) || is_derived(arena, base, item)) continue;
        const Item *own = item_like(&our_items, item), *their = item_like(&their_items, item);
        bool is_told =
            own && their &&
            strcmp(statement_key(arena, ours, &our_items, own, &their_functions),
                   statement_key(arena, theirs, &their_items, their, &our_functions)) == 0;
        if (is_told) continue;
        buffer_add(&out, text + at, item->range.start - at);
        buffer_puts(&out, "\x01");  // no line of any text
        at = item->range.end;
    }
    buffer_add(&out, text + at, base->source->text.size - at);
    return buffer_text(&out);
}
