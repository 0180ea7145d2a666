// One jit function in, its unit out: tile IR, diagnostics, and what these rest on.
#include "analysis/unit.h"

#include <string.h>

#include "analysis/frames/type_join.h"
#include "analysis/module/module_scope.h"
#include "analysis/module/module_update.h"
#include "base/budget.h"
#include "base/error.h"

/* ---- lifetimes ---- */

SnapshotBase *base_retain(SnapshotBase *base) {
    atomic_fetch_add(&base->count, 1);
    return base;
}

void base_release(SnapshotBase *base) {
    if (atomic_fetch_sub(&base->count, 1) > 1) return;
    module_release(base->module);
    arena_free(base->arena);
}

Unit *unit_retain(Unit *unit) {
    atomic_fetch_add(&unit->count, 1);
    return unit;
}

void unit_release(Unit *unit) {
    if (atomic_fetch_sub(&unit->count, 1) > 1) return;
    base_release(unit->base);
    arena_free(unit->arena);
}

/* ---- what helpers are called with ---- */

const Type *calls_find(const UnitCalls *calls, const FunctionDefinition *definition) {
    return map_get_pointer(&calls->types, definition->node.id);
}

void calls_add(UnitCalls *calls, const Unit *unit) {
    for (int i = 0; i < unit->observed.count; i++) {
        const MapEntry *entry = &unit->observed.entries[i];
        const FunctionDefinition *callee = (const FunctionDefinition *)(uintptr_t)entry->number;
        const Type *seen = entry->value;
        Type *known = map_get_pointer(&calls->types, callee->node.id);
        if (!known) {
            known = arena_grow(calls->arena, seen, sizeof(Type) * (size_t)callee->parameter_count,
                               sizeof(Type) * (size_t)(callee->parameter_count + 1));
            map_set_pointer(&calls->types, callee->node.id, known);
            continue;
        }
        types_observe(calls->arena, known, seen, callee->parameter_count);
    }
}

bool unit_is_called_with(const Unit *unit, const Type *types) {
    if (!unit->called_with || !types) return unit->called_with == types;
    for (int i = 0; i < unit->function->definition->parameter_count; i++)
        if (unit->called_with[i].kind != types[i].kind ||
            !type_equal(unit->called_with[i], types[i]))
            return false;
    return true;
}

/// A helper on its own has the types that the file's kernels call it with.
static void bind_observed(Unit *unit, LowerOptions *options, const FunctionDefinition *definition,
                          const Type *types) {
    if (!types || !definition->is_helper) return;
    Type *kept = ARENA_ARRAY(unit->arena, Type, definition->parameter_count + 1);
    Binding *bindings = ARENA_ARRAY(unit->arena, Binding, definition->parameter_count + 1);
    int count = 0;
    for (int i = 0; i < definition->parameter_count; i++) {
        const ParameterDefinition *parameter = &definition->parameters[i];
        kept[i] = type_detached(unit->arena, types[i]);
        bool is_data = types[i].kind == TYPE_NUMBER || types[i].kind == TYPE_POINTER ||
                       types[i].kind == TYPE_BLOCK_POINTER || types[i].kind == TYPE_DESCRIPTOR;
        if (parameter->is_constexpr || !is_data) continue;
        bindings[count++] = (Binding){.name = parameter->name, .type = kept[i]};
    }
    unit->called_with = kept;
    options->bindings = bindings;
    options->binding_count = count;
}

/* ---- building ---- */

/// What the lowering said. The types of a helper's parameters are guesses until somebody calls it, so what is wrong
/// with types is told where it is inlined.
static void diagnostics_take(Diagnostics *sink, const Kernel *kernel, const Diagnostics *found) {
    bool certain = kernel_is_entry(kernel);
    for (LIST_EACH(int, i, found->list)) {
        const Diagnostic *diagnostic = &found->list.items[i];
        if (!certain && !diagnostic->rests_on_nothing &&
            strcmp(diagnostic_rows[diagnostic->id].family, "types") == 0)
            continue;
        LIST_PUSH(sink->arena, &sink->list, *diagnostic);
    }
}

static void unit_check(Unit *unit, const Kernel *kernel, CheckOptions options) {
    // Notes of the checks are given back; only what they say stays.
    Arena *scratch = arena_new_scratch();
    check_kernel(scratch, kernel, options, &unit->checked);
    arena_free(scratch);
}

static void unit_analyse(Unit *unit, const FunctionDefinition *definition, const Type *called_with,
                         CheckOptions checks) {
    LowerOptions options = {.observed = &unit->observed};
    bind_observed(unit, &options, definition, called_with);
    Diagnostics found = {.arena = unit->arena};
    unit->function = lower_kernel(unit->arena, definition, &options, &found);
    Kernel kernel = {
        .definition = definition, .function = unit->function, .is_helper = definition->is_helper};
    diagnostics_take(&unit->lowered, &kernel, &found);
    unit->understood = function_is_understood(unit->function);
    for (LIST_EACH(int, i, unit->lowered.list))
        LIST_PUSH(unit->arena, &unit->checked.list, unit->lowered.list.items[i]);
    if (checks.extent != CHECKS_NONE) unit_check(unit, &kernel, checks);
}

