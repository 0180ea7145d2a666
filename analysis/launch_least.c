// From launches to the smallest value that a constexpr can have (a tile of `HQ // H` rows may have one, one of 64 has 64),
// and to the axes of their grids.
#include "analysis/host.h"

static int64_t least_of(const HostValue *value);

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

static int64_t least_of_operation(const HostValue *value) {
    int64_t a = least_of(value->items[0]);
    int64_t b = value->count > 1 ? least_of(value->items[1]) : a;
    bool is_open = a == LAUNCH_LEAST_UNKNOWN || b == LAUNCH_LEAST_UNKNOWN;
    switch (value->operation) {
    case HOST_OP_MAXIMUM:
        if (is_open) return a == LAUNCH_LEAST_UNKNOWN && b > 1 ? b : larger(a, b);
        return larger(a, b);
    case HOST_OP_MINIMUM: return smaller(a, b);
    case HOST_OP_NEXT_POWER_OF_2: {
        int64_t power = 1;
        while (!is_open && power < a && power < INT32_MAX) power *= 2;
        return is_open ? a : power;
    }
    case HOST_OP_INT: return a;
    case HOST_OP_ADD:
    case HOST_OP_MULTIPLY:
        if (is_open || a > INT32_MAX || b > INT32_MAX) return LAUNCH_LEAST_UNKNOWN;
        return value->operation == HOST_OP_ADD ? a + b : a * b;
    default: return is_open ? LAUNCH_LEAST_UNKNOWN : 1;
    }
}

/// Of sizes and of what is computed from them. What a caller picks is taken for a choice that fits.
static int64_t least_of(const HostValue *value) {
    switch (value->kind) {
    case HOST_CONSTANT:
        return value->constant.kind == CONSTANT_INT ? value->constant.integer
                                                    : LAUNCH_LEAST_UNKNOWN;
    case HOST_SIZE: return 1;
    case HOST_OPERATION: return least_of_operation(value);
    default: return LAUNCH_LEAST_UNKNOWN;
    }
}

int64_t launches_least(Arena *arena, const Function *function, int parameter) {
    int64_t least = LAUNCH_LEAST_UNKNOWN;
    if (!function->definition) return least;
    HostLaunches launches = host_launches(arena, function->definition, function);
    for (LIST_EACH(int, i, launches)) {
        const HostLaunch *launch = launches.items[i];
        if (parameter >= launch->argument_count) continue;
        const HostValue *value = launch->arguments[parameter].value;
        if (value) least = smaller(least, least_of(value));
    }
    return least;
}

bool launches_have_axis(Arena *arena, const Function *function, int axis) {
    if (!function->definition) return false;
    HostLaunches launches = host_launches(arena, function->definition, function);
    for (LIST_EACH(int, i, launches)) {
        const HostLaunch *launch = launches.items[i];
        if (axis >= launch->grid_rank) continue;
        const HostValue *size = launch->grid[axis];
        bool is_one = size && size->kind == HOST_CONSTANT && size->constant.kind == CONSTANT_INT &&
                      size->constant.integer == 1;
        if (!is_one) return true;
    }
    return false;
}
