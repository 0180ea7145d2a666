// Statements of the derived module that are no copies of the user's file are looked for in the written one, by the names that they bind.
#include "server/edits/edited.h"

#include <string.h>

#include "autodiff/emit/emitted.h"
#include "autodiff/module/helpers.h"
#include "autodiff/module/module_items.h"
#include "autodiff/saving/saving_read.h"
#include "server/edits/alike.h"
#include "server/edits/rederived.h"
#include "server/system/files.h"

typedef struct ModuleSide {
    const Snapshot *snapshot;
    Items items;
    CarriedFile carried;
} ModuleSide;

typedef struct EditSearch {
    Arena *arena;
    ModuleSide derived, written;
    Str forward;      // the text of the file that was derived from
    bool is_carried;  // which is what the module carries
    bool *is_taken;   // per item of the written module: a derived one is compared with it
    Likeness likeness;
    Map ours;  // names that derived statements bind, but for launchers
    FunctionEdits *edits;
} EditSearch;

static ModuleSide side_of(Arena *arena, const Snapshot *snapshot) {
    return (ModuleSide){snapshot, module_items(arena, snapshot->module),
                        module_carried(arena, snapshot)};
}

static const CarriedFunction *function_of_kernel(const ModuleSide *side, Str kernel) {
    for (LIST_EACH(int, i, side->carried.functions))
        if (str_equal(side->carried.functions.items[i].kernel, kernel))
            return &side->carried.functions.items[i];
    return NULL;
}

static const CarriedFunction *function_named(const ModuleSide *side, Str name) {
    for (LIST_EACH(int, i, side->carried.functions))
        if (str_equal(side->carried.functions.items[i].name, name))
            return &side->carried.functions.items[i];
    return NULL;
}

static Str item_name(const Item *item) {
    return item->binds.count ? item->binds.entries[0].key : (Str){0};
}

/// The forward kernel of an emitted kernel; NULL for all else.
static const Kernel *forward_of(const ModuleSide *side, const Item *item) {
    const Kernel *kernel =
        item->function ? snapshot_find_kernel(side->snapshot, item->function->name) : NULL;
    return kernel ? kernel_of_backward(side->snapshot, kernel) : NULL;
}

/// The kernel whose gradients pass through a statement; "" where it may be any.
static const char *kernel_of_item(const EditSearch *search, const Item *item) {
    const Kernel *forward = forward_of(&search->derived, item);
    if (forward) return str_dup(search->arena, forward->definition->name);
    const CarriedFunction *function = function_named(&search->derived, item_name(item));
    return function ? str_dup(search->arena, function->kernel) : "";
}

// --- Which statements

static bool is_docstring(const Item *item) {
    return node_kind(item->node) == SYNTAX_EXPRESSION_STATEMENT &&
           node_kind(node_child(item->node, 0)) == SYNTAX_STRING;
}

/// Whether the statement is the derivation's: it is no copy of one of the user's, and no forward kernel.
static bool is_compared(const EditSearch *search, const Item *item) {
    if (item_is_import(item) || item->is_future || item->is_main || is_docstring(item))
        return false;
    if (item->function && item->function->is_jit) return forward_of(&search->derived, item);
    return !str_contains(search->forward, source_slice(item->range));
}

/// A function or class of the user's, in which launches became calls of Functions: who takes it out takes no gradient away.
static bool is_launcher(const EditSearch *search, const Item *item) {
    Str name = item_name(item);
    return item_is_definition(item) && !forward_of(&search->derived, item) &&
           !function_named(&search->derived, name) && !helper_is_named(name);
}

/// A launcher that calls none of our Functions: the backward was put below a kernel in the user's own file, and this was left alone.
static bool is_left_alone(const EditSearch *search, const Item *derived, const Item *written) {
    if (!search->is_carried || !is_launcher(search, derived)) return false;
    for (LIST_EACH(int, i, search->written.carried.functions))
        if (map_has(&written->mentions, search->written.carried.functions.items[i].name))
            return false;
    return true;
}

/// How many statements before this one bind its name.
static int occurrence_of(const Items *items, const Item *item) {
    int count = 0;
    for (const Item *other = items->items; other < item; other++)
        count += map_has(&other->binds, item_name(item));
    return count;
}

static int written_named(const EditSearch *search, Str name, int occurrence) {
    const char *renamed = map_get(&search->likeness.renamed, name);
    if (renamed) name = str_from(renamed);
    for (LIST_EACH(int, i, search->written.items))
        if (map_has(&search->written.items.items[i].binds, name) && occurrence-- == 0) return i;
    return -1;
}

