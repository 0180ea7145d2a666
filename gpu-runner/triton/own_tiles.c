// Reads what a plan says of a launch, and writes what analysis/choices makes of it.
#include "gpu-runner/triton/own_tiles.h"

#include <string.h>

#include "analysis/choices/choices.h"

static int64_t whole(const Json *json, const char *key) {
    double number = json_get_number(json, key, 0);
    return number > 0 && number < 0x1p53 ? (int64_t)number : 0;
}

static int64_t item(const Json *numbers, int index) {
    bool is_there = numbers && numbers->kind == JSON_ARRAY && index < numbers->count;
    double number = is_there ? numbers->items[index]->number : 0;
    return number > 0 && number < 0x1p53 ? (int64_t)number : 0;
}

static TileWidths widths_of(const Json *block) {
    const Json *numbers = json_get(block, "widths");
    TileWidths widths = {.count = numbers && numbers->kind == JSON_ARRAY ? numbers->count : 0};
    for (int i = 0; i < widths.count; i++) {
        int64_t width = item(numbers, i);
        widths.sum += width;
        if (width > widths.widest) widths.widest = width;
    }
    return widths;
}

static ProductSide side_of(const Json *own, const char *role) {
    const Json *block = json_get(own, role), *axis = json_get(block, "axis");
    bool is_numbered =
        axis && axis->kind == JSON_NUMBER && axis->number >= 0 && axis->number < PROGRAM_AXES;
    return (ProductSide){.size = whole(block, "size"),
                         .axis = is_numbered ? (int)axis->number : -1,
                         .length = whole(block, "length"),
                         .widths = widths_of(block)};
}

static LaneSizes lanes_of(const Json *loop, const char *key) {
    const Json *numbers = json_get(loop, key);
    return (LaneSizes){item(numbers, 0), item(numbers, 1)};
}

/// The size of a block into the launch's argument, and into the words about it.
static void put_size(Json *launch, const Json *block, int64_t size, Buffer *words) {
    const char *name = json_get_string(block, "name", "");
    const Json *arguments = json_get(launch, "arguments");
    for (int i = 0; arguments && i < arguments->count; i++)
        if (strcmp(json_get_string(arguments->items[i], "name", ""), name) == 0)
            json_set_number(arguments->items[i], "value", (double)size);
    buffer_printf(words, "%s%s=%lld", words->size ? ", " : "", name, (long long)size);
}

static void put_options(Json *launch, int warps, int stages) {
    Json *options = json_object(launch->arena);
    json_set_number(options, "num_warps", warps);
    json_set_number(options, "num_stages", stages);
    json_set(launch, "options", options);
}

static void choose_product(Json *launch, const Json *own, const Json *grid, TileCard card,
                           Buffer *words) {
    ProductSizes sizes = {.rows = side_of(own, "rows"),
                          .columns = side_of(own, "columns"),
                          .terms = side_of(own, "terms"),
                          .widest = whole(own, "widest"),
                          .warps = (int)whole(own, "num_warps"),
                          .stages = (int)whole(own, "num_stages")};
    for (int axis = 0; axis < PROGRAM_AXES; axis++) sizes.grid[axis] = item(grid, axis);
    ProductChoice choice = choose_product_tiles(&sizes, card);
    Json *programs = json_array(launch->arena);
    for (int axis = 0; axis < PROGRAM_AXES; axis++)
        json_push(programs, json_number(launch->arena, (double)choice.grid[axis]));
    json_set(launch, "grid", programs);
    put_size(launch, json_get(own, "rows"), choice.rows, words);
    put_size(launch, json_get(own, "columns"), choice.columns, words);
    put_size(launch, json_get(own, "terms"), choice.terms, words);
    put_options(launch, choice.warps, choice.stages);
}

/// The tile of a loop, or as many parts as a block has tiles.
static void choose_loop(Json *launch, const Json *own, TileCard card, Buffer *words) {
    const Json *free = json_get(own, "loop"), *parts = json_get(own, "parts");
    const Json *loop = free ? free : parts, *divides = json_get(loop, "divides");
    int count = divides && divides->kind == JSON_ARRAY ? divides->count : 0;
    int64_t *limits = ARENA_ARRAY(launch->arena, int64_t, count + 1);
    for (int i = 0; i < count; i++) limits[i] = item(divides, i);
    LoopSizes sizes = {.size = whole(loop, "size"),
                       .widths = widths_of(loop),
                       .rows = whole(loop, "rows"),
                       .products = lanes_of(loop, "products"),
                       .kept = lanes_of(loop, "kept"),
                       .loaded = lanes_of(loop, "loaded"),
                       .divides = limits,
                       .divide_count = count,
                       .is_owned = json_get_bool(loop, "is_owned", false),
                       .is_fixed = json_get_bool(loop, "is_fixed", false),
                       .widest = whole(own, "widest"),
                       .warps = (int)whole(own, "num_warps"),
                       .stages = (int)whole(own, "num_stages")};
    LoopChoice choice = choose_loop_tile(&sizes, card);
    int64_t part = free ? whole(parts, "part") : choice.size;
    if (free) put_size(launch, free, choice.size, words);
    if (parts) put_size(launch, parts, part ? whole(parts, "size") / part : 1, words);
    put_options(launch, choice.warps, choice.stages);
}

