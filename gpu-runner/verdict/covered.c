// A case is a number; what is wanted is a list of cases with their words, by the symbolic kernel.
#include "gpu-runner/verdict/covered.h"

#include <string.h>

#include "base/map.h"

enum { SEVERAL_PROGRAMS = 3 };

typedef enum CaseKind { CASE_PROGRAMS, CASE_VALUE, CASE_LAYOUT, CASE_DIFFER } CaseKind;

typedef enum TensorLayout {
    LAYOUT_CONTIGUOUS,
    LAYOUT_PADDED,
    LAYOUT_TRANSPOSED,
    LAYOUTS_WANTED,
    LAYOUT_SHARED = LAYOUTS_WANTED,  // a stride of 0: programs share elements
    LAYOUT_COUNT
} TensorLayout;
static const char *const layout_names[] = {"contiguous", "padded", "transposed", "shared"};

typedef struct SeenValue {
    int parameter;
    uint64_t key;
    const char *text;
} SeenValue;

/// Something to be had: a case of the configurations, or of a place.
typedef struct Want {
    bool is_place;
    uint64_t key;    // of a configuration's case
    PlaceKind kind;  // of a place
    Range range;     // without a source: of any place of that kind
    int which;       // case; -1: any
    const char *words;
} Want;

/// A configuration with several programs along an axis that was discarded.
typedef struct LostPrograms {
    int64_t tried;  // 0: none was
    bool is_of_a_launcher;
    bool is_filled;  // masked-off loads read 0 in it
    const char *reason;
    const MemoryFinding
        *crossing;  // a program reads what another one stores; NULL: none was seen to
} LostPrograms;

struct Covered {
    Arena *arena;
    const Function *symbolic;
    const ParameterFacts *facts;
    bool uses_axis[PROGRAM_AXES];
    Coverage *places;
    Map cases;
    LIST(Want) wants;
    int64_t programs[PROGRAM_AXES];  // of the configuration with the most
    LIST(SeenValue) values;          // of parameters that are choices, as they came
    LostPrograms lost[PROGRAM_AXES];
    bool has_launcher;         // some configuration of a launcher is proved
    int64_t infinite, stored;  // of the configuration in which most stored elements are not finite
    const char *infinite_names;  // of the outputs that have them
    bool is_filled;              // what masked-off loads left undefined was taken to be 0
    const char *rules;           // with which constexprs rules by hand were tried alone; or NULL
};

// --- the cases of a configuration ------------------------------------------------------------------------------------------

static uint64_t case_key(CaseKind kind, uint64_t a, uint64_t b) {
    return hash_mix(hash_mix((uint64_t)kind + 1) ^ hash_mix(a + 17) ^ (hash_mix(b + 3) << 1));
}

static uint64_t constant_key(const Constant *constant) {
    // `if flag` takes 1 for True
    ConstantKind kind = constant->kind == CONSTANT_BOOL ? CONSTANT_INT : constant->kind;
    uint64_t hash = hash_mix((uint64_t)kind);
    if (constant->kind == CONSTANT_STRING) return hash ^ map_hash(constant->string);
    if (constant->kind == CONSTANT_DTYPE) return hash ^ hash_mix((uint64_t)constant->dtype.code);
    if (constant->kind == CONSTANT_FUNCTION && constant->function)
        return hash ^ map_hash(constant->function->name);
    return hash ^ hash_mix((uint64_t)constant->integer + 5);
}

/// Whether its values are cases of their own: True and False, None and not, options.
static bool is_choice(const ParameterFacts *facts, const PlanArgument *argument) {
    if (argument->kind != ARGUMENT_CONSTANT) return facts->is_none_tested;
    ConstantKind kind = argument->constant->kind;
    return kind == CONSTANT_BOOL || kind == CONSTANT_NONE || kind == CONSTANT_STRING ||
           kind == CONSTANT_DTYPE || kind == CONSTANT_FUNCTION ||
           (kind == CONSTANT_INT && facts->tile_axes) ||
           (facts->is_flag && kind == CONSTANT_INT && !facts->is_block && !facts->is_size);
}

static bool is_plain_stride(const ParameterFacts *facts) {
    return facts->is_stride && !facts->is_size && !facts->is_block && !facts->is_trip;
}

