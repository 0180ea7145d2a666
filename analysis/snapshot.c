// The pipeline from a file's text to its kernels and diagnostics; from the second text on, for what an edit left alone the
// work on the text before is taken over.
#include "analysis/snapshot.h"

#include <string.h>

#include "analysis/checks/check_given.h"
#include "analysis/frames/sightings.h"
#include "analysis/ir/limits.h"
#include "analysis/module/module_scope.h"
#include "analysis/syntax/syntax_nodes.h"
#include "analysis/unit.h"
#include "base/budget.h"
#include "base/error.h"

/// Texts that are kept because of work done on them. When they are more than most, the units of all but some are made anew.
enum { MOST_BASES = 8, KEPT_BASES = 4 };
/// Kernels to be analysed at once that are worth starting threads.
enum { FEWEST_FOR_THREADS = 4 };

/// Where the pieces of an earlier text lie now.
struct SnapshotView {
    SnapshotBase *base;  // held: the units that came from it may have been made anew since
    int *pieces;         // -1: gone
};

static Range view_range(const Snapshot *snapshot, const SnapshotView *view, Range range) {
    const SyntaxTree *tree = view->base->module->tree;
    int piece = syntax_piece_at(tree, range.start);
    if (view->pieces[piece] < 0) return (Range){snapshot->source, 0, 0};
    uint32_t from = syntax_piece_range(tree, range.source, piece).start;
    uint32_t to =
        syntax_piece_range(snapshot->module->tree, snapshot->source, view->pieces[piece]).start;
    return (Range){snapshot->source, range.start - from + to, range.end - from + to};
}

/* ---- what the units said ---- */

/// Copies a diagnostic with its ranges in the present text; false when it is about another file.
static bool diagnostic_show(const Snapshot *snapshot, const Unit *unit, Diagnostic *diagnostic) {
    const Source *own = unit->base->source;
    if (diagnostic->range.source && diagnostic->range.source != own) return false;
    if (own == snapshot->source) return true;
    diagnostic->range = snapshot_range(snapshot, diagnostic->range);
    Related *related = ARENA_ARRAY(snapshot->arena, Related, diagnostic->related_count + 1);
    for (int i = 0; i < diagnostic->related_count; i++)
        related[i] = (Related){snapshot_range(snapshot, diagnostic->related[i].range),
                               diagnostic->related[i].message};
    diagnostic->related = related;
    return true;
}

static bool is_at(const Diagnostic *diagnostic, DiagnosticId id, Range range) {
    return diagnostic->id == id && diagnostic->range.source == range.source &&
           diagnostic->range.start == range.start && diagnostic->range.end == range.end;
}

/// The same of two kernels (in a helper of both) is said once.
static void take_lowered(Snapshot *snapshot, const Diagnostic *diagnostic) {
    for (LIST_EACH(int, i, snapshot->diagnostics.list)) {
        Diagnostic *old = &snapshot->diagnostics.list.items[i];
        if (old->id != diagnostic->id) continue;
        if (diagnostic->once_a_file && old->once_a_file &&
            strcmp(diagnostic->once_a_file, old->once_a_file) == 0)
            return;
        if (strcmp(old->message, diagnostic->message) != 0) continue;
        if (!is_at(old, diagnostic->id, diagnostic->range)) continue;
        old->severity = diagnostic->severity;
        if (!old->related_count) {
            old->related = diagnostic->related;
            old->related_count = diagnostic->related_count;
        }
        return;
    }
    LIST_PUSH(snapshot->arena, &snapshot->diagnostics.list, *diagnostic);
}

/// Another build of Triton may take what Triton does not, and have what it has not.
static bool is_of_its_language(const Diagnostic *diagnostic) {
    static const DiagnosticId ids[] = {DIAGNOSTIC_UNKNOWN_OPERATION, DIAGNOSTIC_WRONG_ARGUMENT,
                                       DIAGNOSTIC_UNSUPPORTED_PYTHON,
                                       DIAGNOSTIC_LAUNCH_UNKNOWN_KEYWORD};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        if (diagnostic->id == ids[i] && diagnostic->severity == SEVERITY_WARNING) return true;
    return diagnostic->severity == SEVERITY_ERROR;
}

