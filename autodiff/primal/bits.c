// The bits of a float in whole numbers: followed bit by bit, so that the index in the lower half of a sort key is an index, and
// refused where a float is made of them again. A whole number that a float was rounded to is none: it only selects.
#include "autodiff/primal/bits.h"
#include "autodiff/primal/activity.h"

#include <string.h>

static const uint64_t ALL_BITS = ~(uint64_t)0;
enum {
    MOST_STEPS = 256,  // through an offset's terms; what has more may be a float
    MOST_BIT_STEPS =
        16  // from bits to the float that they are of; what is further is taken for its fraction, too
};

uint64_t bits_of_value(const Differentiation *state, const Value *value) {
    return value ? (uint64_t)(uintptr_t)map_get_pointer(&state->activity.bits, value) : 0;
}

bool bits_add(Differentiation *state, const Value *value, uint64_t bits) {
    uint64_t known = bits_of_value(state, value);
    if (!(bits & ~known)) return false;
    map_set_pointer(&state->activity.bits, value, (void *)(uintptr_t)(known | bits));
    return true;
}

static bool is_whole_within(const Value *value, int *steps) {
    if (value->type.kind != TYPE_NUMBER || ++*steps > MOST_STEPS) return false;
    DTypeClass class = dtype_class(value->type.element);
    if (class != CLASS_UNKNOWN || value->type.element.code == DTYPE_ANY_INT)
        return class != CLASS_FLOAT;
    if (value->type.is_constexpr) return true;
    const Op *op = value->op;
    if (!op || op->region_count || (op_rows[op->code].effects & EFFECT_READS)) return false;
    for (int i = 0; i < op->operand_count; i++) {
        const Value *operand = op->operands[i];
        bool is_number = operand && operand->type.kind == TYPE_NUMBER;
        if (is_number && !is_whole_within(operand, steps)) return false;
    }
    return true;
}

/// Whether a value is no float. What comes of whole numbers and constexprs alone is whole.
static bool is_whole(const Value *value) {
    int steps = 0;
    return is_whole_within(value, &steps);
}

/// The bits that a whole number has.
static uint64_t width_of(const Value *value) {
    int bits =
        value->type.element.code > DTYPE_OF_PARAMETER ? dtype_bits(value->type.element.code) : 64;
    return bits > 0 && bits < 64 ? ((uint64_t)1 << bits) - 1 : ALL_BITS;
}

static bool is_unsigned(const Value *value) {
    DTypeCode code = value->type.element.code;
    return code == DTYPE_UINT8 || code == DTYPE_UINT16 || code == DTYPE_UINT32 ||
           code == DTYPE_UINT64 || code == DTYPE_INT1;
}

/// What a carry may reach: the lowest of the bits and all above.
static uint64_t carried(uint64_t bits) { return bits ? ~((bits & (~bits + 1)) - 1) : 0; }

static uint64_t bits_below(uint64_t bits) {
    for (int shift = 1; shift < 64; shift *= 2) bits |= bits >> shift;
    return bits;
}

/// n of a constant 2 ** n, else -1.
static int power_of_two(const Value *value) {
    int64_t number;
    if (!value_is_int(value, &number) || number < 1 || (number & (number - 1))) return -1;
    int power = 0;
    while (number >> (power + 1)) power++;
    return power;
}

/// How many bits of a whole number are the fraction of the float that its bits are of, at most: 16 are those of two types. 0: it is none, or
/// not known.
static int fraction_of(const Value *value) {
    int64_t number;
    for (int depth = 0; value && value->op && depth < MOST_BIT_STEPS; depth++) {
        const Op *op = value->op;
        switch (op->code) {
        case OP_BITCAST: {
            const DType from = op->operands[0]->type.element;
            const int bits = dtype_bits(value->type.element.code);
            bool is_float = dtype_is_float(from) || from.code == DTYPE_OF_PARAMETER;
            if (!is_float || value->type.element.code <= DTYPE_OF_PARAMETER) return 0;
            return bits == 64 ? 52 : bits == 32 ? 23 : bits == 16 ? 10 : 0;
        }
        case OP_CAST: value = op->operands[0]; break;
        case OP_ADD:  // a carry of the fraction counts the exponent up from one fraction on
        case OP_SUB:
            if (!value_is_int(op->operands[1], &number)) return 0;
            value = op->operands[0];
            break;
        default: return 0;
        }
    }
    return 0;
}

