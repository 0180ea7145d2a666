// A kernel alone: sizes that are no multiples of the blocks, strides far apart, every flag both ways.
#include "gpu-runner/configure/spec_guess.h"

#include <string.h>

#include "analysis/host/launch.h"
#include "analysis/launches/launch_functions.h"
#include "gpu-runner/configure/relations.h"
#include "gpu-runner/configure/spec.h"
#include "gpu-runner/configure/spec_descriptor.h"

enum {
    MOST_CANDIDATES = 12,
    MOST_FALLBACKS = 4,
    MOST_REPAIRS = 3,
    LONGEST_STRIDE_LEVEL = 5,
    MORE_THAN_PROGRAMS = 37,
    FACTOR_STRIDE = 131,
    FAR_STRIDE = 4099,
    LONGEST_ROW = 1 << 20,
    TUPLE_ROW = 4099,
    FEW_TRIPS = 3,
    SHORT_PART = 4
};

/// Numbers are kept between one such parameter and another: far enough apart for most, not for all.
static const double FAR_BOUND = 1.75;

/// The values to try for one parameter, the likeliest first.
typedef struct GuessChoices {
    PlanArgument items[PARAMETER_MOST_CHOICES];
    int count;
} GuessChoices;

/// What further candidates are for: each the first choices but for one thing.
typedef enum Extra {
    EXTRA_NONE,
    EXTRA_TRANSPOSED,  // inner strides larger than outer ones
    EXTRA_ONE,         // loops have one iteration
    EXTRA_ZERO,        // ... or none
    EXTRA_COUNT,
} Extra;

typedef struct Guess {
    Arena *arena;
    const SpecRequest *request;
    const Function *function;
    const ParameterFacts *facts;
    GuessChoices *choices;  // per parameter
    int count;
    uint64_t variation;  // other block sizes and strides
    bool is_even;        // every size a multiple of its blocks
    bool is_far;         // rows further apart than any tile reaches
    ParameterSet
        factors;  // constexpr strides that the kernel multiplies with each other: sizes, rather
    ParameterSet trips;  // that loops in steps of one count to
    Extra extra;
    int *levels;  // of strides that fall as those of a dense tensor do, by parameter
} Guess;

static void choose(GuessChoices *choices, PlanArgument argument) {
    if (choices->count < PARAMETER_MOST_CHOICES) choices->items[choices->count++] = argument;
}

static void choose_constant(GuessChoices *choices, const Constant *constant) {
    for (int i = 0; i < choices->count; i++) {
        const Constant *known = choices->items[i].constant;
        bool number = known->kind <= CONSTANT_FLOAT && constant->kind <= CONSTANT_FLOAT &&
                      known->kind != CONSTANT_NONE && constant->kind != CONSTANT_NONE;
        if (known->kind == constant->kind && known->integer == constant->integer &&
            str_equal(known->string, constant->string) &&
            (!number || !(known->number < constant->number || known->number > constant->number)))
            return;
    }
    choose(choices, (PlanArgument){.kind = ARGUMENT_CONSTANT, .constant = constant});
}

static void choose_int(Guess *guess, int index, int64_t value) {
    GuessChoices *choices = &guess->choices[index];
    const Parameter *parameter = &guess->function->parameters[index];
    if (parameter->is_constexpr) {
        choose_constant(choices, constant_int(guess->arena, value));
        return;
    }
    DTypeCode dtype = parameter->value->type.element.code;
    bool wide = guess->facts[index].is_stride && !guess->facts[index].is_size;
    if (!dtype_is_integer(dtype_of(dtype)) || wide) dtype = wide ? DTYPE_INT64 : DTYPE_INT32;
    choose(choices, (PlanArgument){.kind = ARGUMENT_INTEGER, .dtype = dtype, .integer = value});
}

/// The value already chosen first for a parameter, where it is an integer.
static bool chosen_int(const Guess *guess, int index, int64_t *value) {
    const GuessChoices *choices = &guess->choices[index];
    if (choices->count == 0) return false;
    const PlanArgument *argument = &choices->items[0];
    if (argument->kind == ARGUMENT_INTEGER)
        *value = argument->integer;
    else if (argument->kind == ARGUMENT_CONSTANT && argument->constant->kind == CONSTANT_INT)
        *value = argument->constant->integer;
    else
        return false;
    return true;
}

static int64_t tile_of(const Guess *guess);

/// A number of blocks may be the place of one, too: the first.
static void choose_tile(Guess *guess, int index) {
    choose_int(guess, index, tile_of(guess));
    if (guess->facts[index].is_block_count) choose_int(guess, index, 0);
}

