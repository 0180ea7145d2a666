// A kernel, its backward and its launch specification as the runner's protocol has them (docs/gpu.md).
#include "server/proofs/proof.h"

#include <string.h>

#include "analysis/choices/product_tiles.h"
#include "analysis/launches/launch_later.h"
#include "autodiff/function/warps_text.h"
#include "autodiff/state/asserted.h"

/// Time for the runner to stop by itself after its own limit, before it is killed.
enum { GRACE_MS = 5000 };

static Json *names_json(Arena *arena, const char *const *names, int count) {
    Json *array = json_array(arena);
    for (int i = 0; i < count; i++) json_push(array, json_string(arena, names[i]));
    return array;
}

static Json *argument_json(Arena *arena, const BackwardArgument *argument) {
    static const char *const uses[] = {
        [ARGUMENT_SAME] = "same",           [ARGUMENT_UPSTREAM] = "upstream",
        [ARGUMENT_GRADIENT] = "gradient",   [ARGUMENT_RUNNING] = "running",
        [ARGUMENT_KEPT] = "kept",           [ARGUMENT_BEFORE] = "before",
        [ARGUMENT_SCRATCH] = "scratch",     [ARGUMENT_STEPS] = "steps",
        [ARGUMENT_AMID] = "amid",           [ARGUMENT_SHAPE] = "shape",
        [ARGUMENT_STRIDE] = "stride",       [ARGUMENT_SLICES] = "slices",
        [ARGUMENT_STAGES] = "stages",       [ARGUMENT_PART_STRIDE] = "part_stride",
        [ARGUMENT_FILL] = "fill",           [ARGUMENT_PROGRAMS] = "programs",
        [ARGUMENT_TOGETHER] = "together",   [ARGUMENT_PARTS] = "parts_of",
        [ARGUMENT_DESCRIBED] = "described", [ARGUMENT_RUN_TILE] = "run_tile",
    };
    Json *json = json_object(arena);
    json_set_string(json, uses[argument->use], argument->of);
    if (argument->use == ARGUMENT_SHAPE || argument->use == ARGUMENT_STRIDE ||
        argument->use == ARGUMENT_RUN_TILE)
        json_set_number(json, "axis", argument->axis);
    if (argument->use == ARGUMENT_PROGRAMS) json_set_number(json, "programs", argument->axis);
    if (argument->upstream) {
        json_set_string(json, "upstream_of", argument->upstream);
        json_set_number(json, "axis", argument->axis);
    }
    if (argument->is_optional) json_set_bool(json, "optional", true);
    if (argument->use == ARGUMENT_SLICES && argument->is_constexpr)
        json_set_bool(json, "default", true);
    if (argument->is_parts) json_set_bool(json, "parts", true);
    if (argument->is_float32) json_set_string(json, "dtype", "fp32");
    if (argument->dtype) json_set_string(json, "dtype", argument->dtype);
    if (argument->elements) json_set_string(json, "elements", argument->elements);
    if (argument->stored) json_set_string(json, "stored", argument->stored);
    if (argument->programs) json_set_string(json, "shared_by", argument->programs);
    if (argument->trips) json_set_string(json, "trips", argument->trips);
    return json;
}

/// The sizes that the Function launches a product's kernel with: those for float16, and the first for float32.
static Json *tiles_json(Arena *arena, const BackwardLaunch *launch) {
#define TILE_SIZES(...) {__VA_ARGS__},
    static const ProductTile choices[] = {PRODUCT_TILES(TILE_SIZES)};
    static const char *const roles[] = {
        [BLOCK_ROWS] = "rows", [BLOCK_COLUMNS] = "columns", [BLOCK_TERMS] = "terms"};
    enum { CHOICES = sizeof choices / sizeof *choices };
    Json *tiles = json_object(arena);
    for (int i = 0; i < launch->block_count; i++) {
        const LaunchBlock *block = &launch->blocks[i];
        if (block->role == BLOCK_OTHER) continue;
        Json *tile = json_object(arena), *sizes = json_array(arena);
        for (int k = 0; k <= CHOICES; k++) {
            const ProductTile *choice = &choices[k % CHOICES];
            const int own[] = {[BLOCK_ROWS] = choice->rows,
                               [BLOCK_COLUMNS] = choice->columns,
                               [BLOCK_TERMS] = choice->bytes / (k < CHOICES ? 2 : 4)};
            json_push(sizes, json_number(arena, own[block->role]));
        }
        json_set_string(tile, "same", block->of);
        json_set_string(tile, "role", roles[block->role]);
        json_set(tile, "tensors", names_json(arena, block->tensors, block->tensor_count));
        json_set_string(tile, "extent", block->extent);
        json_set(tile, "axis",
                 block->axis < 0 ? json_null(arena) : json_number(arena, block->axis));
        json_set(tile, "sizes", sizes);
        json_set(tiles, block->name, tile);
    }
    return tiles;
}