/// In a file that imports another build of Triton: what its compiler decides is a hint, and what is not understood is one note.
static void tone_down(const Snapshot *snapshot, Diagnostic *diagnostic) {
    Str build = snapshot->other_build;
    if (!build.size) return;
    if (diagnostic->id == DIAGNOSTIC_NOT_UNDERSTOOD) {
        diagnostic->once_a_file = "another build";
        diagnostic->message =
            arena_printf(snapshot->arena,
                         "`%.*s` belongs to another build of Triton: what its operations compute "
                         "is not known, and what its compiler takes is not checked",
                         STR_ARGS(build));
    } else if (is_of_its_language(diagnostic)) {
        diagnostic->severity = SEVERITY_HINT;
        diagnostic->message = arena_printf(snapshot->arena, "%s (so in Triton; `%.*s` is another)",
                                           diagnostic->message, STR_ARGS(build));
    }
}

static void take_diagnostics(Snapshot *snapshot, const Unit *unit) {
    int before = snapshot->diagnostics.list.count;
    for (LIST_EACH(int, i, unit->lowered.list)) {
        Diagnostic diagnostic = unit->checked.list.items[i];
        if (!diagnostic_show(snapshot, unit, &diagnostic)) continue;
        tone_down(snapshot, &diagnostic);
        take_lowered(snapshot, &diagnostic);
    }
    for (int i = unit->lowered.list.count; i < unit->checked.list.count; i++) {
        Diagnostic diagnostic = unit->checked.list.items[i];
        bool is_new = diagnostic_show(snapshot, unit, &diagnostic);
        if (is_new) tone_down(snapshot, &diagnostic);
        for (int k = 0; is_new && k < before; k++)
            is_new = !is_at(&snapshot->diagnostics.list.items[k], diagnostic.id, diagnostic.range);
        if (is_new) LIST_PUSH(snapshot->arena, &snapshot->diagnostics.list, diagnostic);
    }
}

/* ---- kernels ---- */

/// A kernel of the present module with the work of `unit`, which the snapshot holds from now on.
static void kernel_take(Snapshot *snapshot, Kernel *kernel, Unit *unit) {
    kernel->unit = unit;
    snapshot->lacks_trials |=
        unit->extent == CHECKS_WITHOUT_TRIALS && snapshot->module->launches.count > 0;
    kernel->understood = unit->understood;
    Function *function = ARENA_NEW(snapshot->arena, Function);
    *function = *unit->function;
    function->definition = kernel->definition;
    kernel->function = function;
    if (!function_is_dead(snapshot->arena, kernel->definition)) take_diagnostics(snapshot, unit);
    if (unit->failure)
        diagnose(&snapshot->diagnostics, DIAGNOSTIC_INTERNAL_ERROR, kernel->definition->name_range,
                 "tad-lsp failed on this kernel (%s).", unit->failure);
}

typedef struct Building {
    Snapshot *snapshot;
    UnitCalls calls;
    Unit *const *known;  // the unit that may be taken over for each kernel, or NULL
    Unit **units;        // of each kernel, held
    int *missing;        // kernels without one
    int missing_count;
    int64_t share;  // steps that each of them has
    int64_t taken;  // steps of all units so far
    int64_t most;   // that they may take
    bool is_unwanted;
} Building;

static const Type *called_with(const Building *building, const Kernel *kernel) {
    return kernel->is_helper ? calls_find(&building->calls, kernel->definition) : NULL;
}

static CheckOptions checks_of(const SnapshotOptions *options) {
    CheckExtent extent = options->skip_checks   ? CHECKS_NONE
                         : options->skip_trials ? CHECKS_WITHOUT_TRIALS
                                                : CHECKS_ALL;
    return (CheckOptions){extent, options->card};
}

static void build_missing(void *context, int worker, int index) {
    (void)worker;
    const Building *building = context;
    int i = building->missing[index];
    const Snapshot *snapshot = building->snapshot;
    const Kernel *kernel = &snapshot->kernels.items[i];
    building->units[i] =
        unit_build(snapshot->base, kernel->definition, called_with(building, kernel),
                   checks_of(&snapshot->options), building->share);
}

static void missing_build(Building *building) {
    if (building->missing_count < FEWEST_FOR_THREADS)
        for (int i = 0; i < building->missing_count; i++) build_missing(building, 0, i);
    else
        parallel_for(building->missing_count, build_missing, building);
    for (int i = 0; i < building->missing_count; i++) {
        const Unit *unit = building->units[building->missing[i]];
        building->taken += unit->taken;
        building->is_unwanted |= unit->is_unwanted;
    }
}

