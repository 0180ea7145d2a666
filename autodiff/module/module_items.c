// A file's statements at module level: what they bind, change and mention, and which belong together.
#include "autodiff/module/module_items.h"

#include <string.h>

#include "analysis/module/function_names.h"
#include "analysis/module/given_rules.h"
#include "analysis/module/module_scope.h"
#include "analysis/syntax/syntax_nodes.h"

typedef struct NameCollector {
    const Source *source;
    Item *item;
} NameCollector;

bool node_is_mention(SyntaxNode node) {
    if (node_kind(node) != SYNTAX_IDENTIFIER) return false;
    SyntaxNode parent = node_parent(node);
    SyntaxKind kind = node_kind(parent);
    if (kind == SYNTAX_ATTRIBUTE) return node_same(node_field(parent, "object"), node);
    return kind != SYNTAX_KEYWORD_ARGUMENT || !node_same(node_field(parent, "name"), node);
}

/// Whether it stands in the body of a function with a parameter of that name, or is the parameter.
static bool is_of_parameter(const Source *source, SyntaxNode node) {
    Str name = node_text(source, node);
    SyntaxNode below = node;
    for (SyntaxNode at = node_parent(node); !node_is_null(at); below = at, at = node_parent(at)) {
        if (node_kind(at) == SYNTAX_PARAMETERS)
            for (uint32_t i = 0; i < node_child_count(at); i++)
                if (node_same(parameter_identifier(node_child(at, i)), node)) return true;
        if (node_kind(at) != SYNTAX_FUNCTION || !node_same(node_field(at, "body"), below)) continue;
        SyntaxNode parameters = node_field(at, "parameters");
        for (uint32_t i = 0; i < node_child_count(parameters); i++) {
            SyntaxNode own = parameter_identifier(node_child(parameters, i));
            if (!node_is_null(own) && str_equal(node_text(source, own), name)) return true;
        }
    }
    return false;
}

/// A type in quotes (`args: "Options | None"`): the names in it.
static void mention_quoted(NameCollector *collector, SyntaxNode node) {
    Str text = node_text(collector->source, node);
    for (size_t at = 0, size; at < text.size; at += size + 1) {
        for (size = 0; at + size < text.size && byte_is_word(text.data[at + size]);) size++;
        if (size) map_set(&collector->item->mentions, (Str){text.data + at, size}, collector);
    }
}

static bool visit_mention(void *context, SyntaxNode node) {
    NameCollector *collector = context;
    if (node_kind(node) == SYNTAX_STRING && node_kind(node_parent(node)) == SYNTAX_TYPE)
        mention_quoted(collector, node);
    if (node_is_mention(node) && !is_of_parameter(collector->source, node))
        map_set(&collector->item->mentions, node_text(collector->source, node), collector);
    return true;
}

/// The name at the start of `a.b[c].d`; empty where there is none.
static Str base_name(const Source *source, SyntaxNode node) {
    for (;;) {
        SyntaxKind kind = node_kind(node);
        if (kind == SYNTAX_IDENTIFIER) return node_text(source, node);
        if (kind != SYNTAX_ATTRIBUTE && kind != SYNTAX_SUBSCRIPT) return (Str){0};
        node = node_field(node, kind == SYNTAX_ATTRIBUTE ? "object" : "value");
    }
}

static void bind_targets(const NameCollector *collector, SyntaxNode node) {
    if (node_is_null(node)) return;
    SyntaxKind kind = node_kind(node);
    if (kind == SYNTAX_IDENTIFIER) {
        map_set(&collector->item->binds, node_text(collector->source, node), collector->item);
        return;
    }
    if (kind == SYNTAX_ATTRIBUTE || kind == SYNTAX_SUBSCRIPT) {
        Str base = base_name(collector->source, node);
        if (base.size) map_set(&collector->item->changes, base, collector->item);
        return;
    }
    for (uint32_t i = 0; i < node_child_count(node); i++)
        bind_targets(collector, node_child(node, i));
}

static void bind_import(const NameCollector *collector, SyntaxNode node) {
    const Source *source = collector->source;
    Item *item = collector->item;
    // `from a.b import c` binds no `a`.
    uint32_t first = node_kind(node) == SYNTAX_IMPORT_FROM ? 1 : 0;
    for (uint32_t i = first; i < node_child_count(node); i++) {
        SyntaxNode child = node_child(node, i);
        SyntaxKind kind = node_kind(child);
        if (kind == SYNTAX_ALIASED_IMPORT)
            map_set(&item->binds, node_text(source, node_field(child, "alias")), item);
        if (kind == SYNTAX_WILDCARD_IMPORT) item->is_included = true;
        if (kind != SYNTAX_DOTTED_NAME) continue;
        Str name = node_text(source, child);
        size_t dot = 0;
        while (dot < name.size && name.data[dot] != '.') dot++;
        map_set(&item->binds, (Str){name.data, dot}, item);
    }
}

