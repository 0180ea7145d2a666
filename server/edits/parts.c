// Formatters, and people who add a comment or a type, change none of this.
#include "server/edits/parts.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

SyntaxNode part_bare(SyntaxNode node) {
    for (;;) {
        SyntaxKind kind = node_kind(node);
        bool is_wrapped = kind == SYNTAX_PARENTHESIZED || kind == SYNTAX_TYPED_PARAMETER;
        SyntaxNode inner = {0};
        for (uint32_t i = 0; is_wrapped && i < node_child_count(node); i++) {
            inner = node_child(node, i);
            if (node_kind(inner) != SYNTAX_COMMENT) break;
        }
        if (!is_wrapped || node_is_null(inner)) return node;
        node = inner;
    }
}

static bool is_string(SyntaxNode node) {
    return node_kind(node) == SYNTAX_STRING || node_kind(node) == SYNTAX_CONCATENATED_STRING;
}

/// A docstring, `pass`, `x: int`: does nothing.
static bool is_idle(SyntaxNode node) {
    if (node_kind(node) == SYNTAX_PASS) return true;
    if (node_kind(node) != SYNTAX_EXPRESSION_STATEMENT) return false;
    SyntaxNode inner = part_bare(node_child(node, 0));
    if (is_string(inner)) return true;
    return node_kind(inner) == SYNTAX_ASSIGNMENT && node_is_null(node_field(inner, "right"));
}

bool part_is_block(SyntaxNode node) {
    return node_kind(node) == SYNTAX_BLOCK || node_kind(node) == SYNTAX_MODULE;
}

static bool is_layout(const Source *source, SyntaxNode node) {
    if (node_kind(node) == SYNTAX_COMMENT || node_kind(node) == SYNTAX_LINE_CONTINUATION)
        return true;
    if (node_kind(node) != SYNTAX_OTHER || node_all_child_count(node)) return false;
    Str text = node_text(source, node);
    return text.size == 1 && strchr(",();", text.data[0]);
}

/// What says a type: `: T` of an assignment or a parameter, `-> T` of a function.
static bool is_of_type(const Source *source, SyntaxNode parent, SyntaxNode node) {
    SyntaxKind kind = node_kind(parent);
    bool is_function = kind == SYNTAX_FUNCTION;
    if (!is_function && kind != SYNTAX_ASSIGNMENT && kind != SYNTAX_TYPED_DEFAULT_PARAMETER)
        return false;
    SyntaxNode type = node_field(parent, is_function ? "return_type" : "type");
    Str text = node_text(source, node);
    return !node_is_null(type) && (node_same(type, node) || str_is(text, is_function ? "->" : ":"));
}

SyntaxParts parts_of(Arena *arena, const Source *source, SyntaxNode node) {
    SyntaxParts parts = {0};
    SyntaxNode *children;
    int count = node_all_children(arena, node, &children);
    bool is_block = part_is_block(node);
    for (int i = 0; i < count; i++) {
        SyntaxNode child = children[i];
        if (is_layout(source, child) || is_of_type(source, node, child)) continue;
        if (is_block && is_idle(child)) continue;
        LIST_PUSH(arena, &parts, part_bare(child));
    }
    return parts;
}

static SyntaxKind plain_kind(SyntaxNode node) {
    switch (node_kind(node)) {
    case SYNTAX_EXPRESSION_LIST:
    case SYNTAX_PATTERN_LIST:
    case SYNTAX_TUPLE_PATTERN: return SYNTAX_TUPLE;
    case SYNTAX_LIST_PATTERN: return SYNTAX_LIST;
    case SYNTAX_TYPED_DEFAULT_PARAMETER: return SYNTAX_DEFAULT_PARAMETER;
    default: return node_kind(node);
    }
}

bool parts_are_of_a_kind(SyntaxNode a, SyntaxNode b) {
    SyntaxKind kind = plain_kind(a);
    if (kind != plain_kind(b)) return false;
    return kind != SYNTAX_OTHER || strcmp(node_kind_name(a), node_kind_name(b)) == 0;
}

// --- Strings and numbers

typedef struct StringText {
    Str prefix, content;
} StringText;

/// `rb"..."` in its parts, the quotes left out.
static StringText string_text(const Source *source, SyntaxNode node) {
    Str text = node_text(source, node);
    size_t prefix = 0;
    while (prefix < text.size && text.data[prefix] != '"' && text.data[prefix] != '\'') prefix++;
    size_t quotes = prefix;
    while (quotes < text.size && quotes - prefix < 3 && text.data[quotes] == text.data[prefix])
        quotes++;
    size_t ends = quotes - prefix == 2 ? 1 : quotes - prefix;  // "" is empty
    StringText found = {{text.data, prefix}, {text.data + prefix + ends, 0}};
    if (text.size >= prefix + 2 * ends) found.content.size = text.size - prefix - 2 * ends;
    return found;
}

/// Whether the backslash at `i` stands for nothing but the quote behind it.
static bool escapes_quote(Str text, size_t i) {
    return text.data[i] == '\\' && i + 1 < text.size &&
           (text.data[i + 1] == '"' || text.data[i + 1] == '\'');
}

