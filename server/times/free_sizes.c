#include "server/times/free_sizes.h"

#include <string.h>

#include "analysis/host/launch.h"
#include "analysis/ir/walk.h"

// --- the line ---------------------------------------------------------------------------------------------------------

Str line_item(const char **at) {
    int depth = 0;
    char quote = 0;
    const char *start = *at, *end = start;
    for (; *end && (depth || quote || *end != ','); end++) {
        if (quote) {
            if (*end == quote) quote = 0;
        } else if (strchr("\"'", *end)) {
            quote = *end;
        } else if (strchr("([{", *end)) {
            depth++;
        } else if (strchr(")]}", *end) && depth) {
            depth--;
        }
    }
    *at = *end ? end + 1 : end;
    return str_trim((Str){start, (size_t)(end - start)});
}

static const char *items_of(const char *line) {
    const char *colon = strchr(line, ':');
    return colon ? colon + 1 : line;
}

bool line_grid_names(const char *line, const char *name) {
    for (const char *at = items_of(line); *at;) {
        Str item = line_item(&at);
        const char *equals = memchr(item.data, '=', item.size);
        if (!equals || !str_is(str_trim((Str){item.data, (size_t)(equals - item.data)}), "grid"))
            continue;
        if (str_has_word(item, str_from(name))) return true;
    }
    return false;
}

/// The tensor of the line that has the name as an extent, or in one without a quotient (`[cdiv(n, BLOCK)]` counts blocks); or NULL.
static const char *line_tensor_with(Arena *arena, const char *line, const char *name) {
    for (const char *at = items_of(line); *at;) {
        Str item = line_item(&at);
        const char *text = str_dup(arena, item), *equals = strchr(text, '='),
                   *bracket = equals ? strchr(equals, '[') : NULL;
        size_t size = strlen(text);
        if (!bracket || text[size - 1] != ']') continue;
        const char *extents = arena_strndup(arena, bracket + 1, strlen(bracket) - 2);
        while (*extents) {
            const char *extent = str_dup(arena, line_item(&extents));
            bool counts = strstr(extent, "cdiv") || strstr(extent, "//");
            if (str_has_word(str_from(extent), str_from(name)) && !counts)
                return str_dup(arena, str_trim((Str){text, (size_t)(equals - text)}));
        }
    }
    return NULL;
}

// --- the kernel -------------------------------------------------------------------------------------------------------

enum { USES = 1, DIVIDES = 2, LANES = 4 };

/// A product, a quotient or a rest.
static bool is_scaling(const Op *op) {
    return op->operand_count == 2 && op_rows[op->code].precedence == op_rows[OP_MUL].precedence;
}

/// Whether a value is made with the parameter by arithmetic of scalars, with a quotient by it, and with the lanes of a tile.
static intptr_t made_of(ValueWalk *walk, const Value *value) {
    const Value *parameter = walk->context;
    if (value == parameter) return USES;
    const Op *op = value->op;
    if (!op || (op_rows[op->code].effects & EFFECT_READS)) return 0;
    if (op->code == OP_ARANGE) return LANES;
    intptr_t all = 0;
    for (int i = 0; i < op->operand_count; i++) {
        if (!op->operands[i]) continue;  // an argument that is not given
        intptr_t one = walk_ask(walk, op->operands[i]);
        bool is_divisor = i == 1 && is_scaling(op) && op->code != OP_MUL;
        if (op->operands[i]->type.rank) one &= LANES;
        all |= is_divisor && (one & USES) ? DIVIDES | (one & ~(intptr_t)USES) : one;
    }
    return value->type.rank ? all & LANES : all & ~(intptr_t)LANES;
}

static intptr_t made_from(const Value *value, const Value *parameter) {
    return walk_from(value, made_of, 0, parameter);
}

typedef struct SizeUses {
    const Value *parameter;
    bool is_step;    // a loop goes on by it, or counts the tiles of its length
    bool is_end;     // a loop ends at it
    bool is_factor;  // lanes or floats are multiplied with it, or divided by it
} SizeUses;

/// A number beside lanes, or beside floats: the parameter is a stride, or part of what is computed.
static bool is_factor(const Op *op, const Value *parameter) {
    bool is_float = dtype_class(op->results[0]->type.element) == CLASS_FLOAT;
    for (int i = 0; i < 2; i++) {
        const Value *one = op->operands[i], *other = op->operands[1 - i];
        if (one->type.rank || !(made_from(one, parameter) & USES)) continue;
        if (is_float || (other->type.rank && (made_from(other, parameter) & LANES))) return true;
    }
    return false;
}

/// What a `while` loop carries on is made with it.
static bool is_step_of_while(const Op *op, const Value *parameter) {
    bool is_yield = op->code == OP_YIELD && op->parent && op->parent->parent &&
                    op->parent->parent->code == OP_WHILE;
    for (int i = 0; is_yield && i < op->operand_count; i++)
        if (made_from(op->operands[i], parameter) & (USES | DIVIDES)) return true;
    return false;
}

static bool find_uses(void *context, Op *op) {
    enum { LOWER, UPPER, STEP, BOUNDS };
    SizeUses *uses = context;
    if (is_scaling(op)) uses->is_factor |= is_factor(op, uses->parameter);
    uses->is_step |= is_step_of_while(op, uses->parameter);
    if (op->code != OP_FOR || op->operand_count < BOUNDS) return true;
    intptr_t step = made_from(op->operands[STEP], uses->parameter),
             end = made_from(op->operands[UPPER], uses->parameter);
    uses->is_step |= (step & USES) || (end & DIVIDES);
    uses->is_end |= (end & USES) && !(end & DIVIDES) && !(step & USES);
    return true;
}

/// What some launch of the file passes for it is a size of a tensor.
static bool is_size_at_launch(Arena *arena, const Kernel *kernel, int parameter) {
    HostLaunches launches = host_launches(arena, kernel->definition, kernel->function);
    for (LIST_EACH(int, i, launches)) {
        const HostLaunch *launch = launches.items[i];
        const HostValue *value =
            parameter < launch->argument_count ? launch->arguments[parameter].value : NULL;
        if (value && value->kind == HOST_SIZE) return true;
    }
    return false;
}

const char *size_fixed(Arena *arena, const Kernel *kernel, int parameter, const char *line) {
    const Parameter *own = &kernel->function->parameters[parameter];
    const char *tensor = line_tensor_with(arena, line, own->name);
    if (tensor) return arena_printf(arena, "it is an extent of `%s`", tensor);
    if (is_size_at_launch(arena, kernel, parameter)) return "its launch passes a tensor's size";
    SizeUses uses = {.parameter = own->value};
    region_walk(kernel->function->body, find_uses, &uses);
    if (uses.is_factor) return "places or results are scaled by it";
    if (uses.is_end) return "a loop ends at it";
    if (uses.is_step || line_grid_names(line, own->name)) return NULL;
    return "no loop goes by it, and the grid of the line does not name it";
}
