// One function of the interpreter has the helper's body, and behind it what the rule gives: its arguments are tiles of random numbers.
#include "gpu-runner/rules/alone.h"

#include <math.h>

#include "analysis/lowering/rule.h"

static const double DUALS_AGREE = 1e-7, DIFFERENCES_AGREE = 1e-4, STEP = 1e-5;
static const double ROUNDING = 1e-14 / 1e-5;  // of a difference, by the step
/// Of all elements so many have to be finite for a verdict, one in so many.
enum { LEAST_FINITE = 8, GRID = 1 << 20 };

struct RuleAlone {
    Arena *arena;
    const RuleCall *call;
    Function *function;
    Value *result;
    Value **gradients;  // per parameter of the helper; NULL: none
    Interp *interp;
    VirtualMemory *memory;
    bool reads_programs;
};

/// What the arguments of one run are moved by.
typedef struct RuleMove {
    bool has_tangents, is_first_lane;
    double step;
} RuleMove;

static bool visit_programs(void *context, Op *op) {
    bool *found = context;
    *found |= op->code == OP_PROGRAM_ID || op->code == OP_NUM_PROGRAMS;
    return true;
}

static bool is_argument(const Value *value) {
    return value && !value->constant && value->type.kind == TYPE_NUMBER;
}

/// The gradients that the rule gives; false where it does not lower.
static bool lower_gradients(RuleAlone *alone, Builder *builder, NamedValue *names, int count) {
    const FunctionDefinition *helper = alone->call->helper;
    const GivenRule *rule = alone->call->rule;
    Diagnostic fault = {0};
    Value **values = lower_given_rule(builder, rule, names, count, &fault);
    alone->gradients = ARENA_ARRAY(alone->arena, Value *, helper->parameter_count + 1);
    for (LIST_EACH(int, i, rule->parameters)) {
        if (!values || !values[i] || value_is_none(values[i])) continue;
        for (int k = 0; k < helper->parameter_count; k++)
            if (str_equal(helper->parameters[k].name, rule->parameters.items[i]))
                alone->gradients[k] = values[i];
    }
    return values != NULL;
}

RuleAlone *rule_alone_new(Arena *arena, const RuleCall *call, Budget *budget) {
    const FunctionDefinition *helper = call->helper;
    int count = helper->parameter_count;
    RuleAlone *alone = ARENA_NEW(arena, RuleAlone);
    *alone = (RuleAlone){.arena = arena, .call = call};
    alone->function = function_new(arena, "the rule");
    Builder builder = {.function = alone->function,
                       .region = alone->function->body,
                       .range = call->rule->expressions};
    Value **values = ARENA_ARRAY(arena, Value *, count + 1);
    NamedValue *names = ARENA_ARRAY(arena, NamedValue, count + 2);
    for (int i = 0; i < count; i++) {
        names[i].name = str_dup(arena, helper->parameters[i].name);
        bool is_tile = is_argument(call->values[i]);
        if (!is_tile && !call->values[i]->constant) return NULL;
        values[i] =
            is_tile ? function_add_parameter(alone->function, names[i].name, call->values[i]->type)
                    : build_constant(&builder, *call->values[i]->constant);
        names[i].value = values[i];
    }
    names[count] =
        (NamedValue){"grad", function_add_parameter(alone->function, "grad", call->result)};
    alone->result = lower_helper(&builder, helper, values);
    if (!alone->result) return NULL;
    names[count + 1] = (NamedValue){"result", alone->result};
    if (!lower_gradients(alone, &builder, names, count + 2)) return NULL;
    region_walk(alone->function->body, visit_programs, &alone->reads_programs);
    alone->interp = interp_new(arena, &(InterpOptions){.budget = budget});
    alone->memory = memory_new(arena);
    return alone;
}

