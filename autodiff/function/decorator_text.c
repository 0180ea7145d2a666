// The decorators of a forward kernel to those of its backward: heuristics as they stand, autotuning with what it must reset.
#include "autodiff/function/decorator_text.h"

#include <string.h>

#include "analysis/module/module_scope.h"
#include "analysis/syntax/syntax_nodes.h"
#include "autodiff/emit/call_lines.h"
#include "autodiff/plan/launch_plan.h"
#include "autodiff/plan/wrappers.h"

static SyntaxNode call_argument_node(Arena *arena, const Source *source, SyntaxNode call,
                                     const char *keyword, int position) {
    SyntaxNode *children;
    int count = node_children(arena, node_field(call, "arguments"), &children);
    int next = 0;
    for (int i = 0; i < count; i++) {
        if (node_kind(children[i]) == SYNTAX_KEYWORD_ARGUMENT) {
            if (str_is(node_text(source, node_field(children[i], "name")), keyword))
                return node_field(children[i], "value");
            continue;
        }
        if (next++ == position) return children[i];
    }
    return (SyntaxNode){0};
}

static Str call_argument(Arena *arena, const Source *source, SyntaxNode call, const char *keyword,
                         int position) {
    return node_text(source, call_argument_node(arena, source, call, keyword, position));
}

/// Hooks prepare the arguments of the forward: descriptors, an output that they set to 0.
static bool has_hooks(const Backward *backward) {
    const Function *forward = backward->kernel->function;
    bool takes_descriptors = false;
    for (int i = 0; i < forward->parameter_count; i++)
        takes_descriptors = takes_descriptors || parameter_is_descriptor(&forward->parameters[i]);
    const Module *module = backward->kernel->definition->module;
    return takes_descriptors || text_contains(module->source->text, "pre_hook");
}

static const char *configurations_text(Arena *arena, const Backward *backward, Str configs) {
    if (!has_hooks(backward)) return arena_printf(arena, "configs=%.*s", STR_ARGS(configs));
    return arena_printf(
        arena,
        "configs=[\n"
        "        triton.Config(c.kwargs, num_warps=c.num_warps, num_stages=c.num_stages)\n"
        "        for c in %.*s\n"
        "    ]",
        STR_ARGS(configs));
}

/// One wrapper of a kernel, decorator or function around it.
typedef struct Wrapper {
    SyntaxNode node;   // `triton.autotune(...)`, `my_autotune`
    const char *made;  // Python of what it makes of the kernel
} Wrapper;
typedef LIST(Wrapper) Wrappers;

/// `autotune(...)(jit(kernel))`: the wrappers in a call, the outermost first. What they are around.
static SyntaxNode add_wrappers(Arena *arena, Wrappers *wrappers, SyntaxNode call,
                               const char *made) {
    SyntaxNode argument = call;
    for (int depth = 0; node_kind(argument) == SYNTAX_CALL && depth < 8; depth++) {
        LIST_PUSH(arena, wrappers, (Wrapper){node_field(argument, "function"), made});
        made = arena_printf(arena, "%s.fn", made);
        argument = node_child(node_field(argument, "arguments"), 0);
    }
    return argument;
}

/// All wrappers of a kernel, the outermost first.
static Wrappers wrappers_of(Arena *arena, const FunctionDefinition *kernel) {
    Wrappers wrappers = {0};
    Str alias = kernel_alias(kernel);
    if (!alias.size) alias = kernel->name;
    const char *made = str_dup(arena, alias);
    const Source *source = kernel->module->source;
    for (int i = kernel->decorators.count - 1; i >= 0; i--) {
        if (!str_equal(wrapper_name(kernel, i), alias)) continue;  // a decorator, or another one's
        int before = wrappers.count;
        SyntaxNode inner = add_wrappers(arena, &wrappers, kernel->decorators.items[i], made);
        for (; before < wrappers.count; before++) made = arena_printf(arena, "%s.fn", made);
        alias = node_text(source, inner);
    }
    for (LIST_EACH(int, i, kernel->decorators)) {
        SyntaxNode node = kernel->decorators.items[i];
        if (wrapper_name(kernel, i).size) continue;
        if (node_kind(node) == SYNTAX_DECORATOR) node = node_child(node, 0);
        LIST_PUSH(arena, &wrappers, (Wrapper){node, made});
        made = arena_printf(arena, "%s.fn", made);
    }
    return wrappers;
}

static const char *parenthesized(Arena *arena, Str text) {
    return arena_printf(arena, str_is_name(text) ? "%.*s" : "(%.*s)", STR_ARGS(text));
}

/// Python of the function under "early_config_prune" of a tuner's argument; NULL: there is none.
static const char *prune_function(Arena *arena, const Source *source, SyntaxNode node) {
    for (uint32_t i = 0; node_kind(node) == SYNTAX_DICTIONARY && i < node_child_count(node); i++) {
        SyntaxNode pair = node_child(node, i);
        if (text_contains(node_text(source, node_field(pair, "key")), "early_config_prune"))
            return parenthesized(arena, node_text(source, node_field(pair, "value")));
    }
    if (node_is_null(node) || node_kind(node) == SYNTAX_DICTIONARY) return NULL;
    return arena_printf(arena, "%.*s[\"early_config_prune\"]", STR_ARGS(node_text(source, node)));
}

