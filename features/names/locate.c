// Offset in, meaning out: which variable, parameter, function, operation or type an identifier stands for.
#include "features/names/locate.h"
#include "analysis/module/function_names.h"
#include "analysis/syntax/syntax_nodes.h"

#include <string.h>

enum { CLIMB_LIMIT = 400 };

Range range_of(const FileNames *names, SyntaxNode node) { return node_range(names->source, node); }

Str text_of(const FileNames *names, SyntaxNode node) {
    return node_is_null(node) ? (Str){"", 0} : node_text(names->source, node);
}

bool range_touches(Range range, uint32_t offset) {
    return range.start <= offset && offset <= range.end;
}

FileNames names_of(Arena *arena, const Snapshot *snapshot) {
    FileNames names = {.arena = arena,
                       .snapshot = snapshot,
                       .source = snapshot->source,
                       .root = syntax_root(snapshot->module->tree),
                       .functions = map_new(arena),
                       .kernels = map_new(arena),
                       .bound = map_new(arena),
                       .globals = map_new(arena),
                       .carried = map_new(arena)};
    for (LIST_EACH(int, i, snapshot->module->functions)) {
        FunctionDefinition *function = snapshot->module->functions.items[i];
        Range range = snapshot_range(snapshot, function->name_range);
        map_set_number(&names.functions, (uint64_t)range.start + 1, function);
    }
    names.places = ARENA_ARRAY(arena, KernelPlace, snapshot->kernels.count + 1);
    names.place_count = snapshot->kernels.count;
    for (LIST_EACH(int, i, snapshot->kernels)) {
        const Kernel *kernel = &snapshot->kernels.items[i];
        Range range = snapshot_range(snapshot, kernel->definition->name_range);
        map_set_number(&names.kernels, (uint64_t)range.start + 1, (void *)(uintptr_t)kernel);
        names.places[i] =
            (KernelPlace){.kernel = kernel,
                          .start = snapshot_range(snapshot, kernel->definition->header_range).start,
                          .end = snapshot_range(snapshot, kernel->definition->range).end};
    }
    return names;
}

// --- Functions around

SyntaxNode function_around(SyntaxNode node) {
    SyntaxNode up = node;
    for (int i = 0; i < CLIMB_LIMIT && !node_is_null(up); i++) {
        if (node_kind(up) == SYNTAX_FUNCTION) return up;
        up = node_parent(up);
    }
    return (SyntaxNode){0};
}

static uint64_t function_key(const FileNames *names, SyntaxNode function) {
    return (uint64_t)range_of(names, node_field(function, "name")).start + 1;
}

const FunctionDefinition *definition_of_node(FileNames *names, SyntaxNode function) {
    if (node_is_null(function)) return NULL;
    return map_get_number(&names->functions, function_key(names, function));
}

const Kernel *kernel_of_node(FileNames *names, SyntaxNode function) {
    if (node_is_null(function)) return NULL;
    return map_get_number(&names->kernels, function_key(names, function));
}

/// The innermost kernel around a byte.
static KernelPlace *place_around(FileNames *names, uint32_t offset) {
    KernelPlace *found = NULL;
    for (int i = 0; i < names->place_count; i++) {
        KernelPlace *place = &names->places[i];
        bool is_inside = place->start <= offset && offset < place->end;
        if (is_inside && (!found || place->start > found->start)) found = place;
    }
    return found;
}

const Kernel *kernel_around(FileNames *names, SyntaxNode node) {
    if (node_is_null(node)) return NULL;
    Range range = range_of(names, node);
    const KernelPlace *place = place_around(names, range.start);
    return place && range.end <= place->end ? place->kernel : NULL;
}

SyntaxNode node_of_kernel(FileNames *names, const Kernel *kernel) {
    if (!kernel) return (SyntaxNode){0};
    Range range = snapshot_range(names->snapshot, kernel->definition->name_range);
    SyntaxNode name = node_at(names->root, range.start, range.end);
    SyntaxNode function = node_parent(name);
    return node_kind(function) == SYNTAX_FUNCTION ? function : function_around(name);
}