static bool is_size(const Function *symbolic, const ParameterFacts *facts, int index) {
    const ParameterFacts *of = &facts[index];
    return !symbolic->parameters[index].is_constexpr && !of->is_stride && !of->is_block &&
           (of->is_size || of->is_trip || of->is_divisor || of->is_numerator);
}

static bool integer_of(const PlanArgument *argument, int64_t *integer) {
    if (argument->kind == ARGUMENT_INTEGER)
        *integer = argument->integer;
    else if (argument->kind == ARGUMENT_CONSTANT && argument->constant->kind == CONSTANT_INT)
        *integer = argument->constant->integer;
    else
        return false;
    return true;
}

/// The strides that a pointer's addresses take from parameters, in the order of these. Returns how many.
static int strides_of(const ParameterFacts *facts, const PlanConfiguration *configuration,
                      int pointer, int64_t *strides) {
    int count = 0;
    for (int i = 0; i < configuration->argument_count && count < COVERAGE_MOST_STRIDES; i++)
        if (set_has(facts[pointer].strides, i) && is_plain_stride(&facts[i]) &&
            integer_of(&configuration->arguments[i], &strides[count]))
            count++;
    return count;
}

/// LAYOUT_COUNT where the kernel takes no strides for the pointer, or a negative one.
static TensorLayout layout_of(const ParameterFacts *facts, const PlanConfiguration *configuration,
                              int pointer) {
    const PlanArgument *argument = &configuration->arguments[pointer];
    int64_t strides[COVERAGE_MOST_STRIDES];
    if (argument->kind != ARGUMENT_POINTER) return LAYOUT_COUNT;
    int count = strides_of(facts, configuration, pointer, strides);
    if (count == 0) return LAYOUT_COUNT;
    for (int i = 0; i < count; i++) {
        if (strides[i] < 0) return LAYOUT_COUNT;
        if (strides[i] == 0) return LAYOUT_SHARED;
        if (i > 0 && strides[i] > strides[i - 1]) return LAYOUT_TRANSPOSED;
    }
    return argument->is_dense ? LAYOUT_CONTIGUOUS : LAYOUT_PADDED;
}

typedef LIST(uint64_t) Keys;

/// Whether the launch has different blocks for the two constexprs.
static bool differ_as_written(const PlanConfiguration *configuration, int i, int k) {
    int64_t a = configuration->arguments[i].written, b = configuration->arguments[k].written;
    return a && b && a != b;
}

static Keys cases_of(Arena *arena, const Function *symbolic, const ParameterFacts *facts,
                     const PlanConfiguration *configuration) {
    Keys keys = {0};
    for (int axis = 0; axis < PROGRAM_AXES; axis++)
        for (int64_t least = 2; least <= SEVERAL_PROGRAMS; least++)
            if (configuration->grid[axis] >= least)
                LIST_PUSH(arena, &keys, case_key(CASE_PROGRAMS, (uint64_t)axis, (uint64_t)least));
    for (int i = 0; i < configuration->argument_count; i++) {
        const PlanArgument *argument = &configuration->arguments[i];
        if (is_choice(&facts[i], argument))
            LIST_PUSH(arena, &keys,
                      case_key(CASE_VALUE, (uint64_t)i,
                               argument->kind == ARGUMENT_CONSTANT
                                   ? constant_key(argument->constant)
                                   : 0));
        TensorLayout layout = layout_of(facts, configuration, i);
        if (layout < LAYOUT_COUNT)
            LIST_PUSH(arena, &keys, case_key(CASE_LAYOUT, (uint64_t)i, layout));
        for (int k = 0; k < i; k++) {
            int64_t a, b;
            bool are_sizes = is_size(symbolic, facts, i) && is_size(symbolic, facts, k);
            if ((are_sizes || differ_as_written(configuration, i, k)) && integer_of(argument, &a) &&
                integer_of(&configuration->arguments[k], &b) && a != b)
                LIST_PUSH(arena, &keys, case_key(CASE_DIFFER, (uint64_t)k, (uint64_t)i));
        }
    }
    return keys;
}

// --- what is wanted ---------------------------------------------------------------------------------------------------------

static void want_case(Covered *covered, uint64_t key, const char *words) {
    LIST_PUSH(covered->arena, &covered->wants, (Want){.key = key, .words = words});
}