/// Steps for each of so many kernels, of those that are left.
static int64_t share_of(const Building *building, int count) {
    int64_t share = (building->most - building->taken) / (count ? count : 1);
    return share < KERNEL_MOST_STEPS ? share : KERNEL_MOST_STEPS;
}

/// Kernels for which their share did not do have what the others left, all the same: whoever has it first must not matter.
static void missing_build_again(Building *building, bool helpers) {
    enum { WORTHWHILE = 4 };  // times the share before; work done twice stays a small part so
    const Snapshot *snapshot = building->snapshot;
    while (!building->is_unwanted) {
        building->missing_count = 0;
        for (LIST_EACH(int, i, snapshot->kernels))
            if (snapshot->kernels.items[i].is_helper == helpers && building->units[i]->is_cut &&
                building->units[i]->limit < KERNEL_MOST_STEPS)
                building->missing[building->missing_count++] = i;
        int64_t share = share_of(building, building->missing_count);
        int kept = 0;
        for (int i = 0; i < building->missing_count; i++) {
            int kernel = building->missing[i];
            Unit *unit = building->units[kernel];
            if (unit->limit > share / WORTHWHILE) continue;
            unit_release(unit);
            building->missing[kept++] = kernel;
        }
        building->missing_count = kept;
        building->share = share;
        if (!kept) return;
        missing_build(building);
    }
}

static void kernels_build_some(Building *building, bool helpers) {
    Snapshot *snapshot = building->snapshot;
    building->missing_count = 0;
    int count = 0;
    for (LIST_EACH(int, i, snapshot->kernels)) {
        const Kernel *kernel = &snapshot->kernels.items[i];
        if (kernel->is_helper != helpers) continue;
        count++;
        Unit *known = building->known[i];
        if (!known || !unit_is_called_with(known, called_with(building, kernel))) {
            building->missing[building->missing_count++] = i;
            continue;
        }
        building->units[i] = unit_retain(known);
        building->taken += known->taken;
    }
    // Half for the kernels, so that they leave something; and half of it now, so that who needs more finds some.
    building->most = helpers ? FILE_MOST_STEPS : FILE_MOST_STEPS / 2;
    building->share = share_of(building, 2 * count);
    if (building->share < KERNEL_FEWEST_STEPS) building->share = KERNEL_FEWEST_STEPS;
    missing_build(building);
    missing_build_again(building, helpers);
    snapshot->other_build = module_other_build(snapshot->arena, snapshot->module);
    for (LIST_EACH(int, i, snapshot->kernels)) {
        Kernel *kernel = &snapshot->kernels.items[i];
        if (kernel->is_helper != helpers) continue;
        if (!helpers) calls_add(&building->calls, building->units[i]);
        kernel_take(snapshot, kernel, building->units[i]);
    }
}

/// Derivatives by hand stand in comments, which no kernel holds: they are looked at in each text anew.
static void rules_check(Snapshot *snapshot, Arena *scratch) {
    if (snapshot->options.skip_checks) return;
    check_given_rules(scratch, snapshot->module, snapshot->kernels.items, snapshot->kernels.count,
                      &snapshot->diagnostics);
}

/// Kernels first: they tell how the helpers are called. False where the work was interrupted.
static bool kernels_build(Snapshot *snapshot, Arena *scratch, Unit *const *known) {
    Building building = {.snapshot = snapshot,
                         .calls = {scratch, map_new(scratch)},
                         .known = known,
                         .units = ARENA_ARRAY(scratch, Unit *, snapshot->kernels.count + 1),
                         .missing = ARENA_ARRAY(scratch, int, snapshot->kernels.count + 1)};
    kernels_build_some(&building, false);
    kernels_build_some(&building, true);
    if (!building.is_unwanted) rules_check(snapshot, scratch);
    return !building.is_unwanted;
}

static void kernels_list(Snapshot *snapshot) {
    for (LIST_EACH(int, i, snapshot->module->functions)) {
        const FunctionDefinition *definition = snapshot->module->functions.items[i];
        Kernel kernel = {
            .snapshot = snapshot, .definition = definition, .is_helper = definition->is_helper};
        if (definition->is_jit) LIST_PUSH(snapshot->arena, &snapshot->kernels, kernel);
    }
}

/* ---- taking over ---- */

