// Fixes of names: spelling mistakes, helpers without a decorator, globals that are no constexpr, launches and their tuning.
#include <string.h>

#include "analysis/addresses/affine.h"
#include "analysis/module/module_launch.h"
#include "analysis/module/module_scope.h"
#include "analysis/syntax/syntax_nodes.h"
#include "codeactions/fix.h"

enum { MOST_SPELLINGS = 5 };  // each is tried by an analysis; the nearest ones

/// Operations spelt nearly like `name`, nearest first.
static int spellings_of(Str name, const char **spellings) {
    int distances[MOST_SPELLINGS], count = 0;
    int farthest = 2 * (2 + (int)name.size / 4);
    for (int code = 0; code < OP_COUNT; code++) {
        const OpRow *row = &op_rows[code];
        if (!row->name || row->kind == KIND_STRUCTURAL || row->kind == KIND_REMOVED ||
            strchr(row->name, '.'))
            continue;
        int distance = op_spelling_distance(name, str_from(row->name));
        if (distance >= farthest) continue;
        int place = count < MOST_SPELLINGS ? count++ : MOST_SPELLINGS;
        while (place > 0 && distances[place - 1] > distance) {
            if (place < MOST_SPELLINGS) {
                distances[place] = distances[place - 1];
                spellings[place] = spellings[place - 1];
            }
            place--;
        }
        if (place == MOST_SPELLINGS) continue;
        distances[place] = distance;
        spellings[place] = row->name;
    }
    return count;
}

/// Of several spellings, the one that leaves the least wrong: `tl.lod(x, mask=m)` is no logarithm.
static const char *best_spelling(Fix *fix, SyntaxNode attribute) {
    const char *spellings[MOST_SPELLINGS], *best = NULL;
    int count = spellings_of(node_text(fix->source, attribute), spellings), fewest = 0;
    for (int i = 0; i < count; i++) {
        fix_replace_node(fix, attribute, "%s", spellings[i]);
        int trouble = fix_trouble(fix);
        fix_clear(fix);
        if (fix->is_untried) return best ? best : spellings[i];
        if (best && trouble >= fewest) continue;
        best = spellings[i];
        fewest = trouble;
    }
    return best;
}

void apply_rename_operation(Fix *fix) {
    SyntaxNode node = fix_node(fix, fix->range);
    if (node_is(node, SYNTAX_CALL)) node = node_field(node, "function");
    if (!node_is(node, SYNTAX_ATTRIBUTE)) return;
    SyntaxNode attribute = node_field(node, "attribute");
    OpCode code = op_find(node_text(fix->source, attribute));
    const char *better = NULL;
    if (code == OP_COUNT)
        better = best_spelling(fix, attribute);
    else if (op_rows[code].instead && op_find(str_from(op_rows[code].instead)) != OP_COUNT)
        better = op_rows[code].instead;
    if (!better) return;
    fix_replace_node(fix, attribute, "%s", better);
    fix_title(fix, "Use `%s`", better);
}

typedef struct FixNameSearch {
    Fix *fix;
    Nearest nearest;
} FixNameSearch;

static bool visit_name(void *context, SyntaxNode node) {
    FixNameSearch *search = context;
    if (!node_is(node, SYNTAX_IDENTIFIER)) return true;
    SyntaxNode parent = node_parent(node);
    bool is_target = node_is(parent, SYNTAX_ASSIGNMENT) || node_is(parent, SYNTAX_PATTERN_LIST) ||
                     node_is(parent, SYNTAX_AUGMENTED_ASSIGNMENT) || node_is(parent, SYNTAX_FOR);
    bool bound_before = node_range(search->fix->source, node).start < search->fix->range.start;
    if (is_target && bound_before &&
        (node_is(parent, SYNTAX_PATTERN_LIST) || node_same(node_field(parent, "left"), node)))
        nearest_consider(search->fix->arena, &search->nearest,
                         node_text(search->fix->source, node));
    return true;
}

void apply_rename_variable(Fix *fix) {
    SyntaxNode node = fix_node(fix, fix->range);
    if (!node_is(node, SYNTAX_IDENTIFIER) || !fix->kernel) return;
    FixNameSearch search = {fix, nearest_to(node_text(fix->source, node))};
    const FunctionDefinition *definition = fix->kernel->definition;
    for (int i = 0; i < definition->parameter_count; i++)
        nearest_consider(fix->arena, &search.nearest, definition->parameters[i].name);
    const ModuleScope *scope = fix->snapshot->module->scope;
    for (int i = 0; i < scope->names.count; i++)
        nearest_consider(fix->arena, &search.nearest, scope->names.entries[i].key);
    syntax_walk(node_above(node, SYNTAX_FUNCTION), visit_name, &search);
    if (!search.nearest.best) return;
    fix_replace_node(fix, node, "%s", search.nearest.best);
    fix_title(fix, "Use `%s`", search.nearest.best);
}