static void want_place(Covered *covered, PlaceKind kind, Range range, int which,
                       const char *words) {
    for (LIST_EACH(int, i, covered->wants)) {
        const Want *want = &covered->wants.items[i];
        if (want->is_place && want->kind == kind && want->which == which &&
            want->range.source == range.source && want->range.start == range.start)
            return;
    }
    LIST_PUSH(
        covered->arena, &covered->wants,
        (Want){.is_place = true, .kind = kind, .range = range, .which = which, .words = words});
}

static bool is_access(OpCode code) {
    switch (code) {
    case OP_LOAD:
    case OP_STORE:
    case OP_ATOMIC_ADD:
    case OP_DESCRIPTOR_LOAD:
    case OP_DESCRIPTOR_STORE:
    case OP_DESCRIPTOR_GATHER:
    case OP_DESCRIPTOR_SCATTER: return true;
    default: return false;
    }
}

/// Whether elements of its tile may be left out.
static bool is_cut(const Op *op) {
    if (op_parameter_index(op->code, STR("desc")) == 0) return true;
    static const char *const by[] = {"mask", "boundary_check"};
    for (size_t i = 0; i < sizeof by / sizeof *by; i++) {
        int index = op_parameter_index(op->code, str_from(by[i]));
        if (index >= 0 && index < op->operand_count && op->operands[index]) return true;
    }
    return false;
}

static void want_access(Covered *covered, const Op *op) {
    if (!is_access(op->code)) return;
    want_place(covered, PLACE_ACCESS, op->range, -1,
               arena_printf(covered->arena, "the %s of line %d",
                            op_rows[op->code].effects == EFFECT_READS ? "load" : "store",
                            range_line(op->range)));
    if (is_cut(op))
        want_place(covered, PLACE_ACCESS, (Range){0}, ACCESS_SOME, "a last block that is cut");
}

static bool is_fixed(const Value *value) { return value && value->constant != NULL; }

static void want_loop(Covered *covered, const Op *op) {
    static const char *const counts[] = {"no iteration", "one iteration", "several iterations"};
    for (int k = 0; k < PLACE_CASES; k++)
        want_place(covered, PLACE_LOOP, op->range, k,
                   arena_printf(covered->arena, "%s of the loop of line %d", counts[k],
                                range_line(op->range)));
}

/// Numbers on both sides of each one that the operation holds its floats against.
static void want_thresholds(Covered *covered, const Op *op) {
    int line = range_line(op->range);
    if (threshold_operand(op, 0) < 0) return;
    if (op_has(op->code, TRAIT_ORDERS)) {
        want_place(covered, PLACE_THRESHOLD, op->range, THRESHOLD_BEYOND,
                   arena_printf(covered->arena, "the comparison of line %d true", line));
        want_place(covered, PLACE_THRESHOLD, op->range, THRESHOLD_WITHIN,
                   arena_printf(covered->arena, "the comparison of line %d false", line));
        return;
    }
    want_place(covered, PLACE_THRESHOLD, op->range, THRESHOLD_WITHIN,
               arena_printf(covered->arena, "numbers within the limit of line %d", line));
    for (int which = 0; which < PLACE_CASES - 1 && threshold_operand(op, which) >= 0; which++)
        want_place(covered, PLACE_THRESHOLD, op->range, THRESHOLD_BEYOND + which,
                   arena_printf(covered->arena, "numbers beyond the %slimit of line %d",
                                which ? "second " : "", line));
}

static bool want_op(void *context, Op *op) {
    Covered *covered = context;
    Arena *arena = covered->arena;
    int64_t axis = 0;
    if (!op->range.source) return true;
    int line = range_line(op->range);
    switch (op->code) {
    case OP_PROGRAM_ID:
        if (op->operand_count && op->operands[0] && !value_is_int(op->operands[0], &axis)) break;
        if (axis >= 0 && axis < PROGRAM_AXES) covered->uses_axis[axis] = true;
        break;
    case OP_FOR:
        if (!is_fixed(op->operands[0]) || !is_fixed(op->operands[1]) || !is_fixed(op->operands[2]))
            want_loop(covered, op);
        break;
    case OP_WHILE: want_loop(covered, op); break;
    case OP_IF:
        if (op->operands[0]->type.is_constexpr) break;
        want_place(covered, PLACE_BRANCH, op->range, BRANCH_TAKEN,
                   arena_printf(arena, "the `if` of line %d taken", line));
        want_place(covered, PLACE_BRANCH, op->range, BRANCH_PASSED,
                   arena_printf(arena, "the `if` of line %d not taken", line));
        break;
    default:
        want_access(covered, op);
        want_thresholds(covered, op);
        break;
    }
    return true;
}

