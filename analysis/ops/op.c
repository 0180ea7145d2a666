// The rows of ops.def as a table, and look-up by name, by method and by parameter.
#include "analysis/ops/op.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINES_1(a) a
#define LINES_2(a, b) a "\n" b
#define LINES_3(a, b, c) a "\n" b "\n" c
#define LINES_4(a, b, c, d) a "\n" b "\n" c "\n" d
#define LINES_PICK(a, b, c, d, lines, ...) lines
#define LINES(...) LINES_PICK(__VA_ARGS__, LINES_4, LINES_3, LINES_2, LINES_1, 0)(__VA_ARGS__)

#define OP(code, ...) [OP_##code] = {.id = #code, __VA_ARGS__},
#define KIND(x) .kind = KIND_##x,
#define NAME(x) .name = x,
#define ALIASES(x) .aliases = x,
#define METHOD(x) .method = x,
#define SYMBOL(x) .symbol = x,
#define PRECEDENCE(x) .precedence = x,
#define PARAMS(x) .parameters = x,
#define SHAPE(x) .shape = SHAPE_##x,
#define ELEMENT(x) .element = ELEMENT_##x,
#define EFFECT(x) .effects = EFFECT_##x,
#define VALUE(...) .has_value = true,
#define SLOPE(...) .has_slope = true,
#define TRAITS(x) .traits = TRAIT_##x,
#define ZERO(x) .zero = ZERO_##x,
#define BITS(x) .bits = BITS_##x,
#define GRAD(...) .gradient = LINES(__VA_ARGS__),
#define GRAD_NONE .gradient_none = true,
#define GRAD_UNSUPPORTED(x) .gradient_unsupported = x,
#define GRAD_SPECIAL .gradient_special = true,
#define EXPANDS(x) .expands = x,
#define SINCE(x) .since = x,
#define UNTIL(x) .until = x,
#define INSTEAD(x) .instead = x,
#define DOC(x) .doc = x,
const OpRow op_rows[OP_COUNT] = {
#include "analysis/ops/op_columns.h"

#include "analysis/ops/ops.def"

#include "analysis/ops/op_columns_end.h"
};

/// Four times what the table has; where it outgrows them, every start fails (table_fail).
enum { NAME_SLOTS = 4096, PARAMETER_POOL = 4096 };

/// One spelling of one op; spellings of methods are kept apart by `is_method`.
typedef struct Spelling {
    Str name;
    bool is_method;
    OpCode code;
} Spelling;

static Spelling spellings[NAME_SLOTS];
static OpParameter parameter_pool[PARAMETER_POOL];
static int parameter_starts[OP_COUNT];
static int parameter_counts[OP_COUNT];
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

static uint32_t spelling_hash(Str name, bool is_method) {
    uint32_t hash = is_method ? 2166136261u : 84696351u;
    for (size_t i = 0; i < name.size; i++) hash = (hash ^ (unsigned char)name.data[i]) * 16777619u;
    return hash;
}

static Spelling *spelling_slot(Str name, bool is_method) {
    uint32_t at = spelling_hash(name, is_method) % NAME_SLOTS;
    for (int step = 0; step < NAME_SLOTS; step++, at = (at + 1) % NAME_SLOTS) {
        Spelling *slot = &spellings[at];
        if (!slot->name.data || (slot->is_method == is_method && str_equal(slot->name, name)))
            return slot;
    }
    return NULL;
}

static void table_fail(const char *what, const char *id) {
    fprintf(stderr, "tad: ops.def: %s (%s)\n", what, id);
    abort();
}

static void spelling_add(Str name, bool is_method, OpCode code) {
    Spelling *slot = spelling_slot(name, is_method);
    if (!slot) table_fail("too many names", op_rows[code].id);
    if (slot->name.data) return;  // the first row keeps it; a test asks that there is no second
    *slot = (Spelling){name, is_method, code};
}

/// Calls for each item of a list separated by commas and spaces.
static void spellings_add(const char *list, bool is_method, OpCode code) {
    for (const char *at = list; at && *at;) {
        size_t size = strcspn(at, ", ");
        if (size) spelling_add((Str){at, size}, is_method, code);
        at += size;
        at += strspn(at, ", ");
    }
}

/// Where the parameter that starts at `at` ends: at a comma outside quotes and brackets.
static size_t parameter_size(const char *at) {
    int depth = 0;
    char quote = 0;
    size_t i = 0;
    for (; at[i]; i++) {
        char c = at[i];
        if (quote) {
            if (c == '\\' && at[i + 1])
                i++;
            else if (c == quote)
                quote = 0;
        } else if (c == '\'' || c == '"') {
            quote = c;
        } else if (strchr("([{", c)) {
            depth++;
        } else if (strchr(")]}", c)) {
            depth--;
        } else if (c == ',' && depth == 0) {
            break;
        }
    }
    return i;
}

