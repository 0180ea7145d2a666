// The decorators of a forward kernel to those of its backward: heuristics as they stand, autotuning with what it must reset.
#include <string.h>

#include "autodiff/module_text.h"

static Str call_argument(Arena *arena, const Source *source, SyntaxNode call, const char *keyword,
                         int position) {
    SyntaxNode *children;
    int count = node_children(arena, node_field(call, "arguments"), &children);
    int next = 0;
    for (int i = 0; i < count; i++) {
        if (node_kind(children[i]) == SYNTAX_KEYWORD_ARGUMENT) {
            if (str_is(node_text(source, node_field(children[i], "name")), keyword))
                return node_text(source, node_field(children[i], "value"));
            continue;
        }
        if (next++ == position) return node_text(source, children[i]);
    }
    return (Str){0};
}

/// The forward's configurations. Hooks of one that takes descriptors prepare these, which the backward does not have.
static const char *configurations_text(Arena *arena, const Backward *backward, Str configs) {
    const Function *forward = backward->kernel->function;
    bool takes_descriptors = false;
    for (int i = 0; i < forward->parameter_count; i++)
        takes_descriptors = takes_descriptors || parameter_is_descriptor(&forward->parameters[i]);
    if (!takes_descriptors) return arena_printf(arena, "configs=%.*s", STR_ARGS(configs));
    return arena_printf(
        arena,
        "configs=[\n"
        "        triton.Config(c.kwargs, num_warps=c.num_warps, num_stages=c.num_stages)\n"
        "        for c in %.*s\n"
        "    ]",
        STR_ARGS(configs));
}

const char *backward_decorators(Arena *arena, const BackwardLaunch *launch,
                                const Backward *backward) {
    const FunctionDefinition *kernel = backward->kernel->definition;
    Buffer out = buffer_new(arena);
    const Source *source = kernel->module->source;
    for (LIST_EACH(int, i, kernel->decorators)) {
        SyntaxNode node = kernel->decorators.items[i];
        if (node_kind(node) == SYNTAX_DECORATOR) node = node_child(node, 0);
        if (node_kind(node) != SYNTAX_CALL) continue;
        Str function = node_text(source, node_field(node, "function"));
        if (str_ends(function, "heuristics"))
            buffer_printf(&out, "@%.*s\n", STR_ARGS(node_text(source, node)));
        if (!str_ends(function, "autotune") || launch->is_tuned_before) continue;
        Str configs = call_argument(arena, source, node, "configs", 0),
            key = call_argument(arena, source, node, "key", 1);
        Names arguments = {0};
        LIST_PUSH(arena, &arguments, configurations_text(arena, backward, configs));
        LIST_PUSH(arena, &arguments, arena_printf(arena, "key=%.*s", STR_ARGS(key)));
        Buffer reset = buffer_new(arena), restore = buffer_new(arena);
        for (int g = 0; g < launch->argument_count; g++) {
            const BackwardArgument *argument = &launch->arguments[g];
            bool running = argument->use == ARGUMENT_RUNNING;
            Buffer *names = running ? &restore : argument->is_float32 ? &reset : NULL;
            if (names) buffer_printf(names, "%s\"%s\"", names->size ? ", " : "", argument->name);
        }
        if (restore.size)
            LIST_PUSH(arena, &arguments,
                      arena_printf(arena, "restore_value=[%s]", buffer_text(&restore)));
        if (reset.size)
            LIST_PUSH(arena, &arguments,
                      arena_printf(arena, "reset_to_zero=[%s]", buffer_text(&reset)));
        buffer_printf(&out, "%s\n",
                      call_lines(arena, arena_printf(arena, "@%.*s", STR_ARGS(function)),
                                 arguments.items, arguments.count, 0));
    }
    buffer_puts(&out, "@triton.jit\n");
    return buffer_text(&out);
}

static bool text_quotes(Str text, const char *name) {
    size_t size = strlen(name);
    for (size_t i = 1; i + size < text.size; i++) {
        bool quoted = (text.data[i - 1] == '"' || text.data[i - 1] == '\'') &&
                      text.data[i + size] == text.data[i - 1];
        if (quoted && memcmp(text.data + i, name, size) == 0) return true;
    }
    return false;
}

bool decorators_mention(const FunctionDefinition *kernel, const char *name, bool is_constexpr) {
    if (!kernel->is_autotuned && !kernel->has_heuristics) return false;
    if (is_constexpr) return true;
    Range range = kernel->range;
    range.end = kernel->header_range.start;
    return text_quotes(source_slice(range), name);
}

bool launchers_mention(const FunctionDefinition *kernel, const char *name) {
    const Module *module = kernel->module;
    for (LIST_EACH(int, i, module->launches)) {
        const LaunchSite *site = &module->launches.items[i];
        if (site->kernel != kernel) continue;
        SyntaxNode around = site->launcher ? site->launcher->node : site->call;
        if (text_quotes(source_slice(node_range(module->source, around)), name)) return true;
    }
    return false;
}