/// The units of `previous` that hold for the kernels of `snapshot`.
static void units_find(const Snapshot *snapshot, const Snapshot *previous, Arena *scratch,
                       const ModuleChanges *changes, Unit **known) {
    UnitUpdate update = update_new(scratch, previous->module, snapshot->module, changes);
    Map former = map_new(scratch);
    for (LIST_EACH(int, i, previous->kernels)) {
        const Kernel *kernel = &previous->kernels.items[i];
        map_set_pointer(&former, kernel->definition->node.id, (void *)(uintptr_t)kernel);
    }
    for (LIST_EACH(int, i, snapshot->kernels)) {
        const FunctionDefinition *now = snapshot->kernels.items[i].definition;
        const Kernel *kernel = map_get_pointer(&former, now->node.id);
        bool is_tried = !kernel || kernel->unit->extent != CHECKS_WITHOUT_TRIALS;
        if (!is_tried && !snapshot->options.skip_trials) continue;
        if (kernel && unit_holds(&update, kernel->unit, kernel->definition, now))
            known[i] = kernel->unit;
    }
}

/// Where the pieces of `base` lie now, by where they lay in the text before.
static void view_add(Snapshot *snapshot, SnapshotBase *base, const int *before, const int *moved) {
    int count = syntax_piece_count(base->module->tree);
    SnapshotView view = {base_retain(base), ARENA_ARRAY(snapshot->arena, int, count)};
    for (int i = 0; i < count; i++) {
        int piece = before ? before[i] : i;
        view.pieces[i] = piece < 0 ? -1 : moved[piece];
    }
    LIST_PUSH(snapshot->arena, &snapshot->views, view);
}

static int units_of(const Snapshot *snapshot, Unit *const *known, const SnapshotBase *base) {
    int count = 0;
    for (LIST_EACH(int, i, snapshot->kernels)) count += known[i] && known[i]->base == base;
    return count;
}

static const SnapshotBase *base_with_fewest(const Snapshot *snapshot, const Snapshot *previous,
                                            Unit *const *known, int *held) {
    int fewest = 0;
    const SnapshotBase *smallest = NULL;
    *held = 0;
    for (int i = -1; i < previous->views.count; i++) {
        const SnapshotBase *base = i < 0 ? previous->base : previous->views.items[i].base;
        int count = units_of(snapshot, known, base);
        *held += count > 0;
        if (count > 0 && (!smallest || count < fewest)) {
            smallest = base;
            fewest = count;
        }
    }
    return smallest;
}

/// Texts that few units come from are given up first, some at once: their units are made anew together, from one text.
static void bases_bound(const Snapshot *snapshot, const Snapshot *previous, Unit **known) {
    int held;
    const SnapshotBase *smallest = base_with_fewest(snapshot, previous, known, &held);
    if (held <= MOST_BASES) return;
    while (held > KEPT_BASES) {
        for (LIST_EACH(int, i, snapshot->kernels))
            if (known[i] && known[i]->base == smallest) known[i] = NULL;
        smallest = base_with_fewest(snapshot, previous, known, &held);
    }
}

static void views_build(Snapshot *snapshot, const Snapshot *previous, Arena *scratch,
                        Unit *const *known) {
    int *moved = ARENA_ARRAY(scratch, int, syntax_piece_count(previous->module->tree));
    for (int i = 0; i < syntax_piece_count(previous->module->tree); i++) moved[i] = -1;
    for (int i = 0; i < syntax_piece_count(snapshot->module->tree); i++) {
        int former = syntax_piece_former(snapshot->module->tree, i);
        if (former >= 0) moved[former] = i;
    }
    if (units_of(snapshot, known, previous->base)) view_add(snapshot, previous->base, NULL, moved);
    for (LIST_EACH(int, i, previous->views)) {
        const SnapshotView *view = &previous->views.items[i];
        if (units_of(snapshot, known, view->base))
            view_add(snapshot, view->base, view->pieces, moved);
    }
}

/* ---- the whole ---- */

/// Nobody waits for what was begun.
static _Noreturn void snapshot_give_up(Snapshot *snapshot) {
    snapshot_release(snapshot);
    bug_raise_for(BUG_UNWANTED, "nobody waits for the analysis");
}