static OpParameter parameter_parse(Str text) {
    OpParameter parameter = {.name = text};
    const char *equals = memchr(text.data, '=', text.size);
    if (equals) {
        size_t name_size = (size_t)(equals - text.data);
        parameter.name = str_trim((Str){text.data, name_size});
        parameter.default_text = str_trim((Str){equals + 1, text.size - name_size - 1});
    }
    if (parameter.name.data[0] == '*') {
        parameter.is_variadic = true;
        parameter.name = (Str){parameter.name.data + 1, parameter.name.size - 1};
    }
    return parameter;
}

static int parameters_add(OpCode code, int start) {
    bool keyword_only = false;
    int count = 0;
    for (const char *at = op_rows[code].parameters; at && *at;) {
        size_t size = parameter_size(at);
        Str text = str_trim((Str){at, size});
        at += size + (at[size] == ',');
        if (str_is(text, "*")) {
            keyword_only = true;
            continue;
        }
        if (!text.size) continue;
        if (start + count == PARAMETER_POOL) table_fail("too many parameters", op_rows[code].id);
        OpParameter parameter = parameter_parse(text);
        parameter.is_keyword_only = keyword_only;
        keyword_only = keyword_only || parameter.is_variadic;
        parameter_pool[start + count++] = parameter;
    }
    parameter_starts[code] = start;
    parameter_counts[code] = count;
    return start + count;
}

static void table_build(void) {
    int start = 0;
    for (int code = 0; code < OP_COUNT; code++) {
        const OpRow *row = &op_rows[code];
        if (row->name) spelling_add(str_from(row->name), false, (OpCode)code);
        start = parameters_add((OpCode)code, start);
    }
    for (int code = 0; code < OP_COUNT; code++) {  // names come before aliases
        spellings_add(op_rows[code].aliases, false, (OpCode)code);
        spellings_add(op_rows[code].method, true, (OpCode)code);
    }
}

static OpCode spelling_find(Str name, bool is_method) {
    pthread_once(&table_once, table_build);
    const Spelling *slot = name.size ? spelling_slot(name, is_method) : NULL;
    return slot && slot->name.data ? slot->code : OP_COUNT;
}

static bool strip_prefix(Str *name, const char *prefix) {
    if (!str_starts(*name, prefix)) return false;
    size_t size = strlen(prefix);
    *name = (Str){name->data + size, name->size - size};
    return true;
}

OpCode op_find(Str name) {
    OpCode code = spelling_find(name, false);
    if (code != OP_COUNT) return code;
    if (strip_prefix(&name, "extra.")) {
        static const char *const vendors[] = {"cuda.", "hip.", "intel.", "xpu."};
        for (size_t i = 0; i < sizeof vendors / sizeof *vendors; i++)
            if (strip_prefix(&name, vendors[i])) break;
        return spelling_find(name, false);
    }
    static const char *const modules[] = {"math.", "core.", "standard.", "random."};
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++)
        if (strip_prefix(&name, modules[i]) && !memchr(name.data, '.', name.size))
            return spelling_find(name, false);
    return OP_COUNT;
}

OpCode op_find_method(Str name) { return spelling_find(name, true); }

int op_spelling_distance(Str name, Str candidate) {
    bool is_begun = candidate.size > name.size && memcmp(candidate.data, name.data, name.size) == 0;
    return 2 * str_distance(name, candidate) - is_begun;
}

const char *op_suggest(Str name) {
    pthread_once(&table_once, table_build);
    if (name.size == 0 || name.size > 80) return NULL;
    int best_distance = 2 * ((int)name.size / 3 + 1);
    const char *best = NULL;
    for (int code = 0; code < OP_COUNT; code++) {
        const OpRow *row = &op_rows[code];
        if (!row->name || row->kind == KIND_REMOVED) continue;
        Str candidate = str_from(row->name);
        Str plain = candidate;
        bool is_same = strip_prefix(&plain, "libdevice.") && str_equal(plain, name);
        // No fewer edits than the one is longer.
        int longer = abs((int)candidate.size - (int)name.size);
        if (!is_same && 2 * longer - 1 >= best_distance) continue;
        int distance = is_same ? 0 : op_spelling_distance(name, candidate);
        if (distance < best_distance) {
            best_distance = distance;
            best = row->name;
        }
    }
    return best;
}