/// In how many parts a loop may take a block of the forward, as many numbers as there are sizes of a loop's own block.
static void put_parts(Json *tiles, const BackwardLaunch *launch) {
    const LaunchBlock *block = launch_block_with(launch, BLOCK_PARTS);
    for (int i = 0; launch->has_parts && i < launch->argument_count; i++) {
        if (launch->arguments[i].use != ARGUMENT_PARTS) continue;
        Json *tile = json_object(tiles->arena), *numbers = json_array(tiles->arena);
        for (int parts = 2; parts <= 16; parts *= 2)
            json_push(numbers, json_number(tiles->arena, parts));
        json_set_string(tile, "same", block->of);
        json_set_string(tile, "role", "parts");
        json_set(tile, "axis", json_null(tiles->arena));
        json_set_string(tile, "extent", block->of);
        json_set(tile, "sizes", numbers);
        json_set(tile, "divides", names_json(tiles->arena, (const char *[]){block->of}, 1));
        json_set(tiles, launch->arguments[i].name, tile);
    }
}

/// Whether a loop loads its tiles by descriptors, for as many choices as there are sizes of a loop's own block.
static void put_described(Json *tiles, const BackwardLaunch *launch) {
    for (int i = 0; i < launch->argument_count; i++) {
        if (launch->arguments[i].use != ARGUMENT_DESCRIBED) continue;
        Json *tile = json_object(tiles->arena), *numbers = json_array(tiles->arena);
        for (int k = 0; k < 4; k++) json_push(numbers, json_number(tiles->arena, k % 2 == 0));
        json_set_string(tile, "role", "described");
        json_set(tile, "ones",
                 names_json(tiles->arena, launch->described.ones, launch->described.one_count));
        json_set(tile, "sizes", numbers);
        json_set(tiles, launch->arguments[i].name, tile);
    }
}

/// The sizes that the block of a loop may get, which have to divide those of the forward's parameters `divides`.
static Json *loop_json(Arena *arena, const BackwardLaunch *launch) {
    Json *tiles = json_object(arena);
    put_described(tiles, launch);
    put_parts(tiles, launch);
    for (int i = 0; i < launch->block_count; i++) {
        const LaunchBlock *block = &launch->blocks[i];
        bool is_fixed = block->role == BLOCK_FIXED;
        if (block->role != BLOCK_LOOP && !is_fixed) continue;
        Json *tile = json_object(arena), *sizes = json_array(arena);
        for (int size = 64; size >= 8 && !is_fixed; size /= 2)
            json_push(sizes, json_number(arena, size));
        json_set_string(tile, "same", block->of);
        json_set_string(tile, "role", "loop");
        json_set(tile, "divides",
                 names_json(arena, block->limits, is_fixed ? 0 : block->limit_count));
        json_set(tile, "axis", json_null(arena));
        json_set(tile, "sizes", sizes);
        json_set(tiles, block->name, tile);
    }
    return tiles;
}

/// The sizes that the block of a row, or of a program's elements, may get in a proof, whose tensors are small: none is the forward's, and
/// some leave a rest.
static Json *stream_json(Arena *arena, const BackwardLaunch *launch, BlockRole role) {
    static const int choices[] = {32, 8, 128, 16};
    Json *tiles = json_object(arena);
    for (int i = 0; i < launch->block_count; i++) {
        const LaunchBlock *block = &launch->blocks[i];
        if (block->role != role) continue;
        Json *tile = json_object(arena), *sizes = json_array(arena);
        for (size_t k = 0; k < sizeof choices / sizeof *choices; k++)
            json_push(sizes, json_number(arena, choices[k]));
        json_set_string(tile, "same", block->of);
        json_set_string(tile, "role", role == BLOCK_STREAM ? "row" : "elements");
        json_set(tile, "tensors", names_json(arena, block->tensors, block->tensor_count));
        json_set_string(tile, "extent", block->extent);
        json_set(tile, "axis",
                 block->axis < 0 ? json_null(arena) : json_number(arena, block->axis));
        json_set(tile, "sizes", sizes);
        json_set(tiles, block->name, tile);
    }
    return tiles;
}

