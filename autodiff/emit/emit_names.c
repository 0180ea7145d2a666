// Texts for values: the user's own, and where there are none, nouns from the operation and from the tensor that it is about.
#include "autodiff/emit/emit_names.h"
#include "autodiff/state/names.h"

#include <ctype.h>
#include <string.h>

#include "autodiff/addresses/place.h"
#include "autodiff/rewrite/rewrite.h"

static bool is_keyword(const char *name) {
    static const char *const words[] = {
        "and",   "as",     "assert", "break",  "class",     "continue", "def",      "del",
        "elif",  "else",   "except", "False",  "finally",   "for",      "from",     "global",
        "if",    "import", "in",     "is",     "lambda",    "None",     "nonlocal", "not",
        "or",    "pass",   "raise",  "return", "True",      "try",      "while",    "with",
        "yield", "tl",     "triton", "torch",  "libdevice", "range",    "float",    "min",
        "max",   "print",  "len"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i], name) == 0) return true;
    return false;
}

/// Triton keeps the variable of a `for` after its loop. In a later loop it may be assigned again, but not change its type.
static bool is_of_another_loop(const Emitter *emitter, const char *name, const Value *value) {
    const Value *counter = map_get(&emitter->counters, str_from(name));
    return counter && !(value && type_equal(counter->type, value->type));
}

/// `hint_1`, or with the first number that is free. How many are taken is kept under what is no name: of thousands of `t` each
/// would try them all.
static const char *numbered(Emitter *emitter, const Value *value, const char *hint) {
    Str key = str_from(arena_printf(emitter->arena, "%s#", hint));
    intptr_t taken = (intptr_t)map_get(emitter->names, key), number = taken;
    const char *name;
    bool is_taken;
    do {
        name = arena_printf(emitter->arena, "%s_%lld", hint, (long long)++number);
        is_taken = map_has(emitter->names, str_from(name));
        if (is_taken && number == taken + 1) taken = number;
    } while (is_taken || is_keyword(name) || is_of_another_loop(emitter, name, value));
    map_set(emitter->names, key, (void *)taken);
    return name;
}

const char *name_new(Emitter *emitter, const Value *value, const char *hint) {
    if (!hint || !*hint) hint = "t";
    if (strcmp(hint, "_") == 0 && value && map_has_pointer(&emitter->uses, value))
        hint = "iteration";
    const char *name = hint;
    if (map_has(emitter->names, str_from(name)) || is_keyword(name) ||
        is_of_another_loop(emitter, name, value))
        name = numbered(emitter, value, hint);
    map_set(emitter->names, str_from(name), NULL);
    return name;
}

const char *name_again(Emitter *emitter, const Value *value, const Op *op, const char *hint) {
    const char *name = map_get_pointer(&emitter->promised, value);
    if (!name && emitter->lifetimes && hint && *hint) {
        const Value *holder = map_get(emitter->names, str_from(hint));
        if (holder && !is_of_another_loop(emitter, hint, value) &&
            lifetimes_let_reuse(emitter->lifetimes, holder, value, op))
            name = hint;
    }
    if (!name) name = name_new(emitter, value, hint);
    map_set(emitter->names, str_from(name), (void *)(uintptr_t)value);
    return name;
}

/* ---- hints ---- */

/// The tensor that an address points into, in lower case and without `_ptr`; NULL where that is chosen at run time.
static const char *tensor_name(Emitter *emitter, const Value *pointer) {
    for (int depth = 0; pointer->op && depth < 100; depth++) {
        if (pointer->op->operand_count == 0 || pointer->op->region_count) return NULL;
        pointer = pointer->op->operands[0];
        if (!pointer || pointer->type.kind != TYPE_POINTER) return NULL;
    }
    if (pointer->op || !pointer->name || !pointer->name[0]) return NULL;
    return name_of_tensor(emitter->arena, pointer->name);
}

/// What a value is read for.
typedef struct Purpose {
    const Value *address;   // that it is added to, or that a load or store masked by it has
    const Value *multiple;  // that it is a factor of
    bool is_bound;          // of a loop
} Purpose;