static bool visit_binding(void *context, SyntaxNode node) {
    const NameCollector *collector = context;
    const Source *source = collector->source;
    switch (node_kind(node)) {
    case SYNTAX_FUNCTION:
    case SYNTAX_CLASS: bind_targets(collector, node_field(node, "name")); return false;
    case SYNTAX_LAMBDA: return false;
    case SYNTAX_FOR:
    case SYNTAX_ASSIGNMENT: bind_targets(collector, node_field(node, "left")); return true;
    case SYNTAX_NAMED_EXPRESSION: bind_targets(collector, node_field(node, "name")); return true;
    case SYNTAX_AS_PATTERN_TARGET: bind_targets(collector, node_child(node, 0)); return true;
    case SYNTAX_AUGMENTED_ASSIGNMENT: {
        Str base = base_name(source, node_field(node, "left"));
        if (base.size) map_set(&collector->item->changes, base, collector->item);
        return true;
    }
    case SYNTAX_EXPRESSION_STATEMENT: {
        SyntaxNode call = node_child(node, 0), callee = node_field(call, "function");
        bool is_method = node_kind(call) == SYNTAX_CALL && node_kind(callee) == SYNTAX_ATTRIBUTE;
        Str base = is_method ? base_name(source, callee) : (Str){0};
        if (base.size) map_set(&collector->item->changes, base, collector->item);
        return true;
    }
    case SYNTAX_IMPORT:
    case SYNTAX_IMPORT_FROM: bind_import(collector, node); return false;
    case SYNTAX_FUTURE_IMPORT:
        collector->item->is_included = collector->item->is_future = true;
        return false;
    default: return true;
    }
}

static bool is_main_block(const Source *source, SyntaxNode node) {
    if (node_kind(node) != SYNTAX_IF) return false;
    Str condition = node_text(source, node_field(node, "condition"));
    return str_starts(str_trim(condition), "__name__") || str_ends(str_trim(condition), "__name__");
}

/// The derivative that is given by hand of the function that the item defines comes along, and so does what it calls.
static void take_given(Item *item, const GivenRules *rules) {
    for (LIST_EACH(int, i, *rules)) {
        const GivenRule *rule = &rules->items[i];
        if (!item->function || rule->function != item->function || rule->problem) continue;
        item->given = source_slice(rule->range);
        Str text = given_rule_text(rule);
        for (size_t at = 0, size; at < text.size; at += size + 1) {
            for (size = 0; at + size < text.size && byte_is_word(text.data[at + size]);) size++;
            Str word = {text.data + at, size};
            if (given_rule_asks(rule, word)) map_set(&item->mentions, word, item);
        }
    }
}

Item item_of_statement(Arena *arena, const Module *module, SyntaxNode node,
                       const FunctionDefinition *function) {
    Item item = {.node = node,
                 .range = node_range(module->source, node),
                 .function = function,
                 .binds = map_new(arena),
                 .changes = map_new(arena),
                 .mentions = map_new(arena),
                 .scripts = map_new(arena)};
    NameCollector collector = {module->source, &item};
    syntax_walk(node, visit_binding, &collector);
    syntax_walk(node, visit_mention, &collector);
    return item;
}

Items module_items(Arena *arena, const Module *module) {
    Items items = {0};
    GivenRules rules = given_rules(arena, module);
    SyntaxNode root = syntax_root(module->tree);
    for (uint32_t i = 0; i < node_child_count(root); i++) {
        SyntaxNode node = node_child(root, i);
        if (node_kind(node) == SYNTAX_COMMENT) continue;
        Item item = item_of_statement(arena, module, node, NULL);
        item.is_main = is_main_block(module->source, node);
        if (item.is_main) {
            item.scripts = item.binds;
            item.binds = item.changes = map_new(arena);
            item.is_included = false;
        }
        for (LIST_EACH(int, f, module->functions)) {
            const FunctionDefinition *function = module->functions.items[f];
            Range range = node_range(module->source, function->node);
            bool whole = range.start >= item.range.start && range.end == item.range.end;
            if (whole &&
                (node_kind(node) == SYNTAX_FUNCTION || node_kind(node) == SYNTAX_DECORATED))
                item.function = function;
        }
        take_given(&item, &rules);
        LIST_PUSH(arena, &items, item);
    }
    return items;
}

SyntaxNode item_class(const Item *item) {
    SyntaxNode node = item->node;
    if (node_kind(node) == SYNTAX_DECORATED) node = node_field(node, "definition");
    return node_kind(node) == SYNTAX_CLASS ? node : (SyntaxNode){0};
}

