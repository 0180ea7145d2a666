// Memory traffic that is wasted or fragile: repeated and unused loads, strided lanes, stores that overwrite each other.
#include "analysis/checks/check.h"
#include "analysis/checks/check_arguments.h"
#include "analysis/host/launch.h"
#include "analysis/ir/walk.h"
#include "analysis/syntax/syntax_nodes.h"

enum { MAX_PAIRS_SIDE = 400 };

static bool same_offset(const Access *a, const Access *b) {
    if (!a->offset.known || !b->offset.known || a->offset.rank != b->offset.rank ||
        a->offset.wrap_count != b->offset.wrap_count)
        return false;
    for (int i = 0; i < a->offset.rank; i++)
        if (!poly_equal(a->offset.lane[i], b->offset.lane[i])) return false;
    for (int i = 0; i < a->offset.wrap_count; i++)
        if (a->offset.wraps[i].value != b->offset.wraps[i].value) return false;
    return poly_equal(a->offset.base, b->offset.base);
}

/// Whether `first` is certainly carried out before `second`, in the same iteration of every loop.
static bool dominates(const Op *first, const Op *second) {
    for (const Op *op = second; op; op = op->parent->parent) {
        if (op->parent != first->parent) continue;
        for (const Op *next = first->next; next; next = next->next)
            if (next == op) return true;
        return false;
    }
    return false;
}

static bool is_volatile(const Op *op) {
    bool on;
    Value *flag = check_operand(op, "volatile");
    return flag && (!value_is_bool(flag, &on) || on);
}

static bool same_tile(const Access *a, const Access *b) {
    Type x = a->op->results[0]->type;
    Type y = b->op->results[0]->type;
    if (x.rank != y.rank) return false;
    for (int i = 0; i < x.rank; i++)
        if (!poly_equal(x.dims[i], y.dims[i])) return false;
    return true;
}

/// Whether lanes that the mask leaves out hold the same; in the later load they may hold anything without `other`.
static bool same_other(const Op *earlier, const Op *later) {
    const Value *first = check_operand(earlier, "other"), *second = check_operand(later, "other");
    if (!second || first == second) return true;
    bool known = false;
    return first && first->constant && second->constant &&
           constant_equal(first->constant, second->constant, &known) && known;
}

static void check_repeated(Check *check, int second) {
    const Access *later = check->memory.items[second];
    for (int i = 0; i < second; i++) {
        const Access *earlier = check->memory.items[i];
        if (earlier->op->code != OP_LOAD || earlier->parameter != later->parameter) continue;
        if (earlier->mask != later->mask || !same_tile(earlier, later) ||
            !same_offset(earlier, later) || !same_other(earlier->op, later->op))
            continue;
        if (!dominates(earlier->op, later->op) || is_volatile(earlier->op)) continue;
        Diagnostic *said = check_report(
            check, DIAGNOSTIC_REPEATED_LOAD, later->op,
            "the same elements of %s were loaded before: keep the value", later->parameter->name);
        check_relate(check, said, earlier->op, "loaded here");
        return;
    }
}

void check_redundant_memory(Check *check) {
    // What a helper returns is its caller's.
    const FunctionDefinition *definition = check->kernel->definition;
    bool sees_all_uses = function_is_understood(check->function) && !definition->returns_value &&
                         !node_has_error(definition->node);
    for (LIST_EACH(int, i, check->memory)) {
        const Access *access = check->memory.items[i];
        if (access->op->code != OP_LOAD || is_volatile(access->op)) continue;
        if (sees_all_uses && !check_uses(check, access->op->results[0])->list.count)
            check_report(check, DIAGNOSTIC_UNUSED_LOAD, access->op,
                         "the loaded value is never used");
        bool tile = type_is_tile(access->op->results[0]->type);
        if (tile && access->parameter && check->memory.count < MAX_PAIRS_SIDE &&
            !check_is_stored(check, access->parameter))
            check_repeated(check, i);
    }
}

