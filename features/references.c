// Uses of a name, and the changes that renaming it takes.
#include "features/references.h"

#include "analysis/syntax/syntax_nodes.h"
#include "features/shared.h"

#include <string.h>

Name name_asked(FileNames *names, uint32_t offset) {
    SyntaxNode identifier = identifier_at(names, offset);
    if (!node_is_null(identifier)) return name_resolve(names, identifier);
    return name_in_text(names, offset);
}

Ranges references_at(Arena *arena, const Snapshot *snapshot, uint32_t offset,
                     bool include_declaration) {
    FileNames names = names_of(arena, snapshot);
    Name name = name_asked(&names, offset);
    NamePlaces places = places_of(&names, &name);
    return places_ranges(arena, &places, include_declaration);
}

Highlights highlights_at(Arena *arena, const Snapshot *snapshot, uint32_t offset) {
    FileNames names = names_of(arena, snapshot);
    Name name = name_asked(&names, offset);
    Highlights highlights = {0};
    NamePlaces places = places_of(&names, &name);
    for (LIST_EACH(int, i, places.list)) {
        Highlight highlight = {places.list.items[i].range, places.list.items[i].is_write};
        LIST_PUSH(arena, &highlights.list, highlight);
    }
    return highlights;
}

// --- Renaming

static const char *const python_words[] = {
    "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
    "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
    "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
    "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};

static bool is_identifier(Str name) {
    for (size_t i = 0; i < sizeof python_words / sizeof *python_words; i++)
        if (str_is(name, python_words[i])) return false;
    return str_is_name(name);
}

static const char *refusal_of_kind(const Name *name) {
    switch (name->kind) {
    case NAME_LOCAL:
    case NAME_PARAMETER:
    case NAME_GLOBAL: return NULL;
    case NAME_FUNCTION:
        return name->function->is_jit
                   ? NULL
                   : "This is host code: rename it with your Python language server.";
    case NAME_OPERATION:
    case NAME_METHOD:
    case NAME_OPERATION_KEYWORD:
    case NAME_DTYPE:
    case NAME_NAMESPACE:
    case NAME_LAUNCH_OPTION:
    case NAME_ATTRIBUTE: return "This name belongs to Triton.";
    case NAME_NOTHING: break;
    }
    return "There is no name of a kernel here.";
}

/// `kernel[grid](**meta)` may pass the parameter by a name that stands somewhere else: the line, or 0.
static int open_call_line(FileNames *names, const Name *name) {
    Words words = words_of(names, name->function->name);
    for (LIST_EACH(int, i, words.list)) {
        SyntaxNode call = node_parent(words.list.items[i]);
        for (int up = 0; up < 2 && node_kind(call) != SYNTAX_CALL; up++) call = node_parent(call);
        SyntaxNode list = node_field(call, "arguments");
        if (node_kind(call) != SYNTAX_CALL || !arguments_are_open(list)) continue;
        Name callee = callee_resolve(names, call);
        if (callee.kind != NAME_FUNCTION ||
            !function_is_same(names, callee.function, name->function))
            continue;
        if (node_is_null(argument_of(names, list, name->parameter, name->text)))
            return range_line(range_of(names, call));
    }
    return 0;
}

const char *rename_refusal_of_places(FileNames *names, const Name *name, const NamePlaces *places) {
    for (LIST_EACH(int, i, places->list))
        if (places->list.items[i].is_shared)
            return arena_printf(names->arena,
                                "Line %d gives it in configurations that other kernels use, too.",
                                range_line(places->list.items[i].range));
    if (name->kind != NAME_PARAMETER) return NULL;
    int line = open_call_line(names, name);
    if (!line) return NULL;
    return arena_printf(names->arena,
                        "Line %d passes keyword arguments by `**`; the name may be among them.",
                        line);
}

Range rename_prepare(Arena *arena, const Snapshot *snapshot, uint32_t offset,
                     const char **refusal) {
    FileNames names = names_of(arena, snapshot);
    Name name = name_asked(&names, offset);
    *refusal = refusal_of_kind(&name);
    return *refusal ? (Range){0} : name.range;
}

// --- Capture

/// A use of `text` as a variable inside `below`: `x.text` and `f(text=...)` are none.
static SyntaxNode capture_in(FileNames *names, SyntaxNode below, Str text) {
    Range scope = range_of(names, below);
    Words words = words_within(names, text, scope);
    for (LIST_EACH(int, i, words.list)) {
        SyntaxNode node = words.list.items[i];
        SyntaxNode parent = node_parent(node);
        bool is_member = node_kind(parent) == SYNTAX_ATTRIBUTE &&
                         node_same(node_field(parent, "attribute"), node);
        bool is_keyword = node_kind(parent) == SYNTAX_KEYWORD_ARGUMENT &&
                          node_same(node_field(parent, "name"), node);
        if (!is_member && !is_keyword) return node;
    }
    return (SyntaxNode){0};
}

/// Module-level names are seen in every function, unless that binds the name itself.
const char *rename_refusal_of_global(FileNames *names, Str text) {
    SyntaxNode place = capture_in(names, names->root, text);
    bool is_taken = !node_is_null(place) || map_has(&names->snapshot->module->scope->names, text);
    if (!is_taken) return NULL;
    return arena_printf(names->arena, "`%.*s` is used on line %d already.", STR_ARGS(text),
                        node_is_null(place) ? 1 : range_line(range_of(names, place)));
}

const char *rename_refusal_of_name(FileNames *names, const Name *name, Str text) {
    if (!is_identifier(text))
        return arena_printf(names->arena, "`%.*s` is no name in Python.", STR_ARGS(text));
    if (name->kind == NAME_FUNCTION || name->kind == NAME_GLOBAL)
        return rename_refusal_of_global(names, text);
    SyntaxNode scope = name->scope;
    if (name->kind == NAME_LOCAL && node_kind(scope) != SYNTAX_FUNCTION)
        scope = function_around(scope);
    SyntaxNode place = capture_in(names, scope, text);
    if (!node_is_null(place))
        return arena_printf(names->arena, "`%.*s` is used on line %d already.", STR_ARGS(text),
                            range_line(range_of(names, place)));
    return NULL;
}

Ranges rename_at(Arena *arena, const Snapshot *snapshot, uint32_t offset, Str text,
                 const char **refusal) {
    FileNames names = names_of(arena, snapshot);
    Name name = name_asked(&names, offset);
    Ranges ranges = {0};
    *refusal = refusal_of_kind(&name);
    if (*refusal || str_equal(text, name.text)) return ranges;
    *refusal = rename_refusal_of_name(&names, &name, text);
    if (*refusal) return ranges;
    NamePlaces places = places_of(&names, &name);
    *refusal = rename_refusal_of_places(&names, &name, &places);
    if (*refusal) return ranges;
    for (LIST_EACH(int, i, places.list)) LIST_PUSH(arena, &ranges.list, places.list.items[i].range);
    return ranges;
}