const FormerKeyword *op_former_keyword(OpCode code, const char *name) {
    static const FormerKeyword rows[] = {
#define FORMER(code, name, operand, through, instead) {code, name, operand, through, instead},
#include "analysis/ops/foreign_names.def"
#undef FORMER
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].code == code && strcmp(rows[i].name, name) == 0) return &rows[i];
    return NULL;
}

const char *op_foreign(Str name) {
    static const char *const rows[][2] = {
#define FOREIGN(name, instead) {name, instead},
#include "analysis/ops/foreign_names.def"
#undef FOREIGN
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (str_is(name, rows[i][0])) return rows[i][1];
    return NULL;
}

static void member_consider(OpMember *best, Str name, Str candidate) {
    int distance = str_distance(name, candidate);
    if (distance < best->distance) *best = (OpMember){candidate, distance};
}

OpMember op_suggest_member(Str name) {
    static const char *const attributes[] = {"dtype", "shape", "numel", "type", "T"};
    pthread_once(&table_once, table_build);
    OpMember best = {.distance = INT_MAX};
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
        member_consider(&best, name, str_from(attributes[i]));
    for (int slot = 0; slot < NAME_SLOTS; slot++)
        if (spellings[slot].is_method) member_consider(&best, name, spellings[slot].name);
    return best;
}

const char *op_id(OpCode code) {
    return (unsigned)code < OP_COUNT && op_rows[code].id ? op_rows[code].id : "?";
}

const OpParameter *op_parameters(OpCode code, int *count) {
    pthread_once(&table_once, table_build);
    if ((unsigned)code >= OP_COUNT) {
        *count = 0;
        return NULL;
    }
    *count = parameter_counts[code];
    return &parameter_pool[parameter_starts[code]];
}

int op_parameter_index(OpCode code, Str name) {
    int count;
    const OpParameter *parameters = op_parameters(code, &count);
    for (int i = 0; i < count; i++)
        if (str_equal(parameters[i].name, name)) return i;
    return -1;
}

int op_axis_index(OpCode code) {
    int index = op_parameter_index(code, STR("axis"));
    return index >= 0 ? index : op_parameter_index(code, STR("dim"));
}

static void print_cell(Buffer *buffer, const char *text, char end) {
    for (const char *c = text ? text : ""; *c; c++) {
        if (*c == '\n')
            buffer_puts(buffer, "; ");
        else
            buffer_putc(buffer, *c == '\t' ? ' ' : *c);
    }
    buffer_putc(buffer, end);
}

static const char *gradient_text(const OpRow *row) {
    if (row->gradient) return row->gradient;
    if (row->gradient_none) return "none";
    if (row->gradient_unsupported) return "unsupported";
    return row->gradient_special ? "special" : "";
}

const char *op_table_print(Arena *arena) {
    static const char *const kinds[] = {"ordinary", "structural", "expands", "hint", "removed"};
    static const char *const shapes[] = {"special", "same", "broadcast", "scalar", "reduced"};
    static const char *const elements[] = {"special", "same",    "promote", "divide",
                                           "float",   "bool",    "int32",   "int64",
                                           "float32", "float64", "pointee", "none"};
    Buffer buffer = buffer_new(arena);
    for (int code = 0; code < OP_COUNT; code++) {
        const OpRow *row = &op_rows[code];
        const char *cells[] = {row->id,         kinds[row->kind],   row->name,
                               row->aliases,    row->method,        row->symbol,
                               row->parameters, shapes[row->shape], elements[row->element]};
        for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
            print_cell(&buffer, cells[i], '\t');
        buffer_printf(&buffer, "%d\t", row->effects);
        const char *more[] = {gradient_text(row), row->expands, row->since, row->until,
                              row->instead};
        for (size_t i = 0; i < sizeof more / sizeof *more; i++) print_cell(&buffer, more[i], '\t');
        print_cell(&buffer, row->doc, '\n');
    }
    return buffer_text(&buffer);
}

bool op_has(OpCode code, int traits) { return (op_rows[code].traits & traits) != 0; }

bool op_is_comparison(OpCode code) { return op_has(code, TRAIT_COMPARES); }

bool op_is_ordering(OpCode code) { return op_has(code, TRAIT_ORDERS); }

bool op_is_loop(OpCode code) { return op_has(code, TRAIT_LOOP); }

bool op_is_product(OpCode code) { return op_has(code, TRAIT_PRODUCT); }

bool op_is_logical(OpCode code) { return op_has(code, TRAIT_LOGICAL); }