/* ---- strided lanes ---- */

static bool same_lanes(const Access *a, const Access *b) {
    if (!a->offset.known || !b->offset.known || a->offset.rank != b->offset.rank) return false;
    for (int i = 0; i < a->offset.rank; i++)
        if (!poly_equal(a->offset.lane[i], b->offset.lane[i])) return false;
    return true;
}

/// Whether other accesses take the elements in between (pairs, small structs): then the transaction is used after all.
static bool fills_gaps(Check *check, const Access *access, int64_t stride) {
    int64_t count = 0;
    for (LIST_EACH(int, i, check->memory)) {
        const Access *other = check->memory.items[i];
        count += other->parameter == access->parameter && other->op->code == access->op->code &&
                 same_lanes(access, other);
    }
    return count >= stride;
}

static void check_coalescing(Check *check, const Access *access) {
    int64_t smallest = 0;
    if (!access->offset.known || access->op->operands[0]->type.rank == 0) return;
    for (int i = 0; i < access->offset.rank; i++) {
        int64_t stride, dim;
        if (!poly_is_constant(access->offset.lane[i], &stride)) return;
        const Poly *size =
            i < access->op->operands[0]->type.rank ? access->op->operands[0]->type.dims[i] : NULL;
        if (stride == 0 || (size && poly_is_constant(size, &dim) && dim == 1)) continue;
        if (stride < 0) stride = -stride;
        if (!smallest || stride < smallest) smallest = stride;
    }
    if (smallest < 2 || fills_gaps(check, access, smallest)) return;
    check_report(
        check, DIAGNOSTIC_UNCOALESCED_ACCESS, access->op,
        "neighbouring lanes are %lld elements apart: only one in %lld elements of each memory transaction is used",
        (long long)smallest, (long long)smallest);
}

/* ---- stores that overwrite each other ---- */

static bool loop_reads(Check *check, const Op *loop, const Value *parameter) {
    for (LIST_EACH(int, i, check->memory)) {
        const Access *access = check->memory.items[i];
        bool reads = (op_rows[access->op->code].effects & EFFECT_READS) != 0;
        if (reads && (!access->parameter || access->parameter == parameter) &&
            region_defines(loop->regions[0], access->op->results[0]))
            return true;
    }
    return false;
}

static void check_overwritten(Check *check, const Access *access) {
    const Op *loop = access->op->parent->parent;
    if (!loop || loop->code != OP_FOR || !access->parameter || !access->offset.known) return;
    const Value *variable = loop->regions[0]->arguments[0];
    if (!loop_invariant(loop, access->op->operands[0])) return;
    if (access->mask && !loop_invariant(loop, access->mask)) return;
    Value *value = check_operand(access->op, "value");
    if (!value || loop_invariant(loop, value) || loop_reads(check, loop, access->parameter)) return;
    (void)variable;
    Diagnostic *said = check_report(
        check, DIAGNOSTIC_STORE_OVERWRITTEN, access->op,
        "each iteration of the loop stores to the same address of %s: only the last one stays",
        access->parameter->name);
    check_relate(check, said, loop, "the loop");
}

/* ---- reading back what other threads wrote ---- */

static bool barrier_between(const Op *store, const Op *load) {
    for (const Op *op = store->next; op && op != load; op = op->next)
        if (op->code == OP_DEBUG_BARRIER || (op_rows[op->code].effects & EFFECT_ATOMIC))
            return true;
    return false;
}

typedef struct SpreadSearch {
    const Value *value;
    bool found;
} SpreadSearch;

static bool visit_spread(void *context, Op *op) {
    SpreadSearch *spread = context;
    if (op->code != OP_EXPAND_DIMS || !op->operands[0]) return true;
    const Value *value = op->operands[0];
    while (value->op && value->op->code == OP_CAST) value = value->op->operands[0];
    spread->found |= value == spread->value;
    return !spread->found;
}

