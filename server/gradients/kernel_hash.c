// A kernel in, a number out that changes with the text that its gradient depends on: the kernel's own, that of helpers and
// globals that it reaches by name, here or in imported files, and that of a backward in the same file.
#include "server/gradients/kernel_hash.h"

#include "analysis/module/given_rules.h"
#include "analysis/module/module_scope.h"
#include "analysis/syntax/syntax_nodes.h"
#include "autodiff/module/module.h"
#include "autodiff/saving/saving_read.h"
#include "base/map.h"
#include "server/gradients/gradients.h"

#include <string.h>

/// A piece of text, and the module that its names are looked up in.
typedef struct Part {
    Str text;
    const Module *module;
} Part;

typedef struct PartSearch {
    Arena *arena;
    const Snapshot *snapshot;
    LIST(Part) parts;
    Map taken;             // by where the text lies
    bool skips_launchers;  // a word of the kernel, such as an operation's, may be the name of one
} PartSearch;

static bool holds_word(Str text, Str word) {
    for (size_t i = 0; word.size && i + word.size <= text.size; i++) {
        const char *found = memchr(text.data + i, word.data[0], text.size - i - word.size + 1);
        if (!found) return false;
        i = (size_t)(found - text.data);
        if (memcmp(found, word.data, word.size) == 0 && (i == 0 || !byte_is_word(found[-1])) &&
            (i + word.size == text.size || !byte_is_word(found[word.size])))
            return true;
    }
    return false;
}

static uint64_t hash_of(Str text) {
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < text.size; i++)
        hash = (hash ^ (unsigned char)text.data[i]) * UINT64_C(1099511628211);  // FNV-1a
    return hash ^ (hash >> 29);
}

static void part_add(PartSearch *search, Str text, const Module *module) {
    enum { MOST_PARTS = 256 };
    if (!text.size || search->parts.count == MOST_PARTS ||
        map_has_pointer(&search->taken, text.data))
        return;
    map_set_pointer(&search->taken, text.data, search);
    Part part = {text, module};
    LIST_PUSH(search->arena, &search->parts, part);
}

static void part_add_entry(PartSearch *search, ScopeEntry entry, Str mentioning, int depth);

/// What a text that can say `module.name` says of it.
static void part_add_members(PartSearch *search, const Module *module, Str mentioning, int depth) {
    for (int i = 0; i < module->scope->names.count; i++) {
        Str name = module->scope->names.entries[i].key;
        const ScopeEntry *entry = module->scope->names.entries[i].value;
        bool is_own = entry && (entry->kind == SCOPE_FUNCTION || entry->kind == SCOPE_ASSIGNED ||
                                entry->kind == SCOPE_IMPORTED);
        if (!is_own || !holds_word(mentioning, name)) continue;
        part_add_entry(search, module_resolve(search->arena, module, name), mentioning, depth);
    }
}

static void part_add_entry(PartSearch *search, ScopeEntry entry, Str mentioning, int depth) {
    enum { MOST_MODULES = 4 };  // a.b.c.d.name
    if (entry.kind == SCOPE_FUNCTION) {
        if (search->skips_launchers && !entry.function->is_jit) return;
        Range range = snapshot_range(search->snapshot, entry.function->range);
        part_add(search, source_slice(range), entry.function->module);
    } else if (entry.kind == SCOPE_ASSIGNED && entry.module) {
        part_add(search, node_text(entry.module->source, entry.node), entry.module);
    } else if (entry.kind == SCOPE_MODULE && depth < MOST_MODULES) {
        part_add_members(search, entry.module, mentioning, depth + 1);
    }
}

/// `from module import *`
static void part_add_stars(PartSearch *search, const Part *part) {
    const Module *module = part->module;
    const Resolver *resolver = module->resolver;
    for (int i = 0; resolver && i < module->scope->stars.count; i++) {
        const ScopeEntry *star = &module->scope->stars.items[i];
        if (!star->dotted.size && !star->level) continue;
        const Module *found =
            resolver->resolve(resolver->context, module->source, star->dotted, star->level);
        if (found && found != module) part_add_members(search, found, part->text, 0);
    }
}

bool kernel_has_gradients(const Snapshot *snapshot, const Kernel *kernel) {
    return kernel->function && kernel_is_forward(kernel) && !kernel_of_backward(snapshot, kernel);
}

static PartSearch search_new(Arena *arena, const Snapshot *snapshot, const Kernel *kernel) {
    PartSearch search = {.arena = arena, .snapshot = snapshot, .taken = map_new(arena)};
    part_add(&search, source_slice(snapshot_range(snapshot, kernel->definition->range)),
             snapshot->module);
    return search;
}

