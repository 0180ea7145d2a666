#include "server/times/space.h"

#include <string.h>

#include "server/times/free_sizes.h"

enum {
    MOST_WARPS = 16,
    MOST_STAGES = 5,
    USUAL_WARPS = 4,
    USUAL_STAGES = 3,
    MOST_BLOCK = 1 << 16,
    LEAST_OF_DOT = 16,     // elements along an axis of a product
    AWAY = 4,              // times as large or small as it is now, at the most
    THREADS = 32,          // of a warp
    MOST_REGISTERS = 255,  // of a thread
    USUAL_SHARED_KIB = 227,
};

typedef struct SpaceSearch {
    Arena *arena;
    const Kernel *kernel;
    const Json *plan;
    const char *line;
    Space *space;
} SpaceSearch;

// --- axes -------------------------------------------------------------------------------------------------------------

static const Json *argument_of(const Json *plan, const char *name) {
    const Json *arguments = json_get(plan, "arguments");
    for (int i = 0; arguments && arguments->kind == JSON_ARRAY && i < arguments->count; i++)
        if (strcmp(json_get_string(arguments->items[i], "name", ""), name) == 0)
            return arguments->items[i];
    return NULL;
}

/// Of a whole number that is a power of two from 2 on; else 0.
static int block_of(const Json *argument) {
    const Json *value = json_get(argument, "value");
    double number = value && value->kind == JSON_NUMBER ? value->number : 0;
    if (!(number >= 2 && number <= MOST_BLOCK)) return 0;
    int block = (int)number;
    return (double)block == number && (block & (block - 1)) == 0 ? block : 0;
}

static bool is_tuned(const FunctionDefinition *kernel, const char *name) {
    for (LIST_EACH(int, i, kernel->tuned_names))
        if (str_is(kernel->tuned_names.items[i], name)) return true;
    return false;
}

typedef struct DimSearch {
    const Value *parameter;
    bool is_found;
} DimSearch;

static bool find_dim(void *context, Op *op) {
    DimSearch *search = context;
    for (int i = 0; i < op->result_count && !search->is_found; i++)
        for (int d = 0; d < op->results[i]->type.rank; d++)
            search->is_found |= op->results[i]->type.dims[d] &&
                                poly_mentions(op->results[i]->type.dims[d], search->parameter);
    return !search->is_found;
}

static SpaceAxis *axis_new(Space *space, const char *name, AxisKind kind) {
    SpaceAxis *axis = &space->axes[space->count++];
    *axis = (SpaceAxis){.name = name, .kind = kind, .parameter = -1};
    return axis;
}

static void axis_value(SpaceAxis *axis, int value, int now) {
    if (axis->count == SPACE_MOST_VALUES) return;
    if (value == now) axis->first = axis->count;
    axis->values[axis->count++] = value;
}

static void find_blocks(SpaceSearch *search) {
    enum { LEFT_FOR_OPTIONS = 2 };
    const Function *function = search->kernel->function;
    const FunctionDefinition *definition = search->kernel->definition;
    for (int p = 0; p < function->parameter_count; p++) {
        const Parameter *parameter = &function->parameters[p];
        int now = block_of(argument_of(search->plan, parameter->name));
        if (!parameter->is_constexpr || !now) continue;
        if (definition->tuned_names.count && !is_tuned(definition, parameter->name)) continue;
        DimSearch dims = {.parameter = parameter->value};
        region_walk(function->body, find_dim, &dims);
        if (!dims.is_found || search->space->count == SPACE_MOST_AXES - LEFT_FOR_OPTIONS) continue;
        const char *fixed = size_fixed(search->arena, search->kernel, p, search->line);
        if (fixed) {
            fixed = arena_printf(search->arena, "%s stays %d: %s", parameter->name, now, fixed);
            LIST_PUSH(search->arena, &search->space->fixed, fixed);
            continue;
        }
        SpaceAxis *axis =
            axis_new(search->space, arena_strdup(search->arena, parameter->name), AXIS_BLOCK);
        axis->parameter = p;
        for (int value = 1; value <= MOST_BLOCK; value *= 2) {
            bool is_near = value * AWAY >= now && value <= now * AWAY;
            bool is_dot = search->space->has_dot && value < LEAST_OF_DOT && value < now;
            if (is_near && !is_dot && value > 1) axis_value(axis, value, now);
        }
    }
}