/// A statement that binds nothing, `kernel.tuned = ...`: the same one, else one that changes the same.
static int written_like(const EditSearch *search, const Item *item) {
    Map none = map_new(search->arena);
    const char *shape =
        part_shape(search->arena, search->derived.snapshot->source, item->node, &none);
    int near = -1;
    for (LIST_EACH(int, i, search->written.items)) {
        const Item *other = &search->written.items.items[i];
        if (search->is_taken[i] || other->binds.count) continue;
        const char *own =
            part_shape(search->arena, search->written.snapshot->source, other->node, &none);
        if (strcmp(own, shape) == 0) return i;
        bool is_near = item->changes.count && other->changes.count &&
                       str_equal(item->changes.entries[0].key, other->changes.entries[0].key);
        if (is_near && near < 0) near = i;
    }
    return near;
}

// --- What is said

/// Where in the module something stands, in words: `Class.method`.
static const char *owner_of(const EditSearch *search, Range range) {
    const Module *module = search->likeness.written;
    SyntaxNode node = node_at(syntax_root(module->tree), range.start, range.end);
    Str method = {0}, class = {0};
    for (; !node_is_null(node); node = node_parent(node)) {
        SyntaxKind kind = node_kind(node);
        if (kind == SYNTAX_FUNCTION) method = node_text(module->source, node_field(node, "name"));
        if (kind == SYNTAX_CLASS) class = node_text(module->source, node_field(node, "name"));
    }
    if (class.size && method.size)
        return arena_printf(search->arena, "`%.*s.%.*s`", STR_ARGS(class), STR_ARGS(method));
    Str name = class.size ? class : method;
    return name.size ? arena_printf(search->arena, "`%.*s`", STR_ARGS(name)) : "this statement";
}

static void add_edit(const EditSearch *search, const char *kernel, const Item *item, Range range,
                     const char *message) {
    FunctionEdit edit = {kernel, range, message, item ? item->range.start : range.start, false};
    LIST_PUSH(search->arena, search->edits, edit);
}

static void tell_missing(const EditSearch *search, const Item *item) {
    const ModuleSide *written = &search->written;
    Range place = written->items.items[0].range;
    for (LIST_EACH(int, i, written->items)) {
        const Item *other = &written->items.items[i];
        if (forward_of(written, other)) place = other->function->name_range;
    }
    Str name = item_name(item);
    if (!name.size) name = source_slice(item->range);
    add_edit(search, kernel_of_item(search, item), NULL, place,
             arena_printf(search->arena,
                          "`%.*s` of the derived module is not here: what is in its place is not "
                          "proved",
                          STR_ARGS(name)));
}

static void compare_items(const EditSearch *search, const Item *derived, const Item *written) {
    LikenessFaults faults = {0};
    if (is_left_alone(search, derived, written)) return;
    likeness_compare(&search->likeness, derived->node, written->node, &faults);
    for (LIST_EACH(int, i, faults)) {
        const LikenessFault *fault = &faults.items[i];
        add_edit(search, kernel_of_item(search, derived), written, fault->range,
                 arena_printf(search->arena,
                              "%s %s: this is not proved (edited, or written by "
                              "another version of tad-lsp)",
                              owner_of(search, fault->range), fault->words));
    }
}

/// `_total = other`, `Function.backward = staticmethod(other)`: behind what is compared, and in its place.
static void tell_replaced(const EditSearch *search, const Item *item) {
    for (int i = 0; i < item->binds.count + item->changes.count; i++) {
        bool binds = i < item->binds.count;
        Str name =
            binds ? item->binds.entries[i].key : item->changes.entries[i - item->binds.count].key;
        if (!map_has(&search->ours, name)) continue;
        add_edit(search, "", item, item->range,
                 arena_printf(search->arena,
                              "`%.*s`, which was derived, is %s here: this is not proved",
                              STR_ARGS(name), binds ? "bound once more" : "changed"));
        search->edits->items[search->edits->count - 1].is_replaced = true;
        return;
    }
}

// --- The search