static bool visit_inner_scope(void *context, SyntaxNode node) {
    switch (node_kind(node)) {
    case SYNTAX_LAMBDA:
    case SYNTAX_FUNCTION:
    case SYNTAX_CLASS:
    case SYNTAX_LIST_COMPREHENSION:
    case SYNTAX_GENERATOR:
    case SYNTAX_SET_COMPREHENSION:
    case SYNTAX_DICTIONARY_COMPREHENSION: *(bool *)context = true; return false;
    default: return !*(bool *)context;
    }
}

/// The kernel in whose body the byte is, its names found; NULL elsewhere.
static KernelPlace *body_around(FileNames *names, uint32_t offset) {
    KernelPlace *place = place_around(names, offset);
    if (!place) return NULL;
    if (!place->is_known) {
        place->is_known = true;
        place->node = node_of_kernel(names, place->kernel);
        SyntaxNode body = node_field(place->node, "body");
        place->body_start = node_is_null(body) ? UINT32_MAX : range_of(names, body).start;
        place->bound = names_bound(names, place->node);
        Str text = text_of(names, body);
        if (text_has_scopes(text) || text_contains(text, "def "))
            syntax_walk(body, visit_inner_scope, &place->has_inner_scopes);
    }
    return offset >= place->body_start ? place : NULL;
}

bool function_is_same(FileNames *names, const FunctionDefinition *a, const FunctionDefinition *b) {
    if (!a || !b || a == b) return a == b;
    if (!str_equal(a->name, b->name)) return false;
    Range first = snapshot_range(names->snapshot, a->name_range);
    Range second = snapshot_range(names->snapshot, b->name_range);
    return first.source == second.source && first.start == second.start;
}

const Kernel *kernel_of_function(FileNames *names, const FunctionDefinition *function) {
    if (!function) return NULL;
    Range range = snapshot_range(names->snapshot, function->name_range);
    if (range.source != names->source) return NULL;
    return map_get_number(&names->kernels, (uint64_t)range.start + 1);
}

Value *value_of_node(FileNames *names, const Kernel *kernel, SyntaxNode node) {
    if (!kernel || node_is_null(node)) return NULL;
    return snapshot_value_at(names->snapshot, kernel, range_of(names, node));
}

// --- Names that functions bind

const Map *names_bound(FileNames *names, SyntaxNode function) {
    uint64_t key = (uint64_t)range_of(names, function).start + 1;
    Map *bound = map_get_number(&names->bound, key);
    if (bound) return bound;
    bound = ARENA_NEW(names->arena, Map);
    *bound = function_names(names->arena, names->source, function);
    map_set_number(&names->bound, key, bound);
    return bound;
}

// --- Names at module level

static ScopeEntry global_entry(FileNames *names, Str text) {
    ScopeEntry *known = map_get(&names->globals, text);
    if (!known) {
        known = ARENA_NEW(names->arena, ScopeEntry);
        *known = module_resolve(names->arena, names->snapshot->module, text);
        map_set(&names->globals, text, known);
    }
    return *known;
}

static void name_set_entry(Name *name, ScopeEntry entry) {
    Str language;
    switch (entry.kind) {
    case SCOPE_FUNCTION:
        name->kind = NAME_FUNCTION;
        name->function = entry.function;
        break;
    case SCOPE_ASSIGNED:
        name->kind = NAME_GLOBAL;
        name->entry = entry;
        break;
    case SCOPE_EXTERNAL:
        name->entry = entry;
        if (str_is(entry.dotted, "triton")) name->kind = NAME_NAMESPACE;
        if (!scope_language_name(entry.dotted, &language)) break;
        name->kind = NAME_NAMESPACE;
        name->op = scope_find_operation(language);
        name->dtype = dtype_from_name(language);
        // dtype_from_name takes short names, too, which triton.language does not have.
        bool is_dtype = name->dtype != DTYPE_UNKNOWN && dtype_name(name->dtype) &&
                        str_is(language, dtype_name(name->dtype));
        if (name->op != OP_COUNT) name->kind = NAME_OPERATION;
        if (is_dtype) name->kind = NAME_DTYPE;
        break;
    default: break;
    }
}

// --- Scopes, inside out

static bool comprehension_binds(FileNames *names, SyntaxNode comprehension, Str text) {
    Map bound = map_new(names->arena);
    for (uint32_t i = 0; i < node_child_count(comprehension); i++) {
        SyntaxNode child = node_child(comprehension, i);
        if (node_kind(child) == SYNTAX_FOR_IN_CLAUSE)
            target_names_add(&bound, names->source, node_field(child, "left"));
    }
    return map_has(&bound, text);
}