/// A derived kernel has a parameter for the stages of its loops.
static bool find_stages(SpaceSearch *search) {
    const Function *function = search->kernel->function;
    bool any = false;
    for (int p = 0; p < function->parameter_count; p++) {
        const char *name = function->parameters[p].name;
        const Json *argument = argument_of(search->plan, name);
        if (!json_get_bool(argument, "is_stages", false)) continue;
        if (search->space->count == SPACE_MOST_AXES - 1) break;
        SpaceAxis *axis = axis_new(search->space, arena_strdup(search->arena, name), AXIS_BLOCK);
        axis->parameter = p;
        for (int value = 1; value <= MOST_STAGES; value++)
            axis_value(axis, value, json_get_int(argument, "value", 1));
        any = true;
    }
    return any;
}

static void find_options(SpaceSearch *search) {
    const Json *options = json_get(search->plan, "options");
    int warps = json_get_int(options, "num_warps", USUAL_WARPS),
        stages = json_get_int(options, "num_stages", USUAL_STAGES);
    SpaceAxis *axis = axis_new(search->space, "num_warps", AXIS_WARPS);
    for (int value = 1; value <= MOST_WARPS || value <= warps; value *= 2)
        axis_value(axis, value, warps);
    bool is_loaded = false;
    if (find_stages(search)) return;
    for (LIST_EACH(int, i, search->space->tiles))
        is_loaded |= search->space->tiles.items[i].is_loaded_in_loop;
    if (!is_loaded) return;  // nothing is fetched ahead
    axis = axis_new(search->space, "num_stages", AXIS_STAGES);
    for (int value = 1; value <= MOST_STAGES || value <= stages; value++)
        axis_value(axis, value, stages);
}

// --- tiles ------------------------------------------------------------------------------------------------------------

static bool is_in_loop(const Op *op) {
    for (const Region *region = op->parent; region && region->parent;
         region = region->parent->parent)
        if (region->parent->code == OP_FOR || region->parent->code == OP_WHILE) return true;
    return false;
}

/// What a dim is as the kernel is launched now; 0 where that is not known.
static double dim_now(const SpaceSearch *search, const Poly *dim) {
    const Function *function = search->kernel->function;
    int64_t number;
    for (int p = 0; p < function->parameter_count && dim; p++) {
        const Parameter *parameter = &function->parameters[p];
        const Json *value = json_get(argument_of(search->plan, parameter->name), "value");
        if (value && value->kind == JSON_NUMBER && poly_mentions(dim, parameter->value))
            dim = poly_substitute(search->arena, dim, parameter->value,
                                  poly_constant(search->arena, (int64_t)value->number));
    }
    return poly_is_constant(dim, &number) ? (double)number : 0;
}

static bool take_tile(void *context, Op *op) {
    SpaceSearch *search = context;
    Space *space = search->space;
    const Function *function = search->kernel->function;
    space->has_dot |= op->code == OP_DOT;
    const Value *value = op->result_count ? op->results[0] : NULL;
    if (!value || value->type.kind != TYPE_NUMBER || value->type.rank < 1) return true;
    enum { UNKNOWN_BITS = 16, BYTE = 8 };
    int bits = dtype_bits(value->type.element.code);
    SpaceTile tile = {.fixed = 1, .bytes = (bits > 0 ? bits : UNKNOWN_BITS) / BYTE};
    int *powers = ARENA_ARRAY(search->arena, int, SPACE_MOST_AXES);
    if (tile.bytes < 1) tile.bytes = 1;
    tile.is_loaded_in_loop = op->code == OP_LOAD && is_in_loop(op);
    for (int d = 0; d < value->type.rank; d++) {
        const Poly *dim = value->type.dims[d];
        double now = dim ? dim_now(search, dim) : 0;
        if (now <= 0) return true;
        for (int a = 0; a < space->count; a++) {
            const SpaceAxis *axis = &space->axes[a];
            if (!poly_mentions(dim, function->parameters[axis->parameter].value)) continue;
            powers[a]++;
            now /= axis->values[axis->first];
        }
        tile.fixed *= now;
    }
    tile.powers = powers;
    for (LIST_EACH(int, i, space->tiles)) {
        const SpaceTile *old = &space->tiles.items[i];
        bool is_same = old->bytes == tile.bytes && old->fixed >= tile.fixed &&
                       memcmp(old->powers, powers, sizeof *powers * SPACE_MOST_AXES) == 0;
        // Each load has a place of its own.
        if (is_same && !old->is_loaded_in_loop && !tile.is_loaded_in_loop) return true;
    }
    LIST_PUSH(search->arena, &space->tiles, tile);
    return true;
}