bool item_is_import(const Item *item) {
    SyntaxKind kind = node_kind(item->node);
    return kind == SYNTAX_IMPORT || kind == SYNTAX_IMPORT_FROM;
}

bool item_is_definition(const Item *item) {
    SyntaxKind kind = node_kind(item->node);
    return kind == SYNTAX_FUNCTION || kind == SYNTAX_DECORATED || kind == SYNTAX_CLASS;
}

void items_include(Items *items, Item *item) {
    if (item->is_included || item->left_out || item->is_main) return;
    item->is_included = true;
    for (int m = 0; m < item->mentions.count; m++)
        items_include_name(items, item->mentions.entries[m].key);
}

void items_include_name(Items *items, Str name) {
    for (int i = 0; i < items->count; i++)
        if (map_has(&items->items[i].binds, name)) items_include(items, &items->items[i]);
}

Item *items_binding(Items *items, Str name) {
    for (int i = 0; i < items->count; i++)
        if (map_has(&items->items[i].binds, name)) return &items->items[i];
    return NULL;
}

typedef struct NamesWithin {
    Arena *arena;
    const Source *source;
    Map names;
} NamesWithin;

/// Names of a function, of those in it, and of its expressions.
static bool visit_own(void *context, SyntaxNode node) {
    NamesWithin *own = context;
    SyntaxKind kind = node_kind(node);
    if (kind == SYNTAX_FOR_IN_CLAUSE)
        target_names_add(&own->names, own->source, node_field(node, "left"));
    if (kind == SYNTAX_LAMBDA && !node_is_null(node_field(node, "parameters")))
        parameter_names_add(&own->names, own->source, node_field(node, "parameters"));
    if (kind != SYNTAX_FUNCTION) return true;
    Map names = function_names(own->arena, own->source, node);
    for (int i = 0; i < names.count; i++) map_set(&own->names, names.entries[i].key, own);
    return true;
}

Str items_script_name(Arena *arena, const Module *module, const Items *items, const Item *item) {
    if (!item->function) return (Str){0};
    NamesWithin scope = {arena, module->source, map_new(arena)};
    syntax_walk(item->function->node, visit_own, &scope);
    Map own = scope.names;
    for (int m = 0; m < item->mentions.count; m++) {
        Str name = item->mentions.entries[m].key;
        bool is_of_script = false, is_bound = map_has(&own, name);
        for (int i = 0; i < items->count && !is_bound; i++) {
            is_of_script |= map_has(&items->items[i].scripts, name);
            is_bound = map_has(&items->items[i].binds, name);
        }
        if (is_of_script && !is_bound) return name;
    }
    return (Str){0};
}

bool items_bind(const Items *items, const char *name) {
    for (int i = 0; i < items->count; i++)
        if (items->items[i].is_included && map_has(&items->items[i].binds, str_from(name)))
            return true;
    return false;
}

/// The included item that binds the name last; NULL: there is none.
static const Item *binding_of(const Items *items, Str name) {
    const Item *found = NULL;
    for (int i = 0; i < items->count; i++)
        if (items->items[i].is_included && map_has(&items->items[i].binds, name))
            found = &items->items[i];
    return found;
}

/// Whether each name that the statement mentions is included, or none of the file's.
static bool stands_alone(const Items *items, const Item *item) {
    for (int m = 0; m < item->mentions.count; m++) {
        Str name = item->mentions.entries[m].key;
        if (binding_of(items, name)) continue;
        for (int i = 0; i < items->count; i++)
            if (map_has(&items->items[i].binds, name) && !item_is_import(&items->items[i]))
                return false;
    }
    return true;
}

/// A statement that sets something of a module, `torch.backends.cudnn.enabled = False`, `sys.path.append(folder)`, or changes
/// what an included statement made.
static bool belongs(const Items *items, const Item *item) {
    bool is_call = node_kind(item->node) == SYNTAX_EXPRESSION_STATEMENT &&
                   node_kind(node_child(item->node, 0)) == SYNTAX_CALL;
    Str text = source_slice(item->range);
    if (is_call && str_starts(text, "sys.path.")) return stands_alone(items, item);
    for (int c = 0; c < item->changes.count; c++) {
        Str name = item->changes.entries[c].key;
        const Item *binding = binding_of(items, name);
        if (!binding || binding == item) continue;
        if (!item_is_import(binding)) return !item_is_definition(binding) || !is_call;
        if (!is_call || text_contains(text, ".set_")) return stands_alone(items, item);
    }
    return false;
}

void items_include_changes(Items *items) {
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 0; i < items->count; i++) {
            Item *item = &items->items[i];
            if (item->is_included || item->left_out || item->is_main || item_is_definition(item))
                continue;
            if (!belongs(items, item)) continue;
            items_include(items, item);
            changed = true;
        }
    }
}