bool string_parts_equal(const Source *a_source, SyntaxNode a, const Source *b_source,
                        SyntaxNode b) {
    StringText left = string_text(a_source, a), right = string_text(b_source, b);
    if (left.prefix.size != right.prefix.size) return false;
    for (size_t i = 0; i < left.prefix.size; i++)
        if (tolower((unsigned char)left.prefix.data[i]) !=
            tolower((unsigned char)right.prefix.data[i]))
            return false;
    size_t i = 0, k = 0;
    while (i < left.content.size && k < right.content.size) {
        i += escapes_quote(left.content, i);
        k += escapes_quote(right.content, k);
        if (left.content.data[i++] != right.content.data[k++]) return false;
    }
    return i == left.content.size && k == right.content.size;
}

bool number_parts_equal(Str a, Str b) {
    enum { MOST_DIGITS = 15 };  // more are no double's
    if (str_equal(a, b)) return true;
    if (a.size > MOST_DIGITS || b.size > MOST_DIGITS) return false;
    char left[MOST_DIGITS + 1] = {0}, right[MOST_DIGITS + 1] = {0}, *left_end, *right_end;
    memcpy(left, a.data, a.size);
    memcpy(right, b.data, b.size);
    double x = strtod(left, &left_end), y = strtod(right, &right_end);
    return !*left_end && !*right_end && x == y;
}

// --- Names

typedef struct BoundNames {
    const Source *source;
    Map *names;
} BoundNames;

static void bind(const BoundNames *bound, SyntaxNode node) {
    if (node_kind(node) == SYNTAX_IDENTIFIER)
        map_set(bound->names, node_text(bound->source, node), bound->names);
}

static void visit_target(void *context, SyntaxNode identifier, bool is_item) {
    (void)is_item;
    bind(context, identifier);
}

static void bind_parameters(const BoundNames *bound, SyntaxNode parameters) {
    for (uint32_t i = 0; i < node_child_count(parameters); i++) {
        SyntaxNode parameter = part_bare(node_child(parameters, i));
        SyntaxNode name = node_field(parameter, "name");
        if (!node_is_null(name)) parameter = name;
        bool is_spread = node_kind(parameter) == SYNTAX_LIST_SPLAT_PATTERN ||
                         node_kind(parameter) == SYNTAX_DICTIONARY_SPLAT_PATTERN;
        bind(bound, is_spread ? node_child(parameter, 0) : parameter);
    }
}

static bool visit_binder(void *context, SyntaxNode node) {
    BoundNames *bound = context;
    switch (node_kind(node)) {
    case SYNTAX_FUNCTION:
        bind(bound, node_field(node, "name"));
        bind_parameters(bound, node_field(node, "parameters"));
        break;
    case SYNTAX_LAMBDA: bind_parameters(bound, node_field(node, "parameters")); break;
    case SYNTAX_ASSIGNMENT:
    case SYNTAX_AUGMENTED_ASSIGNMENT:
    case SYNTAX_FOR:
    case SYNTAX_FOR_IN_CLAUSE: syntax_targets(node_field(node, "left"), visit_target, bound); break;
    case SYNTAX_NAMED_EXPRESSION: bind(bound, node_field(node, "name")); break;
    case SYNTAX_AS_PATTERN_TARGET: bind(bound, node_child(node, 0)); break;
    default: break;
    }
    return true;
}

Map parts_bind(Arena *arena, const Source *source, SyntaxNode function) {
    Map names = map_new(arena);
    BoundNames bound = {source, &names};
    bind_parameters(&bound, node_field(function, "parameters"));
    syntax_walk(node_field(function, "body"), visit_binder, &bound);
    return names;
}

// --- Shapes

static bool is_word_of_another(SyntaxNode node) {
    SyntaxNode parent = node_parent(node);
    SyntaxKind kind = node_kind(parent);
    if (kind == SYNTAX_ATTRIBUTE) return node_same(node_field(parent, "attribute"), node);
    return kind == SYNTAX_KEYWORD_ARGUMENT && node_same(node_field(parent, "name"), node);
}

static void put_shape(Buffer *out, const Source *source, SyntaxNode node, const Map *names,
                      int depth) {
    node = part_bare(node);
    Str text = node_text(source, node);
    if (node_kind(node) == SYNTAX_IDENTIFIER) {
        bool is_open = !is_word_of_another(node) && map_has(names, text);
        buffer_printf(out, "%.*s ", STR_ARGS(is_open ? STR(".") : text));
        return;
    }
    if (node_kind(node) == SYNTAX_STRING) {
        Str content = string_text(source, node).content;
        buffer_printf(out, "'%.*s' ", STR_ARGS(content));
        return;
    }
    SyntaxParts parts = {0};
    if (depth < DEEPEST_PART) parts = parts_of(out->arena, source, node);
    if (!parts.count) buffer_printf(out, "%.*s ", STR_ARGS(text));
    for (LIST_EACH(int, i, parts)) put_shape(out, source, parts.items[i], names, depth + 1);
}

const char *part_shape(Arena *arena, const Source *source, SyntaxNode node, const Map *names) {
    Buffer out = buffer_new(arena);
    put_shape(&out, source, node, names, 0);
    return buffer_text(&out);
}