static bool find_dot(void *context, Op *op) {
    Space *space = context;
    space->has_dot |= op->code == OP_DOT;
    return !space->has_dot;
}

Space space_of(Arena *arena, const Kernel *kernel, const Json *plan, const char *line) {
    Space space = {0};
    SpaceSearch search = {arena, kernel, plan, line, &space};
    region_walk(kernel->function->body, find_dot, &space);
    if (line) find_blocks(&search);
    region_walk(kernel->function->body, take_tile, &search);
    find_options(&search);
    return space;
}

// --- points -----------------------------------------------------------------------------------------------------------

SpacePoint space_start(const Space *space) {
    SpacePoint point = {{0}};
    for (int i = 0; i < space->count; i++) point.at[i] = space->axes[i].first;
    return point;
}

bool space_same(const Space *space, const SpacePoint *a, const SpacePoint *b) {
    return memcmp(a->at, b->at, sizeof *a->at * (size_t)space->count) == 0;
}

static int value_of(const Space *space, const SpacePoint *point, AxisKind kind, int otherwise) {
    for (int i = 0; i < space->count; i++)
        if (space->axes[i].kind == kind) return space->axes[i].values[point->at[i]];
    return otherwise;
}

static double elements_of(const Space *space, const SpacePoint *point, const SpaceTile *tile) {
    double elements = tile->fixed;
    for (int i = 0; i < space->count; i++)
        for (int k = 0; k < tile->powers[i]; k++) elements *= space->axes[i].values[point->at[i]];
    return elements;
}

const char *space_prune(Arena *arena, const Space *space, const SpacePoint *point, int shared_kib) {
    enum { REGISTER = 4, KIB = 1024 };
    double threads = THREADS * (double)value_of(space, point, AXIS_WARPS, USUAL_WARPS);
    int stages = value_of(space, point, AXIS_STAGES, 1);
    double most = 0, loaded = 0, held = 0;
    for (LIST_EACH(int, i, space->tiles)) {
        const SpaceTile *tile = &space->tiles.items[i];
        double elements = elements_of(space, point, tile), bytes = elements * tile->bytes;
        if (elements > most) most = elements;
        if (tile->is_loaded_in_loop)
            loaded += bytes;
        else if (bytes / REGISTER / threads > held)
            held = bytes / REGISTER / threads;
    }
    double shared = space->has_dot ? loaded * (stages > 1 ? stages - 1 : 1) / KIB : 0;
    if (most > 0 && most < threads)
        return arena_printf(arena, "its largest tile has %.0f elements, for %.0f threads", most,
                            threads);
    if (held > MOST_REGISTERS)
        return arena_printf(arena, "a thread would hold %.0f registers of one tile", held);
    if (shared > (shared_kib ? shared_kib : USUAL_SHARED_KIB))
        return arena_printf(arena, "its tiles take %.0f KiB of shared memory", shared);
    return NULL;
}

const char *space_text(Arena *arena, const Space *space, const SpacePoint *point) {
    Buffer out = buffer_new(arena);
    for (int i = 0; i < space->count; i++)
        buffer_printf(&out, "%s%s=%d", i ? ", " : "", space->axes[i].name,
                      space->axes[i].values[point->at[i]]);
    return buffer_text(&out);
}

static bool is_set_by(const Space *space, Str item) {
    const char *equals = memchr(item.data, '=', item.size);
    Str name = str_trim((Str){item.data, equals ? (size_t)(equals - item.data) : 0});
    for (int i = 0; i < space->count; i++)
        if (str_is(name, space->axes[i].name)) return true;
    return false;
}

const char *space_line(Arena *arena, const Space *space, const SpacePoint *point,
                       const char *line) {
    const char *colon = strchr(line, ':');
    Buffer out = buffer_new(arena);
    buffer_puts(&out, "# tad time: ");
    for (const char *at = colon ? colon + 1 : line; *at;) {
        Str item = line_item(&at);
        if (item.size && !is_set_by(space, item)) {
            buffer_add(&out, item.data, item.size);
            buffer_puts(&out, ", ");
        }
    }
    buffer_puts(&out, space_text(arena, space, point));
    return buffer_text(&out);
}