static int64_t block_of(const Guess *guess, int index) {
    static const int64_t dot_blocks[] = {16, 32}, other_blocks[] = {16, 8, 32},
                         deep_blocks[] = {8, 4};
    int position = 0;
    for (int i = 0; i < index; i++)
        if (guess->facts[i].is_block) position++;
    position += (int)(guess->variation % 2);
    if (guess->facts[index].is_deep && !guess->facts[index].is_dot)
        return deep_blocks[position % 2];
    return guess->facts[index].is_dot ? dot_blocks[position % 2] : other_blocks[position % 3];
}

static int64_t size_of(const Guess *guess, int index) {
    const ParameterFacts *facts = &guess->facts[index];
    int64_t largest = facts->lanes, smallest = facts->lanes ? facts->lanes : INT64_MAX, block;
    for (int i = 0; i < guess->count; i++) {
        if (!set_has(facts->blocks, i) || !guess->facts[i].is_block ||
            !chosen_int(guess, i, &block))
            continue;
        if (block > largest) largest = block;
        if (block < smallest) smallest = block;
    }
    if (largest == 0) return facts->is_divisor ? 2 : 5;
    if (guess->extra == EXTRA_ZERO && facts->is_bound && !facts->is_divisor) return 0;
    if (guess->extra == EXTRA_ONE && facts->is_bound && !guess->is_even)
        return facts->is_masked && smallest > 4 ? smallest - 3 : smallest;
    if (guess->is_even || !facts->is_masked) return facts->is_whole ? smallest : 2 * largest;
    if (facts->is_whole && smallest > 4)
        return smallest - 3 - (int64_t)(guess->variation % 2);  // must fit one block
    // an odd size, then one whose halves and quarters are whole
    return 2 * largest + 3 + (int64_t)(guess->variation % 2);
}

/// A length that program ids are multiplied by, without lanes of its own: the largest block, or two of them.
static int64_t tile_of(const Guess *guess) {
    int64_t largest = 16, block;
    for (int i = 0; i < guess->count; i++)
        if (guess->facts[i].is_block && chosen_int(guess, i, &block) && block > largest)
            largest = block;
    return largest * (guess->variation % 2 ? 1 : 2);
}

static bool is_tile(const Guess *guess, int index) {
    const ParameterFacts *facts = &guess->facts[index];
    bool has_blocks = !set_is_empty(facts->blocks) || facts->lanes;
    return facts->is_tile && !facts->is_divisor &&
           guess->function->parameters[index].is_constexpr && !facts->is_block &&
           !(facts->is_size && has_blocks);
}

/// Elements to a multiple of 16 bytes, whatever their type.
static int64_t aligned(int64_t stride) { return stride <= 1 ? stride : (stride + 15) / 16 * 16; }

static bool is_plain_stride(const Guess *guess, int index) {
    const ParameterFacts *facts = &guess->facts[index];
    return facts->is_stride && !facts->is_size && !facts->is_block && !facts->is_trip;
}

/// The constexpr strides that a product has as factors.
static void add_factors(const Guess *guess, const Value *value, ParameterSet *factors) {
    while (value && value->op && value->op->code == OP_CAST) value = value->op->operands[0];
    if (!value) return;
    if (value->op && value->op->code == OP_MUL) {
        add_factors(guess, value->op->operands[0], factors);
        add_factors(guess, value->op->operands[1], factors);
        return;
    }
    bool is_parameter = !value->op && value->region == guess->function->body;
    if (is_parameter && guess->function->parameters[value->index].is_constexpr &&
        is_plain_stride(guess, value->index))
        set_add(factors, value->index);
}

/// Parameters that a bound is a sum of, give or take constants.
static void add_terms(const Guess *guess, const Value *value, ParameterSet *terms) {
    if (!value) return;
    if (!value->op && value->region == guess->function->body) set_add(terms, value->index);
    if (!value->op || (value->op->code != OP_ADD && value->op->code != OP_SUB)) return;
    for (int i = 0; i < 2; i++) add_terms(guess, value->op->operands[i], terms);
}

static bool visit_product(void *context, Op *op) {
    Guess *guess = context;
    int64_t step;
    bool counts = (op->code == OP_FOR || op->code == OP_STATIC_FOR) &&
                  value_is_int(op->operands[2], &step) && (step == 1 || step == -1);
    for (int i = 0; i < 2 && counts; i++) add_terms(guess, op->operands[i], &guess->trips);
    if (op->code != OP_MUL) return true;
    ParameterSet factors = {0};
    add_factors(guess, op->results[0], &factors);
    int count = 0;
    for (int i = 0; i < guess->count; i++) count += set_has(factors, i);
    for (int i = 0; i < guess->count && count > 1; i++)
        if (set_has(factors, i)) set_add(&guess->factors, i);
    return true;
}