/// Whether other threads need a loaded lane than those that store it: a number, which all of them need, or a row that is spread over a tile
/// (measured on an H200: an accumulator scaled by `s[:, None]`, stored and loaded in front of that, came out wrong).
static bool is_spread(Check *check, const Op *load) {
    SpreadSearch spread = {.value = load->results[0]};
    if (load->operands[0]->type.rank == 0) return true;
    region_walk(check->function->body, visit_spread, &spread);
    return spread.found;
}

static void check_read_back(Check *check, const Access *store, const Access *load) {
    int64_t distance;
    if (store->op->parent != load->op->parent || !dominates(store->op, load->op)) return;
    if (!store->offset.known || !load->offset.known || store->offset.rank != load->offset.rank)
        return;
    if (barrier_between(store->op, load->op)) return;
    const Poly *shift = poly_subtract(check->arena, load->offset.base, store->offset.base);
    bool same_lanes = true;
    for (int i = 0; i < store->offset.rank; i++)
        same_lanes &= poly_equal(store->offset.lane[i], load->offset.lane[i]);
    bool moved = poly_is_constant(shift, &distance);
    int64_t extent = check_element_count(store->op->operands[0]->type);
    bool is_apart = extent > 0 && (distance >= extent || -distance >= extent);
    if (!moved || (same_lanes && distance && is_apart)) return;
    if (same_lanes && !distance && !is_spread(check, load->op)) return;
    Diagnostic *said = check_report(
        check, DIAGNOSTIC_LOAD_AFTER_STORE, load->op,
        "other threads of the program may not have stored to %s yet: `tl.debug_barrier()` in between",
        load->parameter->name);
    check_relate(check, said, store->op, "stored here");
}

void check_access_patterns(Check *check) {
    for (LIST_EACH(int, i, check->memory)) {
        const Access *access = check->memory.items[i];
        if (access->op->operands[0]->type.kind != TYPE_POINTER) continue;
        check_coalescing(check, access);
        if (access->op->code == OP_STORE) check_overwritten(check, access);
        for (int k = 0; k < i && k < MAX_PAIRS_SIDE; k++) {
            const Access *before = check->memory.items[k];
            if (access->op->code == OP_LOAD && before->op->code == OP_STORE && access->parameter &&
                before->parameter == access->parameter)
                check_read_back(check, before, access);
        }
    }
}

/* ---- 32-bit offsets ---- */

/// A product that goes into an address, and a launch of the file at which it does not fit into 32 bits.
typedef struct Overflow {
    Check *check;
    const HostLaunch *launch;
    const Op *product;
    int64_t reached;  // by the product, at that launch
} Overflow;

static int64_t number_written(const HostValue *value) {
    bool is_written = value && value->kind == HOST_CONSTANT && value->constant.kind == CONSTANT_INT;
    return is_written && value->constant.integer >= 0 ? value->constant.integer : -1;
}

static int64_t sum_of(int64_t a, int64_t b) {
    return a < 0 || b < 0 || a > INT64_MAX - b ? -1 : a + b;
}

static int64_t product_of(int64_t a, int64_t b) {
    return a < 0 || b < 0 || (b && a > INT64_MAX / b) ? -1 : a * b;
}

/// The largest that a number is in the lanes and programs of a launch, made of program ids, ranges and numbers that the launch passes; -1
/// where something else goes into it, or it may be negative.
static int64_t most_at(const HostLaunch *launch, const Value *value, int depth) {
    enum { MOST_DEPTH = 24 };
    int64_t number;
    if (!value || depth > MOST_DEPTH) return -1;
    if (value_is_int(value, &number)) return number < 0 ? -1 : number;
    if (check_is_parameter(value))
        return value->index < launch->argument_count
                   ? number_written(launch->arguments[value->index].value)
                   : -1;
    const Op *op = value->op;
    if (!op || !op->operand_count) return -1;
    switch (op->code) {
    case OP_PROGRAM_ID: {
        bool is_axis =
            value_is_int(op->operands[0], &number) && number >= 0 && number < launch->grid_rank;
        int64_t programs = is_axis ? number_written(launch->grid[number]) : -1;
        return programs > 0 ? programs - 1 : -1;
    }
    case OP_ARANGE: {
        int64_t end = most_at(launch, op->operands[1], depth + 1);
        return end > 0 ? end - 1 : -1;
    }
    case OP_ADD:
        return sum_of(most_at(launch, op->operands[0], depth + 1),
                      most_at(launch, op->operands[1], depth + 1));
    case OP_MUL:
        return product_of(most_at(launch, op->operands[0], depth + 1),
                          most_at(launch, op->operands[1], depth + 1));
    case OP_CAST:
    case OP_EXPAND_DIMS:
    case OP_BROADCAST_TO: return most_at(launch, op->operands[0], depth + 1);
    default: return -1;
    }
}