/// Of how many programs one does the work, in a proof, whose grids are small.
static Json *together_json(Arena *arena, const BackwardLaunch *launch) {
    Json *tiles = json_object(arena);
    for (int i = 0; i < launch->argument_count; i++) {
        if (launch->arguments[i].use != ARGUMENT_TOGETHER) continue;
        Json *tile = json_object(arena), *sizes = json_array(arena);
        for (int size = 2; size <= 8; size *= 2) json_push(sizes, json_number(arena, size));
        json_set_string(tile, "role", launch->together_iterates ? "iterations" : "programs");
        json_set_string(tile, "same", "1");
        json_set_string(tile, "extent", "1");
        json_set(tile, "tensors", names_json(arena, launch->loaded, launch->loaded_count));
        json_set_number(tile, "axis", launch->together_axis);
        json_set(tile, "sizes", sizes);
        json_set(tiles, launch->arguments[i].name, tile);
    }
    return tiles;
}

/// What the turns are counted by that programs of the forward take, and of which each has a program here.
static Json *turns_json(Arena *arena, const BackwardLaunch *launch) {
    Json *turns = json_object(arena);
    json_set_string(turns, "end", launch->turns_end);
    json_set_string(turns, "step", launch->turns_step);
    return turns;
}

/// Along which axes of the grid there are only as many programs as share the sums.
static Json *sliced_json(Arena *arena, const BackwardLaunch *launch) {
    Json *axes = json_array(arena);
    for (int axis = 0; axis < PROGRAM_AXES; axis++)
        if (launch->sliced[axis]) json_push(axes, json_number(arena, axis));
    return axes;
}

/// A number of a loop, whose iterations take no more rows than a part has.
static const char *with_rows(Arena *arena, const char *text, const char *block, const char *part) {
    return part ? text_with_word(arena, text, block, part) : text;
}

/// What the tile of a loop is chosen by, and the rows of a part of the block beside it.
static void put_loop(Json *own, const BackwardLaunch *launch) {
    Arena *arena = own->arena;
    const LoopTile *loop = launch->loop;
    const LaunchBlock *parts = launch->has_parts ? launch_block_with(launch, BLOCK_PARTS) : NULL;
    bool is_beside = parts && launch_block_with(launch, BLOCK_LOOP);
    const char *part =
        is_beside ? arena_printf(arena, "min(%s, %d)", parts->of, ROWS_OF_A_PART) : NULL;
    const char *block = parts ? parts->of : "";
    const struct {
        const char *key;
        LaneCount count;
    } counts[] = {{"products", loop->products}, {"kept", loop->kept}, {"loaded", loop->loaded}};
    json_set_bool(own, "is_owned", loop->is_owned);
    if (launch_block_with(launch, BLOCK_FIXED)) json_set_bool(own, "is_fixed", true);
    json_set_string(own, "rows", with_rows(arena, loop->rows, block, part));
    if (part) json_set_string(own, "part", part);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        Json *lanes = json_array(arena);
        const char *const numbers[] = {counts[i].count.fixed, counts[i].count.each};
        for (int k = 0; k < 2; k++)
            json_push(lanes, json_string(arena, with_rows(arena, numbers[k], block, part)));
        json_set(own, counts[i].key, lanes);
    }
    json_set(own, "tensors", names_json(arena, loop->tensors, loop->tensor_count));
}

/// What the Function chooses the sizes by, where it does.
static void put_own(Json *json, const LaunchPlan *plan, const BackwardLaunch *launch) {
    Arena *arena = json->arena;
    TileNames names;
    if (!tiles_are_own(arena, plan, launch, &names)) return;
    Json *own = json_object(arena);
    if (launch->is_precise) json_set_bool(own, "is_precise", true);
    if (launch->loop) put_loop(own, launch);
    if (launch->stream) json_set_string(own, "lanes", launch->stream);
    if (launch->stream_sums >= MANY_SUMS) json_set_number(own, "sums", launch->stream_sums);
    if (launch->elements) json_set_string(own, "lanes", launch->elements);
    if (launch->has_together) json_set_string(own, "lanes", launch->tile);
    if (launch->flat_end) json_set_number(own, "least", FLAT_LEAST);
    json_set(json, "own", own);
}

/// What warps and stages of a launch are counted from.
static void put_options(Json *json, const LaunchPlan *plan, const BackwardLaunch *launch) {
    if (!launch->tile) return;
    json_set_string(json, "tile", launch->tile);
    bool has_bytes = launch_counts_byte_warps(json->arena, plan, launch);
    if (has_bytes) json_set_bool(json, "has_bytes", true);
    if (has_bytes || launch_counts_warps(json->arena, plan, launch)) {
        json_set_bool(json, "counts_warps", true);
        json_set(json, "loaded", names_json(json->arena, launch->loaded, launch->loaded_count));
    }
    if (launch->stage_count)
        json_set(json, "staged", names_json(json->arena, launch->stages, launch->stage_count));
}