static bool same_regions(const Region *a, const Region *b) {
    const Op *one = a->first, *other = b->first;
    for (; one && other; one = one->next, other = other->next) {
        if (one->code != other->code || one->region_count != other->region_count) return false;
        const Constant *constant = one->result_count ? one->results[0]->constant : NULL;
        const Constant *second = other->result_count ? other->results[0]->constant : NULL;
        bool is_known = true;
        if (!constant != !second) return false;
        if (constant && (!constant_equal(constant, second, &is_known) || !is_known)) return false;
        for (int i = 0; i < one->region_count; i++)
            if (!same_regions(one->regions[i], other->regions[i])) return false;
    }
    return !one && !other;
}

bool rule_alone_is_same(const RuleAlone *a, const RuleAlone *b) {
    return a && b && same_regions(a->function->body, b->function->body);
}

bool rule_alone_reads_programs(const RuleAlone *alone) { return alone->reads_programs; }

/* ---- one run ---- */

/// In [0, 1), of which an end never comes.
static double random_at(uint64_t seed, int argument, int64_t lane) {
    uint64_t bits = hash_mix(hash_mix(seed + (uint64_t)argument) + (uint64_t)lane + 1);
    return ((double)(bits >> 11) + 0.5) * 0x1p-53;
}

static double along_at(uint64_t seed, int argument, int64_t lane) {
    return 2 * random_at(seed + 7919, argument, lane) - 1;
}

static Tile *argument_tile(RuleAlone *alone, const Type *type, const RuleNumbers *numbers,
                           int argument, RuleMove move) {
    int64_t dims[TYPE_MAX_RANK];
    for (int i = 0; i < type->rank; i++)
        if (!poly_is_constant(type->dims[i], &dims[i])) return NULL;
    TilePool *pool = &alone->interp->pool;
    Tile *tile = tile_new(pool, TILE_NUMBER, type->element.code, type->rank, dims);
    bool is_bool = type->element.code == DTYPE_INT1;
    for (int64_t i = 0; i < tile->count; i++) {
        int64_t lane = numbers->is_one ? numbers->lane : i;
        double random = random_at(numbers->seed, argument, lane);
        if (!tile->number) {
            double span = is_bool ? 2 : (double)(numbers->to - numbers->from);
            int64_t low = is_bool ? 0 : numbers->from;
            tile->integer[i] = wrap_integer(low + (int64_t)(random * span), tile->dtype);
            continue;
        }
        double along = along_at(numbers->seed, argument, lane);
        tile->number[i] = numbers->low + random * (numbers->high - numbers->low);
        tile->number[i] += along * move.step;
        if (move.has_tangents && (!move.is_first_lane || (i == 0 && type->rank > 0)))
            tile_need_tangent(pool, tile)[i] = along;
    }
    return tile;
}

static Tile *upstream_tile(RuleAlone *alone, const RuleNumbers *numbers) {
    RuleNumbers own = *numbers;
    own.low = -numbers->upstream;
    own.high = numbers->upstream;
    Type type = alone->call->result;
    type.element = dtype_of(DTYPE_FLOAT32);
    return argument_tile(alone, &type, &own, 1000, (RuleMove){0});
}

/// Runs helper and rule once; their tiles stay until the next run.
static bool run(RuleAlone *alone, const RuleNumbers *numbers, RuleMove move) {
    const FunctionDefinition *helper = alone->call->helper;
    Tile **tiles = ARENA_ARRAY(alone->arena, Tile *, helper->parameter_count + 1);
    int count = 0;
    bool is_known = true;
    for (int i = 0; i < helper->parameter_count; i++)
        if (is_argument(alone->call->values[i]))
            tiles[count++] = argument_tile(alone, &alone->call->values[i]->type, numbers, i, move);
    tiles[count++] = upstream_tile(alone, numbers);
    for (int i = 0; i < count; i++) is_known &= tiles[i] != NULL;
    if (!is_known) return false;
    const int64_t grid[3] = {GRID, GRID, GRID};
    interp_begin(alone->interp, alone->memory, alone->function, tiles, grid);
    bool runs = interp_program(alone->interp, numbers->program) == NULL;
    for (int i = 0; i < count; i++) tile_release(&alone->interp->pool, tiles[i]);
    return runs;
}

