// tl.inline_asm_elementwise to operations: straight-line PTX on 32-bit numbers, read into terms and built from those.
#include "analysis/calls/lower_assembly.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/build/build.h"
#include "analysis/frames/lowering.h"

enum { MOST_TERMS = 512, MOST_STEPS = 20000 };

typedef enum TermKind { TERM_UNDEFINED, TERM_ARGUMENT, TERM_NUMBER, TERM_OPERATION } TermKind;

/// What the bits of a register are taken for.
typedef enum Bits { BITS_ANY, BITS_FLOAT, BITS_SIGNED, BITS_UNSIGNED, BITS_PREDICATE } Bits;

typedef struct Term {
    TermKind kind;
    Bits bits;
    OpCode code;              // TERM_OPERATION
    const struct Term *x[3];  // its operands
    int argument;             // TERM_ARGUMENT: which, and of which of the packed elements
    int lane;
    double number;  // TERM_NUMBER; `integer` where it was written as one
    int64_t integer;
    bool is_integer;
    Value *built;
} Term;

typedef struct Register {
    Str name;
    const Term *term;
} Register;

typedef struct Assembly {
    Lowering *lowering;
    Register registers[ASSEMBLY_MOST_REGISTERS];
    int register_count;
    const Term *outputs[ASSEMBLY_MOST_ARGUMENTS * ASSEMBLY_MOST_PACKED];
    int output_count;  // all packed elements
    const Term *inputs[ASSEMBLY_MOST_ARGUMENTS * ASSEMBLY_MOST_PACKED];
    int input_count;
    const Term *predicate;  // of the instruction at hand, or NULL
    bool predicate_holds;
    int term_count;
    int steps;
} Assembly;

typedef struct Instruction {
    const char *name;
    OpCode code;
    int operands;
} Instruction;

static const Instruction instructions[] = {
    {"add", OP_ADD, 2},     {"sub", OP_SUB, 2},   {"mul", OP_MUL, 2},     {"div", OP_DIV, 2},
    {"fma", OP_FMA, 3},     {"neg", OP_NEG, 1},   {"abs", OP_ABS, 1},     {"min", OP_MINIMUM, 2},
    {"max", OP_MAXIMUM, 2}, {"sqrt", OP_SQRT, 1}, {"rsqrt", OP_RSQRT, 1}, {"ex2", OP_EXP2, 1},
    {"lg2", OP_LOG2, 1},    {"sin", OP_SIN, 1},   {"cos", OP_COS, 1},     {"tanh", OP_TANH, 1},
    {"and", OP_AND, 2},     {"or", OP_OR, 2},     {"xor", OP_XOR, 2},     {"not", OP_INVERT, 1},
    {"shl", OP_SHL, 2},     {"shr", OP_SHR, 2}};

static const Instruction comparisons[] = {{"eq", OP_EQ, 2}, {"ne", OP_NE, 2}, {"lt", OP_LT, 2},
                                          {"le", OP_LE, 2}, {"gt", OP_GT, 2}, {"ge", OP_GE, 2}};

// --- Terms

static Term *term_new(Assembly *assembly, TermKind kind, Bits bits) {
    if (++assembly->term_count > MOST_TERMS) return NULL;
    Term *term = ARENA_NEW(assembly->lowering->arena, Term);
    *term = (Term){.kind = kind, .bits = bits};
    return term;
}

static const Term *term_operation(Assembly *assembly, Bits bits, OpCode code, const Term *a,
                                  const Term *b, const Term *c) {
    Term *term = a ? term_new(assembly, TERM_OPERATION, bits) : NULL;
    if (!term) return NULL;
    term->code = code;
    term->x[0] = a;
    term->x[1] = b;
    term->x[2] = c;
    return term;
}

/// What is left of a choice where its predicate is known.
static const Term *term_under(const Term *term, const Term *predicate, bool holds) {
    while (term && predicate && term->kind == TERM_OPERATION && term->code == OP_WHERE &&
           term->x[0] == predicate)
        term = term->x[holds ? 1 : 2];
    return term;
}