static Purpose purpose_of(const Emitter *emitter, const Value *value) {
    Purpose purpose = {0};
    const OpList *readers = value_readers(&emitter->readers, value);
    for (int i = 0; i < readers->count && !purpose.address; i++) {
        const Op *op = readers->items[i];
        bool adds = op->code == OP_ADD && op->results[0]->type.kind == TYPE_POINTER;
        if (adds && op->operands[1] == value) purpose.address = op->results[0];
        if (access_mask(op) == value) purpose.address = op->operands[0];
        if (op->code == OP_FOR && op->operands[1] == value) purpose.is_bound = true;
        if (op->code == OP_MUL && !purpose.multiple) purpose.multiple = op->results[0];
    }
    return purpose;
}

static const char *purpose_name(Emitter *emitter, const Value *address, const char *noun) {
    const char *tensor = address ? tensor_name(emitter, address) : NULL;
    return tensor ? arena_printf(emitter->arena, "%s_%s", tensor, noun) : NULL;
}

static const char *offset_name(Emitter *emitter, const Op *op) {
    Purpose purpose = purpose_of(emitter, op->results[0]);
    if (purpose.is_bound) return "trips";
    const char *noun = op->results[0]->type.rank ? "offsets" : "offset", *name = NULL;
    if (purpose.address)
        name = purpose_name(emitter, purpose.address, noun);
    else if (purpose.multiple)
        name = purpose_name(emitter, purpose_of(emitter, purpose.multiple).address, "step");
    return name ? name : noun;
}

static const char *mask_name(Emitter *emitter, const Op *op) {
    const char *name = purpose_name(emitter, purpose_of(emitter, op->results[0]).address, "mask");
    return name ? name : "inside";
}

static const char *named(const Value *value) {
    return value && value->name && value->name[0] && !value->constant ? value->name : NULL;
}

/// A name that it was given here, without the number that told it from others; NULL where that says nothing.
static const char *given_name(const Emitter *emitter, const Value *value) {
    const EmittedText *text = map_get_pointer(&emitter->texts, value);
    if (!text || text->precedence != PRECEDENCE_ATOM || strpbrk(text->text, "(.[ \"'-"))
        return NULL;
    size_t size = strlen(text->text), end = size;
    while (end > 0 && isdigit((unsigned char)text->text[end - 1])) end--;
    if (end == 0) return NULL;
    if (end < size && text->text[end - 1] == '_') size = end - 1;
    return size > 1 ? arena_strndup(emitter->arena, text->text, size) : NULL;
}

/// What a value is called, or what it is another shape, type or sign of.
static const char *called(const Emitter *emitter, const Value *value) {
    for (int depth = 0; value && !value->constant && depth < 8; depth++) {
        const char *name = named(value) ? named(value) : given_name(emitter, value);
        if (name) return name;
        OpCode code = value->op ? value->op->code : OP_UNKNOWN;
        bool is_same = code == OP_CAST || code == OP_NEG || op_has(code, TRAIT_ORDERED);
        if (!is_same) return NULL;
        value = value->op->operands[0];
    }
    return NULL;
}

static bool is_divisor(const Emitter *emitter, const Value *value) {
    const OpList *readers = value_readers(&emitter->readers, value);
    for (int i = 0; i < readers->count; i++)
        if (readers->items[i]->code == OP_DIV && readers->items[i]->operands[1] == value)
            return true;
    return false;
}

/// `sigmoid_x` for tl.sigmoid(x), `rsqrt` for that of an expression.
static const char *function_name(Emitter *emitter, const Op *op) {
    const char *name = op_rows[op->code].name;
    if (!name) return NULL;
    const char *dot = strrchr(name, '.');
    if (dot) name = dot + 1;
    return named(op->operands[0])
               ? arena_printf(emitter->arena, "%s_%s", name, named(op->operands[0]))
               : name;
}

/// The name of the only value that is computed from this one, which it is then a first step to.
static const char *next_name(const Emitter *emitter, const Op *op) {
    const OpList *readers = value_readers(&emitter->readers, op->results[0]);
    const Op *user = readers->count == 1 ? readers->items[0] : NULL;
    if (!user || user->parent != op->parent || user->result_count != 1 || user->region_count ||
        !op_is_pure(user))
        return NULL;
    return named(user->results[0]);
}

