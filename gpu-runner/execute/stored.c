// Ranges that a backward is said to store in, the first element of them that it left out.
#include "gpu-runner/execute/stored.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpu-runner/configure/spec_text.h"
#include "gpu-runner/execute/parts.h"

static const char *const grid_names[] = {"grid.0", "grid.1", "grid.2"};

static bool argument_is_real(const PlanArgument *argument, double *number) {
    bool is_constant =
        argument->kind == ARGUMENT_CONSTANT && argument->constant->kind == CONSTANT_FLOAT;
    *number = is_constant ? argument->constant->number : argument->number;
    return is_constant || argument->kind == ARGUMENT_FLOAT;
}

/// Whether the text has a number that is not whole; then no stride and no size of a tensor is equal to what it says.
static bool names_a_fraction(const PlanConfiguration *known, Str text) {
    for (size_t at = 0; at < text.size; at++) {
        size_t size = 0;
        while (at + size < text.size && byte_is_word(text.data[at + size])) size++;
        double number;
        for (int i = 0; size && i < known->argument_count; i++)
            if (str_equal(known->arguments[i].name, (Str){text.data + at, size}) &&
                argument_is_real(&known->arguments[i], &number))
                return true;
        at += size;
    }
    return false;
}

/// The configuration with the grid among its arguments, and with real numbers that are whole as whole ones: Python compares them
/// as equal.
static PlanConfiguration with_grid(Arena *arena, const PlanConfiguration *configuration) {
    PlanConfiguration known = configuration_copy(arena, configuration, 3);
    for (int i = 0; i < known.argument_count; i++) {
        PlanArgument *argument = &known.arguments[i];
        double number;
        if (!argument_is_real(argument, &number) || number != floor(number) || fabs(number) > 1e15)
            continue;
        argument->kind = ARGUMENT_INTEGER;
        argument->integer = (int64_t)number;
    }
    for (int axis = 0; axis < 3; axis++)
        known.arguments[known.argument_count++] =
            (PlanArgument){.name = str_from(grid_names[axis]),
                           .kind = ARGUMENT_INTEGER,
                           .integer = configuration->grid[axis]};
    return known;
}

/// Up to the next comma or closing bracket outside of brackets, from `*at` on, and behind it.
static Str take_item(Str text, size_t *at) {
    size_t start = *at;
    int depth = 0;
    for (; *at < text.size; ++*at) {
        char c = text.data[*at];
        if (depth == 0 && (c == ',' || c == ')')) break;
        depth += (c == '(' || c == '[') - (c == ')' || c == ']');
    }
    Str item = str_trim((Str){text.data + start, *at - start});
    if (*at < text.size) ++*at;
    return item;
}

/// Whether a flag is set: a word of the configuration, `not ` before it or not. False where it is not known.
static bool flag_read(const PlanConfiguration *known, Str text, bool *is_set) {
    bool is_denied = str_starts(text, "not ");
    if (is_denied) text = (Str){text.data + 4, text.size - 4};
    for (int i = 0; i < known->argument_count; i++) {
        const PlanArgument *argument = &known->arguments[i];
        if (!str_equal(argument->name, text)) continue;
        if (argument->kind == ARGUMENT_INTEGER)
            *is_set = argument->integer != 0;
        else if (argument->kind == ARGUMENT_CONSTANT && argument->constant->kind == CONSTANT_NONE)
            *is_set = false;
        else if (argument->kind == ARGUMENT_CONSTANT && constant_is_int(argument->constant))
            *is_set = argument->constant->integer != 0;
        else
            return false;
        *is_set ^= is_denied;
        return true;
    }
    return false;
}

/// Takes `if A and not B else None` from a claim's end. False where it is not known whether that holds.
static bool flags_read(const PlanConfiguration *known, Str *text, bool *hold) {
    static const char start[] = "] if ", end[] = " else None", between[] = " and ";
    size_t at = 0, end_size = strlen(end);
    while (at < text->size && !str_starts((Str){text->data + at, text->size - at}, start)) at++;
    if (at == text->size) return true;
    Str rest = {text->data + at + strlen(start), text->size - at - strlen(start)};
    if (rest.size < end_size) return false;
    text->size = at + 1;
    rest.size -= end_size;
    while (rest.size) {
        size_t size = 0;
        while (size < rest.size && !str_starts((Str){rest.data + size, rest.size - size}, between))
            size++;
        bool is_set;
        if (!flag_read(known, str_trim((Str){rest.data, size}), &is_set)) return false;
        *hold = *hold && is_set;
        if (size < rest.size) size += strlen(between);
        rest = (Str){rest.data + size, rest.size - size};
    }
    return true;
}

bool stored_read(Arena *arena, const PlanConfiguration *configuration, Str text,
                 const StoredRanges **stored) {
    PlanConfiguration known = with_grid(arena, configuration);
    StoredRanges *ranges = ARENA_NEW(arena, StoredRanges);
    *stored = NULL;
    text = str_trim(text);
    if (!str_starts(text, "[")) return false;
    bool holds = true;
    if (!flags_read(&known, &text, &holds)) return false;
    if (!holds) return true;
    if (names_a_fraction(&known, text)) return true;
    for (size_t at = 0; at < text.size; at++) {
        if (text.data[at] != '(') continue;
        at++;
        Str step = take_item(text, &at), length = take_item(text, &at);
        Error error = NULL;
        StoredRange range = {.step = (int64_t)spec_number(arena, &known, step, &error)};
        if (!error) range.length = (int64_t)spec_number(arena, &known, length, &error);
        if (error || ranges->count == STORED_MOST_DIGITS) return false;
        ranges->items[ranges->count++] = range;
    }
    *stored = ranges;
    return true;
}