/// How many dims of the same pointer lie inside this one's, at most: later strides, and a dim without a stride.
static int stride_level(const Guess *guess, int index) {
    int level = 0;
    for (int p = 0; p < guess->count; p++) {
        if (!set_has(guess->facts[p].strides, index)) continue;
        int inside = guess->facts[p].has_unit;
        bool is_transposed = guess->extra == EXTRA_TRANSPOSED;
        int first = is_transposed ? 0 : index + 1, end = is_transposed ? index : guess->count;
        for (int i = first; i < end; i++)
            if (set_has(guess->facts[p].strides, i) && is_plain_stride(guess, i)) inside++;
        if (inside > level) level = inside;
    }
    return level > LONGEST_STRIDE_LEVEL ? LONGEST_STRIDE_LEVEL : level;
}

/// The strides that lie inside `index` in some tensor's addresses have levels already. Its own is above all of these: other tensors' addresses,
/// with some of them and more, may have raised them.
static void raise_level(const Guess *guess, int index, int *levels) {
    for (int p = 0; p < guess->count; p++)
        for (int i = index + 1; i < guess->count && set_has(guess->facts[p].strides, index); i++)
            if (set_has(guess->facts[p].strides, i) && is_plain_stride(guess, i) &&
                levels[i] >= levels[index] && levels[index] < LONGEST_STRIDE_LEVEL)
                levels[index] = levels[i] + 1;
}

static void find_levels(Guess *guess) {
    guess->levels = ARENA_ARRAY(guess->arena, int, guess->count + 1);
    for (int index = guess->count - 1; index >= 0; index--) {
        guess->levels[index] = stride_level(guess, index);
        if (is_plain_stride(guess, index)) raise_level(guess, index, guess->levels);
    }
}

/// Whether each tensor whose addresses it is in has no other stride: of its rows the kernel may read a few elements by their numbers.
static bool is_only_stride(const Guess *guess, int index) {
    for (int p = 0; p < guess->count; p++)
        for (int i = 0; i < guess->count && set_has(guess->facts[p].strides, index); i++)
            if (i != index && set_has(guess->facts[p].strides, i) && is_plain_stride(guess, i))
                return false;
    return guess->facts[index].is_lone_stride;
}

static int64_t stride_of(const Guess *guess, int index) {
    static const int64_t by_level[] = {1,
                                       4099,
                                       4099 * 131,
                                       (int64_t)4099 * 131 * 131,
                                       (int64_t)4099 * 131 * 131 * 131,
                                       (int64_t)4099 * 131 * 131 * 131 * 131},
                         far_by_level[] = {1,
                                           4099,
                                           4099 * 1031,
                                           (int64_t)4099 * 1031 * 211,
                                           (int64_t)4099 * 1031 * 211 * 131,
                                           (int64_t)4099 * 1031 * 211 * 131 * 131};
    bool is_transposed = guess->extra == EXTRA_TRANSPOSED;
    if (guess->facts[index].is_window_step) return 2 + (int64_t)(guess->variation % 2);
    int level = is_transposed ? stride_level(guess, index) : guess->levels[index];
    if (guess->is_far && level == 0 && is_only_stride(guess, index)) level = 1;
    if (level == 0 && !guess->facts[index].is_lone_stride) return MORE_THAN_PROGRAMS;
    // A product of four of them and a program's number stays below 2^31: kernels compute it in 32 bits.
    if (set_has(guess->factors, index) && set_has(guess->trips, index)) return FEW_TRIPS;
    if (set_has(guess->factors, index))
        return FACTOR_STRIDE + 2 * (index % 8) + (guess->variation % 2 ? 18 : 0);
    int64_t stride = (guess->is_far ? far_by_level : by_level)[level] *
                     (1 + 2 * (int64_t)(guess->variation % 2));
    return guess->facts[index].is_aligned ? aligned(stride) : stride;
}

DTypeCode pointee_guess(const Parameter *parameter, const ParameterFacts *facts) {
    DType element = parameter->value->type.element;
    if (element.code > DTYPE_OF_PARAMETER) return element.code;
    if (element.code == DTYPE_ANY_INT || facts->is_integer ||
        (element.code == DTYPE_OF_PARAMETER && element.parameter_class == CLASS_SIGNED))
        return DTYPE_INT32;
    return facts->bits == 16 ? DTYPE_FLOAT16 : facts->bits == 64 ? DTYPE_FLOAT64 : DTYPE_FLOAT32;
}

bool pointee_is_open(const Parameter *parameter, const ParameterFacts *facts) {
    return parameter->value->type.element.code <= DTYPE_OF_PARAMETER && !facts->bits &&
           dtype_code_is_float(pointee_guess(parameter, facts));
}

enum { LIST_PAIRS = 40, LONGEST_PART = 40 };
/// Which sequence, and which part of it: two parts of each.
static const double list_pairs[LIST_PAIRS] = {0, 0, 0, 1, 1, 0, 1, 1, 2, 0, 2, 1, 3, 0,
                                              3, 1, 4, 0, 4, 1, 5, 0, 5, 1, 6, 0, 6, 1,
                                              7, 0, 7, 1, 8, 0, 8, 1, 9, 0, 9, 1};