static void search_run(PartSearch *search) {
    for (int at = 0; at < search->parts.count; at++) {
        Part part = search->parts.items[at];
        part_add_members(search, part.module, part.text, 0);
        part_add_stars(search, &part);
    }
}

/// A module's text without what its forwards store for their backwards alone.
static Str text_unsaved(Arena *arena, const Snapshot *beside, Str text) {
    const SavedValues saved = module_saved(arena, text);
    if (!saved.count) return text;
    const SnapshotOptions options = {.resolver = beside->options.resolver, .skip_checks = true};
    Snapshot *module = snapshot_build(beside->source->path, text, &options);
    Str unsaved = str_from(saving_removed(arena, module, &saved));
    snapshot_release(module);
    return unsaved;
}

bool kernel_stands_in(const Snapshot *snapshot, const Kernel *kernel, Str text) {
    Arena *scratch = arena_new();
    const SavedValues saved = module_saved(scratch, snapshot->source->text);
    if (saved.count) {
        Snapshot *plain = saving_plain(scratch, snapshot, &saved);
        const Kernel *same = snapshot_find_kernel(plain, kernel->definition->name);
        bool stands = same && kernel_stands_in(plain, same, text);
        snapshot_release(plain);
        arena_free(scratch);
        return stands;
    }
    text = text_unsaved(scratch, snapshot, text);
    PartSearch search = search_new(scratch, snapshot, kernel);
    search.skips_launchers = true;
    search_run(&search);
    bool stands = true;
    for (LIST_EACH(int, i, search.parts)) {
        const Part *part = &search.parts.items[i];
        bool is_own = part->module == snapshot->module;
        stands = stands && (!is_own || str_contains(text, part->text));
    }
    arena_free(scratch);
    return stands;
}

/// The Functions that launch a kernel of a backward, and the launchers that call them; helpers follow by name.
static void part_add_around(PartSearch *search, Str backward) {
    const Module *module = search->snapshot->module;
    SyntaxNode *statements;
    int count = node_children(search->arena, syntax_root(module->tree), &statements);
    for (int i = 0; i < count; i++) {
        Str text = node_text(module->source, statements[i]);
        if (node_kind(statements[i]) != SYNTAX_CLASS || !holds_word(text, backward)) continue;
        part_add(search, text, module);
        Str name = node_text(module->source, node_field(statements[i], "name"));
        for (int k = 0; k < count; k++) {
            Str caller = node_text(module->source, statements[k]);
            if (node_kind(statements[k]) == SYNTAX_FUNCTION && holds_word(caller, name))
                part_add(search, caller, module);
        }
    }
}

/// Derivatives by hand that the files of the parts give, whichever of them are used.
static uint64_t hash_of_given(Arena *arena, const PartSearch *search) {
    uint64_t hash = 0;
    Map modules = map_new(arena);
    for (LIST_EACH(int, i, search->parts)) {
        const Module *module = search->parts.items[i].module;
        if (map_has_pointer(&modules, module)) continue;
        map_set_pointer(&modules, module, (void *)1);
        GivenRules rules = given_rules(arena, module);
        for (LIST_EACH(int, k, rules)) hash += hash_of(source_slice(rules.items[k].range));
    }
    return hash;
}

/// The sum does not depend on the order in which an edited module lists its names.
uint64_t kernel_code_hash(const Snapshot *snapshot, const Kernel *kernel) {
    Arena *scratch = arena_new();
    PartSearch search = search_new(scratch, snapshot, kernel);
    for (LIST_EACH(int, i, snapshot->kernels)) {
        const FunctionDefinition *other = snapshot->kernels.items[i].definition;
        if (!name_is_backward_of(other->name, kernel->definition->name)) continue;
        part_add(&search, source_slice(snapshot_range(snapshot, other->range)), snapshot->module);
        part_add_around(&search, other->name);
    }
    search_run(&search);
    uint64_t hash = 0;
    for (LIST_EACH(int, i, search.parts)) hash += hash_of(search.parts.items[i].text);
    hash += hash_of_given(scratch, &search);
    arena_free(scratch);
    return hash;
}

uint64_t kernel_hash(const Snapshot *snapshot, const Kernel *kernel) {
    uint64_t hash = kernel_code_hash(snapshot, kernel) + hash_of(kernel->definition->comment);
    return hash | 1;  // 0 means nothing
}