static Snapshot *snapshot_new(const char *path, Str text, const SnapshotOptions *options) {
    Arena *arena = arena_new();
    Snapshot *snapshot = ARENA_NEW(arena, Snapshot);
    snapshot->arena = arena;
    atomic_init(&snapshot->count, 1);
    snapshot->diagnostics.arena = arena;
    if (options) snapshot->options = *options;
    snapshot->derivations = memo_new();
    Arena *kept = arena_new();
    snapshot->base = ARENA_NEW(kept, SnapshotBase);
    snapshot->base->arena = kept;
    atomic_init(&snapshot->base->count, 1);
    Str copy = {arena_strndup(kept, text.data, text.size), text.size};
    snapshot->source = snapshot->base->source = source_new(kept, arena_strdup(kept, path), copy);
    return snapshot;
}

Snapshot *snapshot_build(const char *path, Str text, const SnapshotOptions *options) {
    Snapshot *snapshot = snapshot_new(path, text, options);
    Arena *scratch = arena_new();
    snapshot->module = snapshot->base->module =
        module_build(snapshot->base->arena, snapshot->source, snapshot->options.resolver,
                     &snapshot->diagnostics);
    kernels_list(snapshot);
    Unit **known = ARENA_ARRAY(scratch, Unit *, snapshot->kernels.count + 1);
    bool is_whole = kernels_build(snapshot, scratch, known);
    arena_free(scratch);
    if (!is_whole) snapshot_give_up(snapshot);
    return snapshot;
}

/// An insertion or deletion of `size` bytes before `end` of `text` is as well one some bytes earlier when the same bytes stand
/// there. At the start of a line it is a matter of whole lines. Returns how many bytes.
static uint32_t edit_slide(Str text, uint32_t start, uint32_t end) {
    enum { LONGEST_SLIDE = 400 };
    for (uint32_t back = 0; back <= start && back < LONGEST_SLIDE; back++) {
        if (start == back || text.data[start - back - 1] == '\n') return back;
        if (text.data[start - back - 1] != text.data[end - back - 1]) return 0;
    }
    return 0;
}

static Edit edit_between(Str before, Str after) {
    uint32_t shorter = (uint32_t)(before.size < after.size ? before.size : after.size);
    enum { BLOCK = 256 };
    uint32_t start = 0;
    while (start + BLOCK <= shorter && memcmp(before.data + start, after.data + start, BLOCK) == 0)
        start += BLOCK;
    while (start < shorter && before.data[start] == after.data[start]) start++;
    uint32_t same = 0;
    while (same + BLOCK <= shorter - start &&
           memcmp(before.data + before.size - same - BLOCK, after.data + after.size - same - BLOCK,
                  BLOCK) == 0)
        same += BLOCK;
    while (same < shorter - start &&
           before.data[before.size - 1 - same] == after.data[after.size - 1 - same])
        same++;
    Edit edit = {start, (uint32_t)before.size - same, (uint32_t)after.size - same};
    uint32_t back = 0;
    if (edit.old_end == start && edit.new_end > start)
        back = edit_slide(after, start, edit.new_end);
    if (edit.new_end == start && edit.old_end > start)
        back = edit_slide(before, start, edit.old_end);
    return (Edit){start - back, edit.old_end - back, edit.new_end - back};
}

static bool options_are_equal(const SnapshotOptions *a, const SnapshotOptions *b) {
    return a->resolver == b->resolver && a->imports_version == b->imports_version &&
           a->skip_checks == b->skip_checks && a->card == b->card;
}

Snapshot *snapshot_update(const Snapshot *previous, Str text, const SnapshotOptions *options) {
    static const SnapshotOptions defaults;
    if (!options_are_equal(&previous->options, options ? options : &defaults))
        return snapshot_build(previous->source->path, text, options);
    Snapshot *snapshot = snapshot_new(previous->source->path, text, options);
    Arena *scratch = arena_new();
    ModuleChanges changes = {.names = map_new(scratch)};
    snapshot->module = snapshot->base->module =
        module_update(snapshot->base->arena, snapshot->source, previous->module,
                      edit_between(previous->source->text, snapshot->source->text),
                      snapshot->options.resolver, &snapshot->diagnostics, &changes);
    kernels_list(snapshot);
    Unit **known = ARENA_ARRAY(scratch, Unit *, snapshot->kernels.count + 1);
    units_find(snapshot, previous, scratch, &changes, known);
    bases_bound(snapshot, previous, known);
    views_build(snapshot, previous, scratch, known);
    bool is_whole = kernels_build(snapshot, scratch, known);
    arena_free(scratch);
    if (!is_whole) snapshot_give_up(snapshot);
    return snapshot;
}