static bool limit_is_said(const Unit *unit) {
    for (LIST_EACH(int, i, unit->checked.list))
        if (unit->checked.list.items[i].id == DIAGNOSTIC_LIMIT_REACHED) return true;
    return false;
}

/// What was found by then stays; there is one word about the end. A helper is inlined where it is called, and told of there.
static void unit_cut(Unit *unit, const FunctionDefinition *definition) {
    for (int i = unit->checked.list.count; i < unit->lowered.list.count; i++)
        LIST_PUSH(unit->arena, &unit->checked.list, unit->lowered.list.items[i]);
    unit->is_cut = true;
    if (limit_is_said(unit) || unit->called_with) return;
    diagnose(&unit->checked, DIAGNOSTIC_LIMIT_REACHED, definition->name_range,
             "`%.*s` takes more steps than its analysis has, once loops are unrolled and helpers "
             "are inlined; what was not reached is not checked. Unroll less, or divide the kernel; "
             "where the file has many kernels, divide the file.",
             STR_ARGS(definition->name));
}

/// A fault of ours in one kernel leaves the others as they are.
Unit *unit_build(SnapshotBase *base, const FunctionDefinition *definition, const Type *called_with,
                 CheckOptions checks, int64_t limit) {
    Arena *arena = arena_new();
    Unit *unit = ARENA_NEW(arena, Unit);
    unit->arena = arena;
    atomic_init(&unit->count, 1);
    unit->base = base_retain(base);
    unit->lowered.arena = unit->checked.arena = arena;
    unit->observed = map_new(arena);
    unit->reads.names = map_new(arena);
    module_watch(base->module, &unit->reads);
    unit->extent = checks.extent;
    unit->limit = limit;
    StepBudget *budget = ARENA_NEW(arena, StepBudget);
    BugGuard guard;
    if (BUG_GUARD(&guard)) {
        budget_start(budget, limit);
        if (!result_is_wanted()) bug_raise_for(BUG_UNWANTED, "nobody waits for it");
        unit_analyse(unit, definition, called_with, checks);
        budget_stop(budget);
        bug_guard_end(&guard);
        if (unit->function->is_cut) unit_cut(unit, definition);
    } else {
        unit->is_unwanted = guard.cause == BUG_UNWANTED;
        if (guard.cause == BUG_SPENT) unit_cut(unit, definition);
        if (guard.cause == BUG_FAULT) unit->failure = arena_strdup(arena, guard.message);
        if (!unit->function) {
            unit->function = function_new(arena, str_dup(arena, definition->name));
            unit->function->definition = definition;
            unit->function->is_cut = unit->is_cut;
        }
    }
    unit->taken = budget->taken;
    module_watch_end(&unit->reads);
    return unit;
}

/* ---- holding ---- */

static void words_collect(Map *words, Str text) {
    for (size_t i = 0; i < text.size;) {
        size_t start = i;
        while (i < text.size && byte_is_word(text.data[i])) i++;
        if (i > start) map_set_number(words, map_hash((Str){text.data + start, i - start}), words);
        i += i == start;
    }
}

UnitUpdate update_new(Arena *arena, const Module *before, const Module *now,
                      const ModuleChanges *changes) {
    UnitUpdate update = {before, now, changes, map_new(arena)};
    for (LIST_EACH(int, i, changes->texts))
        words_collect(&update.changed_words, changes->texts.items[i]);
    return update;
}

static bool names_are_equal(const FunctionDefinition *before, const FunctionDefinition *now) {
    bool same = before->tuned_names.count == now->tuned_names.count;
    for (int i = 0; same && i < now->tuned_names.count; i++)
        same = str_equal(before->tuned_names.items[i], now->tuned_names.items[i]);
    return same;
}

static bool launches_are_equal(const UnitUpdate *update, const FunctionDefinition *before,
                               const FunctionDefinition *now) {
    int at = 0;
    for (LIST_EACH(int, i, update->now->launches)) {
        const LaunchSite *site = &update->now->launches.items[i];
        if (site->kernel != now) continue;
        while (at < update->before->launches.count &&
               update->before->launches.items[at].kernel != before)
            at++;
        if (at == update->before->launches.count) return false;
        const LaunchSite *former = &update->before->launches.items[at++];
        if (former->call.id != site->call.id || former->chosen.count != site->chosen.count ||
            former->is_bare != site->is_bare)
            return false;
        for (LIST_EACH(int, k, site->chosen))
            if (former->chosen.items[k].id != site->chosen.items[k].id) return false;
    }
    for (; at < update->before->launches.count; at++)
        if (update->before->launches.items[at].kernel == before) return false;
    return true;
}

bool unit_holds(const UnitUpdate *update, const Unit *unit, const FunctionDefinition *before,
                const FunctionDefinition *now) {
    const ModuleChanges *changes = update->changes;
    if (changes->all || !definition_is_same(before, now) || before->is_helper != now->is_helper ||
        !names_are_equal(before, now))
        return false;
    if (unit->reads.errors && changes->has_other_errors) return false;
    for (int i = 0; i < changes->names.count; i++)
        if (map_has_number(&unit->reads.names, changes->names.entries[i].number)) return false;
    // Launchers are searched for the kernel's name.
    if (map_has_number(&update->changed_words, map_hash(now->name))) return false;
    return launches_are_equal(update, before, now);
}
