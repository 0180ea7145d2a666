// Two pointers to one tensor: whether a kernel reads each element before it stores it, and which flags have it store at all.
#include "autodiff/tape/alias.h"

#include "analysis/addresses/affine.h"
#include "analysis/launches/launch_joined.h"
#include "autodiff/addresses/place.h"
#include "autodiff/rewrite/normalize.h"
#include "autodiff/rewrite/rewrite.h"
#include "autodiff/rewrite/simplify.h"
#include "autodiff/tape/memory.h"

enum {
    DEEPEST = 32,
    MOST_CHOICES =
        6,  // of pointers made of pointers: choices among more tensors are refused anyway
    ATOM = 20,
    NOT = 3
};

/* ---- one tensor for two parameters ---- */

/// Whole numbers of the launch that an address is computed from, no constexprs: strides and sizes.
typedef struct AliasNumbers {
    const Function *function;
    const Value *items[ALIAS_MOST_NUMBERS];
    int count;
    bool is_full;
    Map seen;
} AliasNumbers;

static bool numbers_have(const AliasNumbers *numbers, const Value *value) {
    for (int i = 0; i < numbers->count; i++)
        if (numbers->items[i] == value) return true;
    return false;
}

static void add_numbers(AliasNumbers *numbers, const Value *value) {
    if (!value || map_has_pointer(&numbers->seen, value)) return;
    map_set_pointer(&numbers->seen, value, numbers);
    bool is_parameter = !value->op && value->region == numbers->function->body;
    bool is_number = value->type.kind == TYPE_NUMBER && !value->type.is_constexpr;
    if (is_parameter && is_number && !numbers_have(numbers, value)) {
        numbers->is_full |= numbers->count == ALIAS_MOST_NUMBERS;
        if (!numbers->is_full) numbers->items[numbers->count++] = value;
    }
    for (int i = 0; value->op && i < value->op->operand_count; i++)
        add_numbers(numbers, value->op->operands[i]);
}

static AliasNumbers numbers_of(Arena *arena, const Function *function, const OpList *accesses) {
    AliasNumbers numbers = {.function = function, .seen = map_new(arena)};
    for (int i = 0; i < accesses->count; i++)
        add_numbers(&numbers, accesses->items[i]->operands[0]);
    return numbers;
}

/// Those of `all` that `others` lack, in the order of the parameters.
static AliasNumbers numbers_without(Arena *arena, const AliasNumbers *all,
                                    const AliasNumbers *others) {
    AliasNumbers own = {.function = all->function, .seen = map_new(arena), .is_full = all->is_full};
    for (int p = 0; p < all->function->parameter_count; p++) {
        const Value *value = all->function->parameters[p].value;
        if (numbers_have(all, value) && !numbers_have(others, value))
            own.items[own.count++] = value;
    }
    return own;
}

static const char *numbers_text(Arena *arena, const AliasNumbers *numbers) {
    Buffer text = buffer_new(arena);
    for (int i = 0; i < numbers->count; i++)
        buffer_printf(&text, "%s%s", i ? ", " : "",
                      numbers->function->parameters[numbers->items[i]->index].name);
    return numbers->count > 1 ? arena_printf(arena, "(%s)", buffer_text(&text))
                              : buffer_text(&text);
}

/// Strides of the one tensor are those of the other: they become one number, and `*condition` says so.
static bool join_strides(Arena *arena, Function *function, const OpList *stores,
                         const OpList *loads, const char **condition) {
    AliasNumbers stored = numbers_of(arena, function, stores),
                 loaded = numbers_of(arena, function, loads);
    AliasNumbers of_stores = numbers_without(arena, &stored, &loaded),
                 of_loads = numbers_without(arena, &loaded, &stored);
    if (stored.is_full || loaded.is_full || of_stores.count != of_loads.count) return false;
    if (!of_stores.count) return true;
    *condition = arena_printf(arena, "%s == %s", numbers_text(arena, &of_loads),
                              numbers_text(arena, &of_stores));
    for (int i = 0; i < of_stores.count; i++)
        region_replace_uses(function->body, of_loads.items[i],
                            function->parameters[of_stores.items[i]->index].value);
    return true;
}

static bool has_descriptors(const Function *function) {
    for (int p = 0; p < function->parameter_count; p++)
        if (function->parameters[p].value->type.kind == TYPE_DESCRIPTOR) return true;
    return false;
}

bool alias_reads_first(Arena *arena, const Function *forward, int written, int read,
                       const char **condition) {
    *condition = NULL;
    if (has_descriptors(forward)) return false;
    Function *function = function_copy(arena, forward, forward->name, NULL);
    Range range;
    if (function_normalize(function, &range)) return false;
    function_simplify(function);
    Value *root = function->parameters[written].value, *other = function->parameters[read].value;
    OpList stores = memory_accesses(arena, function, root),
           loads = memory_accesses(arena, function, other);
    if (!join_strides(arena, function, &stores, &loads, condition)) return false;
    region_replace_uses(function->body, other, root);
    Differentiation state = differentiation_new(arena);
    state.primal = function;
    return memory_loads_come_first(&state, root, &loads);
}