/// Whether sign and exponent alone are left: they are the same for all floats between two powers of two, as what `tl.floor` gives is
/// between two whole numbers.
static bool is_exponent(const Op *op) {
    if (op->code != OP_SHR && op->code != OP_FLOORDIV && op->code != OP_AND) return false;
    const int fraction = fraction_of(op->operands[0]);
    int64_t number;
    if (!fraction || !value_is_int(op->operands[1], &number)) return false;
    switch (op->code) {
    case OP_SHR: return number >= fraction;
    case OP_FLOORDIV: return power_of_two(op->operands[1]) >= fraction;
    case OP_AND: return !((uint64_t)number & (((uint64_t)1 << fraction) - 1));
    default: return false;
    }
}

static uint64_t bits_of_shift(const Op *op, uint64_t bits) {
    int64_t by;
    bool is_known = value_is_int(op->operands[1], &by) && by >= 0 && by < 64;
    if (op->code == OP_SHL) return is_known ? bits << by : carried(bits);
    const Value *value = op->operands[0];
    uint64_t width = width_of(value), sign = width & ~(width >> 1);
    bool keeps_sign = !is_unsigned(value) && (bits & sign);
    if (keeps_sign) bits |= ~width;
    return is_known ? (bits >> by) | (keeps_sign ? carried(sign >> by) : 0) : bits_below(bits);
}

static uint64_t bits_of_cast(const Op *op, uint64_t bits) {
    const Value *value = op->operands[0];
    uint64_t width = width_of(value), sign = width & ~(width >> 1);
    bool keeps_sign = !is_unsigned(value) && (bits & sign);
    return keeps_sign ? bits | ~width : bits;
}

static uint64_t bits_of_quotient(const Op *op, uint64_t bits) {
    int power = power_of_two(op->operands[1]);
    if (power < 0) return ALL_BITS;
    return op->code == OP_FLOORDIV ? bits >> power : bits & (((uint64_t)1 << power) - 1);
}

static uint64_t bits_of_product(const Op *op, uint64_t bits) {
    int left = power_of_two(op->operands[0]), right = power_of_two(op->operands[1]);
    int power = left > right ? left : right;
    return power < 0 ? carried(bits) : bits << power;
}

static uint64_t bits_of_and(const Differentiation *state, const Op *op) {
    uint64_t bits = ALL_BITS, all = 0;
    for (int i = 0; i < 2; i++) {
        int64_t mask;
        if (value_is_int(op->operands[i], &mask)) bits &= (uint64_t)mask;
        all |= bits_of_value(state, op->operands[i]);
    }
    return bits & all;
}

/// What the bits of the operands make of the bits of a whole number, whatever its width. An operation whose row
/// does not say so may put any bit anywhere.
static uint64_t bits_of_result(const Differentiation *state, const Op *op, int result) {
    uint64_t all = 0;
    for (int i = 0; i < op->operand_count; i++) all |= bits_of_value(state, op->operands[i]);
    if (!all || is_exponent(op)) return 0;
    switch (op->code) {
    case OP_MAX:
    case OP_MIN: return result == 0 ? all : 0;
    case OP_WHERE:
        return bits_of_value(state, op->operands[1]) | bits_of_value(state, op->operands[2]);
    case OP_GATHER: return bits_of_value(state, op->operands[0]);
    case OP_AND: return bits_of_and(state, op);
    case OP_SHL:
    case OP_SHR: return bits_of_shift(op, all);
    case OP_FLOORDIV:
    case OP_MOD: return bits_of_quotient(op, all);
    case OP_MUL: return bits_of_product(op, all);
    case OP_CAST: return bits_of_cast(op, all);
    default: break;
    }
    switch (op_rows[op->code].bits) {
    case BITS_NONE: return 0;
    case BITS_STAY: return all;
    case BITS_CARRY: return carried(all);
    case BITS_ANYWHERE: break;
    }
    return ALL_BITS;
}

static bool any_active_operand(const Differentiation *state, const Op *op) {
    for (int i = 0; i < op->operand_count; i++)
        if (value_is_active(state, op->operands[i])) return true;
    return false;
}

/// What reads a float's bits instead of its number.
static bool reads_bits(const Differentiation *state, const Op *op) {
    return op_rows[op->code].gradient_unsupported && any_active_operand(state, op);
}

