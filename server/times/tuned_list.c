#include "server/times/tuned_list.h"

#include <string.h>

#include "server/times/free_sizes.h"

static const double NEAR_THE_BEST = 1.1;

typedef struct TunedFew {
    TunedConfiguration *items;
    int count;
} TunedFew;

/// Those that differ in nothing else are mostly the same code.
static bool has_but_for_stages(const TunedFew *chosen, const TuningResult *result,
                               const TunedVariant *variant) {
    for (int i = 0; i < chosen->count; i++) {
        bool is_same = chosen->items[i].warps == variant->warps;
        for (int k = 0; k < result->name_count; k++)
            is_same &= chosen->items[i].values[k] == variant->blocks[k];
        if (is_same) return true;
    }
    return false;
}

static TunedFew chosen_of(Arena *arena, const TuningResult *result, int most) {
    TunedFew chosen = {ARENA_ARRAY(arena, TunedConfiguration, most + 1), 0};
    for (int i = 0; i < result->best_count && chosen.count < most; i++) {
        const TunedVariant *variant = result->best[i];
        if (variant->median_ms > result->best[0]->median_ms * NEAR_THE_BEST) break;
        if (has_but_for_stages(&chosen, result, variant)) continue;
        chosen.items[chosen.count++] = (TunedConfiguration){.names = result->names,
                                                            .values = variant->blocks,
                                                            .count = result->name_count,
                                                            .warps = variant->warps,
                                                            .stages = variant->stages};
    }
    return chosen;
}

/// All whole numbers of the kernel as it is that are constants.
static TunedConfiguration others_of(Arena *arena, const TuningResult *result) {
    const Json *arguments = json_get(result->plan, "arguments");
    int most = arguments && arguments->kind == JSON_ARRAY ? arguments->count : 0;
    const char **names = ARENA_ARRAY(arena, const char *, most + 1);
    int *values = ARENA_ARRAY(arena, int, most + 1);
    TunedConfiguration others = {.names = names, .values = values};
    for (int i = 0; i < most; i++) {
        const Json *argument = arguments->items[i], *value = json_get(argument, "value");
        bool is_constant = strcmp(json_get_string(argument, "kind", ""), "constant") == 0;
        if (!is_constant || !value || value->kind != JSON_NUMBER) continue;
        if (json_get_bool(argument, "is_float", false)) continue;
        names[others.count] = json_get_string(argument, "name", "");
        values[others.count++] = (int)value->number;
    }
    return others;
}

const char *tuned_list_text(Arena *arena, const TuningResult *result, int most) {
    TunedFew chosen = chosen_of(arena, result, most);
    TunedConfiguration none = {0};
    if (!chosen.count || result->best[0] == result->first) return "";
    return tuned_list(arena, "triton", chosen.items, chosen.count, &none, 0);
}

/// The launch passes its numbers itself.
static ActionEdit launch_edit(Arena *arena, const Snapshot *snapshot, const Kernel *kernel,
                              const TuningResult *result, const TunedConfiguration *best) {
    const TunedVariant *first = result->first;
    TunedConfiguration now = {result->names, first->blocks, result->name_count, first->warps,
                              first->stages};
    bool *in_grid = ARENA_ARRAY(arena, bool, result->name_count + 1);
    for (int i = 0; i < result->name_count; i++)
        in_grid[i] = line_grid_names(result->line, result->names[i]);
    ActionEdit edit =
        tuned_launch_edit(arena, snapshot, kernel, best, &now, result->is_derived ? NULL : in_grid);
    if (edit.refusal)
        edit.refusal = arena_printf(
            arena, "the kernel is under no `@triton.autotune` of this file, and %s", edit.refusal);
    return edit;
}

ActionEdit tuned_list_edit(Arena *arena, const Snapshot *snapshot, const Kernel *kernel,
                           const TuningResult *result, int most) {
    TunedFew chosen = chosen_of(arena, result, most);
    TunedConfiguration others = others_of(arena, result);
    const FunctionDefinition *definition = kernel->definition;
    bool is_faster = chosen.count && result->best[0] != result->first;
    if (is_faster && !definition->is_autotuned && !definition->has_heuristics)
        return launch_edit(arena, snapshot, kernel, result, &chosen.items[0]);
    if (is_faster) return tuned_edit(arena, snapshot, kernel, chosen.items, chosen.count, &others);
    ActionEdit edit = {.refusal = "nothing is faster than the kernel as it is"};
    return edit;
}