/// The first product below the pointer that leaves 32 bits.
static intptr_t find_overflow(ValueWalk *walk, const Value *value) {
    Overflow *overflow = (Overflow *)(uintptr_t)walk->context;
    const Op *op = value ? value->op : NULL;
    if (!op) return 0;
    if (op->code == OP_MUL && value->type.kind == TYPE_NUMBER &&
        value->type.element.code == DTYPE_INT32) {
        int64_t reached = most_at(overflow->launch, value, 0);
        if (reached > INT32_MAX) {
            overflow->reached = reached;
            return (intptr_t)op;
        }
    }
    switch (op->code) {
    case OP_ADD:
    case OP_SUB:
    case OP_EXPAND_DIMS:
    case OP_BROADCAST_TO:
        for (int i = 0; i < op->operand_count; i++) {
            intptr_t found = walk_ask(walk, op->operands[i]);
            if (found) return found;
        }
        return 0;
    default: return 0;
    }
}

/// The program id that a number is computed from; 0 where memory or a loop lies between.
static intptr_t find_program_id(ValueWalk *walk, const Value *value) {
    const Op *op = value ? value->op : NULL;
    if (!op || op->region_count || op_is_access(op)) return 0;
    if (op->code == OP_PROGRAM_ID) return (intptr_t)op;
    for (int i = 0; i < op->operand_count; i++) {
        intptr_t found = walk_ask(walk, op->operands[i]);
        if (found) return found;
    }
    return 0;
}

static void tell_overflow(const Overflow *overflow, const Op *access) {
    Check *check = overflow->check;
    const Op *product = overflow->product,
             *id = (const Op *)walk_from(product->results[0], find_program_id, 0, NULL);
    Diagnostic *said = check_report(
        check, DIAGNOSTIC_OFFSET_OVERFLOW, id ? id : product,
        "%s 32 bits, and an offset comes to %lld at a launch of the file: past 2^31 - 1 it becomes "
        "negative; cast %s with `.to(tl.int64)`",
        id ? "this program id has" : "this product is computed in", (long long)overflow->reached,
        id ? "it" : "a factor");
    if (id) check_relate(check, said, product, "multiplied here");
    check_relate(check, said, access, "used as an offset here");
    if (said && overflow->launch->site->range.source == said->range.source)
        diagnostic_relate(check->diagnostics, said, overflow->launch->site->range, "the launch");
}

/// Once in a kernel, by the sizes that a launch of the file has; where nobody says these, nothing is said.
void check_offsets(Check *check) {
    if (check->skips_trials || check->memory.count == 0) return;
    HostLaunches launches = host_launches(check->arena, check->kernel->definition, check->function);
    for (LIST_EACH(int, k, launches)) {
        Overflow overflow = {.check = check, .launch = launches.items[k]};
        for (int i = 0; overflow.launch->is_reached && i < check->memory.count; i++) {
            const Op *access = check->memory.items[i]->op;
            overflow.product =
                (const Op *)walk_from(access->operands[0], find_overflow, 0, &overflow);
            if (!overflow.product) continue;
            tell_overflow(&overflow, access);
            return;
        }
    }
}
