// From launches to the smallest value that a constexpr can have (a tile of `HQ // H` rows may have one, one of 64 has 64),
// and to the axes of their grids.
#include "analysis/launches/launch_least.h"

#include "analysis/host_values/host.h"

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
    HostLaunches launches = host_launches_by_flags(arena, function->definition, function);
    for (LIST_EACH(int, i, launches)) {
        const HostLaunch *launch = launches.items[i];
        if (parameter >= launch->argument_count) continue;
        const HostValue *value = launch->arguments[parameter].value;
        if (value) least = smaller(least, least_of(value));
    }
    return least;
}

/* ---- axes of grids ---- */

static void note_axis(GridAxis *axis, bool is_several) {
    if (is_several || *axis == GRID_AXIS_UNKNOWN)
        *axis = is_several ? GRID_AXIS_SEVERAL : GRID_AXIS_ONE;
}

/// The part of a `(2, n, 3)` that is for an axis; empty: it has none.
static Str part_of_axis(Str grid, int axis) {
    bool is_tuple = str_starts(grid, "(");
    size_t start = is_tuple;
    int depth = 0;
    for (size_t i = start; i <= grid.size; i++) {
        char c = i < grid.size ? grid.data[i] : ')';
        depth += (c == '(') - (c == ')');
        if (depth > 0 || (depth == 0 && c != ',')) continue;
        if (axis-- == 0) return str_trim((Str){grid.data + start, i - start});
        if (depth < 0 || !is_tuple) break;
        start = i + 1;
    }
    return (Str){0};
}

/// What the grid of a line of comment (`# tad: n=20, grid=(2, 3)`) says of the axes.
static void note_comment_line(Str line, GridAxis axes[PROGRAM_AXES]) {
    static const char word[] = "grid=";
    while (line.size && !str_starts(line, word)) line = (Str){line.data + 1, line.size - 1};
    if (!line.size) return;
    Str grid = {line.data + sizeof word - 1, line.size - (sizeof word - 1)};
    for (int axis = 0; axis < PROGRAM_AXES; axis++) {
        Str part = part_of_axis(grid, axis);
        note_axis(&axes[axis], part.size && !str_is(part, "1"));
    }
}

static void note_comment(Str comment, GridAxis axes[PROGRAM_AXES]) {
    const char *end = comment.data + comment.size;
    for (const char *line = comment.data; line < end;) {
        const char *next = memchr(line, '\n', (size_t)(end - line));
        if (!next) next = end;
        Str text = str_trim((Str){line, (size_t)(next - line)});
        line = next + 1;
        Str words = text.size ? str_trim((Str){text.data + 1, text.size - 1}) : text;
        if (str_starts(words, "tad")) note_comment_line(words, axes);
    }
}

void launches_axes(Arena *arena, const Function *function, GridAxis axes[PROGRAM_AXES]) {
    for (int axis = 0; axis < PROGRAM_AXES; axis++) axes[axis] = GRID_AXIS_UNKNOWN;
    if (!function->definition) return;
    note_comment(function->definition->comment, axes);
    HostLaunches launches = host_launches_by_flags(arena, function->definition, function);
    for (LIST_EACH(int, i, launches)) {
        const HostLaunch *launch = launches.items[i];
        for (int axis = 0; axis < PROGRAM_AXES && launch->grid_rank; axis++) {
            const HostValue *size = axis < launch->grid_rank ? launch->grid[axis] : NULL;
            bool is_one = size && size->kind == HOST_CONSTANT &&
                          size->constant.kind == CONSTANT_INT && size->constant.integer == 1;
            note_axis(&axes[axis], axis < launch->grid_rank && !is_one);
        }
    }
}