static double tangent_of(const Tile *tile, int64_t at) {
    return tile->tangent ? tile->tangent[at] : 0;
}

/// Whether an element of the result depends on those of its own place alone.
static bool is_elementwise(RuleAlone *alone, const RuleNumbers *numbers) {
    RuleMove move = {.has_tangents = true, .is_first_lane = true};
    if (!run(alone, numbers, move)) return false;
    const Tile *result = interp_value(alone->interp, alone->result);
    for (int64_t i = 1; i < result->count; i++)
        if (tangent_of(result, i) != 0) return false;
    return true;
}

/// What the derivative is to be, and how large the terms are that it is made of.
typedef struct RuleTerms {
    double *expected, *actual, *size;  // per element of the result
    double noise;                      // of differences: the rounding of the largest value
    int64_t count;
    bool is_apart;  // each element has its own gradient
} RuleTerms;

static bool has_shape(const Tile *tile, const Tile *other) {
    bool same = tile->rank == other->rank;
    for (int i = 0; same && i < tile->rank; i++) same = tile->dims[i] == other->dims[i];
    return same;
}

/// <gradient, direction> of one argument. Where its gradient has not the result's shape, all of it stands at the first element.
static bool add_gradient(RuleAlone *alone, const RuleNumbers *numbers, int argument,
                         const Tile *result, RuleTerms *terms) {
    TilePool *pool = &alone->interp->pool;
    const Type *type = &alone->call->values[argument]->type;
    Tile *gradient = interp_value(alone->interp, alone->gradients[argument]);
    if (!gradient || gradient->kind != TILE_NUMBER) return false;
    Tile *moved = argument_tile(alone, type, numbers, argument, (RuleMove){.has_tangents = true});
    int rank = result->rank;
    int64_t dims[TYPE_MAX_RANK];
    for (int i = 0; i < rank; i++) dims[i] = result->dims[i];
    bool is_of_argument =
        !has_shape(gradient, result) && (gradient->rank == 0 || has_shape(gradient, moved));
    if (is_of_argument) {
        rank = moved->rank;
        for (int i = 0; i < rank; i++) dims[i] = moved->dims[i];
    }
    int64_t common[TYPE_MAX_RANK];
    int common_rank = rank;
    for (int i = 0; i < rank; i++) common[i] = dims[i];
    bool fits = shapes_broadcast(&common_rank, common, gradient) &&
                shapes_broadcast(&common_rank, common, moved) && common_rank == rank;
    if (fits) {
        Tile *wide = tile_broadcast(pool, gradient, rank, dims);
        Tile *along = tile_broadcast(pool, moved, rank, dims);
        bool is_apart = has_shape(wide, result);
        terms->is_apart &= is_apart;
        for (int64_t i = 0; i < wide->count; i++) {
            double term = tile_number_at(wide, i) * tangent_of(along, i);
            terms->actual[is_apart ? i : 0] += term;
            terms->size[is_apart ? i : 0] += fabs(term);
        }
        tile_release(pool, wide);
        tile_release(pool, along);
    }
    tile_release(pool, moved);
    return fits;
}