static const char *with_tail(Emitter *emitter, const Value *of, const char *tail) {
    const char *name = called(emitter, of);
    return name ? arena_printf(emitter->arena, "%s_%s", name, tail) : NULL;
}

static const char *product_name(Emitter *emitter, const Op *op) {
    const Value *x = op->operands[0], *y = op->operands[1];
    if (named(x) && x->type.rank && !y->type.rank) return with_tail(emitter, x, "scaled");
    if (named(y) && y->type.rank && !x->type.rank) return with_tail(emitter, y, "scaled");
    return "product";
}

/// `q_bounded` for tl.maximum(q, eps).
static const char *extremum_name(Emitter *emitter, const Op *op) {
    bool is_bound = !op->operands[1]->type.rank;
    const char *name = is_bound ? with_tail(emitter, op->operands[0], "bounded") : NULL;
    return name ? name : op->code == OP_MAXIMUM ? "larger" : "smaller";
}

/// The name of what is the same but for its shape, its type or its sign.
static const char *same_name(Emitter *emitter, const Value *of) {
    const char *name = called(emitter, of);
    return name || !of->op || of->op->region_count ? name : name_hint(emitter, of->op);
}

/// What a loop or a branch calls what it has from here.
static const char *start_name(const Emitter *emitter, const Value *value) {
    const OpList *readers = value_readers(&emitter->readers, value);
    for (int i = 0; i < readers->count; i++) {
        const Op *reader = readers->items[i];
        const Op *owner = reader->code == OP_YIELD ? reader->parent->parent : reader;
        int first = reader->operand_count - owner->result_count;
        for (int k = first; owner->region_count && k >= 0 && k < reader->operand_count; k++)
            if (reader->operands[k] == value && named(owner->results[k - first]))
                return owner->results[k - first]->name;
    }
    return "zeros";
}

const char *name_hint(Emitter *emitter, const Op *op) {
    const Type type = op->results[0]->type;
    const Value *first = op->operand_count ? op->operands[0] : NULL;
    const char *name = NULL;
    bool is_float = dtype_is_float(type.element);
    if (type.kind == TYPE_POINTER) {
        const char *tensor = tensor_name(emitter, op->results[0]);
        const char *noun = type.rank ? "ptrs" : "base";
        return tensor ? arena_printf(emitter->arena, "%s_%s", tensor, noun) : noun;
    }
    int64_t axis;
    switch (op->code) {
    case OP_ARANGE: return "lanes";
    case OP_PROGRAM_ID:
        return value_is_int(first, &axis) && axis
                   ? arena_printf(emitter->arena, "pid_%d", (int)axis)
                   : "pid";
    case OP_LOAD: name = tensor_name(emitter, first); break;
    case OP_CAST:
    case OP_NEG:
    case OP_EXPAND_DIMS:
    case OP_BROADCAST_TO:
    case OP_RESHAPE: return same_name(emitter, first);
    case OP_WHERE:
        if (op->operands[1]->op && is_float) return same_name(emitter, op->operands[1]);
        name = called(emitter, op->operands[1]);
        break;
    case OP_FULL: return start_name(emitter, op->results[0]);
    case OP_TRANS: name = with_tail(emitter, first, "t"); break;
    default: break;
    }
    if (name) return name;
    if (type.element.code == DTYPE_INT1) return mask_name(emitter, op);
    if (dtype_is_integer(type.element) || type.element.code == DTYPE_ANY_INT)
        return offset_name(emitter, op);
    name = next_name(emitter, op);
    if (!name && op->operand_count == 1) name = function_name(emitter, op);
    if (name) return name;
    switch (op->code) {
    case OP_SUM: return "total";
    case OP_MAX: return "largest";
    case OP_MIN: return "smallest";
    case OP_DOT: return "product";
    case OP_MUL: return product_name(emitter, op);
    case OP_DIV: return "quotient";
    case OP_SUB: return "difference";
    case OP_MAXIMUM:
    case OP_MINIMUM: return extremum_name(emitter, op);
    default: break;
    }
    if (is_divisor(emitter, op->results[0])) return "divisor";
    return op->code == OP_ADD ? "total" : "t";
}
