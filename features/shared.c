// A name that other files can mean, and a snapshot of one of them, in; the places there that mean it out.
#include "features/shared.h"
#include "analysis/syntax/syntax_nodes.h"
#include "features/references.h"

#include <string.h>

/// Whether the name is the module-level function or global `shared->name` of `shared->file`.
static bool name_is_shared(FileNames *names, const Name *name, const SharedName *shared) {
    if (name->kind == NAME_FUNCTION && name->function) {
        Range range = snapshot_range(names->snapshot, name->function->name_range);
        return str_equal(name->function->name, shared->name) && range.source &&
               shared->same_file(range.source->path, shared->path);
    }
    return name->kind == NAME_GLOBAL && name->entry.module && str_equal(name->text, shared->name) &&
           shared->same_file(name->entry.module->source->path, shared->path);
}

static bool same_path(const char *a, const char *b) { return strcmp(a, b) == 0; }

/// Of a function at module level; `path` stays NULL for others.
static void share_function(FileNames *names, const FunctionDefinition *function,
                           SharedName *shared) {
    Range range = snapshot_range(names->snapshot, function->name_range);
    if (!function->is_jit || !range.source) return;
    ScopeEntry entry = module_resolve(names->arena, function->module, function->name);
    bool is_global =
        entry.kind == SCOPE_FUNCTION &&
        (entry.function == function || function_is_same(names, entry.function, function));
    if (!is_global) return;
    shared->path = range.source->path;
    shared->name = function->name;
}

SharedName shared_name_at(Arena *arena, const Snapshot *snapshot, uint32_t offset) {
    FileNames names = names_of(arena, snapshot);
    Name name = name_asked(&names, offset);
    SharedName shared = {.same_file = same_path};
    if (name.kind == NAME_FUNCTION && name.function) {
        share_function(&names, name.function, &shared);
        shared.is_alias = !str_equal(name.text, name.function->name);
    } else if (name.kind == NAME_PARAMETER && name.function) {
        share_function(&names, name.function, &shared);
        if (shared.path) shared.parameter = name.function->parameters[name.parameter].name;
    } else if (name.kind == NAME_GLOBAL && name.entry.module) {
        ScopeEntry entry = module_resolve(arena, name.entry.module, name.text);
        if (entry.kind != SCOPE_ASSIGNED || entry.module != name.entry.module) return shared;
        shared.path = name.entry.module->source->path;
        shared.name = name.text;
    }
    return shared;
}

// --- In another file

Views shared_spellings(FileNames *names, const SharedName *shared) {
    Views texts = {0};
    LIST_PUSH(names->arena, &texts.list, shared->name);
    const Map *scope = &names->snapshot->module->scope->names;
    for (int i = 0; i < scope->count; i++) {
        const ScopeEntry *entry = scope->entries[i].value;
        Str key = scope->entries[i].key;
        bool may_be = entry && entry->kind == SCOPE_IMPORTED && !str_equal(key, shared->name) &&
                      str_equal(entry->name, shared->name);
        if (may_be) LIST_PUSH(names->arena, &texts.list, key);
    }
    return texts;
}

/// The identifiers that stand for the function or global.
static NamePlaces places_of_shared(FileNames *names, const SharedName *shared,
                                   const FunctionDefinition **function) {
    NamePlaces places = {0};
    Views texts = shared_spellings(names, shared);
    for (LIST_EACH(int, i, texts.list)) {
        Words words = words_of(names, texts.list.items[i]);
        for (LIST_EACH(int, k, words.list)) {
            Name name = name_resolve(names, words.list.items[k]);
            if (!name_is_shared(names, &name, shared)) continue;
            if (name.kind == NAME_FUNCTION) *function = name.function;
            NamePlace place = {.range = name.range, .is_write = name.is_write};
            LIST_PUSH(names->arena, &places.list, place);
        }
    }
    return places;
}

const FunctionDefinition *shared_function(FileNames *names, const SharedName *shared) {
    const FunctionDefinition *function = NULL;
    places_of_shared(names, shared, &function);
    return function;
}

static bool parameter_of_shared(FileNames *names, const SharedName *shared, Name *name) {
    const FunctionDefinition *function = shared_function(names, shared);
    for (int i = 0; function && i < function->parameter_count; i++) {
        if (!str_equal(function->parameters[i].name, shared->parameter)) continue;
        *name = parameter_name(names, function, i, function->parameters[i].range);
        return true;
    }
    return false;
}

