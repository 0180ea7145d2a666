// A backward in one kernel in; out the same in several, where programs share gradients that gradient-reduction kernels can sum (reductions.h).
#include "autodiff/parts.h"

#include <limits.h>
#include <string.h>

#include "autodiff/derive.h"
#include "autodiff/variants.h"

BackwardLaunch launch_join(Arena *arena, const BackwardLaunch *a, const BackwardLaunch *b) {
    BackwardLaunch both = {.kernel = a->kernel};
    both.arguments =
        ARENA_ARRAY(arena, BackwardArgument, a->argument_count + b->argument_count + 1);
    for (int i = 0; i < a->argument_count; i++)
        both.arguments[both.argument_count++] = a->arguments[i];
    for (int i = 0; i < b->argument_count; i++)
        if (launch_index(a, b->arguments[i].name) < 0)
            both.arguments[both.argument_count++] = b->arguments[i];
    return both;
}

static const Gradient *gradient_of(const Backward *result, const char *input) {
    for (int i = 0; i < result->gradient_count; i++)
        if (strcmp(result->gradients[i].input, input) == 0) return &result->gradients[i];
    return NULL;
}

bool launch_reads_scratch(const BackwardLaunch *launch) {
    for (int i = 0; i < launch->argument_count; i++)
        if (launch->arguments[i].use == ARGUMENT_SCRATCH) return true;
    return false;
}

/// The name of the kernel that sums these gradients alone.
static const char *reduction_name(Arena *arena, const char *name, const BackwardLaunch *launch) {
    for (int i = 0; i < launch->argument_count; i++)
        if (launch->arguments[i].use == ARGUMENT_GRADIENT)
            name = arena_printf(arena, "%s_%s", name, launch->arguments[i].name);
    return name;
}

/// The same, numbered where an earlier part sums these gradients, too.
static const char *part_name(Arena *arena, const Variant *variant, const char *name,
                             const BackwardLaunch *launch) {
    const char *own = reduction_name(arena, name, launch);
    int count = 1;
    for (int i = 0; i < variant->part_count; i++)
        count += str_starts(str_from(variant->parts[i].function->name), own);
    return count > 1 ? arena_printf(arena, "%s_%d", own, count) : own;
}

static bool launch_writes(const BackwardLaunch *launch, const char *input) {
    for (int i = 0; i < launch->argument_count; i++)
        if (launch->arguments[i].use == ARGUMENT_GRADIENT &&
            strcmp(launch->arguments[i].of, input) == 0)
            return true;
    return false;
}

/// What a part rests on, and the whole does not.
static void take_assumptions(Arena *arena, const Backward *part, Backward *result) {
    for (int i = 0; i < part->assumption_count; i++) {
        int known = 0;
        while (known < result->assumption_count &&
               strcmp(result->assumptions[known].text, part->assumptions[i].text) != 0)
            known++;
        if (known < result->assumption_count) continue;
        Assumption *all = ARENA_ARRAY(arena, Assumption, known + 1);
        for (int k = 0; k < known; k++) all[k] = result->assumptions[k];
        all[known] = part->assumptions[i];
        result->assumptions = all;
        result->assumption_count++;
    }
}

/// The gradients of the whole are those that its parts have; of several that add to one, what holds for any. `is_taken`: what an earlier
/// part has, by gradient.
static void take_gradients(Arena *arena, const Variant *owners, Backward *result, bool *is_taken) {
    take_assumptions(arena, &owners->result, result);
    result->atomics = 0;
    for (int i = 0; i < result->gradient_count; i++) {
        Gradient *gradient = &result->gradients[i];
        if (launch_writes(&owners->launch, gradient->input)) {
            const Gradient own = *gradient_of(&owners->result, gradient->input);
            bool is_sum = own.is_sum || (is_taken[i] && gradient->is_sum);
            if (!is_taken[i] || own.is_atomic) *gradient = own;
            gradient->is_sum = is_sum;
            is_taken[i] = true;
        }
        result->atomics += gradient->is_atomic;
    }
}

/// What is known of the elements that the whole stores plainly, and which gradients are one: another kernel that does all of its work stores
/// the same ones.
static void take_stored(const Variant *whole, BackwardLaunch *launch) {
    for (int i = 0; i < launch->argument_count; i++) {
        BackwardArgument *argument = &launch->arguments[i];
        int known = launch_index(&whole->launch, argument->name);
        bool is_plain = argument->use == ARGUMENT_GRADIENT && !argument->is_parts && known >= 0;
        if (!is_plain || whole->launch.arguments[known].use != ARGUMENT_GRADIENT) continue;
        const BackwardArgument *own = &whole->launch.arguments[known];
        if (!argument->stored) argument->stored = own->stored;
        if (argument->is_optional && own->same_as) argument->same_as = own->same_as;
    }
}