Snapshot *snapshot_retain(const Snapshot *snapshot) {
    Snapshot *held = (Snapshot *)(uintptr_t)snapshot;
    if (held) atomic_fetch_add(&held->count, 1);
    return held;
}

void snapshot_release(const Snapshot *snapshot) {
    Snapshot *held = (Snapshot *)(uintptr_t)snapshot;
    if (!held || atomic_fetch_sub(&held->count, 1) > 1) return;
    memo_free(held->derivations);
    for (LIST_EACH(int, i, held->kernels))
        if (held->kernels.items[i].unit) unit_release(held->kernels.items[i].unit);
    for (LIST_EACH(int, i, held->views)) base_release(held->views.items[i].base);
    base_release(held->base);
    arena_free(held->arena);
}

const Kernel *snapshot_kernel_at(const Snapshot *snapshot, uint32_t offset) {
    for (LIST_EACH(int, i, snapshot->kernels)) {
        Range range = snapshot_range(snapshot, snapshot->kernels.items[i].definition->range);
        if (range.start <= offset && offset < range.end) return &snapshot->kernels.items[i];
    }
    return NULL;
}

Range snapshot_range(const Snapshot *snapshot, Range range) {
    if (range.source == snapshot->source) return range;
    for (LIST_EACH(int, i, snapshot->views)) {
        const SnapshotView *view = &snapshot->views.items[i];
        if (view->base->source == range.source) return view_range(snapshot, view, range);
    }
    return range;
}

Value *snapshot_value_at(const Snapshot *snapshot, const Kernel *kernel, Range range) {
    if (!kernel->function || !kernel->function->definition) return NULL;
    Range lowered = kernel->function->definition->name_range;
    uint32_t shift = snapshot_range(snapshot, lowered).start - lowered.start;
    return function_value_at(kernel->function, range.start - shift, range.end - shift);
}

typedef struct Relocation {
    const Snapshot *snapshot;
    Arena *arena;
    Map calls;  // CallSite -> its copy
} Relocation;

static const CallSite *relocate_call(Relocation *relocation, const CallSite *call) {
    const CallSite *outermost = NULL;
    const CallSite **place = &outermost;
    for (; call; call = call->outer) {
        CallSite *copy = map_get_pointer(&relocation->calls, call);
        *place = copy;
        if (copy) break;
        copy = ARENA_NEW(relocation->arena, CallSite);
        *copy = (CallSite){snapshot_range(relocation->snapshot, call->range), call->callee, NULL};
        map_set_pointer(&relocation->calls, call, copy);
        *place = copy;
        place = &copy->outer;
    }
    return outermost;
}

static bool relocate_op(void *context, Op *op) {
    Relocation *relocation = context;
    op->range = snapshot_range(relocation->snapshot, op->range);
    op->call = relocate_call(relocation, op->call);
    for (int i = 0; i < op->result_count; i++)
        op->results[i]->range = snapshot_range(relocation->snapshot, op->results[i]->range);
    for (int r = 0; r < op->region_count; r++)
        for (int i = 0; i < op->regions[r]->argument_count; i++) {
            Value *argument = op->regions[r]->arguments[i];
            argument->range = snapshot_range(relocation->snapshot, argument->range);
        }
    return true;
}

void snapshot_relocate(const Snapshot *snapshot, Function *copy) {
    if (snapshot->views.count == 0) return;
    Relocation relocation = {snapshot, copy->arena, map_new(copy->arena)};
    region_walk(copy->body, relocate_op, &relocation);
    for (int i = 0; i < copy->parameter_count; i++) {
        Parameter *parameter = &copy->parameters[i];
        parameter->range = snapshot_range(snapshot, parameter->range);
        parameter->value->range = snapshot_range(snapshot, parameter->value->range);
    }
}

const Kernel *snapshot_find_kernel(const Snapshot *snapshot, Str name) {
    for (LIST_EACH(int, i, snapshot->kernels))
        if (str_equal(snapshot->kernels.items[i].definition->name, name))
            return &snapshot->kernels.items[i];
    return NULL;
}

const FunctionDefinition *snapshot_function_around(const Snapshot *snapshot, Range range) {
    const Module *module = snapshot->module;
    for (LIST_EACH(int, i, module->functions)) {
        const FunctionDefinition *function = module->functions.items[i];
        if (range.source == snapshot->source && function->range.start <= range.start &&
            range.end <= function->range.end)
            return function;
    }
    return NULL;
}