Content content_guess(const ParameterFacts *facts, DTypeCode dtype, uint64_t seed) {
    if (dtype_code_is_float(dtype)) return (Content){.kind = CONTENT_NORMAL, .seed = seed};
    if (facts->is_atomic) return (Content){.kind = CONTENT_ZERO};
    // The bound of a loop in a tensor of one number: a count, and no offset that begins at 0.
    if (facts->is_offset_list && !facts->is_list)
        return (Content){.kind = CONTENT_SMALL, .seed = seed, .low = 3, .high = 6};
    if (facts->is_length)
        return (Content){.kind = CONTENT_SMALL, .seed = seed, .low = 1, .high = LONGEST_PART};
    if (facts->is_part_start)
        return (Content){.kind = CONTENT_MONOTONE, .seed = seed, .high = LONGEST_PART + 8};
    // The first block, and each third time the second: one beyond the end, or in a causal future, shows nothing.
    bool is_address = facts->is_list_index || facts->is_store_index || facts->leads_to_store;
    if (facts->is_block_index && !facts->is_ends && !is_address)
        return (Content){
            .kind = CONTENT_SMALL, .seed = seed, .high = 1, .has_mark = true, .mark = 1};
    if (facts->is_class && facts->is_offset_list && facts->is_lane_loaded && !is_address)
        return (Content){.kind = CONTENT_SMALL, .seed = seed, .high = 3};
    if (facts->leads_to_store && !facts->is_list_index) return (Content){.kind = CONTENT_DISTINCT};
    if (facts->is_offset_list && !facts->is_list_index && dtype_bits(dtype) > 8)
        return (Content){.kind = CONTENT_MONOTONE, .seed = seed, .high = 19};
    if (facts->is_list_index && facts->is_paired)
        return (Content){.kind = CONTENT_VALUES, .values = list_pairs, .value_count = LIST_PAIRS};
    if (facts->is_list_index) return (Content){.kind = CONTENT_DISTINCT};
    if (facts->is_store_index) return (Content){.kind = CONTENT_DISTINCT};
    // Mostly true, as a mask is whose rows leave nothing out as a whole.
    if (facts->is_truth)
        return (Content){
            .kind = CONTENT_SMALL, .seed = seed, .low = 1, .high = 1, .has_mark = true};
    double low = facts->is_divisor ? 1 : 0;
    return (Content){.kind = CONTENT_SMALL,
                     .seed = seed,
                     .low = low,
                     .high = low + (dtype_bits(dtype) <= 8 ? 2 : 5)};
}

enum { EMPTY_PARTS = 12 };
/// Every other part is empty.
static const double with_empty_parts[EMPTY_PARTS] = {0, 0, 5, 5, 11, 11, 16, 16, 22, 22, 27, 27};

/// Bounds that lie in memory, where loops are to have one iteration or none: short parts, or empty ones.
static Content content_for(const Guess *guess, const ParameterFacts *facts, Content content) {
    bool bounds = facts->is_offset_list && !facts->is_list_index && !facts->is_store_index &&
                  (content.kind == CONTENT_MONOTONE || content.kind == CONTENT_SMALL);
    if (!bounds || (guess->extra != EXTRA_ONE && guess->extra != EXTRA_ZERO)) return content;
    if (guess->extra == EXTRA_ZERO && content.kind == CONTENT_MONOTONE)
        return (Content){
            .kind = CONTENT_VALUES, .values = with_empty_parts, .value_count = EMPTY_PARTS};
    if (guess->extra == EXTRA_ZERO) return (Content){.kind = CONTENT_ZERO};
    if (content.kind == CONTENT_MONOTONE)
        content.high = SHORT_PART;
    else
        content.low = content.high = 1;
    return content;
}

static void guess_pointer(Guess *guess, int index) {
    const Parameter *parameter = &guess->function->parameters[index];
    DTypeCode dtype = pointee_guess(parameter, &guess->facts[index]);
    uint64_t seed = hash_mix(guess->request->seed + 31 * (uint64_t)index);
    Content content =
        content_for(guess, &guess->facts[index], content_guess(&guess->facts[index], dtype, seed));
    choose(&guess->choices[index],
           (PlanArgument){.kind = ARGUMENT_POINTER,
                          .dtype = dtype,
                          .is_type_open = pointee_is_open(parameter, &guess->facts[index]),
                          .content = content});
    if (parameter->is_optional || guess->facts[index].is_none_tested)
        choose(&guess->choices[index],
               (PlanArgument){.kind = ARGUMENT_CONSTANT, .constant = constant_none(guess->arena)});
}

