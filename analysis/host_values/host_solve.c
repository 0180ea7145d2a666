// Conditions on the way to a launch: changes the chosen inputs until they hold. A local search over the inputs that a violated
// condition mentions; small, because launchers ask for little: a divisor, a power of two, an upper bound, a flag.
#include "analysis/host_values/host_solve.h"

#include "analysis/host_values/host.h"
#include "analysis/host_values/host_input.h"
#include "analysis/host_values/host_value.h"

enum { MAX_ROUNDS = 24 };

void host_require(Host *host, const HostValue *condition, bool want, int weight) {
    if (condition->kind < HOST_INPUT || condition->kind > HOST_OPERATION) return;
    bool both = condition->kind == HOST_OPERATION &&
                condition->operation == (want ? HOST_OP_AND : HOST_OP_OR);
    if (both) {
        host_require(host, condition->items[0], want, weight);
        host_require(host, condition->items[1], want, weight);
        return;
    }
    LIST_PUSH(host->arena, &host->constraints, (HostConstraint){condition, want, weight, false});
}

static bool violated(const HostConstraint *constraint) {
    Constant truth;
    return host_compute(constraint->condition, &truth) &&
           constant_truth(&truth) != constraint->want;
}

static int64_t total_cost(const Host *host) {
    int64_t cost = 0;
    for (int i = 0; i < host->constraints.count; i++)
        if (violated(&host->constraints.items[i])) cost += host->constraints.items[i].weight;
    return cost;
}

bool host_constraints_hold(const Host *host) { return total_cost(host) < HOST_MUST; }

typedef struct SolveSearch {
    const HostValue *leaves[CONDITION_MOST_INPUTS];
    int leaf_count;
    Constant seen
        [CONDITION_MOST_NUMBERS];  // values of the condition's parts: what a leaf may have to be
    int seen_count;
} SolveSearch;

static void collect(SolveSearch *search, const HostValue *value) {
    if (value->kind >= HOST_INPUT && value->kind <= HOST_IS_NONE) {
        for (int i = 0; i < search->leaf_count; i++) {
            const HostValue *leaf = search->leaves[i];
            if (leaf->kind == value->kind && leaf->input == value->input &&
                leaf->axis == value->axis)
                return;
        }
        if (search->leaf_count < CONDITION_MOST_INPUTS)
            search->leaves[search->leaf_count++] = value;
    }
    Constant now;
    if (search->seen_count < CONDITION_MOST_NUMBERS && host_compute(value, &now))
        search->seen[search->seen_count++] = now;
    for (int i = 0; i < value->count; i++)
        if (value->kind == HOST_OPERATION) collect(search, value->items[i]);
}

static void add_candidate(Constant *list, int *count, Constant value) {
    if (*count < CONDITION_MOST_CANDIDATES) list[(*count)++] = value;
}

static void add_int(Constant *list, int *count, int64_t value) {
    if (value > 0 && value <= 8192) add_candidate(list, count, constant_of_int(value));
}

