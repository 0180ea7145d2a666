// Conditions on the way to a launch: changes the chosen inputs until they hold. A local search over the inputs that a violated
// condition mentions; small, because launchers ask for little: a divisor, a power of two, an upper bound, a flag.
#include "analysis/host.h"

enum { MAX_LEAVES = 12, MAX_CANDIDATES = 96, MAX_ROUNDS = 24 };

void host_require(Host *host, const HostValue *condition, bool want, int weight) {
    if (condition->kind < HOST_INPUT || condition->kind > HOST_OPERATION) return;
    bool both = condition->kind == HOST_OPERATION &&
                condition->operation == (want ? HOST_OP_AND : HOST_OP_OR);
    if (both) {
        host_require(host, condition->items[0], want, weight);
        host_require(host, condition->items[1], want, weight);
        return;
    }
    LIST_PUSH(host->arena, &host->constraints, (HostConstraint){condition, want, weight});
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

typedef struct Search {
    const HostValue *leaves[MAX_LEAVES];
    int leaf_count;
    Constant seen[MAX_CANDIDATES];  // values of the condition's parts: what a leaf may have to be
    int seen_count;
} Search;

static void collect(Search *search, const HostValue *value) {
    if (value->kind >= HOST_INPUT && value->kind <= HOST_IS_NONE) {
        for (int i = 0; i < search->leaf_count; i++) {
            const HostValue *leaf = search->leaves[i];
            if (leaf->kind == value->kind && leaf->input == value->input &&
                leaf->axis == value->axis)
                return;
        }
        if (search->leaf_count < MAX_LEAVES) search->leaves[search->leaf_count++] = value;
    }
    Constant now;
    if (search->seen_count < 16 && host_compute(value, &now))
        search->seen[search->seen_count++] = now;
    for (int i = 0; i < value->count; i++)
        if (value->kind == HOST_OPERATION) collect(search, value->items[i]);
}

static void add_int(Constant *list, int *count, int64_t value) {
    if (value > 0 && value <= 8192 && *count < MAX_CANDIDATES)
        list[(*count)++] = constant_of_int(value);
}

/// Values that `leaf` may take, likely ones first.
static int candidates(const Search *search, const HostValue *leaf, Constant *list) {
    int count = 0;
    const HostInput *input = leaf->input;
    bool integer =
        leaf->kind == HOST_SIZE || (leaf->kind == HOST_INPUT && input->kind == INPUT_INT);
    if (leaf->kind == HOST_IS_NONE || (leaf->kind == HOST_INPUT && input->kind == INPUT_BOOL)) {
        bool now =
            leaf->kind == HOST_IS_NONE ? input->kind == INPUT_NONE : input->constant.integer != 0;
        list[count++] = constant_of_bool(!now);
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
        if (same_kind) list[count++] = value;
        if (leaf->kind == HOST_INPUT && input->kind == INPUT_FLOAT &&
            value.kind != CONSTANT_DTYPE && value.kind != CONSTANT_STRING)
            list[count++] = constant_of_float(value.number);
    }
    if (leaf->kind == HOST_INPUT && input->kind == INPUT_FLOAT)
        for (int i = -2; i <= 2; i++) list[count++] = constant_of_float(0.5 * i);
    if (!integer) return count;
    int64_t now = leaf->kind == HOST_SIZE ? input->dims[leaf->axis] : input->constant.integer;
    for (int64_t delta = 1; delta <= 16; delta++) {
        add_int(list, &count, now + delta);
        add_int(list, &count, now - delta);
    }
    for (int64_t power = 1; power <= 4096; power *= 2) add_int(list, &count, power);
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

/// One change that makes the whole cheaper, or none.
static bool improve(Host *host, const HostConstraint *constraint) {
    Search search = {0};
    collect(&search, constraint->condition);
    int64_t best_cost = total_cost(host);
    int best_leaf = -1;
    Constant best_value = {0};
    for (int i = 0; i < search.leaf_count; i++) {
        const HostValue *leaf = search.leaves[i];
        Constant list[MAX_CANDIDATES + 32];
        int count = candidates(&search, leaf, list);
        HostInput saved = *leaf->input;
        for (int c = 0; c < count; c++) {
            put(leaf, list[c]);
            int64_t cost = total_cost(host);
            *leaf->input = saved;
            if (cost >= best_cost) continue;
            best_cost = cost;
            best_leaf = i;
            best_value = list[c];
        }
    }
    if (best_leaf < 0) return false;
    const HostValue *leaf = search.leaves[best_leaf];
    put(leaf, best_value);
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