static bool lambda_binds(FileNames *names, SyntaxNode lambda, Str text) {
    Map bound = map_new(names->arena);
    parameter_names_add(&bound, names->source, node_field(lambda, "parameters"));
    return map_has(&bound, text);
}

static int parameter_find(const FunctionDefinition *function, Str text) {
    for (int i = 0; function && i < function->parameter_count; i++)
        if (str_equal(function->parameters[i].name, text)) return i;
    return -1;
}

static void name_set_variable(FileNames *names, Name *name, SyntaxNode function) {
    const FunctionDefinition *definition = definition_of_node(names, function);
    if (!definition || !definition->is_jit) return;
    name->scope = function;
    name->parameter = parameter_find(definition, name->text);
    name->function = definition;
    name->kind = name->parameter >= 0 ? NAME_PARAMETER : NAME_LOCAL;
}

/// A plain name, looked up from where it stands outwards.
static void resolve_plain(FileNames *names, Name *name) {
    const KernelPlace *place = body_around(names, name->range.start);
    if (place && !place->has_inner_scopes) {
        if (map_get(place->bound, name->text))
            name_set_variable(names, name, place->node);
        else
            name_set_entry(name, global_entry(names, name->text));
        return;
    }
    SyntaxNode child = name->node;
    SyntaxNode node = node_parent(child);
    for (int i = 0; i < CLIMB_LIMIT && !node_is_null(node); i++) {
        switch (node_kind(node)) {
        case SYNTAX_LAMBDA:
            if (lambda_binds(names, node, name->text)) return;
            break;
        case SYNTAX_LIST_COMPREHENSION:
        case SYNTAX_GENERATOR:
        case SYNTAX_SET_COMPREHENSION:
        case SYNTAX_DICTIONARY_COMPREHENSION:
            if (comprehension_binds(names, node, name->text)) {
                const Kernel *kernel = kernel_of_node(names, function_around(node));
                if (!kernel) return;
                name->kind = NAME_LOCAL;
                name->scope = node;
                return;
            }
            break;
        case SYNTAX_FUNCTION:
            // Defaults, annotations and decorators are looked up outside.
            if (!node_same(child, node_field(node, "body"))) break;
            if (map_get(names_bound(names, node), name->text)) {
                name_set_variable(names, name, node);
                return;
            }
            break;
        default: break;
        }
        child = node;
        node = node_parent(node);
    }
    name_set_entry(name, global_entry(names, name->text));
}

static Name name_of_node(FileNames *names, SyntaxNode node) {
    return (Name){.node = node,
                  .range = range_of(names, node),
                  .text = text_of(names, node),
                  .parameter = -1,
                  .op = OP_COUNT};
}

/// Whether the name is a variable of a kernel where it stands.
static bool is_variable(FileNames *names, SyntaxNode identifier) {
    const KernelPlace *place = body_around(names, range_of(names, identifier).start);
    if (place && !place->has_inner_scopes)
        return map_get(place->bound, text_of(names, identifier)) != NULL;
    Name name = name_resolve(names, identifier);
    return name.kind == NAME_LOCAL || name.kind == NAME_PARAMETER;
}

static ScopeEntry dotted_entry(FileNames *names, SyntaxNode attribute) {
    Str text = text_of(names, attribute);
    ScopeEntry *known = map_get(&names->globals, text);
    if (!known) {
        known = ARENA_NEW(names->arena, ScopeEntry);
        *known = scope_of_expression(names->arena, names->snapshot->module, attribute);
        map_set(&names->globals, text, known);
    }
    return *known;
}

/// `object.name`: of a module, or of a value in a kernel.
static void resolve_attribute(FileNames *names, Name *name, SyntaxNode attribute) {
    SyntaxNode object = node_field(attribute, "object");
    SyntaxNode first = object;
    for (int i = 0; i < CLIMB_LIMIT && node_kind(first) == SYNTAX_ATTRIBUTE; i++)
        first = node_field(first, "object");
    if (node_kind(first) == SYNTAX_IDENTIFIER && !is_variable(names, first)) {
        name_set_entry(name, dotted_entry(names, attribute));
        return;
    }
    if (!kernel_around(names, attribute)) return;
    const Value *value = value_of_node(names, kernel_around(names, attribute), object);
    name->op = OP_COUNT;
    if (value && value->type.kind == TYPE_DESCRIPTOR)
        name->op = op_find_method(
            str_from(arena_printf(names->arena, "descriptor.%.*s", STR_ARGS(name->text))));
    if (name->op == OP_COUNT) name->op = op_find_method(name->text);
    name->kind = name->op == OP_COUNT ? NAME_ATTRIBUTE : NAME_METHOD;
}

