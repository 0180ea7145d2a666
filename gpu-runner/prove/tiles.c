// Tiles of their own in a request; the launches that have them, on the grid that covers the same, out.
#include "gpu-runner/prove/tiles.h"

#include <string.h>

#include "gpu-runner/configure/spec_text.h"

enum { CHOICES_OF_A_TURN = 2 };  // each of them is a run of the whole backward

/// The whole number that the forward's launch passes for a parameter; 0: it is none.
static int64_t size_of(const LaunchReader *reader, const PlanConfiguration *configuration,
                       const char *name) {
    for (int i = 0; name && i < reader->forward->parameter_count; i++) {
        const PlanArgument *argument = &configuration->arguments[i];
        if (!str_is(reader->forward->parameters[i].name, name)) continue;
        if (argument->kind == ARGUMENT_INTEGER) return argument->integer;
        bool is_number =
            argument->kind == ARGUMENT_CONSTANT && argument->constant->kind == CONSTANT_INT;
        return is_number ? argument->constant->integer : 0;
    }
    return 0;
}

/// The programs along the tile's axis of the grid; false where the forward's do not reach all elements.
static bool resize(const LaunchReader *reader, const PlanConfiguration *configuration,
                   const Json *tile, int64_t own, int64_t *grid) {
    const Json *axis = json_get(tile, "axis");
    int64_t size = size_of(reader, configuration, json_get_string(tile, "same", NULL));
    if (size < 1 || own < 1) return false;
    if (!axis || axis->kind != JSON_NUMBER) return true;
    int index = json_get_int(tile, "axis", 0);
    if (index < 0 || index >= PROGRAM_AXES) return false;
    Error error = NULL;
    double extent = spec_number(reader->arena, configuration,
                                str_from(json_get_string(tile, "extent", "")), &error);
    if (error || (double)configuration->grid[index] * (double)size < extent) return false;
    grid[index] = ((int64_t)extent + own - 1) / own;
    return true;
}

/// How many choices of sizes a launch has.
static int choices_of(const Json *launch) {
    const Json *tiles = json_get(launch, "tiles");
    const Json *sizes = tiles && tiles->count ? json_get(tiles->items[0], "sizes") : NULL;
    return sizes ? sizes->count : 0;
}

/// One launch with the sizes of one choice; false where it has none, or the forward's.
static bool read_choice(const LaunchReader *reader, const PlanConfiguration *configuration,
                        const Json *json, int choice, GradientLaunch *launch, Error *error) {
    Arena *arena = reader->arena;
    const Json *arguments = json_get(json, "arguments"), *tiles = json_get(json, "tiles");
    Json *own = json_object(arena), *changed = json_object(arena);
    int64_t *grid = ARENA_ARRAY(arena, int64_t, PROGRAM_AXES);
    memcpy(grid, configuration->grid, PROGRAM_AXES * sizeof *grid);
    if (choice >= choices_of(json)) return false;
    for (int i = 0; i < arguments->count; i++) {
        const char *name = str_dup(arena, arguments->keys[i]);
        const Json *tile = json_get(tiles, name), *sizes = json_get(tile, "sizes");
        json_set(changed, name, arguments->items[i]);
        if (!tile) continue;
        if (!sizes || choice >= sizes->count || sizes->items[choice]->kind != JSON_NUMBER)
            return false;
        int64_t size = (int64_t)sizes->items[choice]->number;
        if (!resize(reader, configuration, tile, size, grid)) return false;
        Json *value = json_object(arena);
        json_set_number(value, "value", (double)size);
        json_set(changed, name, value);
    }
    json_set(own, "kernel", json_get(json, "kernel"));
    json_set(own, "arguments", changed);
    if (!launch_read(reader, configuration, own, launch, error)) return false;
    launch->grid = grid;
    return true;
}

void tiles_read(const LaunchReader *reader, const PlanConfiguration *configuration,
                const Json *launches, int turn, Problem *problem, Error *error) {
    int most = 0;
    for (int i = 0; i < launches->count; i++) {
        int choices = choices_of(launches->items[i]);
        if (choices > most) most = choices;
    }
    const GradientLaunch **tiled = ARENA_ARRAY(reader->arena, const GradientLaunch *, most + 1);
    for (int k = 0; k < most && k < CHOICES_OF_A_TURN && !*error; k++) {
        int choice = (turn * CHOICES_OF_A_TURN + k) % most;
        GradientLaunch *own = ARENA_ARRAY(reader->arena, GradientLaunch, launches->count + 1);
        bool any = false;
        for (int i = 0; i < launches->count && !*error; i++) {
            own[i] = problem->launches[i];
            any |= read_choice(reader, configuration, launches->items[i], choice, &own[i], error);
        }
        if (any) tiled[problem->tiled_count++] = own;
        if (*error) *error = arena_printf(reader->arena, "%s in tiles of its own", *error);
    }
    problem->tiled = tiled;
}