static bool is_pointer(const Parameter *parameter) {
    return parameter->value->type.kind == TYPE_POINTER && !parameter->may_be_descriptor;
}

int *aliases_join(Arena *arena, const FunctionDefinition *kernel, const Function *forward) {
    int *joined = ARENA_ARRAY(arena, int, forward->parameter_count + 1);
    bool any = false;
    for (int q = 0; q < forward->parameter_count; q++) {
        const Parameter *read = &forward->parameters[q];
        joined[q] = -1;
        if (!is_pointer(read) || !read->is_loaded || read->is_stored) continue;
        for (int p = 0; p < forward->parameter_count && joined[q] < 0; p++) {
            const Parameter *written = &forward->parameters[p];
            const char *condition;
            if (!is_pointer(written) || !written->is_stored) continue;
            if (!launches_pass_one(kernel, forward, p, q)) continue;
            if (alias_reads_first(arena, forward, p, q, &condition)) continue;
            joined[q] = p;
            any = true;
        }
    }
    return any ? joined : NULL;
}

/* ---- stores under flags ---- */

typedef struct FlagText {
    Arena *arena;
    const Function *function;
    const bool *known;
} FlagText;

typedef struct PythonText {
    const char *text;  // NULL: not known at the launch
    int precedence;
} PythonText;

static PythonText flag_text(const FlagText *flags, const Value *value, int depth);

static const char *enclosed(Arena *arena, PythonText text, int precedence) {
    return text.precedence >= precedence ? text.text : arena_printf(arena, "(%s)", text.text);
}

static PythonText constant_text(Arena *arena, const Constant *constant) {
    switch (constant->kind) {
    case CONSTANT_NONE: return (PythonText){"None", ATOM};
    case CONSTANT_BOOL: return (PythonText){constant->integer ? "True" : "False", ATOM};
    case CONSTANT_INT:
        return (PythonText){arena_printf(arena, "%lld", (long long)constant->integer),
                            constant->integer < 0 ? NOT : ATOM};
    case CONSTANT_STRING:
        for (size_t i = 0; i < constant->string.size; i++)
            if (strchr("\"\\\n", constant->string.data[i])) return (PythonText){0};
        return (PythonText){arena_printf(arena, "\"%.*s\"", STR_ARGS(constant->string)), ATOM};
    default: return (PythonText){0};
    }
}

static PythonText operation_text(const FlagText *flags, const Op *op, int depth) {
    const char *symbol = NULL;
    switch (op->code) {
    case OP_EQ: symbol = "=="; break;
    case OP_NE: symbol = "!="; break;
    case OP_LT: symbol = "<"; break;
    case OP_LE: symbol = "<="; break;
    case OP_GT: symbol = ">"; break;
    case OP_GE: symbol = ">="; break;
    case OP_LOGICAL_AND: symbol = "and"; break;
    case OP_LOGICAL_OR: symbol = "or"; break;
    default: break;
    }
    PythonText a =
        op->operand_count ? flag_text(flags, op->operands[0], depth + 1) : (PythonText){0};
    if (!a.text) return a;
    if (op->code == OP_LOGICAL_NOT)
        return (PythonText){arena_printf(flags->arena, "not %s", enclosed(flags->arena, a, NOT)),
                            NOT};
    if (!symbol || op->operand_count < 2) return (PythonText){0};
    PythonText b = flag_text(flags, op->operands[1], depth + 1);
    if (!b.text) return b;
    int precedence = op->code == OP_LOGICAL_OR ? 1 : op->code == OP_LOGICAL_AND ? 2 : NOT + 1;
    return (PythonText){arena_printf(flags->arena, "%s %s %s",
                                     enclosed(flags->arena, a, precedence + (precedence > NOT)),
                                     symbol, enclosed(flags->arena, b, precedence + 1)),
                        precedence};
}

static PythonText flag_text(const FlagText *flags, const Value *value, int depth) {
    if (depth > DEEPEST) return (PythonText){0};
    if (value->constant) return constant_text(flags->arena, value->constant);
    if (value->op && value->op->code == OP_IS_NONE) {
        const Value *of = value->op->operands[0];
        if (of->op || of->region != flags->function->body || !flags->known[of->index])
            return (PythonText){0};
        const char *name = flags->function->parameters[of->index].name;
        return (PythonText){arena_printf(flags->arena, "%s is None", name), NOT + 1};
    }
    if (value->op) return operation_text(flags, value->op, depth);
    bool is_flag = value->region == flags->function->body && value->type.is_constexpr &&
                   flags->known[value->index];
    if (!is_flag) return (PythonText){0};
    return (PythonText){flags->function->parameters[value->index].name, ATOM};
}

/// Where flags alone decide whether a region stores to a buffer.
typedef struct Stored {
    enum { STORED_NEVER, STORED_ALWAYS, STORED_UNDER } kind;  // ALWAYS: or as nobody knows
    PythonText flags;                                         // STORED_UNDER
} Stored;