/// Functions that have another name in the written module launch the same kernel there.
static void note_renamed(EditSearch *search) {
    for (LIST_EACH(int, i, search->derived.carried.functions)) {
        const CarriedFunction *own = &search->derived.carried.functions.items[i];
        if (function_named(&search->written, own->name)) continue;
        const CarriedFunction *other = function_of_kernel(&search->written, own->kernel);
        bool is_renamed = other && !function_named(&search->derived, other->name);
        if (is_renamed)
            map_set(&search->likeness.renamed, own->name, str_dup(search->arena, other->name));
    }
}

static void search_items(EditSearch *search) {
    const Items *items = &search->derived.items;
    note_renamed(search);
    for (LIST_EACH(int, i, *items)) {
        const Item *item = &items->items[i];
        if (!is_compared(search, item)) continue;
        Str name = item_name(item);
        int place = name.size ? written_named(search, name, occurrence_of(items, item))
                              : written_like(search, item);
        if (place >= 0) search->is_taken[place] = true;
        if (place >= 0)
            compare_items(search, item, &search->written.items.items[place]);
        else if (!is_launcher(search, item))
            tell_missing(search, item);
        if (name.size && !is_launcher(search, item)) map_set(&search->ours, name, search);
    }
    for (LIST_EACH(int, i, search->written.items))
        if (!search->is_taken[i]) tell_replaced(search, &search->written.items.items[i]);
}

/// Compares with what is derived from `forward`. NULL: nothing can be. What a module carries is read as a text of the module's path.
static FunctionEdits *edits_against(Arena *arena, const Snapshot *written, const Snapshot *forward,
                                    const CarriedNames *kernels, bool by_inputs,
                                    const Resolver *resolver, bool *has_same_inputs) {
    const char *text = module_rederived(arena, forward, written, kernels, by_inputs);
    if (!text) return NULL;
    *has_same_inputs = modules_name_the_same(arena, str_from(text), written->source->text);
    const SnapshotOptions options = {.resolver = resolver, .skip_checks = true};
    Snapshot *derived = snapshot_build(written->source->path, str_from(text), &options);
    FunctionEdits *edits = ARENA_NEW(arena, FunctionEdits);
    EditSearch search = {.arena = arena,
                         .derived = side_of(arena, derived),
                         .written = side_of(arena, written),
                         .forward = forward->source->text,
                         .is_carried = strcmp(forward->source->path, written->source->path) == 0,
                         .ours = map_new(arena),
                         .edits = edits};
    search.likeness = (Likeness){arena, derived->module, written->module, map_new(arena)};
    search.is_taken = ARENA_ARRAY(arena, bool, search.written.items.count + 1);
    search_items(&search);
    snapshot_release(derived);
    return edits;
}

/// With all inputs, and, where that is not it, with those that the Functions name.
static FunctionEdits *edits_with(Arena *arena, const Snapshot *written, const Snapshot *forward,
                                 const CarriedNames *kernels, const Resolver *resolver) {
    bool is_same;
    FunctionEdits *edits =
        edits_against(arena, written, forward, kernels, false, resolver, &is_same);
    if (!edits || !edits->count || is_same) return edits;
    FunctionEdits *fewer =
        edits_against(arena, written, forward, kernels, true, resolver, &is_same);
    return fewer && fewer->count < edits->count ? fewer : edits;
}

static bool has_item(const FunctionEdits *edits, uint32_t item) {
    for (LIST_EACH(int, i, *edits))
        if (edits->items[i].item == item) return true;
    return false;
}

/// Whether the statement is our own: launchers are the user's.
static bool is_own_statement(Arena *arena, const Snapshot *written, uint32_t start) {
    const ModuleSide side = side_of(arena, written);
    for (LIST_EACH(int, i, side.items)) {
        const Item *item = &side.items.items[i];
        Str name = item_name(item);
        if (item->range.start == start)
            return function_named(&side, name) || helper_is_named(name) || forward_of(&side, item);
    }
    return false;
}

/// What was derived from launches that the file has otherwise by now is right for those that the module carries.
static FunctionEdits in_both(Arena *arena, const Snapshot *written, const FunctionEdits *edits,
                             const FunctionEdits *carried) {
    FunctionEdits both = {0};
    for (LIST_EACH(int, i, *edits)) {
        uint32_t item = edits->items[i].item;
        bool is_right = !edits->items[i].is_replaced && !has_item(carried, item) &&
                        is_own_statement(arena, written, item);
        if (is_right) continue;
        LIST_PUSH(arena, &both, edits->items[i]);
    }
    return both;
}