/// Both sides of every comparison with a constant; texts as compared, and one that equals none.
static void guess_compared(Guess *guess, int index) {
    const ParameterFacts *facts = &guess->facts[index];
    GuessChoices *choices = &guess->choices[index];
    bool constexpr_parameter = guess->function->parameters[index].is_constexpr;
    for (LIST_EACH(int, i, facts->compared)) {
        const Constant *constant = facts->compared.items[i];
        switch (constant->kind) {
        case CONSTANT_STRING:
        case CONSTANT_DTYPE:
        case CONSTANT_BOOL:
            if (constexpr_parameter) choose_constant(choices, constant);
            if (constexpr_parameter && constant->kind == CONSTANT_BOOL)
                choose_constant(choices, constant_bool(guess->arena, !constant->integer));
            break;
        case CONSTANT_INT:
            if (facts->is_block || facts->is_size || facts->is_stride) break;
            choose_int(guess, index, constant->integer);
            choose_int(guess, index, constant->integer + 1);
            break;
        case CONSTANT_FLOAT:
            if (constexpr_parameter)
                choose_constant(choices, constant_float(guess->arena, constant->number + 0.5));
            break;
        case CONSTANT_NONE:
        case CONSTANT_FUNCTION:
        case CONSTANT_TUPLE: break;
        }
    }
    if (constexpr_parameter && choices->count == 1 && choices->items[0].constant &&
        choices->items[0].constant->kind == CONSTANT_STRING)
        choose_constant(choices, constant_text(guess->arena, STR("")));
}

/// Each function that launches pass for the parameter; false where they pass none.
static bool guess_functions(Guess *guess, int index) {
    LaunchFunctions functions = launches_functions(guess->arena, guess->function, index);
    for (LIST_EACH(int, i, functions))
        choose_constant(&guess->choices[index],
                        constant_new(guess->arena, launch_function_constant(&functions.items[i])));
    return functions.count > 0;
}

/// Where loops begin, and nothing else: no size of a tensor, no distance, no end of another loop.
static bool is_beginning(const Guess *guess, int index) {
    const ParameterFacts *facts = &guess->facts[index];
    return facts->is_from && !facts->is_block && !facts->is_tiled && !facts->is_stride &&
           !facts->is_trip && !facts->is_divisor && !facts->is_start;
}

/// A tuple of strides, as `x.stride()` gives one: each steps over all that the later ones reach.
static bool guess_tuple(Guess *guess, int index) {
    const Type *type = &guess->function->parameters[index].value->type;
    if (type->kind != TYPE_TUPLE || guess->function->parameters[index].is_constexpr) return false;
    Constant *items = ARENA_ARRAY(guess->arena, Constant, type->rank + 1);
    int64_t step = 1 + 2 * (int64_t)(guess->variation % 2);
    for (int i = type->rank - 1; i >= 0; i--) {
        items[i] = constant_of_int(step);
        step *= i == type->rank - 1 ? TUPLE_ROW : FACTOR_STRIDE;
    }
    Constant *tuple = ARENA_NEW(guess->arena, Constant);
    *tuple = (Constant){.kind = CONSTANT_TUPLE, .items = items, .item_count = type->rank};
    choose(&guess->choices[index], (PlanArgument){.kind = ARGUMENT_CONSTANT, .constant = tuple});
    return true;
}