/// The same computation, of one packed element as of another.
static bool terms_match(Assembly *assembly, const Term *a, int a_lane, const Term *b, int b_lane) {
    if (++assembly->steps > MOST_STEPS || a->kind != b->kind || a->bits != b->bits) return false;
    switch (a->kind) {
    case TERM_UNDEFINED: return true;
    case TERM_ARGUMENT: return a->argument == b->argument && a->lane == a_lane && b->lane == b_lane;
    case TERM_NUMBER:
        return a->is_integer == b->is_integer && a->integer == b->integer &&
               !(a->number < b->number || a->number > b->number);
    case TERM_OPERATION: break;
    }
    if (a->code != b->code) return false;
    for (int i = 0; i < 3; i++) {
        if (!a->x[i] != !b->x[i]) return false;
        if (a->x[i] && !terms_match(assembly, a->x[i], a_lane, b->x[i], b_lane)) return false;
    }
    return true;
}

// --- Operands

static Register *register_named(Assembly *assembly, Str name) {
    for (int i = 0; i < assembly->register_count; i++)
        if (str_equal(assembly->registers[i].name, name)) return &assembly->registers[i];
    if (assembly->register_count == ASSEMBLY_MOST_REGISTERS) return NULL;
    Register *entry = &assembly->registers[assembly->register_count++];
    *entry = (Register){.name = name};
    return entry;
}

/// The place that `$3` or a register's name is; NULL for anything else.
static const Term **place_of(Assembly *assembly, Str text) {
    if (text.size > 1 && text.data[0] == '$') {
        char *end;
        const char *digits =
            str_dup(assembly->lowering->arena, (Str){text.data + 1, text.size - 1});
        long index = strtol(digits, &end, 10);
        if (*end || index < 0) return NULL;
        if (index < assembly->output_count) return &assembly->outputs[index];
        index -= assembly->output_count;
        return index < assembly->input_count ? &assembly->inputs[index] : NULL;
    }
    char first = text.size ? text.data[0] : '0';
    bool is_name = first == '%' || first == '_' || (first >= 'a' && first <= 'z') ||
                   (first >= 'A' && first <= 'Z');
    Register *entry = is_name ? register_named(assembly, text) : NULL;
    return entry ? &entry->term : NULL;
}

/// 20., 0x10, 0f3FB8AA3B (the bits of a float).
static const Term *number_of(Assembly *assembly, Str text) {
    Term *term = term_new(assembly, TERM_NUMBER, BITS_ANY);
    if (!term) return NULL;
    const char *digits = str_dup(assembly->lowering->arena, text);
    char *end;
    bool is_bits = text.size == 10 && text.data[0] == '0' && (text.data[1] | 32) == 'f';
    if (is_bits) {
        uint32_t bits = (uint32_t)strtoul(digits + 2, &end, 16);
        float number;
        memcpy(&number, &bits, sizeof number);
        term->number = (double)number;
    } else if (memchr(digits, '.', text.size) ||
               (memchr(digits, 'e', text.size) && !str_starts(text, "0x"))) {
        term->number = strtod(digits, &end);
    } else {
        term->is_integer = true;
        term->integer = strtoll(digits, &end, 0);
        term->number = (double)term->integer;
    }
    return *end || !isfinite(term->number) ? NULL : term;
}

static const Term *operand_of(Assembly *assembly, Str text) {
    const Term **place = place_of(assembly, text);
    if (!place) return number_of(assembly, text);
    return term_under(*place, assembly->predicate, assembly->predicate_holds);
}

// --- Instructions

typedef struct Statement {
    Str parts[ASSEMBLY_MOST_WORDS];  // of the opcode: "ex2", "approx", "ftz", "f32"
    int part_count;
    Str operands[ASSEMBLY_MOST_OPERANDS];
    int operand_count;
} Statement;

static Bits bits_of(Str type) {
    if (str_is(type, "f32")) return BITS_FLOAT;
    if (str_is(type, "s32")) return BITS_SIGNED;
    if (str_is(type, "u32") || str_is(type, "b32")) return BITS_UNSIGNED;
    return str_is(type, "pred") ? BITS_PREDICATE : BITS_ANY;
}

/// Roundings and the like, which leave the number what it is; "lo" of an integer product.
static bool parts_are_harmless(const Statement *statement, int from, int to) {
    static const char *const known[] = {"rn", "rz", "rm", "rp", "approx", "ftz", "full", "lo"};
    for (int i = from; i < to; i++) {
        bool found = false;
        for (size_t k = 0; k < sizeof known / sizeof *known; k++)
            found = found || str_is(statement->parts[i], known[k]);
        if (!found) return false;
    }
    return true;
}