static void resolve_keyword(FileNames *names, Name *name, SyntaxNode argument) {
    SyntaxNode call = node_parent(node_parent(argument));
    name->is_keyword = true;
    if (node_kind(call) != SYNTAX_CALL) return;
    Name callee = callee_resolve(names, call);
    if (callee.kind == NAME_OPERATION || callee.kind == NAME_METHOD) {
        name->op = callee.op;
        name->parameter = op_parameter_index(callee.op, name->text);
        if (name->parameter >= 0) name->kind = NAME_OPERATION_KEYWORD;
    } else if (callee.kind == NAME_FUNCTION && callee.function->is_jit) {
        name->parameter = parameter_find(callee.function, name->text);
        name->function = callee.function;
        name->kind = name->parameter >= 0 ? NAME_PARAMETER : NAME_LAUNCH_OPTION;
    }
}

/// Whether the identifier is the name of a parameter of `function`.
static bool is_parameter_name(FileNames *names, SyntaxNode identifier, SyntaxNode *function) {
    SyntaxNode node = node_parent(identifier);
    SyntaxNode child = identifier;
    for (int i = 0; i < 3 && !node_is_null(node); i++) {
        if (node_kind(node) == SYNTAX_PARAMETERS) {
            *function = node_parent(node);
            return node_kind(*function) == SYNTAX_FUNCTION &&
                   node_same(parameter_identifier(child), identifier);
        }
        child = node;
        node = node_parent(node);
    }
    (void)names;
    return false;
}

static bool is_write(SyntaxNode identifier) {
    SyntaxNode child = identifier;
    SyntaxNode node = node_parent(identifier);
    for (int i = 0; i < 8 && !node_is_null(node); i++) {
        switch (node_kind(node)) {
        case SYNTAX_PATTERN_LIST:
        case SYNTAX_TUPLE_PATTERN:
        case SYNTAX_LIST_PATTERN:
        case SYNTAX_LIST_SPLAT_PATTERN: break;
        case SYNTAX_AS_PATTERN_TARGET: return true;
        case SYNTAX_ASSIGNMENT:
        case SYNTAX_AUGMENTED_ASSIGNMENT:
        case SYNTAX_FOR:
        case SYNTAX_FOR_IN_CLAUSE: return node_same(node_field(node, "left"), child);
        case SYNTAX_NAMED_EXPRESSION: return node_same(node_field(node, "name"), child);
        default: return false;
        }
        child = node;
        node = node_parent(node);
    }
    return false;
}

static bool is_in_import(SyntaxNode parent) {
    SyntaxKind kind = node_kind(parent);
    return kind == SYNTAX_DOTTED_NAME || kind == SYNTAX_ALIASED_IMPORT;
}

/// A name in an import statement means what it is bound to afterwards.
static void resolve_import(FileNames *names, Name *name, SyntaxNode parent) {
    SyntaxNode alias = parent;
    if (node_kind(parent) == SYNTAX_DOTTED_NAME) alias = node_parent(parent);
    Str bound = name->text;
    if (node_kind(alias) == SYNTAX_ALIASED_IMPORT)
        bound = text_of(names, node_field(alias, "alias"));
    name_set_entry(name, global_entry(names, bound));
    name->is_write = true;
}