Snapshot *module_origin(Arena *arena, const Snapshot *written, const Resolver *resolver,
                        const char **name) {
    Str found = backward_origin(written->source->text), text;
    *name = NULL;
    if (!found.size || memchr(found.data, '/', found.size)) return NULL;
    *name = str_dup(arena, found);
    const char *path = path_join(arena, path_folder(arena, written->source->path), *name);
    if (file_read(arena, path, &text)) return NULL;
    const SnapshotOptions options = {.resolver = resolver, .skip_checks = true};
    return origin_as_written(arena, snapshot_build(path, text, &options), written->source->text);
}

static const char *kernel_shape(Arena *arena, const Kernel *kernel) {
    const FunctionDefinition *definition = kernel->definition;
    const Source *source = definition->module->source;
    Map none = map_new(arena);
    Buffer out = buffer_new(arena);
    for (LIST_EACH(int, i, definition->decorators))
        buffer_printf(&out, "@%s",
                      part_shape(arena, source, definition->decorators.items[i], &none));
    buffer_puts(&out, part_shape(arena, source, definition->node, &none));
    return buffer_text(&out);
}

static bool kernels_look_the_same(Arena *arena, const Kernel *a, const Kernel *b) {
    return str_equal(source_slice(a->definition->range), source_slice(b->definition->range)) ||
           strcmp(kernel_shape(arena, a), kernel_shape(arena, b)) == 0;
}

/// Without what they store for their backwards alone: a module has that in lines of its own.
static bool plain_ones_look_the_same(Arena *arena, const Kernel *a, const Kernel *b) {
    const SavedValues saved = module_saved(arena, b->snapshot->source->text);
    Snapshot *one = saving_plain(arena, a->snapshot, &saved),
             *other = saving_plain(arena, b->snapshot, &saved);
    const Kernel *first = snapshot_find_kernel(one, a->definition->name),
                 *second = snapshot_find_kernel(other, b->definition->name);
    bool is_same = first && second && kernels_look_the_same(arena, first, second);
    snapshot_release(one);
    snapshot_release(other);
    return is_same;
}

bool kernels_read_the_same(Arena *arena, const Kernel *a, const Kernel *b) {
    if (kernels_look_the_same(arena, a, b)) return true;
    return a->snapshot->saved.count > 0 && plain_ones_look_the_same(arena, a, b);
}

/// Whether the file still has the kernels whose backward the module holds.
static bool has_same_kernels(Arena *arena, const Snapshot *origin, const Snapshot *written) {
    for (LIST_EACH(int, i, written->kernels)) {
        const Kernel *kernel = kernel_of_backward(written, &written->kernels.items[i]);
        const Kernel *original =
            kernel ? snapshot_find_kernel(origin, kernel->definition->name) : NULL;
        if (!kernel) continue;
        if (!original || !kernels_read_the_same(arena, original, kernel)) return false;
    }
    return true;
}

/// Whether we wrote what is around the kernels: the module says so, a class does, or some helpers have the names of ours. Else somebody wrote
/// a backward of his own, and there is nothing that it was made from.
static bool is_ours(Arena *arena, const Snapshot *written, const CarriedFile *carried) {
    enum { SOME_HELPERS = 3 };
    int helpers = 0;
    Items items = module_items(arena, written->module);
    for (LIST_EACH(int, i, items)) helpers += helper_is_named(item_name(&items.items[i]));
    return backward_origin(written->source->text).size || carried->functions.count ||
           helpers >= SOME_HELPERS;
}

FunctionEdits function_edits(Arena *arena, const Snapshot *written, const Snapshot *origin,
                             const Resolver *resolver) {
    FunctionEdits none = {0}, *edits = NULL, *carried_edits = NULL;
    CarriedFile carried = module_carried(arena, written);
    bool has_functions = wrapper_of(written->source->text) != WRAPPER_NONE;
    if (!carried.kernels.count || !has_functions || !is_ours(arena, written, &carried)) return none;
    if (origin && has_same_kernels(arena, origin, written))
        edits = edits_with(arena, written, origin, &carried.kernels, resolver);
    if (edits && !edits->count) return none;
    if (!carried.refusal) {
        Snapshot *forward = forward_carried(arena, written->source->path, carried.text,
                                            written->source->text, resolver);
        carried_edits = edits_with(arena, written, forward, &carried.kernels, resolver);
        snapshot_release(forward);
    }
    if (!edits) return carried_edits ? *carried_edits : none;
    return carried_edits ? in_both(arena, written, edits, carried_edits) : *edits;
}