static Str first_word(Str text) {
    size_t start = 0;
    while (start < text.size && strchr(" \t*", text.data[start])) start++;
    size_t end = start;
    while (end < text.size && !strchr(" \t,=:*", text.data[end])) end++;
    return (Str){text.data + start, end - start};
}

/// Each parameter of a row's "input, axis=None, ...".
static void consider_parameters(Arena *arena, Nearest *nearest, const char *parameters) {
    for (const char *at = parameters; at && *at;) {
        const char *comma = strchr(at, ',');
        Str one = {at, comma ? (size_t)(comma - at) : strlen(at)};
        nearest_consider(arena, nearest, first_word(one));
        at = comma ? comma + 1 : NULL;
    }
}

static bool has_parameter(const char *parameters, Str name) {
    for (const char *at = parameters; at && *at;) {
        const char *comma = strchr(at, ',');
        Str one = {at, comma ? (size_t)(comma - at) : strlen(at)};
        if (str_equal(first_word(one), name)) return true;
        at = comma ? comma + 1 : NULL;
    }
    return false;
}

/// Parameters of what the call calls, as text "a, b, c".
static const char *parameters_of(Fix *fix, SyntaxNode call) {
    SyntaxNode function = node_field(call, "function");
    Str name = node_text(fix->source, node_is(function, SYNTAX_ATTRIBUTE)
                                          ? node_field(function, "attribute")
                                          : function);
    const FunctionDefinition *definition = node_is(function, SYNTAX_IDENTIFIER)
                                               ? module_find_function(fix->snapshot->module, name)
                                               : NULL;
    if (!definition) {
        OpCode code = op_find(name);
        return code == OP_COUNT ? NULL : op_rows[code].parameters;
    }
    Buffer out = buffer_new(fix->arena);
    for (int i = 0; i < definition->parameter_count; i++)
        buffer_printf(&out, "%s%.*s", i ? ", " : "", STR_ARGS(definition->parameters[i].name));
    return buffer_text(&out);
}

void apply_rename_keyword(Fix *fix) {
    SyntaxNode call = fix_call(fix, fix->range);
    if (node_is_null(call)) return;
    const char *parameters = parameters_of(fix, call);
    SyntaxNode *arguments;
    int count = node_children(fix->arena, node_field(call, "arguments"), &arguments);
    for (int i = 0; parameters && i < count; i++) {
        if (!node_is(arguments[i], SYNTAX_KEYWORD_ARGUMENT)) continue;
        SyntaxNode name = node_field(arguments[i], "name");
        Nearest nearest = nearest_to(node_text(fix->source, name));
        if (has_parameter(parameters, nearest.name)) continue;
        consider_parameters(fix->arena, &nearest, parameters);
        if (!nearest.best) continue;
        fix_replace_node(fix, name, "%s", nearest.best);
        fix_title(fix, "Use `%s`", nearest.best);
        return;
    }
}

/// The kernel that a launch or a tuning decorator around the range is about.
static const FunctionDefinition *kernel_of_place(const Fix *fix) {
    const Module *module = fix->snapshot->module;
    for (LIST_EACH(int, i, module->launches)) {
        if (launch_has_several(module, &module->launches.items[i])) continue;
        Range range = snapshot_range(fix->snapshot, module->launches.items[i].range);
        if (range.start <= fix->range.start && fix->range.end <= range.end)
            return module->launches.items[i].kernel;
    }
    return fix->kernel ? fix->kernel->definition : NULL;
}

void apply_rename_parameter(Fix *fix) {
    const FunctionDefinition *kernel = kernel_of_place(fix);
    Str text = source_slice(fix->range);
    if (!kernel || !text.size) return;
    char quote = text.data[0];
    bool quoted = text.size > 2 && (quote == '"' || quote == '\'');
    Str name = quoted ? (Str){text.data + 1, text.size - 2} : first_word(text);
    Nearest nearest = nearest_to(name);
    for (int i = 0; i < kernel->parameter_count; i++)
        nearest_consider(fix->arena, &nearest, kernel->parameters[i].name);
    if (!nearest.best) return;
    uint32_t start = fix->range.start + (uint32_t)(name.data - text.data);
    fix_replace(fix, start, start + (uint32_t)name.size, "%s", nearest.best);
    fix_title(fix, "Use `%s`", nearest.best);
}