/// What the Function says of the programs that share sums.
static void put_slices(Json *json, const LaunchPlan *plan, const BackwardLaunch *launch,
                       const BackwardArgument *slices) {
    SlicesRule rule = slices_rule(json->arena, plan, launch, slices);
    if (rule.most) json_set_number(json, "most", (double)rule.most);
    if (rule.each) json_set_number(json, "each", (double)rule.each);
    if (rule.is_busy) json_set_bool(json, "busy", true);
}

/// What is stored under a flag.
static void put_filled(Json *json, const BackwardLaunch *launch, const BackwardArgument *fill) {
    for (int i = 0; i < launch->argument_count; i++) {
        const BackwardArgument *argument = &launch->arguments[i];
        bool is_it = argument->use == ARGUMENT_GRADIENT && strcmp(argument->of, fill->of) == 0;
        if (is_it && argument->filled) json_set_string(json, "filled", argument->filled);
    }
}

static Json *launches_json(Arena *arena, const Backward *backward) {
    Json *launches = json_array(arena);
    if (!backward->launch_count) return launches;
    const LaunchPlan plan = launch_plan(arena, backward->kernel->definition->module, backward);
    for (int i = 0; i < backward->launch_count; i++) {
        const BackwardLaunch *launch = &backward->launches[i];
        Json *json = json_object(arena), *arguments = json_object(arena);
        for (int k = 0; k < launch->argument_count; k++) {
            const BackwardArgument *argument = &launch->arguments[k];
            Json *own = argument_json(arena, argument);
            if (argument->use == ARGUMENT_SLICES) put_slices(own, &plan, launch, argument);
            if (argument->use == ARGUMENT_FILL) put_filled(own, launch, argument);
            json_set(arguments, argument->name, own);
        }
        json_set_string(json, "kernel", launch->kernel);
        json_set(json, "arguments", arguments);
        if (launch->has_tiles) json_set(json, "tiles", tiles_json(arena, launch));
        if (launch->loop) json_set(json, "tiles", loop_json(arena, launch));
        if (launch->stream) json_set(json, "tiles", stream_json(arena, launch, BLOCK_STREAM));
        if (launch->elements) json_set(json, "tiles", stream_json(arena, launch, BLOCK_ELEMENTS));
        if (launch->has_together) json_set(json, "tiles", together_json(arena, launch));
        if (turns_are_own(&plan, launch)) json_set(json, "turns", turns_json(arena, launch));
        if (launch->is_sliced) json_set(json, "sliced", sliced_json(arena, launch));
        put_own(json, &plan, launch);
        put_options(json, &plan, launch);
        json_push(launches, json);
    }
    return launches;
}

/// What the Function launches in place of the others where a block holds a row; "chosen" where it asks whether one does.
static Json *whole_rows_json(Arena *arena, const Backward *backward) {
    const Backward *rows = backward->whole_rows;
    const BackwardLaunch *launch = &rows->launches[0];
    const LaunchPlan plan = launch_plan(arena, backward->kernel->definition->module, backward);
    Json *json = json_object(arena);
    json_set_string(json, "block", launch->row.block);
    json_set_string(json, "length", launch->row.length);
    json_set_bool(json, "chosen", rows_are_own(&plan));
    json_set(json, "tensors", names_json(arena, launch->loaded, launch->loaded_count));
    json_set_number(json, "sums", whole_rows_sums(launch));
    json_set(json, "launches", launches_json(arena, rows));
    return json;
}

static Json *spec_json(Arena *arena, const Kernel *kernel, const Settings *settings) {
    Json *spec = json_object(arena);
    Str comment = kernel->definition->comment;
    json_set(spec, "text", comment.size ? json_str(arena, comment) : json_null(arena));
    Json *launch = settings_launch(settings, arena, kernel->function->name);
    json_set(spec, "pyproject", launch ? launch : json_null(arena));
    json_set_bool(spec, "launchers", true);
    return spec;
}

static Json *modules_json(Arena *arena, const Imports *imports) {
    Json *modules = json_array(arena);
    for (LIST_EACH(int, i, imports->list)) {
        const Import *import = &imports->list.items[i];
        Json *json = json_object(arena);
        json_set_string(json, "from", import->from);
        json_set_string(json, "dotted", import->dotted);
        json_set_string(json, "path", import->path);
        json_set(json, "source", json_str(arena, import->text));
        json_push(modules, json);
    }
    return modules;
}