bool stored_covers(const StoredRanges *stored, const PlanArgument *tensor) {
    int64_t reach = 1, elements = tensor->rank ? 1 : tensor->extent;
    bool is_known = tensor->extent > 0, done[STORED_MOST_DIGITS] = {false};
    if (!stored || (is_known && (!tensor->is_dense || tensor->before))) return false;
    for (int d = 0; d < tensor->rank; d++) elements *= tensor->dims[d];
    for (int count = 0; count < stored->count; count++) {
        int next = -1;  // the smallest step that is left
        for (int i = 0; i < stored->count; i++)
            if (!done[i] && (next < 0 || stored->items[i].step < stored->items[next].step))
                next = i;
        const StoredRange *range = &stored->items[next];
        done[next] = true;
        if (range->length == 1) continue;
        if (range->length < 1 || range->step < reach || (is_known && range->step != reach))
            return false;
        reach += range->step * (range->length - 1);
    }
    return !is_known || reach == elements;
}

static int compare_steps(const void *a, const void *b) {
    const StoredRange *left = a, *right = b;
    return (left->step > right->step) - (left->step < right->step);
}

/// Whether two sums of one element of each range are certainly the same. `count` multiples of `unit` are sums of the ranges so far, without a
/// gap: a further range that steps by fewer has one of them.
static bool are_met(const StoredRanges *ranges) {
    StoredRanges sorted = *ranges;
    qsort(sorted.items, (size_t)sorted.count, sizeof *sorted.items, compare_steps);
    int64_t unit = 1, count = 1;
    bool is_met = false;
    for (int r = 0; r < sorted.count; r++) {
        const StoredRange *range = &sorted.items[r];
        if (range->length < 1) return false;
        if (range->length == 1) continue;
        if (range->step == 0) return false;  // a launcher's choice, no shape that is made up
        if (range->step % unit) return is_met;
        const int64_t steps = range->step / unit;
        is_met = is_met || steps < count;
        if (steps > count) {
            unit = range->step;
            count = range->length;
        } else {
            count += steps * (range->length - 1);
        }
    }
    return is_met;
}

bool stored_is_refused(const Problem *problem, int parameter) {
    for (int i = 0; i < problem->launch_count; i++)
        for (int k = 0; k < problem->launches[i].function->parameter_count; k++) {
            const Actual *actual = &problem->launches[i].actuals[k];
            if (actual->kind == ACTUAL_GRADIENT && actual->parameter == parameter &&
                actual->stored && !actual->is_parts && are_met(actual->stored))
                return true;
        }
    return false;
}

/// Whether all elements are stored; else `*offset` is the first that is not. Past 2^31 the offsets of a kernel that counts in 32 bits wrap
/// around: steps so large are made up, to keep rows apart.
static bool are_stored(const MemoryBuffer *buffer, const StoredRanges *ranges, int count,
                       int64_t *offset) {
    if (count == 0) return *offset > INT32_MAX || memory_is_written(buffer, *offset);
    const StoredRange *range = &ranges->items[count - 1];
    int64_t first = *offset, length = range->step == 0 ? 1 : range->length;
    for (int64_t i = 0; i < length; i++) {
        *offset = first + i * range->step;
        if (!are_stored(buffer, ranges, count - 1, offset)) return false;
    }
    *offset = first;
    return true;
}

static const char *fault_of(Arena *arena, const Problem *problem, const Execution *backward,
                            const GradientLaunch *launch, const Actual *actual) {
    MemoryBuffer *const *buffers = actual->is_parts ? backward->parts : backward->gradients;
    const MemoryBuffer *buffer = buffers[actual->parameter];
    if (!buffer) return NULL;
    for (int r = 0; r < actual->stored->count; r++)
        if (actual->stored->items[r].length < 1) return NULL;
    int64_t sums = actual->is_parts ? launch_sums(launch) : 1,
            stride = actual->is_parts ? parts_stride(problem, actual->parameter) : 0;
    for (int64_t s = 0; s < sums; s++) {
        int64_t offset = s * stride;
        if (!are_stored(buffer, actual->stored, actual->stored->count, &offset))
            return arena_printf(
                arena, "nothing is stored to element %lld of %s, whose memory is not set to 0",
                (long long)offset, buffer->name);
    }
    return NULL;
}

const char *stored_fault(Arena *arena, const Problem *problem, const Execution *backward) {
    for (int i = 0; i < problem->launch_count; i++)
        for (int k = 0; k < problem->launches[i].function->parameter_count; k++) {
            const Actual *actual = &problem->launches[i].actuals[k];
            if (actual->kind != ACTUAL_GRADIENT || !actual->stored) continue;
            const char *fault = fault_of(arena, problem, backward, &problem->launches[i], actual);
            if (fault) return fault;
        }
    return NULL;
}

int64_t slices_read(Arena *arena, const PlanConfiguration *configuration, const char *programs,
                    int64_t most) {
    if (!programs) return most;
    PlanConfiguration known = with_grid(arena, configuration);
    Error error = NULL;
    int64_t count = (int64_t)spec_number(arena, &known, str_from(programs), &error);
    return error || count > most ? most : count;
}