static void guess_numbers(Guess *guess, int index) {
    if (guess_functions(guess, index) || guess_tuple(guess, index)) return;
    const ParameterFacts *facts = &guess->facts[index];
    const Parameter *parameter = &guess->function->parameters[index];
    GuessChoices *choices = &guess->choices[index];
    const Constant *given = parameter->default_value;
    bool numeric = facts->is_block || facts->is_size || facts->is_stride || facts->is_trip ||
                   facts->is_divisor || facts->is_numerator || is_tile(guess, index);
    bool is_float = dtype_is_float(parameter->value->type.element) ||
                    (facts->is_scale && !numeric && !facts->is_flag && !facts->is_offset);
    if (!parameter->is_constexpr && is_float) {
        double number = 0.37 + 0.0625 * (index % 5);
        choose(choices, (PlanArgument){.kind = ARGUMENT_FLOAT,
                                       .dtype = DTYPE_FLOAT32,
                                       .number = facts->is_low    ? -FAR_BOUND
                                                 : facts->is_high ? FAR_BOUND
                                                                  : number});
        return;
    }
    if (facts->is_start && !facts->is_block) {
        choose_int(guess, index, 0);
        return;
    }
    if (is_beginning(guess, index)) {  // so that a loop to any size has iterations
        choose_int(guess, index, (int64_t)(guess->variation % 2));
        return;
    }
    if (facts->is_axis) {
        choose_int(guess, index, facts->axis);
        return;
    }
    for (int axis = 0; axis < facts->tile_axes; axis++) choose_int(guess, index, axis);
    if (facts->tile_axes) return;
    if (facts->is_block)
        choose_int(guess, index, block_of(guess, index));
    else if (is_tile(guess, index))
        choose_tile(guess, index);
    else if (facts->is_size)
        choose_int(guess, index,
                   facts->is_aligned ? aligned(size_of(guess, index)) : size_of(guess, index));
    else if (facts->is_trip)
        choose_int(guess, index,
                   guess->extra == EXTRA_ONE    ? 1
                   : guess->extra == EXTRA_ZERO ? 0
                                                : 3);
    else if (facts->is_numerator)
        choose_int(guess, index, 4);
    else if (facts->is_divisor)
        choose_int(guess, index, 2);
    else if (facts->is_stride)
        choose_int(guess, index, stride_of(guess, index));
    if (numeric) return;
    if (given && parameter->is_constexpr && given->kind != CONSTANT_NONE)
        choose_constant(choices, given);
    guess_compared(guess, index);
    if (facts->is_compared_with_loaded && choices->count == 0) choose_int(guess, index, 1);
    if (choices->count && !(given && facts->is_flag)) return;
    if (!parameter->is_constexpr) {
        choose_int(guess, index, facts->is_flag ? 1 : 3);
        if (facts->is_flag) choose_int(guess, index, 0);
        return;
    }
    if (facts->is_dtype)
        choose_constant(choices, constant_dtype(guess->arena, DTYPE_FLOAT32));
    else if (facts->is_string)
        choose_constant(choices, constant_text(guess->arena, STR("ieee")));
    else if (facts->is_flag) {
        choose_constant(choices, constant_bool(guess->arena, true));
        choose_constant(choices, constant_bool(guess->arena, false));
    } else if (facts->is_scale)
        choose_constant(choices, constant_float(guess->arena, facts->is_low    ? -FAR_BOUND
                                                              : facts->is_high ? FAR_BOUND
                                                                               : 0.5));
    else
        choose_int(guess, index, 2);
    if (facts->is_none_tested) choose_constant(choices, constant_none(guess->arena));
}

static bool points_to_memory(const Parameter *parameter) {
    TypeKind kind = parameter->value->type.kind;
    return kind == TYPE_POINTER || kind == TYPE_DESCRIPTOR;
}

/// Gives the first choice of an open integer another value.
static void replace_int(Guess *guess, const PlanConfiguration *fixed, int index, int64_t value) {
    int64_t now;
    if (fixed->arguments[index].kind != ARGUMENT_OPEN || !chosen_int(guess, index, &now) ||
        now == value)
        return;
    if (guess->choices[index].items[0].kind == ARGUMENT_CONSTANT)
        guess->choices[index].items[0].constant = constant_int(guess->arena, value);
    else
        guess->choices[index].items[0].integer = value;
}

/// Of `channels // groups`: few groups, and several channels in each.
static void guess_quotients(Guess *guess, const PlanConfiguration *fixed) {
    for (int i = 0; i < guess->count; i++) {
        int by = guess->facts[i].divided_by - 1;
        int64_t number, divisor;
        bool is_free = by >= 0 && !guess->facts[i].is_block && !guess->facts[by].is_block &&
                       chosen_int(guess, i, &number) && chosen_int(guess, by, &divisor) &&
                       number > 0 && divisor > 0;
        if (!is_free) continue;
        if (2 * divisor > number) {
            replace_int(guess, fixed, by, 2 + (int64_t)(guess->variation % 2));
            if (!chosen_int(guess, by, &divisor)) continue;
        }
        int64_t rest = number % divisor;
        if (number < 2 * divisor && !guess->facts[i].is_whole)
            number = 2 * divisor;
        else if (rest)
            number += guess->facts[i].is_whole ? -rest : divisor - rest;
        if (number > 0) replace_int(guess, fixed, i, number);
    }
}

/// Blocks first, for sizes go by them.
static void guess_all(Guess *guess, const PlanConfiguration *fixed) {
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < guess->count; i++) {
            bool first = guess->facts[i].is_block;
            if (first != (pass == 0)) continue;
            guess->choices[i].count = 0;
            if (fixed->arguments[i].kind != ARGUMENT_OPEN)
                choose(&guess->choices[i], fixed->arguments[i]);
            else if (points_to_memory(&guess->function->parameters[i]))
                guess_pointer(guess, i);
            else
                guess_numbers(guess, i);
        }
    }
    guess_quotients(guess, fixed);
}