/// One kernel that does the work of all programs, where each of these has its own gradients, and all share others.
static bool try_one_pass(Arena *arena, const Kernel *kernel, const Function *forward,
                         const BackwardOptions *options, bool keeps_loads, Variant *variant) {
    const BackwardPart part = {.kind = PART_ONE_PASS};
    Variant own;
    variant_try(arena, kernel, forward, options, keeps_loads, part, &own);
    if (own.result.status != BACKWARD_DERIVED) return false;
    own.result.atomics = 0;
    for (int i = 0; i < own.result.gradient_count; i++)
        own.result.atomics += own.result.gradients[i].is_atomic;
    take_stored(variant, &own.launch);
    *variant = own;
    return true;
}

/// Where programs still add with atomics: the same with shares of their own, where half of the gradients need none then; or with a
/// share of all for each, where none does.
static void keep_shares(Arena *arena, const Kernel *kernel, const Function *forward,
                        const BackwardOptions *options, bool keeps_loads, BackwardPart part,
                        Variant *variant) {
    if (part.deals_tiles) return;
    part.keeps_shares = true;
    const int beside[2] = {variant->beside_shares[0], variant->beside_shares[1]};
    for (int all = 0; all < 2 && variant->result.atomics; all++) {
        Variant own;
        part.keeps_all = all;
        part.most_atomics = all ? 0 : variant->result.atomics / 2;
        if (beside[all] > part.most_atomics) continue;
        variant_try(arena, kernel, forward, options, keeps_loads, part, &own);
        if (own.result.status != BACKWARD_DERIVED) continue;
        own.result.atomics = 0;
        for (int i = 0; i < own.result.gradient_count; i++)
            own.result.atomics += own.result.gradients[i].is_atomic;
        if (own.result.atomics > part.most_atomics) continue;
        take_stored(variant, &own.launch);
        *variant = own;
    }
}

void variant_split(Arena *arena, const Kernel *kernel, const Function *forward,
                   const BackwardOptions *options, bool keeps_loads, BackwardPart like,
                   Variant *variant) {
    Variant owners[BACKWARD_MOST_REDUCTIONS], programs;
    BackwardPart part = like, rest = like;
    part.kind = PART_REDUCTION;
    rest.kind = PART_PROGRAMS;
    bool reads = false, any = false;
    for (; part.index < variant->reduction_kernels; part.index++) {
        Variant *own = &owners[part.index];
        variant_try(arena, kernel, forward, options, keeps_loads, part, own);
        if (own->fits_one_pass && !like.deals_tiles && !like.has_digits &&
            try_one_pass(arena, kernel, forward, options, keeps_loads, variant))
            return;
        bool is_made = own->result.status == BACKWARD_DERIVED;
        rest.moved[part.index] = is_made;
        any |= is_made;
        reads |= is_made && launch_reads_scratch(&own->launch);
    }
    if (!any) {
        keep_shares(arena, kernel, forward, options, keeps_loads, like, variant);
        return;
    }
    variant_try(arena, kernel, forward, options, keeps_loads, rest, &programs);
    if (programs.result.status != BACKWARD_DERIVED) return;
    if (programs.result.atomics)
        keep_shares(arena, kernel, forward, options, keeps_loads, rest, &programs);
    const char *name = variant->backward->name;
    bool is_rest = programs.result.input_count > 0 || reads;
    variant->part_count = 0;
    bool *is_taken = ARENA_ARRAY(arena, bool, variant->result.gradient_count + 1);
    if (is_rest) take_gradients(arena, &programs, &variant->result, is_taken);
    if (is_rest)
        variant->parts[variant->part_count++] = (VariantPart){programs.backward, programs.launch};
    for (int i = 0; i < BACKWARD_MOST_REDUCTIONS; i++) {
        if (!rest.moved[i]) continue;
        take_gradients(arena, &owners[i], &variant->result, is_taken);
        if (variant->part_count)
            owners[i].backward->name = part_name(arena, variant, name, &owners[i].launch);
        variant->parts[variant->part_count++] = (VariantPart){owners[i].backward, owners[i].launch};
    }
}

/// Kernels of a flat index: one for all that is added by the same digits of it, of which the first does all else.
typedef struct FlatKernels {
    Variant items[BACKWARD_MOST_REDUCTIONS];
    int count;
} FlatKernels;

