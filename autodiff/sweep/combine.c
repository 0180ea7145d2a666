// A combine function in, what it computes out: numbers are put into its region, whatever it is written like.
#include "autodiff/sweep/combine.h"

#include <math.h>

enum { PROBES = 8, OPS_MAX = 200 };

/// One number for each value of a combine function's region.
typedef struct Probe {
    Map values;  // Value -> double *
    Arena *arena;
    bool failed;
} Probe;

static double probe_value(Probe *probe, const Value *value) {
    double number;
    if (value_is_number(value, &number)) return number;
    const double *known = map_get_pointer(&probe->values, value);
    if (!known) probe->failed = true;
    return known ? *known : 0;
}

static void probe_set(Probe *probe, const Value *value, double number) {
    double *copy = ARENA_NEW(probe->arena, double);
    *copy = number;
    map_set_pointer(&probe->values, value, copy);
}

static double probe_op(Probe *probe, const Op *op) {
    double x[3] = {0};
    for (int i = 0; i < op->operand_count && i < 3; i++)
        if (op->operands[i] && op->operands[i]->type.kind == TYPE_NUMBER)
            x[i] = probe_value(probe, op->operands[i]);
    double value = 0;
    if (op_value(op->code, x[0], x[1], x[2], &value)) return value;
    switch (op->code) {
    case OP_EQ: return !(x[0] < x[1]) && !(x[0] > x[1]);
    case OP_NE: return x[0] < x[1] || x[0] > x[1];
    case OP_LT: return x[0] < x[1];
    case OP_LE: return x[0] <= x[1];
    case OP_GT: return x[0] > x[1];
    case OP_GE: return x[0] >= x[1];
    case OP_AND: return (double)((int64_t)x[0] & (int64_t)x[1]);
    case OP_OR: return (double)((int64_t)x[0] | (int64_t)x[1]);
    case OP_XOR: return (double)((int64_t)x[0] ^ (int64_t)x[1]);
    case OP_LOGICAL_AND: return x[0] != 0 && x[1] != 0;
    case OP_LOGICAL_OR: return x[0] != 0 || x[1] != 0;
    case OP_LOGICAL_NOT: return x[0] == 0;
    case OP_CAST: return x[0];
    default: probe->failed = true; return 0;
    }
}

bool combine_run(Arena *arena, const Region *region, const double *arguments, double *results) {
    Probe probe = {.values = map_new(arena), .arena = arena};
    for (int i = 0; i < region->argument_count; i++)
        probe_set(&probe, region->arguments[i], arguments[i]);
    const Op *yield = region_terminator(region);
    int count = 0;
    if (yield && yield->operand_count > COMBINE_MOST_VALUES)
        return false;  // no room for its results
    for (const Op *op = region->first; op && op != yield && !probe.failed; op = op->next) {
        if (op->result_count != 1 || op->region_count || ++count > OPS_MAX) return false;
        if (op->code == OP_CONSTANT) continue;
        probe_set(&probe, op->results[0], probe_op(&probe, op));
    }
    for (int i = 0; yield && i < yield->operand_count; i++)
        results[i] = probe_value(&probe, yield->operands[i]);
    return yield && !probe.failed;
}

bool combine_is_close(double a, double b) { return fabs(a - b) <= 1e-9 * (fabs(a) + fabs(b) + 1); }

double combine_number(uint64_t *state, double low, double width) {
    if (!*state) *state = 88172645463325252u;
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return low + (double)(*state % 100003) / 100003.0 * width;
}

static bool reach_add(CombineReach *reach, double number) {
    const double least = 1e-3, most = 1e6;
    double size = fabs(number);
    if (!(size >= least && size <= most)) return true;
    for (int i = 0; i < reach->count; i++)
        if (reach->items[i] == size) return true;
    if (reach->count == COMBINE_MOST_CONSTANTS) return false;
    reach->items[reach->count++] = size;
    return true;
}

bool combine_reach(const Region *region, CombineReach *reach) {
    *reach = (CombineReach){.items = {1}, .count = 1};
    double number;
    for (const Op *op = region->first; op; op = op->next)
        for (int i = 0; i < op->operand_count; i++)
            if (op->operands[i] && value_is_number(op->operands[i], &number) &&
                !reach_add(reach, number))
                return false;
    return true;
}

static const double bases[] = {2.718281828459045, 2.0};
enum { BASES = 2 };