static const Term *term_of_comparison(Assembly *assembly, const Statement *statement) {
    if (statement->part_count < 3 || statement->operand_count != 3 ||
        !parts_are_harmless(statement, 2, statement->part_count - 1))
        return NULL;
    Str name = statement->parts[1];  // "gtu" differs from "gt" for what is not a number only
    if (name.size == 3 && name.data[2] == 'u') name.size = 2;
    for (size_t i = 0; i < sizeof comparisons / sizeof *comparisons; i++) {
        if (!str_is(name, comparisons[i].name)) continue;
        Bits bits = bits_of(statement->parts[statement->part_count - 1]);
        const Term *a = operand_of(assembly, statement->operands[1]);
        const Term *b = operand_of(assembly, statement->operands[2]);
        // What it compares is noted in an operation that leaves it as it is.
        const Term *as = a && b ? term_operation(assembly, bits, OP_CAST, a, NULL, NULL) : NULL;
        return term_operation(assembly, BITS_PREDICATE, comparisons[i].code, as, b, NULL);
    }
    return NULL;
}

static const Term *term_of_statement(Assembly *assembly, const Statement *statement) {
    Str name = statement->parts[0];
    int last = statement->part_count - 1;
    Bits bits = bits_of(statement->parts[last]);
    if (str_is(name, "setp")) return term_of_comparison(assembly, statement);
    if (bits == BITS_ANY || last < 1) return NULL;
    const Term *x[3] = {NULL, NULL, NULL};
    int count = statement->operand_count - 1;
    for (int i = 0; i < count && i < 3; i++) {
        x[i] = operand_of(assembly, statement->operands[i + 1]);
        if (!x[i] || x[i]->kind == TERM_UNDEFINED) return NULL;
    }
    if (str_is(name, "mov") && count == 1 && last == 1) return x[0];
    if (str_is(name, "selp") && count == 3 && last == 1)
        return term_operation(assembly, bits, OP_WHERE, x[2], x[0], x[1]);
    if (str_is(name, "cvt") && count == 1 && bits != BITS_PREDICATE && last >= 2) {
        Bits to = bits_of(statement->parts[last - 1]);
        bool makes_float = to == BITS_FLOAT && (bits == BITS_SIGNED || bits == BITS_UNSIGNED);
        const Term *from = term_operation(assembly, bits, OP_CAST, x[0], NULL, NULL);
        return makes_float && parts_are_harmless(statement, 1, last - 1)
                   ? term_operation(assembly, BITS_FLOAT, OP_CAST, from, from, NULL)
                   : NULL;
    }
    if (!parts_are_harmless(statement, 1, last)) return NULL;
    if (str_is(name, "rcp") && count == 1) {
        const Term *one = number_of(assembly, STR("1.0"));
        return term_operation(assembly, bits, OP_DIV, one, x[0], NULL);
    }
    for (size_t i = 0; i < sizeof instructions / sizeof *instructions; i++) {
        if (!str_is(name, instructions[i].name) || instructions[i].operands != count) continue;
        bool divides_integers = instructions[i].code == OP_DIV && bits != BITS_FLOAT;
        return divides_integers
                   ? NULL
                   : term_operation(assembly, bits, instructions[i].code, x[0], x[1], x[2]);
    }
    return NULL;
}

// --- Text

static Str word_until(Str *text, const char *stops) {
    size_t size = 0;
    while (size < text->size && !strchr(stops, text->data[size])) size++;
    Str word = str_trim((Str){text->data, size});
    size_t skip = size < text->size ? size + 1 : size;
    *text = (Str){text->data + skip, text->size - skip};
    return word;
}

/// `@!p ex2.approx.f32 d, a`: the predicate and the rest.
static bool predicate_read(Assembly *assembly, Str *text) {
    assembly->predicate = NULL;
    if (!text->size || text->data[0] != '@') return true;
    Str rest = {text->data + 1, text->size - 1};
    Str name = word_until(&rest, " \t\n");
    assembly->predicate_holds = !str_starts(name, "!");
    if (!assembly->predicate_holds) name = (Str){name.data + 1, name.size - 1};
    const Term **place = place_of(assembly, name);
    assembly->predicate = place ? *place : NULL;
    *text = str_trim(rest);
    return assembly->predicate && assembly->predicate->bits == BITS_PREDICATE;
}