static void want_values(Covered *covered, int index) {
    const ParameterFacts *facts = &covered->facts[index];
    const Parameter *parameter = &covered->symbolic->parameters[index];
    Arena *arena = covered->arena;
    Constant none = {.kind = CONSTANT_NONE};
    if (facts->is_none_tested) {
        want_case(covered, case_key(CASE_VALUE, (uint64_t)index, constant_key(&none)),
                  arena_printf(arena, "%s=None", parameter->name));
        if (!parameter->is_constexpr)
            want_case(covered, case_key(CASE_VALUE, (uint64_t)index, 0),
                      arena_printf(arena, "%s given", parameter->name));
    }
    if (!parameter->is_constexpr) return;
    for (LIST_EACH(int, i, facts->compared)) {
        const Constant *constant = facts->compared.items[i];
        if (constant->kind == CONSTANT_STRING)
            want_case(
                covered, case_key(CASE_VALUE, (uint64_t)index, constant_key(constant)),
                arena_printf(arena, "%s=\"%.*s\"", parameter->name, STR_ARGS(constant->string)));
    }
    for (int axis = 0; axis < facts->tile_axes; axis++) {
        Constant number = constant_of_int(axis);
        want_case(covered, case_key(CASE_VALUE, (uint64_t)index, constant_key(&number)),
                  arena_printf(arena, "%s=%d", parameter->name, axis));
    }
    bool is_flag = facts->is_flag && !facts->is_block && !facts->is_size && !facts->is_stride &&
                   !facts->is_trip && !facts->compared.count && !facts->is_none_tested;
    for (int on = 1; is_flag && on >= 0; on--) {
        Constant flag = constant_of_bool(on);
        want_case(covered, case_key(CASE_VALUE, (uint64_t)index, constant_key(&flag)),
                  arena_printf(arena, "%s=%s", parameter->name, on ? "True" : "False"));
    }
}

static void want_layouts(Covered *covered, int pointer) {
    int strides = 0;
    const Function *symbolic = covered->symbolic;
    for (int i = 0; i < symbolic->parameter_count; i++)
        strides +=
            set_has(covered->facts[pointer].strides, i) && is_plain_stride(&covered->facts[i]);
    int wanted = strides == 0 ? 0 : strides == 1 ? LAYOUT_TRANSPOSED : LAYOUTS_WANTED;
    for (int layout = 0; layout < wanted; layout++)
        want_case(covered, case_key(CASE_LAYOUT, (uint64_t)pointer, (uint64_t)layout),
                  arena_printf(covered->arena, "%s %s", symbolic->parameters[pointer].name,
                               layout_names[layout]));
}

static void want_difference(Covered *covered, int i, int k) {
    const Parameter *parameters = covered->symbolic->parameters;
    want_case(covered, case_key(CASE_DIFFER, (uint64_t)k, (uint64_t)i),
              arena_printf(covered->arena, "%s and %s that differ", parameters[k].name,
                           parameters[i].name));
}

static void want_sizes(Covered *covered) {
    int sizes[COVERAGE_MOST_SIZES], count = 0;
    const Function *symbolic = covered->symbolic;
    for (int i = 0; i < symbolic->parameter_count && count < COVERAGE_MOST_SIZES; i++)
        if (is_size(symbolic, covered->facts, i)) sizes[count++] = i;
    for (int i = 0; i < count; i++)
        for (int k = 0; k < i; k++) want_difference(covered, sizes[i], sizes[k]);
}