static bool is_log_of_sum(Arena *arena, const Region *region, double base) {
    CombineReach reach;
    if (!combine_reach(region, &reach)) return false;
    uint64_t state = 0;
    for (int probe = 0; probe < PROBES * reach.count; probe++) {
        double x[2], result[COMBINE_MOST_VALUES] = {0}, far = reach.items[probe / PROBES];
        for (int i = 0; i < 2; i++) x[i] = far * combine_number(&state, -4.0, 8.0);
        double most = fmax(x[0], x[1]);
        double sum = most + log(pow(base, x[0] - most) + pow(base, x[1] - most)) / log(base);
        if (!combine_run(arena, region, x, result)) return false;
        bool overflows = far > 1 && !isfinite(result[0]);  // written without the maximum
        if (!overflows && !combine_is_close(result[0], sum)) return false;
    }
    return true;
}

bool combine_adds_exponentials(Arena *arena, const Region *region, double *base) {
    if (region->argument_count != 2) return false;
    for (int i = 0; i < BASES; i++)
        if (is_log_of_sum(arena, region, *base = bases[i])) return true;
    return false;
}

static bool is_softmax_merge(Arena *arena, const Region *region, int maximum, double base) {
    CombineReach reach;
    if (!combine_reach(region, &reach)) return false;
    uint64_t state = 0;
    for (int probe = 0; probe < PROBES * reach.count; probe++) {
        double x[4], result[COMBINE_MOST_VALUES] = {0}, far = reach.items[probe / PROBES];
        for (int i = 0; i < 4; i++)
            x[i] = far * (i % 2 == maximum ? combine_number(&state, -4.0, 8.0)
                                           : combine_number(&state, 0.1, 3.0));
        double a = x[maximum], b = x[2 + maximum], most = fmax(a, b);
        double sum = x[1 - maximum] * pow(base, a - most) + x[3 - maximum] * pow(base, b - most);
        if (!combine_run(arena, region, x, result) || !combine_is_close(result[maximum], most) ||
            !combine_is_close(result[1 - maximum], sum))
            return false;
    }
    return true;
}

bool combine_merges_softmax(Arena *arena, const Region *region, int *maximum, double *base) {
    if (region->argument_count != 4) return false;
    for (*maximum = 0; *maximum < 2; ++*maximum)
        for (int i = 0; i < BASES; i++)
            if (is_softmax_merge(arena, region, *maximum, *base = bases[i])) return true;
    return false;
}

bool combine_selects(Arena *arena, const Region *region) {
    enum { MEETINGS = 64, NUMBERS = 3 };  // so few that values often tie
    int count = region->argument_count / 2;
    if (count < 1 || count > COMBINE_MOST_VALUES) return false;
    CombineReach reach;
    if (!combine_reach(region, &reach)) return false;
    uint64_t state = 0;
    for (int probe = 0; probe < MEETINGS * reach.count; probe++) {
        double x[2 * COMBINE_MOST_VALUES], result[COMBINE_MOST_VALUES] = {0},
                                           far = reach.items[probe / MEETINGS];
        for (int i = 0; i < 2 * count; i++)
            x[i] = ceil(far) * floor(combine_number(&state, -1.0, NUMBERS));
        if (!combine_run(arena, region, x, result)) return false;
        bool is_one[2] = {true, true};
        for (int i = 0; i < count; i++)
            for (int side = 0; side < 2; side++)
                is_one[side] = is_one[side] && combine_is_close(result[i], x[side * count + i]);
        if (!is_one[0] && !is_one[1]) return false;
    }
    return true;
}

bool combine_sums_before(Arena *arena, const Region *region, int *sum) {
    CombineReach reach;
    if (region->argument_count != 4 || !combine_reach(region, &reach)) return false;
    for (*sum = 0; *sum < 2; ++*sum) {
        uint64_t state = 0;
        bool fits = true;
        for (int probe = 0; probe < PROBES * reach.count && fits; probe++) {
            double x[4], result[COMBINE_MOST_VALUES] = {0}, far = reach.items[probe / PROBES];
            for (int i = 0; i < 4; i++) x[i] = far * combine_number(&state, -2.0, 4.0);
            double before = x[*sum] + x[1 - *sum] + x[2 + *sum];
            fits = combine_run(arena, region, x, result) &&
                   combine_is_close(result[*sum], before) &&
                   combine_is_close(result[1 - *sum], x[3 - *sum]);
        }
        if (fits) return true;
    }
    return false;
}
