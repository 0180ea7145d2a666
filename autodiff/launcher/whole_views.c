// A view of floats as whole numbers has no gradient, and autograd says so to nobody. The emitted code asks first.
#include "autodiff/launcher/whole_views.h"

#include <string.h>

#include "analysis/syntax/syntax_nodes.h"
#include "base/text.h"

typedef struct WholeViews {
    const Source *source;
    Buffer out;
    uint32_t at;  // up to here the text is written
} WholeViews;

static bool is_whole_type(Str type) {
    return str_starts(type, "torch.int") || str_starts(type, "torch.uint") ||
           str_is(type, "torch.short") || str_is(type, "torch.long");
}

/// The type that a call `x.view(torch.int64)` or `x.view(dtype=torch.int64)` names; empty for other calls.
static Str whole_type(const Source *source, SyntaxNode call) {
    SyntaxNode function = node_field(call, "function"), list = node_field(call, "arguments");
    bool is_view = node_kind(function) == SYNTAX_ATTRIBUTE && node_child_count(list) == 1 &&
                   str_is(node_text(source, node_field(function, "attribute")), "view");
    if (!is_view) return (Str){0};
    SyntaxNode argument = node_child(list, 0);
    if (node_kind(argument) == SYNTAX_KEYWORD_ARGUMENT) argument = node_field(argument, "value");
    Str type = node_text(source, argument);
    return is_whole_type(type) ? type : (Str){0};
}

static bool visit_view(void *context, SyntaxNode node) {
    WholeViews *views = context;
    if (node_kind(node) != SYNTAX_CALL) return true;
    Str type = whole_type(views->source, node);
    Range range = node_range(views->source, node);
    if (!type.size || range.start < views->at) return true;
    SyntaxNode tensor = node_field(node_field(node, "function"), "object");
    buffer_add(&views->out, views->source->text.data + views->at, range.start - views->at);
    buffer_printf(&views->out, "_whole_view(%.*s, %.*s)",
                  STR_ARGS(node_text(views->source, tensor)), STR_ARGS(type));
    views->at = range.end;
    return false;
}

const char *whole_views_text(Arena *arena, const char *text) {
    if (!strstr(text, ".view(")) return text;
    const Source *source = source_new(arena, "", str_from(text));
    SyntaxTree *tree = syntax_parse(source);
    WholeViews views = {.source = source, .out = buffer_new(arena)};
    syntax_walk(syntax_root(tree), visit_view, &views);
    buffer_puts(&views.out, text + views.at);
    syntax_free(tree);
    return buffer_text(&views.out);
}