/// Candidate `which`: 0 the first choices, 1 all second ones, then one parameter at a time turned over.
static bool candidate(const Guess *guess, const PlanConfiguration *fixed, int which,
                      PlanConfiguration *result) {
    int turned = which - 2, seen = 0, changes = 0;
    *result = *fixed;
    result->arguments = ARENA_ARRAY(guess->arena, PlanArgument, guess->count + 1);
    for (int i = 0; i < guess->count; i++) {
        const GuessChoices *choices = &guess->choices[i];
        int pick = 0;
        if (choices->count > 1) {
            int others = choices->count - 1;
            if (which == 1) pick = 1;
            if (which >= 2 && turned >= seen && turned < seen + others) pick = 1 + turned - seen;
            seen += others;
        }
        changes += pick > 0;
        result->arguments[i] = choices->items[pick];
        result->arguments[i].name = fixed->arguments[i].name;
    }
    return which == 0 || changes > 0;
}

/// Strides that the address of each pointer uses, largest first, so that a wrong element can be named by its indices.
static void note_strides(const Guess *guess, PlanConfiguration *configuration) {
    for (int p = 0; p < guess->count; p++) {
        PlanArgument *argument = &configuration->arguments[p];
        if (argument->kind != ARGUMENT_POINTER || argument->rank) continue;
        argument->stride_count = 0;
        for (int i = 0; i < guess->count && argument->stride_count < TYPE_MAX_RANK - 1; i++) {
            const PlanArgument *stride = &configuration->arguments[i];
            int64_t value =
                stride->kind == ARGUMENT_INTEGER ? stride->integer
                : stride->kind == ARGUMENT_CONSTANT && stride->constant->kind == CONSTANT_INT
                    ? stride->constant->integer
                    : 0;
            const ParameterFacts *facts = &guess->facts[i];
            if (!set_has(guess->facts[p].strides, i) || value <= 1 || facts->is_block ||
                facts->is_trip)
                continue;
            int at = argument->stride_count++;
            for (; at > 0 && argument->strides[at - 1] < value; at--)
                argument->strides[at] = argument->strides[at - 1];
            argument->strides[at] = value;
        }
        argument->strides[argument->stride_count++] = 1;
    }
}

static Guess guess_new(Arena *arena, const SpecRequest *request) {
    const Function *function = request->symbolic;
    Guess guess = {.arena = arena,
                   .request = request,
                   .function = function,
                   .count = function->parameter_count,
                   .facts = facts_of(arena, function)};
    guess.choices = ARENA_ARRAY(arena, GuessChoices, guess.count + 1);
    region_walk(function->body, visit_product, &guess);
    find_levels(&guess);
    return guess;
}

static bool is_stride_of(const Guess *guess, ParameterSet pointers, int stride) {
    for (int p = 0; p < guess->count; p++)
        if (set_has(pointers, p) && set_has(guess->facts[p].strides, stride)) return true;
    return false;
}

/// How often a stride that is far apart goes into the largest size or block, and once more: rows may be longer than it.
static int64_t rows_of_far_stride(const Guess *guess, const PlanConfiguration *configuration) {
    int64_t widest = 0;
    for (int i = 0; i < guess->count && i < configuration->argument_count; i++) {
        const PlanArgument *argument = &configuration->arguments[i];
        bool is_constant =
            argument->kind == ARGUMENT_CONSTANT && argument->constant->kind == CONSTANT_INT;
        int64_t number = argument->kind == ARGUMENT_INTEGER ? argument->integer
                         : is_constant                      ? argument->constant->integer
                                                            : 0;
        if (!is_plain_stride(guess, i) && number > widest && number < LONGEST_ROW) widest = number;
    }
    return 1 + widest / FAR_STRIDE;
}

Spread spec_spread(Arena *arena, const SpecRequest *request, ParameterSet wrong,
                   PlanConfiguration *configuration) {
    Guess guess = guess_new(arena, request);
    guess.is_far = true;
    if (configuration->is_transposed) guess.extra = EXTRA_TRANSPOSED;
    Spread spread = SPREAD_NONE;
    int64_t times = rows_of_far_stride(&guess, configuration);
    for (int i = 0; i < guess.count && i < configuration->argument_count; i++) {
        PlanArgument *argument = &configuration->arguments[i];
        if (argument->block_rank) continue;
        argument->extent = 0;
        argument->rank = 0;
        argument->is_dense = false;
        if (!is_plain_stride(&guess, i)) continue;
        int64_t stride = stride_of(&guess, i);
        if (stride >= FAR_STRIDE) stride *= times;
        if (argument->kind == ARGUMENT_INTEGER && argument->integer > 0) {
            argument->integer = stride;
            argument->dtype = DTYPE_INT64;
        } else if (argument->kind == ARGUMENT_CONSTANT && argument->constant->integer > 0) {
            argument->constant = constant_int(arena, stride);
        } else {
            continue;
        }
        bool is_choice = argument->is_caller_choice && is_stride_of(&guess, wrong, i);
        if (spread != SPREAD_CHOICES) spread = is_choice ? SPREAD_CHOICES : SPREAD_TENSORS;
    }
    note_strides(&guess, configuration);
    return spread;
}