Covered *covered_new(Arena *arena, const Function *symbolic, const ParameterFacts *facts) {
    Covered *covered = ARENA_NEW(arena, Covered);
    *covered = (Covered){.arena = arena, .symbolic = symbolic, .facts = facts};
    covered->places = coverage_new(arena);
    covered->cases = map_new(arena);
    region_walk(symbolic->body, want_op, covered);
    for (int axis = 0; axis < PROGRAM_AXES; axis++)
        if (covered->uses_axis[axis])
            want_case(covered, case_key(CASE_PROGRAMS, (uint64_t)axis, SEVERAL_PROGRAMS),
                      arena_printf(arena, "%d programs along axis %d", SEVERAL_PROGRAMS, axis));
    for (int i = 0; i < symbolic->parameter_count; i++) want_values(covered, i);
    for (int i = 0; i < symbolic->parameter_count; i++) want_layouts(covered, i);
    want_sizes(covered);
    return covered;
}

// --- what was had -----------------------------------------------------------------------------------------------------------

bool covered_adds(const Covered *covered, const PlanConfiguration *configuration,
                  const Coverage *places) {
    Arena *scratch = arena_new();
    Keys keys = cases_of(scratch, covered->symbolic, covered->facts, configuration);
    bool adds = coverage_adds(covered->places, places);
    for (int i = 0; i < keys.count && !adds; i++)
        adds = !map_has_number(&covered->cases, keys.items[i]);
    arena_free(scratch);
    return adds;
}

static int64_t product(const int64_t *grid) { return grid[0] * grid[1] * grid[2]; }

static int several_axes(const int64_t *grid) {
    int count = 0;
    for (int axis = 0; axis < PROGRAM_AXES; axis++) count += grid[axis] >= SEVERAL_PROGRAMS;
    return count;
}

/// The grid with several programs along most axes; of those the largest.
static void take_grid(Covered *covered, const int64_t *grid) {
    int now = several_axes(grid), before = several_axes(covered->programs);
    if (now < before || (now == before && product(grid) <= product(covered->programs))) return;
    memcpy(covered->programs, grid, sizeof covered->programs);
}

static void take_value(Covered *covered, int parameter, const PlanArgument *argument) {
    if (!is_choice(&covered->facts[parameter], argument)) return;
    bool is_constant = argument->kind == ARGUMENT_CONSTANT;
    uint64_t key = is_constant ? constant_key(argument->constant) : 0;
    for (LIST_EACH(int, i, covered->values))
        if (covered->values.items[i].parameter == parameter && covered->values.items[i].key == key)
            return;
    Buffer text = buffer_new(covered->arena);
    if (is_constant)
        constant_print(&text, argument->constant);
    else
        buffer_puts(&text, "given");
    LIST_PUSH(covered->arena, &covered->values, (SeenValue){parameter, key, buffer_text(&text)});
}

void covered_want_written(Covered *covered, const PlanConfiguration *configuration) {
    for (int i = 0; i < configuration->argument_count; i++)
        for (int k = 0; k < i; k++) {
            bool is_wanted = false;
            uint64_t key = case_key(CASE_DIFFER, (uint64_t)k, (uint64_t)i);
            if (!differ_as_written(configuration, i, k)) continue;
            for (LIST_EACH(int, w, covered->wants))
                is_wanted = is_wanted || (!covered->wants.items[w].is_place &&
                                          covered->wants.items[w].key == key);
            if (!is_wanted) want_difference(covered, i, k);
        }
}

void covered_take(Covered *covered, const PlanConfiguration *configuration,
                  const Coverage *places) {
    static const char marker;
    Keys keys = cases_of(covered->arena, covered->symbolic, covered->facts, configuration);
    for (LIST_EACH(int, i, keys))
        map_set_number(&covered->cases, keys.items[i], (void *)(uintptr_t)&marker);
    coverage_merge(covered->places, places);
    covered->has_launcher = covered->has_launcher || configuration->origin == SPEC_LAUNCHER;
    take_grid(covered, configuration->grid);
    for (int i = 0; i < configuration->argument_count; i++)
        take_value(covered, i, &configuration->arguments[i]);
}

static bool place_has(const CoveragePlace *place, int which) {
    if (which >= 0) return place->had[which];
    for (int k = 0; k < PLACE_CASES; k++)
        if (place->had[k]) return true;
    return false;
}

