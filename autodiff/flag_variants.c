// A backward with atomics and the flags that stand in the way of owners in; the same for each value of a flag by itself, merged, out.
#include "autodiff/variants.h"

#include <string.h>

#include "analysis/ir/walk.h"
#include "autodiff/derive.h"

enum {
    MOST_FLAGS = 3,   // that are tried, the one after the other
    MOST_VALUES = 4,  // of one flag
    MOST_BOUND = 2,   // flags within flags
};

/// The values that a flag may have, as far as the kernel tells them apart.
typedef struct FlagValues {
    const Parameter *parameter;
    const Constant *items[MOST_VALUES];  // the last one stands for all others
    int count;
    bool is_compared;  // with strings or numbers; else true and false
    bool fails;        // the kernel uses it for something else, or has too many
} FlagValues;

static bool is_value(const Constant *constant) {
    return constant && (constant->kind == CONSTANT_STRING || constant->kind == CONSTANT_INT);
}

static void add_value(FlagValues *values, const Constant *value) {
    for (int i = 0; i < values->count; i++) {
        const Constant *known = values->items[i];
        values->fails = values->fails || known->kind != value->kind;
        bool is_text = value->kind == CONSTANT_STRING;
        if (is_text ? str_equal(known->string, value->string) : known->integer == value->integer)
            return;
    }
    values->fails = values->fails || values->count == MOST_VALUES - 1;
    if (!values->fails) values->items[values->count++] = value;
}

static bool visit_use(void *context, Op *op) {
    FlagValues *values = context;
    for (int i = 0; i < op->operand_count && !values->fails; i++) {
        if (op->operands[i] != values->parameter->value) continue;
        bool is_condition = op_is_logical(op->code) || (op->code == OP_IF && i == 0);
        bool is_compared = op->code == OP_EQ || op->code == OP_NE;
        const Constant *other = is_compared ? op->operands[1 - i]->constant : NULL;
        if (values->is_compared && is_value(other))
            add_value(values, other);
        else
            values->fails = values->is_compared || !is_condition;
    }
    return !values->fails;
}

/// A number that the flag is compared with nowhere, likewise.
static const Constant *other_number(Arena *arena, const FlagValues *values) {
    int64_t largest = values->items[0]->integer;
    for (int i = 1; i < values->count; i++)
        if (values->items[i]->integer > largest) largest = values->items[i]->integer;
    return constant_new(arena, constant_of_int(largest + 1));
}

/// A string that the flag is compared with nowhere: what holds for it holds for all such.
static const Constant *other_value(Arena *arena, const FlagValues *values) {
    size_t longest = 0;
    if (values->items[0]->kind == CONSTANT_INT) return other_number(arena, values);
    for (int i = 0; i < values->count; i++)
        if (values->items[i]->string.size > longest) longest = values->items[i]->string.size;
    char *text = ARENA_ARRAY(arena, char, longest + 2);
    memset(text, '_', longest + 1);
    return constant_new(arena, constant_of_string(str_from(text)));
}

static FlagValues values_of(Arena *arena, const Kernel *kernel, const LaunchFlag *flag) {
    FlagValues values = {.is_compared = flag->value != NULL};
    for (int i = 0; i < kernel->function->parameter_count; i++)
        if (strcmp(kernel->function->parameters[i].name, flag->parameter) == 0)
            values.parameter = &kernel->function->parameters[i];
    values.fails = !values.parameter || !values.parameter->is_constexpr;
    if (values.fails) return values;
    region_walk(kernel->function->body, visit_use, &values);
    if (values.fails) return values;
    if (values.is_compared && !values.count) values.fails = true;
    if (values.fails) return values;
    if (values.is_compared) {
        values.items[values.count] = other_value(arena, &values);
        values.count++;
        return values;
    }
    for (int side = 0; side < 2; side++)
        values.items[values.count++] = constant_new(arena, constant_of_bool(side == 0));
    return values;
}

/* ---- one flag ---- */

typedef struct FlagTrial {
    Arena *arena;
    const Kernel *kernel;
    const BackwardOptions *options;
    Binding bound[MOST_BOUND];
    int count;
} FlagTrial;

static void improve(const FlagTrial *search, Variant *variant);

/// The kernel for each value; how many they are, without that for all others where nothing compiles for these. 0 where one has no backward,
/// or changes gradients in place, or needs as many atomics as `most`.
static int derive_values(const FlagTrial *search, const FlagValues *values, int most,
                         Variant **variants) {
    for (int i = 0; i < values->count; i++) {
        FlagTrial inner = *search;
        inner.bound[inner.count++] =
            (Binding){.name = str_from(values->parameter->name), .constant = values->items[i]};
        Variant *own = variants[i] = ARENA_NEW(search->arena, Variant);
        bool compiles = variant_derive_with(search->arena, search->kernel, search->options,
                                            inner.bound, inner.count, own);
        if (!compiles && values->is_compared && i == values->count - 1) return i;
        if (own->result.status != BACKWARD_DERIVED || variant_has_running(own)) return 0;
        if (own->result.atomics && inner.count < MOST_BOUND) improve(&inner, own);
        if (own->result.atomics >= most) return 0;
    }
    return values->count;
}

static bool try_flag(const FlagTrial *search, const LaunchFlag *flag, Variant *variant) {
    Variant *variants[MOST_VALUES] = {0};
    FlagValues values = values_of(search->arena, search->kernel, flag);
    for (int i = 0; i < search->count; i++)
        if (str_equal(search->bound[i].name, str_from(flag->parameter))) return false;
    int count =
        values.fails ? 0 : derive_values(search, &values, variant->result.atomics, variants);
    if (!count) return false;
    const Variant *merged = variants[count - 1];
    for (int i = count - 2; i >= 0; i--) {
        VariantChoice choice = {.parameter = values.parameter,
                                .value = values.is_compared ? values.items[i] : NULL};
        Variant *whole = ARENA_NEW(search->arena, Variant);
        if (!variants_merge(search->arena, search->kernel->function, choice,
                            (const Variant *const[]){variants[i], merged}, whole))
            return false;
        merged = whole;
    }
    if (merged->result.atomics >= variant->result.atomics) return false;
    *variant = *merged;
    return true;
}

static void improve(const FlagTrial *search, Variant *variant) {
    const LaunchFlags flags = variant->flags;
    for (int i = 0; i < flags.count && i < MOST_FLAGS; i++)
        if (try_flag(search, &flags.items[i], variant)) return;
}

void variants_derive_flags(Arena *arena, const Kernel *kernel, const BackwardOptions *options,
                           Variant *variant) {
    const FlagTrial search = {.arena = arena, .kernel = kernel, .options = options};
    improve(&search, variant);
}