/// A function that takes configurations out is asked again: some may be wrong for these sizes. What it reads of the launch it
/// finds under the same names.
static const char *prune_text(Arena *arena, const Source *source, SyntaxNode node) {
    const char *prune = prune_function(arena, source, node);
    if (!prune) return NULL;
    return arena_printf(arena,
                        "prune_configs_by={\n"
                        "        \"early_config_prune\": lambda configs, given, **more: %s(\n"
                        "            configs, {**given, **more}, **more\n"
                        "        ),\n"
                        "    }",
                        prune);
}

/// Whether several kernels add to the gradient: what the one has added must not go when the next one is tuned.
static bool is_of_several(const Backward *backward, const BackwardArgument *gradient) {
    int count = 0;
    for (int i = 0; i < backward->launch_count && gradient->use == ARGUMENT_GRADIENT; i++)
        for (int k = 0; k < backward->launches[i].argument_count; k++) {
            const BackwardArgument *other = &backward->launches[i].arguments[k];
            count += other->use == ARGUMENT_GRADIENT && strcmp(other->of, gradient->of) == 0;
        }
    return count > 1;
}

static void add_autotune(Arena *arena, Buffer *out, const Wrapper *wrapper,
                         const BackwardLaunch *launch, const Backward *backward) {
    const Source *source = backward->kernel->definition->module->source;
    Str function = node_text(source, node_field(wrapper->node, "function"));
    Str configs = call_argument(arena, source, wrapper->node, "configs", 0),
        key = call_argument(arena, source, wrapper->node, "key", 1);
    bool is_written = node_kind(wrapper->node) == SYNTAX_CALL && str_ends(function, "autotune") &&
                      configs.size && key.size;
    if (!is_written) {  // then the tuner that it made tells
        function = STR("triton.autotune");
        configs = str_from(arena_printf(arena, "%s.configs", wrapper->made));
        key = str_from(arena_printf(arena, "%s.keys", wrapper->made));
    }
    Texts arguments = {0};
    LIST_PUSH(arena, &arguments, configurations_text(arena, backward, configs));
    LIST_PUSH(arena, &arguments, arena_printf(arena, "key=%.*s", STR_ARGS(key)));
    Buffer reset = buffer_new(arena), restore = buffer_new(arena);
    for (int g = 0; g < launch->argument_count; g++) {
        const BackwardArgument *argument = &launch->arguments[g];
        bool running = argument->use == ARGUMENT_RUNNING || argument->use == ARGUMENT_AMID ||
                       is_of_several(backward, argument);
        Buffer *names = running ? &restore : argument->is_float32 ? &reset : NULL;
        if (names) buffer_printf(names, "%s\"%s\"", names->size ? ", " : "", argument->name);
    }
    if (restore.size)
        LIST_PUSH(arena, &arguments,
                  arena_printf(arena, "restore_value=[%s]", buffer_text(&restore)));
    if (reset.size)
        LIST_PUSH(arena, &arguments,
                  arena_printf(arena, "reset_to_zero=[%s]", buffer_text(&reset)));
    const char *pruned =
        is_written
            ? prune_text(arena, source,
                         call_argument_node(arena, source, wrapper->node, "prune_configs_by", 2))
            : NULL;
    if (pruned) LIST_PUSH(arena, &arguments, pruned);
    buffer_printf(out, "%s\n",
                  call_lines(arena, arena_printf(arena, "@%.*s", STR_ARGS(function)),
                             arguments.items, arguments.count, 0));
}

static void add_heuristics(Buffer *out, const Wrapper *wrapper, const Source *source) {
    Str function = node_text(source, node_field(wrapper->node, "function"));
    bool is_written = node_kind(wrapper->node) == SYNTAX_CALL && str_ends(function, "heuristics") &&
                      node_child_count(node_field(wrapper->node, "arguments")) > 0;
    if (is_written)
        buffer_printf(out, "@%.*s\n", STR_ARGS(node_text(source, wrapper->node)));
    else
        buffer_puts(out,
                    arena_printf(out->arena, "@triton.heuristics(%s.values)\n", wrapper->made));
}

const char *backward_decorators(Arena *arena, const BackwardLaunch *launch,
                                const Backward *backward) {
    const FunctionDefinition *kernel = backward->kernel->definition;
    Buffer out = buffer_new(arena);
    Wrappers wrappers = wrappers_of(arena, kernel);
    for (LIST_EACH(int, i, wrappers)) {
        const Wrapper *wrapper = &wrappers.items[i];
        int flags = module_wrapper_flags(arena, kernel->module, wrapper->node, 0);
        if (flags & WRAPS_HEURISTICS) add_heuristics(&out, wrapper, kernel->module->source);
        if ((flags & WRAPS_AUTOTUNE) && !launch->is_tuned_before && !backward->is_untuned)
            add_autotune(arena, &out, wrapper, launch, backward);
    }
    buffer_puts(&out, "@triton.jit\n");
    return buffer_text(&out);
}