Name name_resolve(FileNames *names, SyntaxNode identifier) {
    Name name = name_of_node(names, identifier);
    if (node_kind(identifier) != SYNTAX_IDENTIFIER) return name;
    name.kernel = kernel_around(names, identifier);
    SyntaxNode parent = node_parent(identifier);
    SyntaxNode function;
    SyntaxKind kind = node_kind(parent);
    if (kind == SYNTAX_ATTRIBUTE && node_same(node_field(parent, "attribute"), identifier)) {
        resolve_attribute(names, &name, parent);
    } else if (kind == SYNTAX_KEYWORD_ARGUMENT &&
               node_same(node_field(parent, "name"), identifier)) {
        resolve_keyword(names, &name, parent);
    } else if (kind == SYNTAX_FUNCTION && node_same(node_field(parent, "name"), identifier)) {
        name.function = definition_of_node(names, parent);
        name.kind = name.function ? NAME_FUNCTION : NAME_NOTHING;
        name.is_write = true;
    } else if (is_in_import(parent)) {
        resolve_import(names, &name, parent);
    } else if (!body_around(names, name.range.start) &&
               is_parameter_name(names, identifier, &function)) {
        name_set_variable(names, &name, function);
        name.is_write = true;
    } else {
        resolve_plain(names, &name);
        name.is_write = is_write(identifier);
    }
    return name;
}

// --- Nodes at offsets

SyntaxNode identifier_at(FileNames *names, uint32_t offset) {
    if (offset > names->source->text.size) return (SyntaxNode){0};
    SyntaxNode node = node_at(names->root, offset, offset);
    if (node_kind(node) == SYNTAX_IDENTIFIER) return node;
    if (offset == 0) return (SyntaxNode){0};
    node = node_at(names->root, offset - 1, offset);
    return node_kind(node) == SYNTAX_IDENTIFIER ? node : (SyntaxNode){0};
}

Name name_at(FileNames *names, uint32_t offset) {
    return name_resolve(names, identifier_at(names, offset));
}

bool offset_is_text(FileNames *names, uint32_t offset) {
    if (offset > names->source->text.size) return false;
    SyntaxNode node = node_at(names->root, offset ? offset - 1 : 0, offset);
    for (int i = 0; i < 6 && !node_is_null(node); i++) {
        SyntaxKind kind = node_kind(node);
        if (kind == SYNTAX_INTERPOLATION) return false;
        Range range = range_of(names, node);
        if (kind == SYNTAX_COMMENT) return range.start < offset;
        if (kind == SYNTAX_STRING) return range.start < offset && offset < range.end;
        node = node_parent(node);
    }
    return false;
}

Range string_content(const FileNames *names, SyntaxNode node) {
    Range range = range_of(names, node);
    Str text = source_slice(range);
    bool is_plain = node_kind(node) == SYNTAX_STRING && text.size >= 2 &&
                    (text.data[0] == '"' || text.data[0] == '\'') &&
                    text.data[text.size - 1] == text.data[0];
    if (!is_plain || (text.size >= 6 && text.data[1] == text.data[0])) {
        range.end = range.start;
        return range;
    }
    return (Range){range.source, range.start + 1, range.end - 1};
}

// --- Calls

Name callee_resolve(FileNames *names, SyntaxNode call) {
    SyntaxNode function = node_field(call, "function");
    bool is_launch = node_kind(function) == SYNTAX_SUBSCRIPT;
    if (is_launch) function = node_field(function, "value");
    SyntaxNode identifier =
        node_kind(function) == SYNTAX_ATTRIBUTE ? node_field(function, "attribute") : function;
    Name name = name_resolve(names, identifier);
    if (is_launch && name.kind != NAME_FUNCTION) name.kind = NAME_NOTHING;
    return name;
}

// --- Words

Words words_of(FileNames *names, Str text) {
    return words_within(names, text, (Range){names->source, 0, (uint32_t)names->source->text.size});
}

Words words_within(FileNames *names, Str text, Range range) {
    Words words = {0};
    const char *start = names->source->text.data;
    const char *end = start + range.end;
    if (!text.size) return words;
    for (const char *at = start + range.start; at + text.size <= end; at++) {
        at = memchr(at, text.data[0], (size_t)(end - at));
        if (!at || at + text.size > end) break;
        if (memcmp(at, text.data, text.size) != 0) continue;
        const char *after = at + text.size;
        bool is_whole =
            (at == start || !byte_is_word(at[-1])) && (after == end || !byte_is_word(*after));
        if (!is_whole) continue;
        uint32_t offset = (uint32_t)(at - start);
        SyntaxNode node = node_at(names->root, offset, offset + (uint32_t)text.size);
        if (node_kind(node) == SYNTAX_IDENTIFIER) LIST_PUSH(names->arena, &words.list, node);
    }
    return words;
}