/// The slope of each element of the result, times its upstream gradient; false where nothing runs.
static bool expect(RuleAlone *alone, const RuleNumbers *numbers, bool by_differences,
                   RuleTerms *terms) {
    RuleMove move = {.has_tangents = true};
    if (!run(alone, numbers, move)) return false;
    const Tile *result = interp_value(alone->interp, alone->result);
    int64_t count = result->count;
    double *above = ARENA_ARRAY(alone->arena, double, count + 1);
    *terms = (RuleTerms){.expected = ARENA_ARRAY(alone->arena, double, count + 1),
                         .actual = ARENA_ARRAY(alone->arena, double, count + 1),
                         .size = ARENA_ARRAY(alone->arena, double, count + 1),
                         .count = count,
                         .is_apart = true};
    for (int64_t i = 0; i < count; i++) {
        bool is_finite = isfinite(tile_number_at(result, i));
        terms->expected[i] = is_finite ? tangent_of(result, i) : NAN;
    }
    for (int sign = 1; by_differences && sign >= -1; sign -= 2) {
        if (!run(alone, numbers, (RuleMove){.step = sign * STEP})) return false;
        result = interp_value(alone->interp, alone->result);
        for (int64_t i = 0; i < count; i++)
            if (sign > 0)
                above[i] = tile_number_at(result, i);
            else
                terms->expected[i] = (above[i] - tile_number_at(result, i)) / (2 * STEP);
        for (int64_t i = 0; i < count; i++)
            if (isfinite(tile_number_at(result, i)))
                terms->noise = fmax(terms->noise, fabs(tile_number_at(result, i)) * ROUNDING);
    }
    Tile *upstream = upstream_tile(alone, numbers);
    for (int64_t i = 0; upstream && i < count; i++) {
        terms->expected[i] *= upstream->number[i];
        terms->size[i] = fabs(terms->expected[i]);
    }
    terms->noise *= numbers->upstream;
    if (upstream) tile_release(&alone->interp->pool, upstream);
    return upstream && run(alone, numbers, move);
}

static bool agrees(const RuleTerms *terms, int64_t at, double tolerance, double scale) {
    double error = fabs(terms->expected[at] - terms->actual[at]);
    return error <= tolerance * fmax(terms->size[at], scale) + terms->noise;
}

RuleVerdict rule_alone_try(RuleAlone *alone, const RuleNumbers *numbers, bool by_differences,
                           RuleFault *fault) {
    bool is_elementwise_helper = is_elementwise(alone, numbers);
    RuleTerms terms;
    if (!expect(alone, numbers, by_differences, &terms)) return RULE_OPEN;
    const Tile *result = interp_value(alone->interp, alone->result);
    for (int i = 0; i < alone->call->helper->parameter_count; i++)
        if (is_argument(alone->call->values[i]) && alone->gradients[i] &&
            dtype_code_is_float(alone->call->values[i]->type.element.code) &&
            !add_gradient(alone, numbers, i, result, &terms))
            return RULE_OPEN;
    bool is_apart = terms.is_apart && is_elementwise_helper;
    int64_t finite = 0, count = terms.count;
    for (int64_t i = 0; i < count; i++) {
        bool is_finite = isfinite(terms.expected[i]);
        finite += is_finite;
        if (is_finite || !is_apart) continue;
        terms.expected[i] = terms.actual[i] = terms.size[i] = 0;
    }
    if (finite * LEAST_FINITE < count) return RULE_OPEN;
    for (int64_t i = 1; i < count && !is_apart; i++) {
        terms.expected[0] += terms.expected[i];
        terms.actual[0] += terms.actual[i];
        terms.size[0] += terms.size[i];
    }
    if (!isfinite(terms.expected[0])) return RULE_OPEN;
    double tolerance = by_differences ? DIFFERENCES_AGREE : DUALS_AGREE;
    // a derivative that passes 0 is as exact there as beside it
    double sum = 0;
    for (int64_t i = 0; i < count; i++) sum += terms.size[i];
    double scale = 1e-3 * sum / (double)count;
    for (int64_t i = 0; i < (is_apart ? count : 1); i++) {
        if (agrees(&terms, i, tolerance, scale)) continue;
        *fault = (RuleFault){terms.expected[i], terms.actual[i], is_apart, i};
        return RULE_DIFFERS;
    }
    return RULE_AGREES;
}
