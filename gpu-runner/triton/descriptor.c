// Triton lists axes from the outermost one, the driver from the innermost one, whose stride is always one element.
#include "gpu-runner/triton/descriptor.h"

#include "analysis/ir/limits.h"

enum {
    MOST_AXES = 5,    // of a tensor map; fewer than TYPE_MAX_RANK
    MAP_BYTES = 128,  // sizeof(CUtensorMap), which is at a multiple of MAP_ALIGNMENT
    MAP_ALIGNMENT = 64,
    NOT_INTERLEAVED = 0,  // CU_TENSOR_MAP_INTERLEAVE_NONE
    PROMOTED_128 = 2,     // CU_TENSOR_MAP_L2_PROMOTION_L2_128B
    FILLED_WITH_ZERO = 0  // CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE
};

typedef struct MapAxes {
    unsigned count;
    uint64_t shape[TYPE_MAX_RANK];
    uint64_t steps[TYPE_MAX_RANK];  // bytes from one to the next, of each axis but the innermost
    unsigned block[TYPE_MAX_RANK], each[TYPE_MAX_RANK];
} MapAxes;

static bool axes_read(const Json *slot, const Json *argument, MapAxes *axes) {
    const Json *block = json_get(slot, "block"), *shape = json_get(argument, "shape"),
               *strides = json_get(argument, "strides");
    bool is_list = block && block->kind == JSON_ARRAY && shape && shape->kind == JSON_ARRAY &&
                   strides && strides->kind == JSON_ARRAY;
    if (!is_list || block->count < 1 || block->count > MOST_AXES || shape->count != block->count ||
        strides->count != block->count)
        return false;
    double bytes = json_get_number(slot, "bytes", 0);
    axes->count = (unsigned)block->count;
    for (unsigned i = 0; i < axes->count; i++) {
        unsigned outer = axes->count - 1 - i;
        double size = shape->items[outer]->number, stride = strides->items[outer]->number;
        bool holds_two = i == 0 && json_get_bool(slot, "doubled", false);
        if (!(size >= 1 && stride >= 0 && block->items[outer]->number >= 1)) return false;
        axes->shape[i] = (uint64_t)size * (holds_two ? 2 : 1);
        axes->block[i] = (unsigned)block->items[outer]->number;
        axes->each[i] = 1;
        if (i) axes->steps[i - 1] = (uint64_t)(stride * bytes);
        if (!i && stride != 1) return false;
    }
    return true;
}

Error descriptor_map(Arena *arena, const GpuCalls *calls, const Json *slot, const Json *argument,
                     uint64_t address, void **map) {
    const char *name = json_get_string(argument, "name", "");
    if (!calls->tensor_map)
        return arena_printf(arena, "`%s` is a tensor descriptor: this driver is too old for that",
                            name);
    MapAxes axes = {0};
    if (!axes_read(slot, argument, &axes))
        return arena_printf(arena,
                            "`%s` is a tensor descriptor: its tensor's shape and strides do not "
                            "make one",
                            name);
    char *room = arena_alloc(arena, MAP_BYTES + MAP_ALIGNMENT);
    *map = room + (MAP_ALIGNMENT - (uintptr_t)room % MAP_ALIGNMENT) % MAP_ALIGNMENT;
    int code = calls->tensor_map(*map, json_get_int(slot, "element", 0), axes.count,
                                 (void *)(uintptr_t)address, axes.shape, axes.steps, axes.block,
                                 axes.each, NOT_INTERLEAVED, json_get_int(slot, "swizzle", 0),
                                 PROMOTED_128, FILLED_WITH_ZERO);
    return calls_error(arena, code, arena_printf(arena, "making the tensor descriptor `%s`", name));
}