static bool is_had(const Covered *covered, const Want *want) {
    if (!want->is_place) return map_has_number(&covered->cases, want->key);
    for (LIST_EACH(int, i, covered->places->places)) {
        const CoveragePlace *place = covered->places->places.items[i];
        bool is_it = place->kind == want->kind &&
                     (!want->range.source || (place->range.source == want->range.source &&
                                              place->range.start == want->range.start));
        if (is_it && place_has(place, want->which)) return true;
    }
    return false;
}

bool covered_is_full(const Covered *covered) {
    for (LIST_EACH(int, i, covered->wants))
        if (!is_had(covered, &covered->wants.items[i])) return false;
    return true;
}

/// Whether the kernel looks at the axis, and several programs were not had along it.
static bool is_narrow(const Covered *covered, int axis) {
    return covered->uses_axis[axis] &&
           !map_has_number(&covered->cases, case_key(CASE_PROGRAMS, (uint64_t)axis, 2));
}

bool covered_is_narrow(const Covered *covered) {
    for (int axis = 0; axis < PROGRAM_AXES; axis++)
        if (is_narrow(covered, axis)) return true;
    return false;
}

bool covered_widens(const Covered *covered, const PlanConfiguration *configuration) {
    for (int axis = 0; axis < PROGRAM_AXES; axis++)
        if (is_narrow(covered, axis) && configuration->grid[axis] > 1) return true;
    return false;
}

void covered_lose(Covered *covered, const PlanConfiguration *configuration, const char *reason,
                  const CheckResult *result) {
    bool is_of_a_launcher = configuration->origin == SPEC_LAUNCHER;
    for (int axis = 0; axis < PROGRAM_AXES && !configuration->is_empty; axis++) {
        LostPrograms *lost = &covered->lost[axis];
        int64_t tried = configuration->grid[axis];
        bool is_filled = configuration->fills_zero,
             is_better =
                 !lost->tried || (is_of_a_launcher && !lost->is_of_a_launcher) ||
                 (is_of_a_launcher == lost->is_of_a_launcher && is_filled && !lost->is_filled);
        if (tried > 1 && is_better)
            *lost = (LostPrograms){tried, is_of_a_launcher, is_filled, reason,
                                   check_crossing(covered->arena, result)};
    }
}

// --- words ------------------------------------------------------------------------------------------------------------------