static bool try_flat(Arena *arena, const Kernel *kernel, const Function *forward,
                     const BackwardOptions *options, bool keeps_loads, bool deals_tiles,
                     FlatKernels *flat) {
    // each kernel has some of the gradients: atomics of the others are none of its own
    BackwardPart part = {.kind = PART_FLAT, .deals_tiles = deals_tiles, .most_atomics = INT_MAX};
    flat->count = 1;
    for (; part.index < flat->count; part.index++) {
        Variant *own = &flat->items[part.index];
        variant_try(arena, kernel, forward, options, keeps_loads, part, own);
        if (own->result.status != BACKWARD_DERIVED) return false;
        own->result.atomics = 0;
        for (int i = 0; i < own->result.gradient_count; i++) {
            const Gradient *gradient = &own->result.gradients[i];
            own->result.atomics +=
                gradient->is_atomic && launch_writes(&own->launch, gradient->input);
        }
        if (own->result.atomics) return false;
        if (part.index == 0) flat->count = own->reduction_kernels;
        if (flat->count > BACKWARD_MOST_REDUCTIONS) return false;
    }
    return true;
}

static bool visit_product(void *context, Op *op) {
    bool *found = context;
    *found = *found || op_is_product(op->code);
    return !*found;
}

void variant_flatten(Arena *arena, const Kernel *kernel, const Function *forward,
                     const BackwardOptions *options, bool keeps_loads, Variant *variant) {
    FlatKernels *flat = ARENA_NEW(arena, FlatKernels);
    bool has_products = false;  // whose tiles number no elements one by one
    region_walk(forward->body, visit_product, &has_products);
    if (variant->part_count || has_products) return;
    bool is_plain = !variant->cannot_be_flat &&
                    try_flat(arena, kernel, forward, options, keeps_loads, false, flat);
    if (!is_plain && !try_flat(arena, kernel, forward, options, keeps_loads, true, flat)) return;
    Variant *first = &flat->items[0];
    take_stored(variant, &first->launch);
    if (flat->count == 1) {
        *variant = *first;
        return;
    }
    const char *name = variant->backward->name;
    bool *is_taken = ARENA_ARRAY(arena, bool, variant->result.gradient_count + 1);
    for (int i = 0; i < flat->count; i++) {
        Variant *own = &flat->items[i];
        take_gradients(arena, own, &variant->result, is_taken);
        if (i) own->backward->name = part_name(arena, variant, name, &own->launch);
        variant->parts[variant->part_count++] = (VariantPart){own->backward, own->launch};
    }
}

/// Whether one kernel keeps shares of sums apart: it walks its rows in the forward's blocks.
static bool keeps_own_shares(const Variant *variant) {
    if (variant->part_count || variant->result.atomics) return false;
    for (int i = 0; i < variant->launch.argument_count; i++)
        if (variant->launch.arguments[i].is_parts) return true;
    return false;
}

/// Loads of tiles that the text of a kernel has: all, those in loops, and those in loops within loops.
typedef struct TileLoads {
    int tiles, in_loops, in_nests;
} TileLoads;

static bool count_load(void *context, Op *op) {
    TileLoads *count = context;
    if (op->code != OP_LOAD || !op->results[0]->type.rank) return true;
    int loops = 0;
    for (const Op *around = op->parent->parent; around; around = around->parent->parent)
        loops += op_is_loop(around->code);
    count->tiles++;
    count->in_loops += loops > 0;
    count->in_nests += loops > 1;
    return true;
}

static TileLoads tile_loads(const Variant *variant) {
    TileLoads count = {0};
    region_walk(variant->backward->body, count_load, &count);
    return count;
}

void variant_find_whole_rows(Arena *arena, const Kernel *kernel, const Function *forward,
                             const BackwardOptions *options, bool keeps_loads, Variant *variant) {
    BackwardPart part = {.kind = PART_ONE_PASS, .has_whole_rows = true};
    const FunctionDefinition *definition = kernel->definition;
    Variant *own = ARENA_NEW(arena, Variant);
    bool is_apart = keeps_own_shares(variant),
         is_alone = !variant->part_count && !is_apart && !variant->result.atomics;
    if ((variant->part_count < 2 && !is_apart && !is_alone) || definition->is_autotuned ||
        definition->has_heuristics)
        return;
    const TileLoads loads = tile_loads(variant);
    if (is_alone && loads.in_loops < 2) return;
    if (is_apart || is_alone) part.kind = PART_WHOLE;
    part.keeps_shares = is_apart;
    variant_try(arena, kernel, forward, options, keeps_loads, part, own);
    const char *block = own->launch.row.block, *tile = own->launch.tile;
    bool is_row = own->result.status == BACKWARD_DERIVED && block && tile;
    if (!is_row || strcmp(tile, block) != 0) return;  // what else a tile has may not fit
    for (int i = 0; i < own->result.gradient_count; i++)
        if (own->result.gradients[i].is_atomic) return;
    const TileLoads own_loads = tile_loads(own);
    bool saves = own_loads.tiles < loads.tiles || own_loads.in_nests < loads.in_nests;
    if (is_alone && !saves) return;  // nothing is read twice
    if (is_apart || is_alone) take_stored(variant, &own->launch);
    own->backward->name = arena_printf(arena, "%s_whole_rows", own->backward->name);
    variant->whole_rows = own;
}
