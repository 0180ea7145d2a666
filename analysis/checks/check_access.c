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
    if (!moved || (same_lanes &&
                   (distance == 0 || (extent > 0 && (distance >= extent || -distance >= extent)))))
        return;
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

/// The number that a launch passes for the parameter, as it is written there or bound to a name once. Negative: it is none.
static int64_t number_at_launch(Check *check, const LaunchSite *site, int parameter) {
    enum { MOST_DIGITS = 18 };
    const Source *source = check->kernel->definition->module->source;
    CheckedArguments arguments = arguments_read(check, source, site->launcher, site->call);
    const CheckedArgument *argument =
        arguments.has_splat ? NULL
                            : arguments_find(check->kernel->definition, &arguments, parameter);
    if (!argument || node_is_null(argument->value)) return -1;
    SyntaxNode value = argument->value;
    if (node_kind(value) == SYNTAX_IDENTIFIER && site->launcher) {
        SyntaxNode bound = launcher_binding(site->launcher, node_text(source, value));
        if (!node_is_null(bound)) value = bound;
    }
    Str text = node_text(source, value);
    if (node_kind(value) != SYNTAX_INTEGER || text.size > MOST_DIGITS) return -1;
    int64_t number = 0;
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9') return -1;
        number = 10 * number + (text.data[i] - '0');
    }
    return number;
}

/// Whether all launches of the file pass a number, so small that the largest grid along its axes does not come to 2^31 with it.
static bool is_small_at_launches(Check *check, const Value *size) {
    enum { LARGEST_SIZE = 32768 };
    const Module *module = check->kernel->definition->module;
    bool is_launched = false;
    for (LIST_EACH(int, i, module->launches)) {
        const LaunchSite *site = &module->launches.items[i];
        if (site->kernel != check->kernel->definition) continue;
        int64_t number = number_at_launch(check, site, size->index);
        if (number < 0 || number >= LARGEST_SIZE) return false;
        is_launched = true;
    }
    return is_launched;
}

/// The side of a product in 32 bits that is a program id, where the other is a run-time size; NULL where it is none.
static const Value *overflowing_side(Check *check, const Op *op) {
    if (op->code != OP_MUL || op->results[0]->type.kind != TYPE_NUMBER ||
        op->results[0]->type.element.code != DTYPE_INT32)
        return NULL;
    for (int side = 0; side < 2; side++) {
        Value *size = op->operands[1 - side];
        if (!check_is_parameter(size) || size->type.is_constexpr || size->type.kind != TYPE_NUMBER)
            continue;
        if (check_depends_on_program(check, op->operands[side], -1) &&
            !is_small_at_launches(check, size))
            return op->operands[side];
    }
    return NULL;
}

/// The first product below the pointer that may overflow.
static intptr_t find_overflow(ValueWalk *walk, const Value *value) {
    Check *check = (Check *)(uintptr_t)walk->context;
    if (!value || !value->op) return 0;
    if (overflowing_side(check, value->op)) return (intptr_t)value->op;
    switch (value->op->code) {
    case OP_ADD:
    case OP_SUB:
    case OP_EXPAND_DIMS:
    case OP_BROADCAST_TO:
        for (int i = 0; i < value->op->operand_count; i++) {
            intptr_t found = walk_ask(walk, value->op->operands[i]);
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

static bool number_written(const HostValue *value, int64_t *number) {
    bool is_written = value && value->kind == HOST_CONSTANT && value->constant.kind == CONSTANT_INT;
    if (is_written) *number = value->constant.integer;
    return is_written;
}

/// A launch of the file whose last program multiplies its id to more than 31 bits, by numbers that are written there; or NULL.
static const HostLaunch *reaching_launch(Check *check, const Op *product, const Op *id,
                                         int64_t *programs, int64_t *size) {
    const Value *side = overflowing_side(check, product);
    const Value *factor = product->operands[product->operands[0] == side];
    int64_t axis;
    if (!id || check_strip((Value *)(uintptr_t)side) != id->results[0] ||
        !value_is_int(id->operands[0], &axis) || axis < 0 || axis >= PROGRAM_AXES ||
        check->skips_trials)
        return NULL;
    HostLaunches launches = host_launches(check->arena, check->kernel->definition, check->function);
    for (LIST_EACH(int, i, launches)) {
        const HostLaunch *launch = launches.items[i];
        if (launch->is_reached && axis < launch->grid_rank &&
            factor->index < launch->argument_count &&
            number_written(launch->grid[axis], programs) &&
            number_written(launch->arguments[factor->index].value, size) && *programs > 0 &&
            *size > 0 && *programs - 1 > INT32_MAX / *size)
            return launch;
    }
    return NULL;
}

void check_offsets(Check *check) {
    for (LIST_EACH(int, i, check->memory)) {
        const Value *pointer = check->memory.items[i]->op->operands[0];
        const Op *product = (const Op *)walk_from(pointer, find_overflow, 0, check);
        if (!product) continue;
        const Op *id =
            (const Op *)walk_from(overflowing_side(check, product), find_program_id, 0, NULL);
        Diagnostic *said = check_report(
            check, DIAGNOSTIC_OFFSET_OVERFLOW, id ? id : product,
            id ? "this program id has 32 bits, and so has the offset that it is multiplied to: past "
                 "2^31 elements it becomes negative; cast it with `.to(tl.int64)`"
               : "this product is computed in 32 bits and overflows past 2^31 elements: "
                 "cast the program id with `.to(tl.int64)`");
        int64_t programs, size;
        const HostLaunch *launch = reaching_launch(check, product, id, &programs, &size);
        if (said && launch) {
            said->severity = SEVERITY_WARNING;
            said->message = arena_printf(
                check->diagnostics->arena,
                "this program id has 32 bits, and becomes negative where it is multiplied: a launch "
                "of the file has %lld programs along its axis and passes %lld; cast it with "
                "`.to(tl.int64)`",
                (long long)programs, (long long)size);
            diagnostic_relate(check->diagnostics, said, launch->site->range, "the launch");
        }
        if (id) check_relate(check, said, product, "multiplied here");
        check_relate(check, said, check->memory.items[i]->op, "used as an offset here");
        return;  // once per kernel
    }
}