void apply_decorate(Fix *fix) {
    SyntaxNode call = fix_call(fix, fix->range);
    if (node_is_null(call) || !fix->kernel) return;
    Str name = node_text(fix->source, node_field(call, "function"));
    const FunctionDefinition *helper = module_find_function(fix->snapshot->module, name);
    const char *triton = fix_triton(fix);
    if (!helper || helper->module != fix->snapshot->module || !triton) return;
    uint32_t at = snapshot_range(fix->snapshot, helper->range).start;
    int line, column;
    source_position(fix->source, at, &line, &column);
    fix_replace(fix, at, at, "@%s.jit\n%*s", triton, column, "");
    fix_title(fix, "Decorate `%.*s` with `@%s.jit`", STR_ARGS(name), triton);
}

void apply_make_constexpr(Fix *fix) {
    const char *language = fix_language(fix);
    SyntaxNode node = fix_node(fix, fix->range);
    if (!language || !node_is(node, SYNTAX_IDENTIFIER)) return;
    Str name = node_text(fix->source, node);
    SyntaxNode root = fix_root(fix);
    for (uint32_t i = 0; i < node_child_count(root); i++) {
        SyntaxNode statement = node_child(root, i);
        if (!node_is(statement, SYNTAX_EXPRESSION_STATEMENT)) continue;
        SyntaxNode assignment = node_child(statement, 0);
        if (!node_is(assignment, SYNTAX_ASSIGNMENT) ||
            !str_equal(node_text(fix->source, node_field(assignment, "left")), name))
            continue;
        SyntaxNode value = node_field(assignment, "right");
        if (node_is_null(value)) continue;
        fix_replace_node(fix, value, "%s.constexpr(%s)", language, fix_text(fix, value));
        fix_title(fix, "Make `%.*s` a constexpr", STR_ARGS(name));
        return;
    }
}

void apply_round_grid(Fix *fix) {
    SyntaxNode node = fix_node(fix, fix->range);
    const char *triton = fix_triton(fix);
    if (!node_is(node, SYNTAX_BINARY) || !triton) return;
    fix_replace_node(fix, node, "%s.cdiv(%s, %s)", triton, fix_text(fix, node_field(node, "left")),
                     fix_text(fix, node_field(node, "right")));
}

void apply_reset(Fix *fix) {
    if (!fix->diagnostic->related_count) return;
    Op *update = fix_op(fix, fix->diagnostic->related[0].range, OP_COUNT);
    if (!update || !op_is_access(update)) return;
    const Access access = access_of(fix->arena, update);
    if (!access.parameter) return;
    SyntaxNode node = node_at(fix_root(fix), fix->range.start, fix->range.end);
    while (!node_is_null(node) && !node_is(node, SYNTAX_DECORATOR) && !node_is(node, SYNTAX_CALL))
        node = node_parent(node);
    SyntaxNode call = node_is(node, SYNTAX_DECORATOR) ? node_child(node, 0) : node;
    if (!node_is(call, SYNTAX_CALL)) return;
    const char *keyword = update->code == OP_ATOMIC_ADD ? "reset_to_zero" : "restore_value";
    const char *name = access.parameter->name ? access.parameter->name : "";
    call_add_keyword(fix, call, keyword, arena_printf(fix->arena, "[\"%s\"]", name));
    fix_title(fix, "Add `%s=[\"%s\"]`", keyword, name);
}

void apply_ignore(Fix *fix) {
    const char *name = diagnostic_rows[fix->diagnostic->id].name;
    const char *text = fix->source->text.data;
    uint32_t size = (uint32_t)fix->source->text.size, end = fix->range.start;
    while (end < size && text[end] != '\n') end++;
    while (end > 0 && (text[end - 1] == '\r' || text[end - 1] == ' ')) end--;
    uint32_t start = end;
    while (start > 0 && text[start - 1] != '\n') start--;
    if (end > start && text[end - 1] == '\\') return;  // no comment fits behind it
    // Inside a string that goes on there is no comment either.
    SyntaxNode at = end < size ? node_at(fix_root(fix), end, end) : (SyntaxNode){0};
    if (!node_is_null(at) && !node_is_null(node_above(at, SYNTAX_STRING))) return;
    fix_title(fix, "Ignore %s on this line", name);
    Str line = {text + start, end - start};
    if (text_contains(line, "# tad: ignore[")) {
        const char *bracket = memchr(strstr(line.data, "# tad: ignore["), ']', line.size);
        if (!bracket || bracket >= line.data + line.size) return;
        uint32_t place = (uint32_t)(bracket - text);
        fix_replace(fix, place, place, ", %s", name);
        return;
    }
    fix_replace(fix, end, end, "  # tad: ignore[%s]", name);
}