/// Whether `asked` is the element type that `value` has, whatever the caller passes.
static bool is_type_of(const Value *asked, const Value *value) {
    const DType own = value->type.element;
    const Value *other =
        asked && asked->op && asked->op->code == OP_DTYPE_OF ? asked->op->operands[0] : NULL;
    if (other == value) return true;
    if (value->type.kind != TYPE_NUMBER || own.code != DTYPE_OF_PARAMETER) return false;
    if (other) return other->type.kind == TYPE_NUMBER && dtype_equal(other->type.element, own);
    const Constant *type = asked ? asked->constant : NULL;
    return type && type->kind == CONSTANT_DTYPE && !type->is_pointer &&
           dtype_equal(type->dtype, own);
}

/// Whether the condition is `value.dtype == INTEGER`, or `!=` where `holds` is false.
static bool says_integer(const Value *condition, bool holds, const Value *value) {
    const Op *op = condition->op;
    if (!op || op->code != (holds ? OP_EQ : OP_NE)) return false;
    for (int side = 0; side < 2; side++) {
        const Constant *type = op->operands[1 - side] ? op->operands[1 - side]->constant : NULL;
        bool is_integer = type && type->kind == CONSTANT_DTYPE && !type->is_pointer &&
                          type->dtype.code > DTYPE_OF_PARAMETER && dtype_is_integer(type->dtype);
        if (is_integer && is_type_of(op->operands[side], value)) return true;
    }
    return false;
}

bool bitcast_is_of_integers(const Op *op) {
    if (op->code != OP_BITCAST) return false;
    for (const Region *region = op->parent; region && region->parent;
         region = region->parent->parent) {
        const Op *owner = region->parent;
        if (owner->code == OP_IF &&
            says_integer(owner->operands[0], region == owner->regions[0], op->operands[0]))
            return true;
    }
    return false;
}

bool pointer_is_cast(const Value *pointer) {
    for (int depth = 0; pointer && pointer->op && depth < 1000; depth++) {
        const Op *op = pointer->op;
        const Value *next = NULL;
        for (int i = 0; i < op->operand_count && !next; i++)
            if (op->operands[i] && op->operands[i]->type.kind == TYPE_POINTER)
                next = op->operands[i];
        bool is_cast = (op->code == OP_CAST || op->code == OP_BITCAST) && next;
        if (is_cast && !dtype_equal(pointer->type.element, next->type.element)) return true;
        pointer = next;
    }
    return false;
}

/// The pointer whose contents an access is about: a parameter.
static const Value *contents_of(const Op *op) {
    const Value *root = op->operand_count ? pointer_root(op->operands[0]) : NULL;
    return root && !root->op ? root : NULL;
}

/// A whole number that is loaded: of a float's memory, or of where such bits were stored.
static uint64_t bits_of_load(const Differentiation *state, const Op *op) {
    const Value *root = contents_of(op);
    uint64_t other = op->operand_count > 2 ? bits_of_value(state, op->operands[2]) : 0;
    if (root && map_has_pointer(&state->buffers.gradients, root)) return ALL_BITS;
    return other | bits_of_value(state, root);
}

static bool follow_store(Differentiation *state, const Op *op) {
    const Value *root = contents_of(op);
    if (!root) return false;
    uint64_t bits = 0;
    for (int i = 1; i < op->operand_count; i++) bits |= bits_of_value(state, op->operands[i]);
    return bits_add(state, root, bits);
}

bool bits_follow(Differentiation *state, const Op *op) {
    int effects = op_rows[op->code].effects;
    bool changes = false;
    if (effects & (EFFECT_WRITES | EFFECT_ATOMIC)) changes = follow_store(state, op);
    bool loads = effects & EFFECT_READS;
    for (int i = 0; i < op->result_count; i++) {
        const Value *result = op->results[i];
        bool is_tuple = result->type.kind == TYPE_TUPLE;
        if (!is_whole(result) && !is_tuple) continue;
        uint64_t bits = loads && !is_tuple      ? bits_of_load(state, op)
                        : reads_bits(state, op) ? ALL_BITS
                                                : bits_of_result(state, op, i);
        changes |= bits_add(state, result, is_tuple ? bits : bits & width_of(result));
    }
    return changes;
}

bool op_makes_float_of_bits(const Differentiation *state, const Op *op) {
    bool gives_float = false;
    for (int i = 0; i < op->result_count; i++)
        gives_float |= op->results[i]->type.kind == TYPE_NUMBER && !is_whole(op->results[i]);
    bool selects =
        op_rows[op->code].gradient_none || (op_rows[op->code].effects & EFFECT_READS) != 0;
    if (!gives_float || selects) return false;
    for (int i = 0; i < op->operand_count; i++) {
        bool picks = (op->code == OP_WHERE && i == 0) || (op->code == OP_GATHER && i == 1);
        if (!picks && bits_of_value(state, op->operands[i])) return true;
    }
    return false;
}

