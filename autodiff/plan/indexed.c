// Addresses followed back to loads, and to numbers that a launcher's caller chooses.
#include "autodiff/plan/indexed.h"

#include "analysis/addresses/affine.h"
#include "analysis/host/launch.h"
#include "autodiff/addresses/place.h"
#include "autodiff/rewrite/normalize.h"
#include "autodiff/rewrite/rewrite.h"

/// What the caller of a launcher chooses: nothing that is asked of a tensor says it.
typedef struct CallersNumbers {
    bool *parameters;         // per parameter
    bool axes[PROGRAM_AXES];  // how many programs there are
} CallersNumbers;

/// What a value is made of.
typedef struct AddressSources {
    const Function *function;
    const CallersNumbers *numbers;
    Map seen;
    bool is_loaded;  // a number from memory or of the caller's, or something that is not understood
    bool *pointers;  // per parameter; NULL: nobody asks
} AddressSources;

static void add_sources(AddressSources *sources, const Value *value);

static void add_yields(AddressSources *sources, const Op *op, int index) {
    for (int r = 0; r < op->region_count; r++) {
        const Op *yield = region_terminator(op->regions[r]);
        if (!yield) continue;
        if (yield->code != OP_YIELD)  // the condition of a `while`
            add_sources(sources, yield->operands[0]);
        else if (index >= 0 && index < yield->operand_count)
            add_sources(sources, yield->operands[index]);
    }
}

/// What a loop carries, or counts.
static void add_carried(AddressSources *sources, const Value *value) {
    const Op *op = value->region ? value->region->parent : NULL;
    if (!op) return;
    bool counts = op->code == OP_FOR || op->code == OP_STATIC_FOR;
    int index = counts ? value->index - 1 : value->index, first = counts ? 3 : 0;
    for (int i = 0; i < first; i++) add_sources(sources, op->operands[i]);
    if (index >= 0 && first + index < op->operand_count)
        add_sources(sources, op->operands[first + index]);
    add_yields(sources, op, index);
}

static void add_sources(AddressSources *sources, const Value *value) {
    if (!value || value->constant || map_has_pointer(&sources->seen, value)) return;
    map_set_pointer(&sources->seen, value, sources);
    const Op *op = value->op;
    if (!op && value->region == sources->function->body) {
        sources->is_loaded = sources->is_loaded || sources->numbers->parameters[value->index];
        if (sources->pointers && value->type.kind == TYPE_POINTER)
            sources->pointers[value->index] = true;
        return;
    }
    if (!op) {
        add_carried(sources, value);
        return;
    }
    bool is_read = op->code == OP_LOAD || op_rows[op->code].effects || op->code == OP_UNKNOWN;
    int64_t axis = 0;
    if (op->code == OP_PROGRAM_ID && value_is_int(op->operands[0], &axis) && axis >= 0 &&
        axis < PROGRAM_AXES)
        is_read = sources->numbers->axes[axis];
    sources->is_loaded = sources->is_loaded || is_read;
    if (op->code == OP_LOAD) return;
    for (int i = 0; i < op->operand_count; i++) add_sources(sources, op->operands[i]);
    bool is_structured = op->code == OP_IF || op_is_loop(op->code);
    add_yields(sources, op, is_structured ? value->index : -1);
}

/// Whether a mask ends lanes at such a number.
static bool ends_in_memory(const Function *function, const CallersNumbers *numbers, Map *seen,
                           const Value *mask) {
    const Op *op = mask ? mask->op : NULL;
    if (!op || map_has_pointer(seen, mask)) return false;
    map_set_pointer(seen, mask, seen);
    if (op_has(op->code, TRAIT_ORDERS)) {
        AddressSources sources = {
            .function = function, .numbers = numbers, .seen = map_new(function->arena)};
        bool is_counted = false;  // what is compared with floats ends nothing
        for (int i = 0; i < op->operand_count; i++) {
            const Value *side = op->operands[i];
            is_counted |= side && !side->constant && dtype_is_integer(side->type.element);
            add_sources(&sources, side);
        }
        return is_counted && sources.is_loaded;
    }
    bool found = false;
    for (int i = 0; i < op->operand_count && !found && op->code != OP_LOAD; i++)
        found = ends_in_memory(function, numbers, seen, op->operands[i]);
    return found;
}

typedef struct IndexedSearch {
    const Function *function;
    CallersNumbers numbers;
    bool *indexed;
} IndexedSearch;

static bool visit_access(void *context, Op *op) {
    const IndexedSearch *search = context;
    const Function *function = search->function;
    if (!op_is_access(op)) return true;
    Arena *arena = function->arena;
    bool *pointers = ARENA_ARRAY(arena, bool, function->parameter_count + 1);
    AddressSources sources = {.function = function,
                              .numbers = &search->numbers,
                              .seen = map_new(arena),
                              .pointers = pointers};
    add_sources(&sources, op->operands[0]);
    Map seen = map_new(arena);
    if (!sources.is_loaded && !ends_in_memory(function, &search->numbers, &seen, access_mask(op)))
        return true;
    for (int p = 0; p < function->parameter_count; p++)
        search->indexed[p] = search->indexed[p] || pointers[p];
    return true;
}

/// Whether a number of the host code follows from no tensor: the caller passes it, or a call gives it that is not understood.
static bool is_callers(const HostValue *value) {
    if (!value) return false;
    bool is_quotient = value->kind == HOST_OPERATION && (value->operation == HOST_OP_CDIV ||
                                                         value->operation == HOST_OP_FLOOR_DIVIDE);
    if (value->kind == HOST_INPUT || value->kind == HOST_UNKNOWN) return true;
    if (value->kind != HOST_OPERATION) return false;
    for (int i = 0; i < (is_quotient ? 1 : value->count); i++)  // what divides may be a block
        if (is_callers(value->items[i])) return true;
    return false;
}

static CallersNumbers callers_numbers(Arena *arena, const Function *forward) {
    CallersNumbers numbers = {.parameters = ARENA_ARRAY(arena, bool, forward->parameter_count + 1)};
    HostLaunches launches = host_launches_by_flags(arena, forward->definition, forward);
    for (LIST_EACH(int, i, launches)) {
        const HostLaunch *launch = launches.items[i];
        for (int axis = 0; axis < PROGRAM_AXES && axis < launch->grid_rank; axis++)
            numbers.axes[axis] |= is_callers(launch->grid[axis]);
        for (int p = 0; p < launch->argument_count && p < forward->parameter_count; p++)
            if (!forward->parameters[p].is_constexpr && !launch->arguments[p].is_tuned)
                numbers.parameters[p] |= is_callers(launch->arguments[p].value);
    }
    return numbers;
}

void indexed_find(Arena *arena, const Function *forward, bool *by_memory, bool *by_callers) {
    Range range;
    Function *function = function_copy(arena, forward, forward->name, NULL);
    if (function_normalize(function, &range))
        function = function_copy(arena, forward, forward->name, NULL);
    const CallersNumbers none = {.parameters =
                                     ARENA_ARRAY(arena, bool, forward->parameter_count + 1)};
    IndexedSearch search = {function, none, by_memory},
                  all = {function, callers_numbers(arena, forward), by_callers};
    region_walk(function->body, visit_access, &search);
    region_walk(function->body, visit_access, &all);
    for (int p = 0; p < forward->parameter_count; p++) by_callers[p] &= !by_memory[p];
}