/// Values that `leaf` may take, likely ones first.
static int candidates(const SolveSearch *search, const HostValue *leaf, Constant *list) {
    int count = 0;
    const HostInput *input = leaf->input;
    bool integer =
        leaf->kind == HOST_SIZE || (leaf->kind == HOST_INPUT && input->kind == INPUT_INT);
    if (leaf->kind == HOST_IS_NONE || (leaf->kind == HOST_INPUT && input->kind == INPUT_BOOL)) {
        bool now =
            leaf->kind == HOST_IS_NONE ? input->kind == INPUT_NONE : input->constant.integer != 0;
        add_candidate(list, &count, constant_of_bool(!now));
        return count;
    }
    if (leaf->kind == HOST_RANK) {
        for (int64_t rank = 1; rank <= 6; rank++) add_int(list, &count, rank);
        return count;
    }
    for (int i = 0; i < search->seen_count; i++) {
        Constant value = search->seen[i];
        if (integer && value.kind == CONSTANT_INT) add_int(list, &count, value.integer);
        bool same_kind = (leaf->kind == HOST_DTYPE || input->kind == INPUT_DTYPE)
                             ? value.kind == CONSTANT_DTYPE
                         : input->kind == INPUT_STRING ? value.kind == CONSTANT_STRING
                                                       : false;
        if (same_kind) add_candidate(list, &count, value);
        if (leaf->kind == HOST_INPUT && input->kind == INPUT_FLOAT &&
            value.kind != CONSTANT_DTYPE && value.kind != CONSTANT_STRING)
            add_candidate(list, &count, constant_of_float(value.number));
    }
    if (leaf->kind == HOST_INPUT && input->kind == INPUT_FLOAT)
        for (int i = -2; i <= 2; i++) add_candidate(list, &count, constant_of_float(0.5 * i));
    if (!integer) return count;
    int64_t now = leaf->kind == HOST_SIZE ? input->dims[leaf->axis] : input->constant.integer;
    for (int64_t delta = 1; delta <= 16; delta++) {
        add_int(list, &count, now + delta);
        add_int(list, &count, now - delta);
    }
    // 16 first, which any product takes, and what is nearer to it before what is not
    static const int64_t powers[] = {16, 32, 8, 64, 4, 128, 2, 256, 1, 512, 1024, 2048, 4096};
    for (size_t i = 0; i < sizeof powers / sizeof *powers; i++) add_int(list, &count, powers[i]);
    for (int64_t small = 3; small <= 24; small++) add_int(list, &count, 3 * small);
    return count;
}

static void put(const HostValue *leaf, Constant value) {
    HostInput *input = leaf->input;
    switch (leaf->kind) {
    case HOST_SIZE: input->dims[leaf->axis] = value.integer; break;
    case HOST_RANK: input->rank = (int)value.integer; break;
    case HOST_DTYPE: input->dtype = value.dtype.code; break;
    case HOST_IS_NONE:
        if (value.integer) input->kind_when_given = input->kind;
        input->kind = value.integer ? INPUT_NONE : input->kind_when_given;
        break;
    default:
        if (input->kind == INPUT_DTYPE)
            input->dtype = value.dtype.code;
        else
            input->constant = value;
    }
}

static bool is_same_leaf(const HostValue *a, const HostValue *b) {
    return a->kind == b->kind && a->input == b->input && a->axis == b->axis;
}

static bool is_number_leaf(const HostValue *value) {
    return value->kind == HOST_SIZE ||
           (value->kind == HOST_INPUT && value->input->kind == INPUT_INT);
}

/// Leaves that conditions want to be one number, and that are: changed alone, each would break the condition.
typedef struct TiedLeaves {
    const HostValue *items[CONDITION_MOST_INPUTS];
    HostInput saved[CONDITION_MOST_INPUTS];
    int count;
} TiedLeaves;

static void add_tied(TiedLeaves *tied, const HostValue *leaf) {
    for (int i = 0; i < tied->count; i++)
        if (is_same_leaf(tied->items[i], leaf)) return;
    if (tied->count < CONDITION_MOST_INPUTS) tied->items[tied->count++] = leaf;
}

static void find_tied(const Host *host, const HostValue *leaf, TiedLeaves *tied) {
    tied->items[0] = leaf;
    tied->count = 1;
    for (int k = 0; is_number_leaf(leaf) && k < tied->count; k++) {
        for (int i = 0; i < host->constraints.count; i++) {
            const HostConstraint *constraint = &host->constraints.items[i];
            const HostValue *equal = constraint->condition;
            if (!constraint->want || violated(constraint) || equal->kind != HOST_OPERATION ||
                equal->operation != HOST_OP_EQUAL || !is_number_leaf(equal->items[0]) ||
                !is_number_leaf(equal->items[1]))
                continue;
            for (int side = 0; side < 2; side++)
                if (is_same_leaf(equal->items[side], tied->items[k]))
                    add_tied(tied, equal->items[1 - side]);
        }
    }
}

static void put_all(TiedLeaves *tied, int count, Constant value) {
    for (int i = 0; i < count; i++) tied->saved[i] = *tied->items[i]->input;
    for (int i = 0; i < count; i++) put(tied->items[i], value);
}

