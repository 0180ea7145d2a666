#include "codeactions/tuned.h"

#include <string.h>

#include "analysis/syntax/syntax_nodes.h"
#include "codeactions/fix.h"

static bool has_name(const TunedConfiguration *configuration, const char *name) {
    for (int i = 0; i < configuration->count; i++)
        if (strcmp(configuration->names[i], name) == 0) return true;
    return false;
}

static void put_configuration(Buffer *out, const char *triton, const TunedConfiguration *one,
                              const TunedConfiguration *others) {
    int put = 0;
    buffer_printf(out, "%s.Config({", triton);
    for (int i = 0; i < one->count; i++)
        buffer_printf(out, "%s\"%s\": %d", put++ ? ", " : "", one->names[i], one->values[i]);
    for (int i = 0; i < others->count; i++)
        if (!has_name(one, others->names[i]))
            buffer_printf(out, "%s\"%s\": %d", put++ ? ", " : "", others->names[i],
                          others->values[i]);
    buffer_printf(out, "}, num_warps=%d", one->warps);
    if (one->stages) buffer_printf(out, ", num_stages=%d", one->stages);
    buffer_puts(out, ")");
}

const char *tuned_list(Arena *arena, const char *triton, const TunedConfiguration *configurations,
                       int count, const TunedConfiguration *others, int indent) {
    enum { STEP = 4 };
    Buffer out = buffer_new(arena);
    buffer_puts(&out, "[\n");
    for (int i = 0; i < count; i++) {
        buffer_printf(&out, "%*s", indent + STEP, "");
        put_configuration(&out, triton, &configurations[i], others);
        buffer_puts(&out, ",\n");
    }
    buffer_printf(&out, "%*s]", indent, "");
    return buffer_text(&out);
}

/// The call `triton.autotune(...)` among the kernel's decorators; null where there is none.
static SyntaxNode autotune_call(const Fix *fix) {
    const FunctionDefinition *definition = fix->kernel->definition;
    SyntaxNode nothing = {0};
    for (LIST_EACH(int, i, definition->decorators)) {
        SyntaxNode call = definition->decorators.items[i];
        if (node_is(call, SYNTAX_DECORATOR)) call = node_child(call, 0);
        if (!node_is(call, SYNTAX_CALL)) continue;
        if (str_ends(node_text(fix->source, node_field(call, "function")), "autotune")) return call;
    }
    return nothing;
}

/// Spaces in front of the line that the byte is in.
static int indent_at(const Source *source, uint32_t at) {
    uint32_t start = at;
    while (start && source->text.data[start - 1] != '\n') start--;
    int indent = 0;
    while (source->text.data[start + (uint32_t)indent] == ' ') indent++;
    return indent;
}

/// What a list that is written out may say: calls of Config with a dictionary, num_warps and num_stages.
typedef struct ListCheck {
    const Source *source;
    const TunedConfiguration *first, *others;  // what is known of its names
    bool says_more;
} ListCheck;

static bool is_known(const ListCheck *check, Str quoted) {
    if (quoted.size < 2) return false;
    Str name = {quoted.data + 1, quoted.size - 2};
    for (int i = 0; i < check->first->count; i++)
        if (str_is(name, check->first->names[i])) return true;
    for (int i = 0; i < check->others->count; i++)
        if (str_is(name, check->others->names[i])) return true;
    return false;
}

static bool check_list(void *context, SyntaxNode node) {
    ListCheck *check = context;
    switch (node_kind(node)) {
    case SYNTAX_KEYWORD_ARGUMENT: {
        Str name = node_text(check->source, node_field(node, "name"));
        check->says_more |= !str_is(name, "num_warps") && !str_is(name, "num_stages");
        return false;
    }
    case SYNTAX_CALL:
        check->says_more |=
            !str_ends(node_text(check->source, node_field(node, "function")), "Config");
        return true;
    case SYNTAX_PAIR:
        check->says_more |= !is_known(check, node_text(check->source, node_field(node, "key")));
        return false;
    default: return true;
    }
}

/// The numbers of `others` that the list sets.
static TunedConfiguration others_in(Arena *arena, Str list, const TunedConfiguration *others) {
    const char **names = ARENA_ARRAY(arena, const char *, others->count + 1);
    int *values = ARENA_ARRAY(arena, int, others->count + 1);
    TunedConfiguration kept = {.names = names, .values = values};
    for (int i = 0; i < others->count; i++) {
        const char *mark = arena_printf(arena, "\"%s\"", others->names[i]),
                   *other = arena_printf(arena, "'%s'", others->names[i]);
        if (!str_contains(list, str_from(mark)) && !str_contains(list, str_from(other))) continue;
        names[kept.count] = others->names[i];
        values[kept.count++] = others->values[i];
    }
    return kept;
}

ActionEdit tuned_edit(Arena *arena, const Snapshot *snapshot, const Kernel *kernel,
                      const TunedConfiguration *configurations, int count,
                      const TunedConfiguration *others) {
    ActionEdit edit = {0};
    Fix fix = {.arena = arena,
               .snapshot = snapshot,
               .source = snapshot->source,
               .kernel = kernel,
               .edit = &edit};
    const char *triton = fix_triton(&fix);
    SyntaxNode call = autotune_call(&fix), list = {0};
    if (!node_is_null(call)) list = call_argument(&fix, call, "configs", 0);
    if (node_is_null(list) || !triton) {
        edit.refusal = "the kernel is under no `@triton.autotune` of this file: put the list there";
        return edit;
    }
    ListCheck check = {snapshot->source, &configurations[0], others, !node_is(list, SYNTAX_LIST)};
    if (!check.says_more) syntax_walk(list, check_list, &check);
    if (check.says_more) {
        edit.refusal = "the list of `@triton.autotune` says more than numbers, warps and stages";
        return edit;
    }
    TunedConfiguration kept = others_in(arena, node_text(fix.source, list), others);
    Range range = node_range(fix.source, list);
    fix_replace_node(&fix, list, "%s",
                     tuned_list(arena, triton, configurations, count, &kept,
                                indent_at(fix.source, range.start)));
    edit.label = "Write the best configurations";
    return edit;
}