/// Parameters of the forward that the derivation took for others: all launches pass one tensor for both.
static Json *joined_json(Arena *arena, const Backward *backward) {
    Json *json = json_object(arena);
    const Function *forward = backward->kernel->function;
    for (int p = 0; p < forward->parameter_count; p++)
        if (backward->joined[p] >= 0)
            json_set_string(json, forward->parameters[p].name,
                            forward->parameters[backward->joined[p]].name);
    return json;
}

/// Whether what comes from above the output has a part in the backward.
static bool has_upstream(const Backward *backward, const char *output) {
    for (int i = 0; i < backward->whole.argument_count; i++) {
        const BackwardArgument *argument = &backward->whole.arguments[i];
        bool is_gradient = argument->use == ARGUMENT_UPSTREAM ||
                           argument->use == ARGUMENT_RUNNING || argument->use == ARGUMENT_KEPT;
        if (is_gradient && strcmp(argument->of, output) == 0) return true;
    }
    return false;
}

/// Parameters of the forward that only its backward, or nobody, reads what is stored through; NULL: there are none.
static Json *saved_json(Arena *arena, const Kernel *kernel, const Backward *backward) {
    Json *json = NULL;
    const Function *forward = kernel->function;
    for (int i = 0; i < forward->parameter_count; i++) {
        const char *name = forward->parameters[i].name;
        if (has_upstream(backward, name) || !parameter_is_scratch(arena, forward, i)) continue;
        if (!json) json = json_array(arena);
        json_push(json, json_string(arena, name));
    }
    for (LIST_EACH(int, i, kernel->snapshot->saved)) {
        const SavedValue *saved = &kernel->snapshot->saved.items[i];
        if (strcmp(saved->kernel, kernel->function->name) != 0) continue;
        if (!json) json = json_array(arena);
        json_push(json, json_string(arena, saved->parameter));
    }
    return json;
}

ProofPlan proof_plan(Arena *arena, const Kernel *kernel, const Backward *backward, const char *text,
                     const Settings *settings) {
    ProofPlan plan = {
        .kernel = arena_strdup(arena, kernel->function->name),
        .line = range_line(kernel->definition->name_range),
        .backward = json_object(arena),
        .inputs = names_json(arena, backward->inputs, backward->input_count),
        .outputs = names_json(arena, backward->outputs, backward->output_count),
        .spec = spec_json(arena, kernel, settings),
        .asserted = asserted_words(arena, backward),
        .saved = saved_json(arena, kernel, backward),
        .is_partial = backward->is_partial,
    };
    json_set_string(plan.backward, "source", text);
    json_set(plan.backward, "launches", launches_json(arena, backward));
    if (backward->whole_rows)
        json_set(plan.backward, "whole_rows", whole_rows_json(arena, backward));
    if (backward->given_count) json_set_bool(plan.backward, "given", true);
    if (backward->joined) json_set(plan.backward, "joined", joined_json(arena, backward));
    return plan;
}

Json *proof_params(Arena *arena, const ProofFile *file, const ProofPlan *plan, int seed,
                   double max_seconds) {
    Json *params = json_object(arena);
    json_set_string(params, "path", file->source->path);
    json_set(params, "source", json_str(arena, file->source->text));
    json_set(params, "modules", modules_json(arena, &file->imports));
    json_set_string(params, "kernel", plan->kernel);
    json_set_number(params, "line", plan->line);
    json_set(params, "backward", plan->backward);
    json_set(params, "inputs", plan->inputs);
    json_set(params, "outputs", plan->outputs);
    json_set(params, "spec", plan->spec);
    if (plan->asserted) json_set_string(params, "asserted", plan->asserted);
    if (plan->saved) json_set(params, "saved", plan->saved);
    if (plan->is_partial) json_set_bool(params, "partial", true);
    if (plan->before) json_set_string(params, "before", plan->before);
    json_set_number(params, "seed", seed);
    json_set_number(params, "max_seconds", max_seconds);
    return params;
}

uint64_t proof_limit_ms(double max_seconds) { return (uint64_t)(max_seconds * 1000) + GRACE_MS; }

Range proof_line_range(const Source *source, int line, Range otherwise) {
    if (line < 1 || line > source->line_count) return otherwise;
    uint32_t start = source->line_starts[line - 1], size = (uint32_t)source->text.size;
    while (start < size && (source->text.data[start] == ' ' || source->text.data[start] == '\t'))
        start++;
    uint32_t end = start;
    while (end < size && source->text.data[end] != '\n') end++;
    return (Range){source, start, end};
}