static void take_back(const TiedLeaves *tied, int count) {
    while (count-- > 0) *tied->items[count]->input = tied->saved[count];
}

static bool reads(const HostValue *value, const TiedLeaves *tied) {
    for (int i = 0; i < tied->count; i++)
        if (value->input && value->input == tied->items[i]->input) return true;
    for (int i = 0; value->kind == HOST_OPERATION && i < value->count; i++)
        if (reads(value->items[i], tied)) return true;
    return false;
}

/// The cost of the conditions that read one of these leaves, `first` looked at before the others: what a change of them
/// changes of total_cost. What reaches `enough` is not counted further.
static int64_t concerned_cost(const Host *host, const HostConstraint *first, int64_t enough) {
    int64_t cost = first->is_concerned && violated(first) ? first->weight : 0;
    for (int i = 0; i < host->constraints.count && cost < enough; i++) {
        const HostConstraint *constraint = &host->constraints.items[i];
        if (constraint != first && constraint->is_concerned && violated(constraint))
            cost += constraint->weight;
    }
    return cost;
}

static void mark_concerned(Host *host, const TiedLeaves *tied) {
    for (int i = 0; i < host->constraints.count; i++) {
        HostConstraint *constraint = &host->constraints.items[i];
        constraint->is_concerned = reads(constraint->condition, tied);
    }
}

/// One change that makes the whole cheaper, or none.
static bool improve(Host *host, const HostConstraint *constraint) {
    SolveSearch search = {0};
    collect(&search, constraint->condition);
    const int64_t cost_now = total_cost(host);
    int64_t best_cost = cost_now;
    TiedLeaves best = {0};
    Constant best_value = {0};
    for (int i = 0; i < search.leaf_count; i++) {
        Constant list[CONDITION_MOST_CANDIDATES];
        int count = candidates(&search, search.leaves[i], list);
        TiedLeaves tied = {0};
        find_tied(host, search.leaves[i], &tied);
        mark_concerned(host, &tied);
        const int64_t others_cost = cost_now - concerned_cost(host, constraint, INT64_MAX);
        for (int c = 0; c < count && best_cost > others_cost; c++) {
            for (int together = 0; together < (tied.count > 1 ? 2 : 1); together++) {
                int changed = together ? tied.count : 1;
                put_all(&tied, changed, list[c]);
                int64_t cost = others_cost;
                cost += concerned_cost(host, constraint, best_cost - others_cost);
                take_back(&tied, changed);
                if (cost >= best_cost) continue;
                best_cost = cost;
                best = tied;
                best.count = changed;
                best_value = list[c];
            }
        }
    }
    if (!best.count) return false;
    put_all(&best, best.count, best_value);
    const HostValue *leaf = best.items[0];
    if (leaf->kind == HOST_RANK) {
        int rank = leaf->input->rank;
        leaf->input->rank = -1;  // so that its sizes are chosen anew
        host_set_rank(host, leaf->input, rank);
    }
    return true;
}

bool host_solve(Host *host) {
    bool changed = false;
    for (int round = 0; round < MAX_ROUNDS; round++) {
        bool improved = false;
        for (int i = 0; i < host->constraints.count && !improved; i++)
            if (violated(&host->constraints.items[i]))
                improved = improve(host, &host->constraints.items[i]);
        if (!improved) break;
        changed = true;
    }
    return changed;
}

// --- grids of very many programs ----------------------------------------------------------------------------------------

/// Fewer programs than that are run as they are.
enum { MANY_PROGRAMS = 200 };

/// Leaves of the grid: those that are factors of it, and those that are part of anything else.
typedef struct GridLeaves {
    const HostValue *factors[CONDITION_MOST_INPUTS], *others[CONDITION_MOST_INPUTS];
    int factor_count, other_count;
} GridLeaves;

static void add_leaf(const HostValue **leaves, int *count, const HostValue *leaf) {
    for (int i = 0; i < *count; i++)
        if (is_same_leaf(leaves[i], leaf)) return;
    if (*count < CONDITION_MOST_INPUTS) leaves[(*count)++] = leaf;
}