/// The stages are the forward's, where it says some.
static void put_warps(Json *launch, const Json *own, int warps) {
    int64_t stages = whole(own, "num_stages");
    Json *options = json_object(launch->arena);
    json_set_number(options, "num_warps", warps);
    if (stages) json_set_number(options, "num_stages", (double)stages);
    json_set(launch, "options", options);
}

static void put_axis(Json *launch, const Json *grid, int axis, int64_t programs) {
    Json *own = json_array(launch->arena);
    for (int i = 0; i < PROGRAM_AXES; i++)
        json_push(own, json_number(launch->arena, (double)(i == axis ? programs : item(grid, i))));
    json_set(launch, "grid", own);
}

static void choose_row(Json *launch, const Json *own, Buffer *words) {
    const Json *row = json_get(own, "row");
    int64_t lanes = whole(row, "lanes");
    RowChoice choice = choose_row_block((RowSizes){.size = whole(row, "size"),
                                                   .length = whole(row, "length"),
                                                   .lanes = lanes ? lanes : 1,
                                                   .bytes = widths_of(row).sum,
                                                   .widest = widths_of(row).widest,
                                                   .sums = (int)whole(row, "sums"),
                                                   .warps = (int)whole(own, "num_warps")});
    put_size(launch, row, choice.size, words);
    put_warps(launch, own, choice.warps);
}

static void choose_elements(Json *launch, const Json *own, const Json *grid, Buffer *words) {
    const Json *block = json_get(own, "elements"), *axis = json_get(block, "axis");
    int numbered = axis && axis->kind == JSON_NUMBER ? (int)axis->number : 0;
    int64_t lanes = whole(block, "lanes"), programs = 1;
    for (int i = 0; i < PROGRAM_AXES; i++) programs *= item(grid, i);
    WideChoice choice = choose_wide_block((WideSizes){.size = whole(block, "size"),
                                                      .length = whole(block, "length"),
                                                      .least = whole(block, "least"),
                                                      .lanes = lanes ? lanes : 1,
                                                      .programs = programs,
                                                      .axis = item(grid, numbered),
                                                      .bytes = widths_of(block).sum,
                                                      .widest = widths_of(block).widest,
                                                      .warps = (int)whole(own, "num_warps")});
    put_axis(launch, grid, numbered, choice.axis);
    put_size(launch, block, choice.size, words);
    put_warps(launch, own, choice.warps);
}

/// The kernel's own default is that each program does its own work.
static void choose_programs(Json *launch, const Json *own, const Json *grid, Buffer *words) {
    const Json *block = json_get(own, "programs");
    int axis = json_get_int(block, "axis", 0);
    int64_t programs = 1;
    for (int i = 0; i < PROGRAM_AXES; i++) programs *= item(grid, i);
    TogetherChoice choice = choose_together((TogetherSizes){.lanes = whole(block, "lanes"),
                                                            .programs = programs,
                                                            .axis = item(grid, axis),
                                                            .bytes = widths_of(block).sum,
                                                            .warps = (int)whole(own, "num_warps")});
    put_axis(launch, grid, axis, choice.axis);
    put_size(launch, block, choice.together, words);
    put_warps(launch, own, choice.warps);
}

static void choose_iterations(Json *launch, const Json *own, Buffer *words) {
    const Json *block = json_get(own, "iterations");
    TogetherChoice choice = choose_at_once((TogetherSizes){.lanes = whole(block, "lanes"),
                                                           .programs = whole(block, "programs"),
                                                           .bytes = widths_of(block).sum,
                                                           .warps = (int)whole(own, "num_warps")},
                                           whole(block, "slices"));
    put_size(launch, block, choice.together, words);
    put_warps(launch, own, choice.warps);
}

const Json *own_tiles_chosen(Arena *arena, const Json *plan, TileCard card) {
    const Json *given = json_get(plan, "launches");
    bool any = false;
    for (int i = 0; given && given->kind == JSON_ARRAY && i < given->count; i++)
        any |= json_get(given->items[i], "own") != NULL;
    if (!any) return plan;
    Json *chosen = json_copy(arena, plan), *launches = json_array(arena);
    for (int i = 0; i < given->count; i++) {
        Json *launch = json_object(arena), *copy = json_copy(arena, given->items[i]);
        const Json *own = json_get(copy, "own");
        for (int k = 0; k < copy->count; k++)
            if (copy->items[k] != own)
                json_set(launch, str_dup(arena, copy->keys[k]), copy->items[k]);
        Buffer words = buffer_new(arena);
        if (json_get(own, "loop") || json_get(own, "parts"))
            choose_loop(launch, own, card, &words);
        else if (json_get(own, "row"))
            choose_row(launch, own, &words);
        else if (json_get(own, "elements"))
            choose_elements(launch, own, json_get(plan, "grid"), &words);
        else if (json_get(own, "programs"))
            choose_programs(launch, own, json_get(plan, "grid"), &words);
        else if (json_get(own, "iterations"))
            choose_iterations(launch, own, &words);
        else if (own)
            choose_product(launch, own, json_get(plan, "grid"), card, &words);
        if (own) json_set_string(launch, "tiles", buffer_text(&words));
        json_push(launches, launch);
    }
    json_set(chosen, "launches", launches);
    return chosen;
}