/// Other constexprs where the operations demand it, and sizes that go with those.
static void repair(Guess *guess, const Relations *relations, const PlanConfiguration *fixed,
                   int which, PlanConfiguration *configuration) {
    PlanConfiguration pinned = *fixed;
    pinned.arguments = ARENA_ARRAY(guess->arena, PlanArgument, guess->count + 1);
    memcpy(pinned.arguments, fixed->arguments, sizeof(PlanArgument) * (size_t)guess->count);
    for (int round = 0; round < MOST_REPAIRS; round++) {
        PlanConfiguration before = *configuration;
        before.arguments = ARENA_ARRAY(guess->arena, PlanArgument, guess->count + 1);
        memcpy(before.arguments, configuration->arguments,
               sizeof(PlanArgument) * (size_t)guess->count);
        if (!relations_repair(guess->arena, relations, fixed, configuration)) return;
        for (int i = 0; i < guess->count; i++)
            if (configuration->arguments[i].constant != before.arguments[i].constant)
                pinned.arguments[i] = configuration->arguments[i];
        guess_all(guess, &pinned);
        candidate(guess, &pinned, which, configuration);
    }
}

/// Whether several elements of a tensor are one in memory, which the written module finds out.
static bool is_expanded_tensor(const PlanArgument *argument) {
    if (argument->kind != ARGUMENT_POINTER) return false;
    for (int i = 0; i < argument->rank; i++)
        if (argument->dims[i] > 1 && argument->strides[i] == 0) return true;
    return false;
}

const char *spec_zero_stride(Arena *arena, const SpecRequest *request,
                             const PlanConfiguration *configuration) {
    Guess guess = guess_new(arena, request);
    bool is_expanded = false;
    for (int i = 0; i < configuration->argument_count; i++)
        is_expanded = is_expanded || is_expanded_tensor(&configuration->arguments[i]);
    if (!is_expanded) return NULL;
    for (int i = 0; i < guess.count && i < configuration->argument_count; i++) {
        const PlanArgument *argument = &configuration->arguments[i];
        bool is_zero =
            (argument->kind == ARGUMENT_INTEGER && argument->integer == 0) ||
            (argument->kind == ARGUMENT_CONSTANT && argument->constant->kind == CONSTANT_INT &&
             argument->constant->integer == 0);
        if (is_zero && is_plain_stride(&guess, i)) return guess.function->parameters[i].name;
    }
    return NULL;
}

Configurations spec_guess(Arena *arena, const SpecRequest *request, const PlanConfiguration *fixed,
                          Error *error) {
    Configurations all = {0};
    Guess guess = guess_new(arena, request);
    if (guess.count != fixed->argument_count) {
        *error = "the kernel's parameters are not understood";
        return all;
    }
    const Relations *relations = relations_of(arena, guess.function);
    bool is_alone = fixed->origin == SPEC_KERNEL;
    int extras = is_alone ? EXTRA_COUNT - 1 : 0;
    for (int number = 0; number < MOST_CANDIDATES + extras + MOST_FALLBACKS; number++) {
        int extra = number - MOST_CANDIDATES + 1;
        guess.extra = extra > 0 && extra <= extras ? (Extra)extra : EXTRA_NONE;
        guess.is_even = number >= MOST_CANDIDATES + extras;
        int which = guess.extra ? 0 : guess.is_even ? number - MOST_CANDIDATES - extras : number;
        guess.variation = (uint64_t)which;  // odd candidates have other blocks and inner strides
        guess_all(&guess, fixed);
        for (int i = 0; i < guess.count; i++) {
            if (guess.choices[i].count) continue;
            *error = arena_printf(
                arena,
                "no value is known for `%s`; say it in a comment above the kernel: # tad: %s=...",
                guess.function->parameters[i].name, guess.function->parameters[i].name);
            return all;
        }
        PlanConfiguration configuration;
        if (!candidate(&guess, fixed, which, &configuration) && which != 1) continue;
        repair(&guess, relations, fixed, which, &configuration);
        configuration.is_guess = fixed->origin == SPEC_LAUNCHER || fixed->origin == SPEC_KERNEL;
        configuration.is_fallback = guess.is_even;
        configuration.is_extra = guess.extra != EXTRA_NONE;
        configuration.is_transposed = guess.extra == EXTRA_TRANSPOSED;
        configuration.is_empty = guess.extra == EXTRA_ZERO;
        lengths_fit(guess.facts, &configuration);
        spec_describe(guess.function, guess.facts, &configuration);
        note_strides(&guess, &configuration);
        LIST_PUSH(arena, &all, configuration);
    }
    return all;
}