/// Strings in `__all__` that spell the name, where the file's own name is the shared one.
static void add_exports(FileNames *names, const SharedName *shared, NamePlaces *places) {
    const Module *module = names->snapshot->module;
    ScopeEntry all = module_resolve(names->arena, module, STR("__all__"));
    bool is_list = all.kind == SCOPE_ASSIGNED && all.module == module &&
                   (node_kind(all.node) == SYNTAX_LIST || node_kind(all.node) == SYNTAX_TUPLE);
    for (uint32_t i = 0; is_list && places->list.count && i < node_child_count(all.node); i++) {
        Range content = string_content(names, node_child(all.node, i));
        if (content.end == content.start || !str_equal(source_slice(content), shared->name))
            continue;
        NamePlace place = {.range = content, .is_text = true};
        LIST_PUSH(names->arena, &places->list, place);
    }
}

static NamePlaces shared_places(FileNames *names, const SharedName *shared, Name *name) {
    const FunctionDefinition *function = NULL;
    *name = (Name){.kind = NAME_NOTHING, .op = OP_COUNT, .parameter = -1};
    if (shared->parameter.size) {
        NamePlaces none = {0};
        return parameter_of_shared(names, shared, name) ? places_of(names, name) : none;
    }
    NamePlaces places = places_of_shared(names, shared, &function);
    add_exports(names, shared, &places);
    return places;
}

static bool is_defined_here(const FileNames *names, const SharedName *shared) {
    return shared->same_file(names->source->path, shared->path);
}

Ranges shared_references(Arena *arena, const Snapshot *snapshot, const SharedName *shared,
                         bool include_declaration) {
    FileNames names = names_of(arena, snapshot);
    Name name;
    NamePlaces places = shared_places(&names, shared, &name);
    return places_ranges(arena, &places, include_declaration || !is_defined_here(&names, shared));
}

// --- Renaming

/// A line that imports the name from a file which was not found, but is called like the one that defines it; or 0.
static int doubtful_import(FileNames *names, const SharedName *shared) {
    Str file = str_from(shared->path);
    if (str_ends(file, ".py")) file.size -= strlen(".py");
    Words words = words_of(names, shared->name);
    for (LIST_EACH(int, i, words.list)) {
        SyntaxNode statement = words.list.items[i];
        for (int up = 0; up < 3 && node_kind(statement) != SYNTAX_IMPORT_FROM; up++)
            statement = node_parent(statement);
        if (node_kind(statement) != SYNTAX_IMPORT_FROM) continue;
        Name name = name_resolve(names, words.list.items[i]);
        bool is_found = name.kind == NAME_FUNCTION || name.kind == NAME_GLOBAL;
        Str from = text_last_component(text_of(names, node_field(statement, "module_name")));
        if (!is_found && from.size && str_ends(file, str_dup(names->arena, from)))
            return range_line(range_of(names, statement));
    }
    return 0;
}

/// Whether the file says the name itself, not only `module.name`, so that a new one may meet others.
static bool says_plainly(FileNames *names, const NamePlaces *places) {
    for (LIST_EACH(int, i, places->list)) {
        Range range = places->list.items[i].range;
        SyntaxNode node = node_at(names->root, range.start, range.end);
        SyntaxNode parent = node_parent(node);
        bool is_member = node_kind(parent) == SYNTAX_ATTRIBUTE &&
                         node_same(node_field(parent, "attribute"), node);
        if (!is_member && !places->list.items[i].is_text) return true;
    }
    return false;
}

static const char *refusal_here(FileNames *names, const SharedName *shared, const Name *name,
                                const NamePlaces *places, Str text) {
    if (name->kind == NAME_PARAMETER) {
        const char *refusal =
            is_defined_here(names, shared) ? rename_refusal_of_name(names, name, text) : NULL;
        return refusal ? refusal : rename_refusal_of_places(names, name, places);
    }
    int line = doubtful_import(names, shared);
    if (line)
        return arena_printf(names->arena,
                            "Line %d imports it from a module that was not found from there, and "
                            "may be this one.",
                            line);
    return says_plainly(names, places) ? rename_refusal_of_global(names, text) : NULL;
}

Ranges shared_rename(Arena *arena, const Snapshot *snapshot, const SharedName *shared, Str text,
                     const char **refusal) {
    FileNames names = names_of(arena, snapshot);
    Name name;
    NamePlaces places = shared_places(&names, shared, &name);
    Str old = shared->parameter.size ? shared->parameter : shared->name;
    Ranges ranges = {0};
    *refusal = refusal_here(&names, shared, &name, &places, text);
    for (int i = 0; !*refusal && i < places.list.count; i++)
        if (str_equal(source_slice(places.list.items[i].range), old))
            LIST_PUSH(arena, &ranges.list, places.list.items[i].range);
    return ranges;
}