typedef struct StoreSearch {
    FlagText flags;
    const Value *root;
} StoreSearch;

enum { OR = 1, AND = 2 };

static Stored stored_under(const StoreSearch *search, PythonText a, const char *word, PythonText b,
                           int precedence) {
    Arena *arena = search->flags.arena;
    PythonText text = {arena_printf(arena, "%s %s %s", enclosed(arena, a, precedence), word,
                                    enclosed(arena, b, precedence)),
                       precedence};
    return (Stored){STORED_UNDER, text};
}

/// By the one or by the other.
static Stored stored_either(const StoreSearch *search, Stored a, Stored b) {
    if (a.kind == STORED_ALWAYS || b.kind == STORED_NEVER) return a;
    if (b.kind == STORED_ALWAYS || a.kind == STORED_NEVER) return b;
    if (strcmp(a.flags.text, b.flags.text) == 0) return a;
    return stored_under(search, a.flags, "or", b.flags, OR);
}

/// Where the condition holds as well.
static Stored stored_where(const StoreSearch *search, PythonText condition, Stored inside) {
    if (inside.kind == STORED_NEVER) return inside;
    if (inside.kind == STORED_ALWAYS) return (Stored){STORED_UNDER, condition};
    return stored_under(search, condition, "and", inside.flags, AND);
}

static PythonText negated(Arena *arena, PythonText condition) {
    if (strncmp(condition.text, "not ", 4) == 0 && condition.precedence == NOT)
        return (PythonText){condition.text + 4, NOT};
    return (PythonText){arena_printf(arena, "not %s", enclosed(arena, condition, NOT)), NOT};
}

static Stored region_stores(const StoreSearch *search, const Region *region);

/// What is stored in the one or the other branch of a condition; one without text is not known.
static Stored by_branch(const StoreSearch *search, PythonText condition, Stored first,
                        Stored second) {
    bool is_same = first.kind == second.kind && first.kind != STORED_UNDER;
    if (is_same || !condition.text) return stored_either(search, first, second);
    PythonText otherwise = negated(search->flags.arena, condition);
    if (first.kind == STORED_ALWAYS && second.kind == STORED_UNDER)
        return stored_under(search, condition, "or", second.flags, OR);
    if (second.kind == STORED_ALWAYS && first.kind == STORED_UNDER)
        return stored_under(search, otherwise, "or", first.flags, OR);
    return stored_either(search, stored_where(search, condition, first),
                         stored_where(search, otherwise, second));
}

static Stored branch_stores(const StoreSearch *search, const Op *branch) {
    return by_branch(search, flag_text(&search->flags, branch->operands[0], 0),
                     region_stores(search, branch->regions[0]),
                     region_stores(search, branch->regions[1]));
}

/// Whether a pointer is to the buffer; flags may choose it.
static Stored pointer_reaches(const StoreSearch *search, const Value *pointer, int depth) {
    const Stored never = {STORED_NEVER, {0}}, always = {STORED_ALWAYS, {0}};
    const Value *end = depth > MOST_CHOICES ? NULL : pointer_root_or_branch(pointer);
    if (!end) return always;
    if (!end->op) return end == search->root ? always : never;
    PythonText condition = flag_text(&search->flags, end->op->operands[0], 0);
    Stored sides[2];
    for (int r = 0; r < 2; r++) {
        const Value *side = region_terminator(end->op->regions[r])->operands[end->index];
        bool is_nothing = value_is_none(side) || (side->op && side->op->code == OP_UNDEFINED);
        sides[r] = is_nothing ? never : pointer_reaches(search, side, depth + 1);
    }
    return by_branch(search, condition, sides[0], sides[1]);
}

static Stored op_stores(const StoreSearch *search, const Op *op) {
    if (!(op_rows[op->code].effects & (EFFECT_WRITES | EFFECT_ATOMIC)) || !op->operand_count)
        return (Stored){STORED_NEVER, {0}};
    return pointer_reaches(search, op->operands[0], 0);
}

static Stored region_stores(const StoreSearch *search, const Region *region) {
    Stored stored = {STORED_NEVER, {0}};
    for (const Op *op = region->first; op && stored.kind != STORED_ALWAYS; op = op->next) {
        Stored here = op_stores(search, op);
        if (op->code == OP_IF)
            here = branch_stores(search, op);
        else
            for (int i = 0; i < op->region_count; i++)
                here = stored_either(search, here, region_stores(search, op->regions[i]));
        stored = stored_either(search, stored, here);
    }
    return stored;
}

const char *alias_stored_if(Arena *arena, const Function *forward, int parameter,
                            const bool *known) {
    const StoreSearch search = {.flags = {.arena = arena, .function = forward, .known = known},
                                .root = forward->parameters[parameter].value};
    Stored stored = region_stores(&search, forward->body);
    return stored.kind == STORED_UNDER ? stored.flags.text : NULL;
}