static void say(Buffer *text, const char *separator, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void say(Buffer *text, const char *separator, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    if (text->size) buffer_puts(text, separator);
    buffer_puts(text, arena_vprintf(text->arena, format, arguments));
    va_end(arguments);
}

static void say_programs(const Covered *covered, Buffer *text) {
    Buffer axes = buffer_new(covered->arena);
    for (int axis = 0; axis < PROGRAM_AXES; axis++)
        if (covered->uses_axis[axis]) say(&axes, " x ", "%lld", (long long)covered->programs[axis]);
    if (axes.size)
        say(text, ", ", "%s programs", buffer_text(&axes));
    else
        say(text, ", ", "1 program");
}

/// The block of a store that was cut, or that of a load.
static const CoveragePlace *last_block(const Covered *covered) {
    const CoveragePlace *found = NULL;
    for (LIST_EACH(int, i, covered->places->places)) {
        const CoveragePlace *place = covered->places->places.items[i];
        if (place->kind == PLACE_ACCESS && place->rank && place->had[ACCESS_SOME] &&
            (!found || (place->is_store && !found->is_store)))
            found = place;
    }
    return found;
}

static const char *block_words(Arena *arena, const CoveragePlace *place) {
    Buffer taken = buffer_new(arena), all = buffer_new(arena);
    for (int axis = 0; axis < place->rank; axis++) {
        if (place->dims[axis] == 1) continue;
        say(&taken, " x ", "%lld", (long long)place->extents[axis]);
        say(&all, " x ", "%lld", (long long)place->dims[axis]);
    }
    if (!taken.size) return NULL;
    return arena_printf(arena, "%s of %s", buffer_text(&taken), buffer_text(&all));
}

static void say_loops(const Covered *covered, Buffer *text) {
    for (LIST_EACH(int, i, covered->places->places)) {
        const CoveragePlace *place = covered->places->places.items[i];
        if (place->kind != PLACE_LOOP) continue;
        Buffer counts = buffer_new(covered->arena);
        if (place->had[LOOP_NONE]) say(&counts, ", ", "0");
        if (place->had[LOOP_ONE]) say(&counts, ", ", "1");
        if (place->had[LOOP_SEVERAL]) say(&counts, ", ", "%lld", (long long)place->most);
        say(text, ", ", "loop of line %d: %s iteration%s", range_line(place->range),
            buffer_text(&counts), place->most == 1 && !place->had[LOOP_NONE] ? "" : "s");
    }
}

static void say_values(const Covered *covered, Buffer *text) {
    for (int p = 0; p < covered->symbolic->parameter_count; p++) {
        Buffer values = buffer_new(covered->arena);
        for (LIST_EACH(int, i, covered->values))
            if (covered->values.items[i].parameter == p)
                say(&values, "/", "%s", covered->values.items[i].text);
        if (values.size)
            say(text, ", ", "%s=%s", covered->symbolic->parameters[p].name, buffer_text(&values));
    }
}

static bool has_layout(const Covered *covered, int layout) {
    for (int p = 0; p < covered->symbolic->parameter_count; p++)
        if (map_has_number(&covered->cases, case_key(CASE_LAYOUT, (uint64_t)p, (uint64_t)layout)))
            return true;
    return false;
}

static void say_layouts(const Covered *covered, Buffer *text) {
    Buffer layouts = buffer_new(covered->arena);
    for (int layout = 0; layout < LAYOUT_COUNT; layout++)
        if (has_layout(covered, layout)) say(&layouts, "/", "%s", layout_names[layout]);
    if (layouts.size) say(text, ", ", "strides %s", buffer_text(&layouts));
}

static const char *had_words(const Covered *covered) {
    Buffer text = buffer_new(covered->arena);
    const CoveragePlace *cut = last_block(covered);
    const char *block = cut ? block_words(covered->arena, cut) : NULL;
    say_programs(covered, &text);
    if (block) say(&text, ", ", "last block %s", block);
    say_loops(covered, &text);
    say_values(covered, &text);
    say_layouts(covered, &text);
    return buffer_text(&text);
}

void covered_note_infinite(Covered *covered, int64_t infinite, int64_t stored, const char *names) {
    bool is_more =
        (double)infinite * (double)covered->stored > (double)covered->infinite * (double)stored;
    if (covered->infinite && !is_more) return;
    covered->infinite = infinite;
    covered->stored = stored;
    covered->infinite_names = arena_strdup(covered->arena, names);
}

void covered_note_filled(Covered *covered) { covered->is_filled = true; }

void covered_note_rules(Covered *covered, const char *words) { covered->rules = words; }

static const char *infinite_words(const Covered *covered) {
    if (!covered->infinite) return NULL;
    return arena_printf(
        covered->arena, "%lld of %lld stored elements, of %s, that are infinite or NaN",
        (long long)covered->infinite, (long long)covered->stored, covered->infinite_names);
}

const char *covered_words(const Covered *covered, const char *because) {
    enum { MOST_NAMED = 8 };
    Buffer missing = buffer_new(covered->arena);
    int named = 0;
    if (!product(covered->programs)) return "";
    for (LIST_EACH(int, i, covered->wants)) {
        if (is_had(covered, &covered->wants.items[i])) continue;
        if (named++ < MOST_NAMED) say(&missing, ", ", "%s", covered->wants.items[i].words);
    }
    if (named > MOST_NAMED) buffer_printf(&missing, " and %d more", named - MOST_NAMED);
    const char *had = had_words(covered), *infinite = infinite_words(covered);
    if (infinite) had = arena_printf(covered->arena, "%s; not compared: %s", had, infinite);
    if (covered->is_filled)
        had = arena_printf(covered->arena, "%s; assumed: masked-off loads without `other` read 0",
                           had);
    if (covered->rules)
        had = arena_printf(covered->arena, "%s; rules by hand tried with %s", had, covered->rules);
    if (!missing.size) return had;
    return arena_printf(covered->arena, "%s; not had: %s%s%s%s", had, buffer_text(&missing),
                        because ? " (" : "", because ? because : "", because ? ")" : "");
}

/// The first axis along which only single programs are proved because configurations with more of them failed; negative: none.
static int lost_axis(const Covered *covered) {
    for (int axis = 0; axis < PROGRAM_AXES; axis++) {
        const LostPrograms *lost = &covered->lost[axis];
        if (!lost->tried || !is_narrow(covered, axis)) continue;
        // a launcher that has one program there is the kernel's user; numbers made up for the kernel alone are nobody's
        if (!covered->has_launcher || lost->is_of_a_launcher) return axis;
    }
    return -1;
}

const char *covered_lost_words(const Covered *covered) {
    int axis = lost_axis(covered);
    if (axis < 0) return NULL;
    return arena_printf(covered->arena,
                        "proved with 1 program along axis %d, not with more: of %lld of them, %s",
                        axis, (long long)covered->lost[axis].tried, covered->lost[axis].reason);
}

const MemoryFinding *covered_lost_crossing(const Covered *covered) {
    int axis = lost_axis(covered);
    bool is_of_a_launcher = axis >= 0 && covered->lost[axis].is_of_a_launcher;
    return is_of_a_launcher ? covered->lost[axis].crossing : NULL;
}

const char *configuration_words(Arena *arena, const PlanConfiguration *configuration,
                                const Function *symbolic, const ParameterFacts *facts,
                                const Coverage *places) {
    Covered *covered = covered_new(arena, symbolic, facts);
    covered_take(covered, configuration, places);
    return had_words(covered);
}

// --- JSON -------------------------------------------------------------------------------------------------------------------

static Json *loop_json(Arena *arena, const CoveragePlace *place) {
    Json *json = json_object(arena);
    json_set_number(json, "line", range_line(place->range));
    json_set_bool(json, "none", place->had[LOOP_NONE]);
    json_set_bool(json, "one", place->had[LOOP_ONE]);
    json_set_bool(json, "several", place->had[LOOP_SEVERAL]);
    json_set_number(json, "most", (double)place->most);
    return json;
}

static Json *branch_json(Arena *arena, const CoveragePlace *place) {
    Json *json = json_object(arena);
    json_set_number(json, "line", range_line(place->range));
    json_set_bool(json, "taken", place->had[BRANCH_TAKEN]);
    json_set_bool(json, "passed", place->had[BRANCH_PASSED]);
    return json;
}

static Json *values_json(const Covered *covered) {
    Json *json = json_object(covered->arena);
    for (LIST_EACH(int, i, covered->values)) {
        const SeenValue *value = &covered->values.items[i];
        const char *name = covered->symbolic->parameters[value->parameter].name;
        Json *texts = (Json *)(uintptr_t)json_get(json, name);
        if (!texts) {
            texts = json_array(covered->arena);
            json_set(json, name, texts);
        }
        json_push(texts, json_string(covered->arena, value->text));
    }
    return json;
}

Json *covered_json(const Covered *covered) {
    Arena *arena = covered->arena;
    Json *json = json_object(arena), *programs = json_array(arena), *loops = json_array(arena),
         *branches = json_array(arena), *strides = json_array(arena), *missing = json_array(arena);
    for (int axis = 0; axis < PROGRAM_AXES; axis++)
        json_push(programs, json_number(arena, (double)covered->programs[axis]));
    for (LIST_EACH(int, i, covered->places->places)) {
        const CoveragePlace *place = covered->places->places.items[i];
        if (place->kind == PLACE_LOOP) json_push(loops, loop_json(arena, place));
        if (place->kind == PLACE_BRANCH) json_push(branches, branch_json(arena, place));
    }
    for (int layout = 0; layout < LAYOUT_COUNT; layout++)
        if (has_layout(covered, layout))
            json_push(strides, json_string(arena, layout_names[layout]));
    for (LIST_EACH(int, i, covered->wants))
        if (!is_had(covered, &covered->wants.items[i]))
            json_push(missing, json_string(arena, covered->wants.items[i].words));
    const CoveragePlace *cut = last_block(covered);
    const char *block = cut ? block_words(arena, cut) : NULL;
    json_set(json, "programs", programs);
    json_set(json, "last_block", block ? json_string(arena, block) : json_null(arena));
    json_set(json, "loops", loops);
    json_set(json, "branches", branches);
    json_set(json, "values", values_json(covered));
    json_set(json, "strides", strides);
    json_set(json, "missing", missing);
    const char *infinite = infinite_words(covered);
    json_set_bool(json, "fills_zero", covered->is_filled);
    json_set(json, "not_finite", infinite ? json_string(arena, infinite) : json_null(arena));
    return json;
}