static void count_leaves(GridLeaves *counts, const HostValue *value, bool is_factor) {
    if (is_number_leaf(value)) {
        if (is_factor)
            add_leaf(counts->factors, &counts->factor_count, value);
        else
            add_leaf(counts->others, &counts->other_count, value);
    }
    bool is_product = value->kind == HOST_OPERATION && value->operation == HOST_OP_MULTIPLY;
    if (is_product && !is_factor)
        return;  // a number of tiles that is divided walks no size by itself
    for (int i = 0; value->kind == HOST_OPERATION && i < value->count; i++)
        count_leaves(counts, value->items[i], is_factor && is_product);
}

static int64_t number_of_leaf(const HostValue *leaf) {
    return leaf->kind == HOST_SIZE ? leaf->input->dims[leaf->axis] : leaf->input->constant.integer;
}

/// The leaf that divides one of these, by a condition (`heads % groups == 0`); NULL: there is none.
static const HostValue *divisor_of(const Host *host, const TiedLeaves *tied) {
    for (int i = 0; i < host->constraints.count; i++) {
        const HostValue *equal = host->constraints.items[i].condition;
        if (!host->constraints.items[i].want || equal->kind != HOST_OPERATION ||
            equal->operation != HOST_OP_EQUAL)
            continue;
        const HostValue *rest = equal->items[0];
        if (rest->kind != HOST_OPERATION || rest->operation != HOST_OP_MODULO) continue;
        for (int k = 0; k < tied->count; k++)
            if (is_same_leaf(tied->items[k], rest->items[0]) && is_number_leaf(rest->items[1]))
                return rest->items[1];
    }
    return NULL;
}

/// A small number for a leaf and what is tied to it, and for what divides it, if conditions have nothing against it.
static bool count_one_less(Host *host, const HostValue *leaf) {
    static const int64_t few[][2] = {{3, 0}, {2, 0}, {4, 0}, {6, 0},
                                     {8, 0}, {6, 3}, {4, 2}, {3, 3}};
    TiedLeaves tied = {0}, below = {0};
    int64_t cost = total_cost(host);
    find_tied(host, leaf, &tied);
    const HostValue *divisor = divisor_of(host, &tied);
    if (divisor) find_tied(host, divisor, &below);
    for (size_t i = 0; i < sizeof few / sizeof *few; i++) {
        bool divides = few[i][1] > 0;
        if (few[i][0] >= number_of_leaf(leaf) || (divides && !divisor)) continue;
        put_all(&tied, tied.count, constant_of_int(few[i][0]));
        if (divides) put_all(&below, below.count, constant_of_int(few[i][1]));
        if (total_cost(host) <= cost) return true;
        if (divides) take_back(&below, below.count);
        take_back(&tied, tied.count);
    }
    return false;
}

bool host_count_less(Host *host) {
    const HostLaunch *launch = host->launch;
    GridLeaves counts = {0};
    int64_t programs = 1;
    for (int i = 0; i < launch->grid_rank; i++) {
        int64_t along = 1;
        if (!launch->grid[i] || !host_int(launch->grid[i], &along)) return false;
        programs = along > 0 && programs <= MANY_PROGRAMS ? programs * along : programs;
        count_leaves(&counts, launch->grid[i], true);
    }
    if (programs <= MANY_PROGRAMS) return false;
    for (int i = 0; i < launch->argument_count; i++) {
        bool is_length = i < host->uses.count && host->uses.items[i].is_length;
        if (is_length && launch->arguments[i].value)
            count_leaves(&counts, launch->arguments[i].value, false);
    }
    bool is_changed = false;
    for (int i = 0; i < counts.factor_count; i++) {
        bool is_other = false;
        for (int k = 0; k < counts.other_count; k++)
            is_other = is_other || is_same_leaf(counts.factors[i], counts.others[k]);
        if (!is_other && count_one_less(host, counts.factors[i])) is_changed = true;
    }
    return is_changed;
}
