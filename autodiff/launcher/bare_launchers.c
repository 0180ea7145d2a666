// Launchers under decorators that take gradients away in, their text without those out.
#include "autodiff/launcher/bare_launchers.h"

#include <string.h>

#include "analysis/module/module_scope.h"
#include "analysis/syntax/syntax_nodes.h"
#include "autodiff/launcher/launcher_text.h"

/// What a decorator is called: `no_grad` of `@torch.no_grad()`.
static Str decorator_name(const Source *source, SyntaxNode decorator) {
    if (node_kind(decorator) == SYNTAX_DECORATOR) decorator = node_child(decorator, 0);
    if (node_kind(decorator) == SYNTAX_CALL) decorator = node_field(decorator, "function");
    return text_last_component(node_text(source, decorator));
}

static bool takes_gradients(Str decorator) {
    return str_is(decorator, "no_grad") || str_is(decorator, "inference_mode");
}

/// Whether a decorator takes gradients away, or makes an operator of its own of the launcher.
static bool is_dropped(const Source *source, SyntaxNode decorator) {
    static const char *const dropped[] = {"custom_op", "triton_op", "register_fake"};
    Str name = decorator_name(source, decorator);
    for (size_t i = 0; i < sizeof dropped / sizeof *dropped; i++)
        if (str_is(name, dropped[i])) return true;
    return takes_gradients(name);
}

bool decorator_takes_gradients(const Source *source, SyntaxNode decorator) {
    return takes_gradients(decorator_name(source, decorator));
}

const char *kept_decorators(Arena *arena, const FunctionDefinition *function) {
    Buffer out = buffer_new(arena);
    const Source *source = function->module->source;
    for (LIST_EACH(int, i, function->decorators)) {
        SyntaxNode decorator = function->decorators.items[i];
        Str text = node_text(source, decorator);
        if (!is_dropped(source, decorator))
            buffer_printf(&out, "%s%.*s\n", str_starts(text, "@") ? "" : "@", STR_ARGS(text));
    }
    return buffer_text(&out);
}

/// The text without the decorators above a function of that name that take gradients away.
static const char *without_decorators(Arena *arena, const char *text, Str name) {
    const char *head = arena_printf(arena, "def %.*s(", STR_ARGS(name));
    Buffer out = buffer_new(arena);
    while (*text) {
        size_t size = strcspn(text, "\n") + (strchr(text, '\n') != NULL);
        Str line = str_trim((Str){text, size});
        const char *below = text + size;  // the line that the decorators stand above
        while (*(below += strspn(below, " \t")) == '@') {
            below += strcspn(below, "\n");
            below += *below == '\n';
        }
        Str decorator = {line.data + 1, line.size ? line.size - 1 : 0};
        const char *call = memchr(decorator.data, '(', decorator.size);
        if (call) decorator.size = (size_t)(call - decorator.data);
        bool is_left_out = str_starts(line, "@") && str_starts(str_from(below), head) &&
                           takes_gradients(text_last_component(decorator));
        if (!is_left_out) buffer_add(&out, text, size);
        text += size;
    }
    return buffer_text(&out);
}

const char *block_with_bare_launchers(Arena *arena, const Module *module, Range block,
                                      const char *text) {
    for (LIST_EACH(int, k, module->launches)) {
        const LaunchSite *site = &module->launches.items[k];
        bool is_here =
            site->launcher && site->range.start >= block.start && site->range.end <= block.end;
        if (is_here && function_is_of_module(site->launcher))
            text = without_decorators(arena, text, site->launcher->name);
    }
    return text;
}