static const char *name_of(const Differentiation *state, const Op *op) {
    const Value *root = pointer_root(op->operands[0]);
    return root ? parameter_of_root(state, root)->name : "memory";
}

/// The element type that `x.view(torch.int32)` or `x.view(dtype)` at the beginning of a text names; `*rest`: what follows.
static bool names_type(Str text, Str *argument, Str *rest) {
    static const char view[] = ".view(";
    if (!str_starts(text, view)) return false;
    size_t start = sizeof view - 1, stop = start;
    while (stop < text.size && !strchr(",()", text.data[stop])) stop++;
    *argument = str_trim((Str){text.data + start, stop - start});
    size_t skip = stop < text.size ? stop + 1 : stop;
    *rest = (Str){text.data + skip, text.size - skip};
    return str_starts(*argument, "torch.") || str_ends(*argument, "dtype");
}

static bool is_in_launch(const FunctionDefinition *kernel, uint32_t place) {
    const Module *module = kernel->module;
    for (LIST_EACH(int, i, module->launches)) {
        const LaunchSite *site = &module->launches.items[i];
        if (site->kernel == kernel && site->range.start <= place && place < site->range.end)
            return true;
    }
    return false;
}

/// Whether host code takes whole numbers in memory for floats, or lets this kernel do so.
static bool host_views_bits(const FunctionDefinition *kernel) {
    if (!kernel) return false;
    const Str text = kernel->module->source->text;
    for (size_t at = 0; at < text.size; at++) {
        Str argument, rest;
        if (text.data[at] != '.' ||
            !names_type((Str){text.data + at, text.size - at}, &argument, &rest))
            continue;
        bool is_whole = str_starts(argument, "torch.int") || str_starts(argument, "torch.uint");
        bool is_alias = rest.size == 0 || rest.data[0] == '\n';
        if (!is_whole || is_alias || is_in_launch(kernel, (uint32_t)at)) return true;
    }
    return false;
}

typedef struct BitStores {
    Differentiation *state;
    bool are_floats;  // whole numbers in memory may be floats to the host
    const Op *found;  // the first store of bits
} BitStores;

static bool visit_store(void *context, Op *op) {
    BitStores *stores = context;
    Differentiation *state = stores->state;
    bool writes = op_rows[op->code].effects & (EFFECT_WRITES | EFFECT_ATOMIC);
    if (!writes || op->operand_count < 2 || !op->operands[1]) return true;
    const Value *stored = op->operands[1];
    bool has_bits = bits_of_value(state, stored) != 0;
    if (has_bits && !stores->found) stores->found = op;
    if (pointer_is_cast(op->operands[0]) && (has_bits || value_is_active(state, stored)))
        adjoint_fail(state, DIAGNOSTIC_GRADIENT_UNSUPPORTED_OPERATION, op->range,
                     "this stores to `%s` through a pointer of another element type, so a gradient "
                     "cannot be read there: let the launcher pass a tensor of that type",
                     name_of(state, op));
    else if (has_bits && !is_whole(stored))
        adjoint_fail(state, DIAGNOSTIC_GRADIENT_UNSUPPORTED_OPERATION, op->range,
                     "the bits of a float may be stored to `%s` as a float: work with the number "
                     "instead of its bits",
                     name_of(state, op));
    else if (has_bits && stores->are_floats)
        adjoint_fail(
            state, DIAGNOSTIC_GRADIENT_UNSUPPORTED_OPERATION, op->range,
            "the bits of a float are stored to `%s` as a whole number, and a launcher here "
            "reads such memory as another type: bits have no gradient, store the float",
            name_of(state, op));
    return !state->failed;
}

void bits_refuse_stores(Differentiation *state) {
    BitStores stores = {.state = state};
    stores.are_floats =
        state->activity.bits.count > 0 && host_views_bits(state->primal->definition);
    region_walk(state->primal->body, visit_store, &stores);
}

bool function_stores_bits(Arena *arena, Function *function) {
    Differentiation state = differentiation_new(arena);
    state.primal = function;
    for (int i = 0; i < function->parameter_count; i++)
        if (parameter_points_to_float(&function->parameters[i]))
            map_set_pointer(&state.buffers.gradients, function->parameters[i].value, function);
    activity_mark(&state);
    BitStores stores = {.state = &state};
    region_walk(function->body, visit_store, &stores);
    return stores.found != NULL;
}