static bool statement_run(Assembly *assembly, Str text) {
    if (!text.size || str_starts(text, ".reg")) return true;
    if (!predicate_read(assembly, &text)) return false;
    Statement statement = {.part_count = 0};
    Str rest = text;
    Str opcode = word_until(&rest, " \t\n");
    while (opcode.size && statement.part_count < ASSEMBLY_MOST_WORDS)
        statement.parts[statement.part_count++] = word_until(&opcode, ".");
    while (rest.size) {
        if (statement.operand_count == ASSEMBLY_MOST_OPERANDS) return false;
        statement.operands[statement.operand_count++] = word_until(&rest, ",");
    }
    if (opcode.size || statement.part_count < 2 || statement.operand_count < 2) return false;
    const Term **target = place_of(assembly, statement.operands[0]);
    const Term *term = target ? term_of_statement(assembly, &statement) : NULL;
    if (!term) return false;
    const Term *predicate = assembly->predicate;
    if (predicate) {
        const Term *former = term_under(*target, predicate, !assembly->predicate_holds);
        if (!former) former = term_new(assembly, TERM_UNDEFINED, BITS_ANY);
        const Term *yes = assembly->predicate_holds ? term : former;
        const Term *no = assembly->predicate_holds ? former : term;
        term = former ? term_operation(assembly, term->bits, OP_WHERE, predicate, yes, no) : NULL;
    }
    *target = term;
    return term != NULL;
}

/// Comments and braces aside, statements end in semicolons.
static bool text_run(Assembly *assembly, Str text) {
    Buffer plain = buffer_new(assembly->lowering->arena);
    for (size_t i = 0; i < text.size; i++) {
        bool starts = text.data[i] == '/' && i + 1 < text.size;
        if (starts && text.data[i + 1] == '/') {
            while (i < text.size && text.data[i] != '\n') i++;
        } else if (starts && text.data[i + 1] == '*') {
            return false;
        } else {
            bool is_brace = text.data[i] == '{' || text.data[i] == '}';
            buffer_putc(&plain, is_brace ? ' ' : text.data[i]);
        }
    }
    Str rest = {buffer_text(&plain), plain.size};
    while (rest.size)
        if (!statement_run(assembly, word_until(&rest, ";"))) return false;
    return true;
}

// --- Values

static DTypeCode dtype_of_bits(Bits bits) {
    return bits == BITS_FLOAT ? DTYPE_FLOAT32 : bits == BITS_SIGNED ? DTYPE_INT32 : DTYPE_UINT32;
}

static Value *value_as(Assembly *assembly, Value *value, Bits bits) {
    Builder *builder = &assembly->lowering->builder;
    bool is_fitting = bits == BITS_ANY || bits == BITS_PREDICATE || value->type.is_constexpr ||
                      value->type.element.code == dtype_of_bits(bits);
    bool is_same_class = bits != BITS_FLOAT && dtype_is_integer(value->type.element);
    if (is_fitting) return value;
    return build_binary(builder, is_same_class ? OP_CAST : OP_BITCAST, value,
                        build_dtype(builder, dtype_of(dtype_of_bits(bits))));
}

static Value *value_of(Assembly *assembly, const Term *term, Value *const *arguments);

static Value *value_of_operation(Assembly *assembly, const Term *term, Value *const *arguments) {
    Builder *builder = &assembly->lowering->builder;
    Value *x[3] = {NULL, NULL, NULL};
    int count = 0;
    bool compares = term->bits == BITS_PREDICATE && term->code != OP_WHERE;
    Bits operands = compares ? term->x[0]->bits : term->bits;
    for (; count < 3 && term->x[count]; count++) {
        x[count] = value_of(assembly, term->x[count], arguments);
        if (!x[count]) return NULL;
        bool converts = term->code == OP_CAST;
        if (!converts && !(term->code == OP_WHERE && count == 0))
            x[count] = value_as(assembly, x[count], operands);
    }
    if (term->code != OP_CAST) return build(builder, term->code, x, count);
    if (count == 1) return value_as(assembly, x[0], term->bits);
    return build_binary(builder, OP_CAST, x[0],
                        build_dtype(builder, dtype_of(dtype_of_bits(term->bits))));
}

