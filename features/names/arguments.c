// A kernel's parameter in; the expressions, configurations and texts elsewhere in the file that mean it, out.
#include "features/names/arguments.h"
#include "analysis/syntax/syntax_nodes.h"

SyntaxNode argument_of(FileNames *names, SyntaxNode list, int index, Str name) {
    SyntaxNode *children;
    int count = node_children(names->arena, list, &children);
    int position = 0;
    bool counts = true;
    for (int i = 0; i < count; i++) {
        switch (node_kind(children[i])) {
        case SYNTAX_KEYWORD_ARGUMENT:
            if (str_equal(text_of(names, node_field(children[i], "name")), name))
                return node_field(children[i], "value");
            break;
        case SYNTAX_LIST_SPLAT: counts = false; break;
        case SYNTAX_DICTIONARY_SPLAT: break;
        default:
            if (counts && position++ == index) return children[i];
            break;
        }
    }
    return (SyntaxNode){0};
}

bool arguments_are_open(SyntaxNode list) {
    for (uint32_t i = 0; i < node_child_count(list); i++)
        if (node_kind(node_child(list, i)) == SYNTAX_DICTIONARY_SPLAT) return true;
    return false;
}

// --- Decorators and what they refer to

typedef struct TunedWalk {
    FileNames *names;
    const FunctionDefinition *function;
    Str parameter;
    TextMentions mentions;
    Views values;
    bool is_shared;
    int depth;
} TunedWalk;

static bool visit_tuned(void *context, SyntaxNode node);

/// The decorators of a function as they stand in the present text.
static SyntaxNode decorated_of(FileNames *names, const FunctionDefinition *function) {
    Range range = snapshot_range(names->snapshot, function->name_range);
    if (range.source != names->source) return (SyntaxNode){0};
    SyntaxNode node = node_parent(function_around(node_at(names->root, range.start, range.end)));
    return node_kind(node) == SYNTAX_DECORATED ? node : (SyntaxNode){0};
}

typedef struct ParameterUseCount {
    FileNames *names;
    Str text;
    int count;
} ParameterUseCount;

static bool visit_use(void *context, SyntaxNode node) {
    ParameterUseCount *uses = context;
    if (node_kind(node) == SYNTAX_IDENTIFIER && str_equal(text_of(uses->names, node), uses->text))
        uses->count++;
    return true;
}

/// How often a global stands in the decorators of kernels.
static int decorator_uses(FileNames *names, Str text) {
    ParameterUseCount uses = {names, text, 0};
    for (LIST_EACH(int, i, names->snapshot->kernels)) {
        SyntaxNode decorated = decorated_of(names, names->snapshot->kernels.items[i].definition);
        for (uint32_t k = 0; k < node_child_count(decorated); k++)
            if (node_kind(node_child(decorated, k)) == SYNTAX_DECORATOR)
                syntax_walk(node_child(decorated, k), visit_use, &uses);
    }
    return uses.count;
}

/// Configurations are often kept in a global list, or built by a function.
static void follow(TunedWalk *walk, SyntaxNode identifier) {
    if (walk->depth >= 3) return;
    SyntaxNode parent = node_parent(identifier);
    if (node_kind(parent) == SYNTAX_ATTRIBUTE || node_kind(parent) == SYNTAX_KEYWORD_ARGUMENT)
        if (!node_same(node_field(parent, "value"), identifier)) return;
    Name name = name_resolve(walk->names, identifier);
    SyntaxNode below = {0};
    if (name.kind == NAME_GLOBAL && name.entry.module == walk->names->snapshot->module)
        below = name.entry.node;
    if (name.kind == NAME_FUNCTION && !name.function->is_jit) {
        Range range = snapshot_range(walk->names->snapshot, name.function->name_range);
        if (range.source == walk->names->source)
            below = node_field(function_around(node_at(walk->names->root, range.start, range.end)),
                               "body");
    }
    if (node_is_null(below)) return;
    bool was_shared = walk->is_shared;
    if (decorator_uses(walk->names, name.text) > 1) walk->is_shared = true;
    walk->depth++;
    syntax_walk(below, visit_tuned, walk);
    walk->depth--;
    walk->is_shared = was_shared;
}

static void value_add(TunedWalk *walk, SyntaxNode value) {
    Str text = text_of(walk->names, value);
    if (node_is_null(value) || node_kind(value) == SYNTAX_LAMBDA || text.size > 60) return;
    for (LIST_EACH(int, i, walk->values.list))
        if (str_equal(walk->values.list.items[i], text)) return;
    LIST_PUSH(walk->names->arena, &walk->values.list, text);
}

/// A text counts as the parameter's name where it is a key, in a list of names, or a subscript.
static void visit_string(TunedWalk *walk, SyntaxNode node) {
    Range content = string_content(walk->names, node);
    if (!str_equal(source_slice(content), walk->parameter)) return;
    SyntaxNode parent = node_parent(node);
    switch (node_kind(parent)) {
    case SYNTAX_PAIR:
        if (!node_same(node_field(parent, "key"), node)) return;
        value_add(walk, node_field(parent, "value"));
        break;
    case SYNTAX_LIST:
    case SYNTAX_TUPLE:
    case SYNTAX_SET:
    case SYNTAX_SUBSCRIPT: break;
    default: return;
    }
    TextMention mention = {node, content, walk->is_shared};
    LIST_PUSH(walk->names->arena, &walk->mentions.list, mention);
}

static bool visit_tuned(void *context, SyntaxNode node) {
    TunedWalk *walk = context;
    switch (node_kind(node)) {
    case SYNTAX_STRING: visit_string(walk, node); return false;
    case SYNTAX_IDENTIFIER: follow(walk, node); return false;
    default: return true;
    }
}

static TunedWalk walk_decorators(FileNames *names, const FunctionDefinition *function,
                                 Str parameter) {
    TunedWalk walk = {.names = names, .function = function, .parameter = parameter};
    SyntaxNode decorated = decorated_of(names, function);
    for (uint32_t i = 0; i < node_child_count(decorated); i++) {
        SyntaxNode decorator = node_child(decorated, i);
        if (node_kind(decorator) == SYNTAX_DECORATOR) syntax_walk(decorator, visit_tuned, &walk);
    }
    return walk;
}

Views tuned_values(FileNames *names, const FunctionDefinition *function, Str parameter) {
    return walk_decorators(names, function, parameter).values;
}

TextMentions tuned_mentions(FileNames *names, const FunctionDefinition *function, Str parameter) {
    return walk_decorators(names, function, parameter).mentions;
}

// --- Grids

typedef struct GridWalk {
    FileNames *names;
    Str parameter;
    TextMentions *mentions;
} GridWalk;

static bool visit_grid(void *context, SyntaxNode node) {
    const GridWalk *walk = context;
    if (node_kind(node) != SYNTAX_SUBSCRIPT) return true;
    SyntaxNode key = node_field(node, "subscript");
    Range content = string_content(walk->names, key);
    bool is_name = node_kind(node_field(node, "value")) == SYNTAX_IDENTIFIER;
    if (!is_name || content.start == content.end ||
        !str_equal(source_slice(content), walk->parameter))
        return true;
    for (LIST_EACH(int, i, walk->mentions->list))
        if (walk->mentions->list.items[i].range.start == content.start) return true;
    TextMention mention = {key, content, false};
    LIST_PUSH(walk->names->arena, &walk->mentions->list, mention);
    return true;
}

typedef struct LambdaSearch {
    FileNames *names;
    Str variable;
    const GridWalk *walk;
} LambdaSearch;

/// `grid = lambda meta: ...`, or a local function of that name.
static bool visit_grid_value(void *context, SyntaxNode node) {
    const LambdaSearch *search = context;
    SyntaxNode value = {0};
    if (node_kind(node) == SYNTAX_ASSIGNMENT &&
        str_equal(text_of(search->names, node_field(node, "left")), search->variable))
        value = node_field(node, "right");
    if (node_kind(node) == SYNTAX_FUNCTION &&
        str_equal(text_of(search->names, node_field(node, "name")), search->variable))
        value = node_field(node, "body");
    if (!node_is_null(value)) syntax_walk(value, visit_grid, (void *)(uintptr_t)search->walk);
    return true;
}

/// The call `kernel[grid](...)` whose kernel the identifier is, or a null node.
static SyntaxNode launch_of(SyntaxNode identifier) {
    SyntaxNode subscript = node_parent(identifier);
    if (node_kind(subscript) == SYNTAX_ATTRIBUTE) subscript = node_parent(subscript);
    SyntaxNode call = node_parent(subscript);
    bool is_launch = node_kind(subscript) == SYNTAX_SUBSCRIPT && node_kind(call) == SYNTAX_CALL &&
                     node_same(node_field(call, "function"), subscript);
    return is_launch ? call : (SyntaxNode){0};
}

TextMentions grid_mentions(FileNames *names, const FunctionDefinition *function, Str parameter) {
    TextMentions mentions = {0};
    GridWalk walk = {names, parameter, &mentions};
    Words words = words_of(names, function->name);
    for (LIST_EACH(int, i, words.list)) {
        SyntaxNode call = launch_of(words.list.items[i]);
        if (node_is_null(call)) continue;
        Name callee = callee_resolve(names, call);
        if (callee.kind != NAME_FUNCTION || !function_is_same(names, callee.function, function))
            continue;
        SyntaxNode grid = node_field(node_field(call, "function"), "subscript");
        syntax_walk(grid, visit_grid, &walk);
        if (node_kind(grid) != SYNTAX_IDENTIFIER) continue;
        LambdaSearch search = {names, text_of(names, grid), &walk};
        SyntaxNode around = function_around(call);
        syntax_walk(node_is_null(around) ? names->root : around, visit_grid_value, &search);
    }
    return mentions;
}