static Value *value_of(Assembly *assembly, const Term *term, Value *const *arguments) {
    Builder *builder = &assembly->lowering->builder;
    Term *writable = (Term *)(uintptr_t)term;
    if (term->built) return term->built;
    switch (term->kind) {
    case TERM_UNDEFINED: return NULL;
    case TERM_ARGUMENT: writable->built = arguments[term->argument]; break;
    case TERM_NUMBER:
        writable->built = term->is_integer && term->bits != BITS_FLOAT
                              ? build_int(builder, term->integer)
                              : build_float(builder, term->number);
        break;
    case TERM_OPERATION: writable->built = value_of_operation(assembly, term, arguments); break;
    }
    return term->built;
}

/// An argument of 32 bits, of a type that the kernel's instance decides taken for a float32; NULL for others.
static Value *argument_prepared(Lowering *lowering, Value *value) {
    DTypeCode code = value->type.element.code;
    if (value->type.kind != TYPE_NUMBER) return NULL;
    if (code == DTYPE_FLOAT32 || code == DTYPE_INT32 || code == DTYPE_UINT32) return value;
    bool is_open = code <= DTYPE_OF_PARAMETER && dtype_is_float(value->type.element);
    if (!is_open || value->type.is_constexpr) return NULL;
    return build_binary(&lowering->builder, OP_CAST, value,
                        build_dtype(&lowering->builder, dtype_of(DTYPE_FLOAT32)));
}

static Bits bits_of_result(const Value *dtype) {
    const Constant *constant = dtype->constant;
    if (!constant || constant->kind != CONSTANT_DTYPE || constant->is_pointer) return BITS_ANY;
    switch (constant->dtype.code) {
    case DTYPE_FLOAT32: return BITS_FLOAT;
    case DTYPE_INT32: return BITS_SIGNED;
    case DTYPE_UINT32: return BITS_UNSIGNED;
    default: return BITS_ANY;
    }
}

/// The results, one for each element type in `dtype`; NULL where one is not understood.
static Value *results_of(Assembly *assembly, Value *dtype, int packed, Value *const *arguments) {
    int count = 1;
    bool is_tuple = value_is_tuple(dtype, &count);
    Value *results[ASSEMBLY_MOST_ARGUMENTS] = {NULL};
    for (int i = 0; i < count; i++) {
        const Term *first = assembly->outputs[i * packed];
        Bits bits = bits_of_result(is_tuple ? dtype->op->operands[i] : dtype);
        if (!first || bits == BITS_ANY) return NULL;
        for (int lane = 1; lane < packed; lane++) {
            const Term *other = assembly->outputs[i * packed + lane];
            if (!other || !terms_match(assembly, first, 0, other, lane)) return NULL;
        }
        results[i] = value_of(assembly, first, arguments);
        if (!results[i] || results[i]->type.is_constexpr) return NULL;
        results[i] = value_as(assembly, results[i], bits);
    }
    return is_tuple ? build_tuple(&assembly->lowering->builder, results, count) : results[0];
}

Value *lower_assembly(Lowering *lowering, Value *const *operands, int operand_count) {
    int64_t packed = 1;
    int count = 0;
    int results = 1;
    if (operand_count < 6 || !operands[0]->constant || !value_is_tuple(operands[2], &count) ||
        !value_is_int(operands[5], &packed))
        return NULL;
    value_is_tuple(operands[3], &results);
    const Constant *text = operands[0]->constant;
    if (text->kind != CONSTANT_STRING || count == 0 || count > ASSEMBLY_MOST_ARGUMENTS ||
        results < 1 || results > ASSEMBLY_MOST_ARGUMENTS || packed < 1 ||
        packed > ASSEMBLY_MOST_PACKED)
        return NULL;
    Assembly assembly = {.lowering = lowering,
                         .output_count = results * (int)packed,
                         .input_count = count * (int)packed};
    for (int i = 0; i < assembly.input_count; i++) {
        Term *term = term_new(&assembly, TERM_ARGUMENT, BITS_ANY);
        term->argument = i / (int)packed;
        term->lane = i % (int)packed;
        assembly.inputs[i] = term;
    }
    if (!text_run(&assembly, text->string)) return NULL;
    Value *arguments[ASSEMBLY_MOST_ARGUMENTS];
    for (int i = 0; i < count; i++) {
        arguments[i] = argument_prepared(lowering, operands[2]->op->operands[i]);
        if (!arguments[i]) return NULL;
    }
    return results_of(&assembly, operands[3], (int)packed, arguments);
}
