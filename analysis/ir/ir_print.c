// A function of the tile IR as readable text, the `--dump ir` form: one op a line with its type, regions indented.
#include "analysis/ir/ir_print.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "analysis/ir/ir.h"
#include "base/map.h"

typedef struct IrPrinter {
    Arena *arena;
    Buffer buffer;
    Map labels;  // value -> label
    Map taken;   // label -> how often, boxed
    int next_number;
    int depth;
} IrPrinter;

/// The user's name, numbered from its second definition on; values without one are numbered.
static const char *label_define(IrPrinter *printer, const Value *value) {
    const char *label = NULL;
    if (value->name) {
        Str name = str_from(value->name);
        int *uses = map_get(&printer->taken, name);
        if (!uses) {
            uses = ARENA_NEW(printer->arena, int);
            map_set(&printer->taken, name, uses);
        }
        (*uses)++;
        label = *uses == 1 ? arena_printf(printer->arena, "%%%s", value->name)
                           : arena_printf(printer->arena, "%%%s.%d", value->name, *uses);
    } else {
        label = arena_printf(printer->arena, "%%%d", printer->next_number++);
    }
    map_set_pointer(&printer->labels, value, (void *)(uintptr_t)label);
    return label;
}

static void print_text(Buffer *buffer, Str text) {
    buffer_putc(buffer, '"');
    for (size_t i = 0; i < text.size; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c == '"' || c == '\\')
            buffer_printf(buffer, "\\%c", c);
        else if (c < 32)
            buffer_printf(buffer, "\\x%02x", c);
        else
            buffer_putc(buffer, (char)c);
    }
    buffer_putc(buffer, '"');
}

static void print_constant(Buffer *buffer, const Constant *constant) {
    switch (constant->kind) {
    case CONSTANT_NONE: buffer_puts(buffer, "None"); break;
    case CONSTANT_BOOL: buffer_puts(buffer, constant->integer ? "True" : "False"); break;
    case CONSTANT_INT: buffer_printf(buffer, "%lld", (long long)constant->integer); break;
    case CONSTANT_FLOAT: buffer_put_float(buffer, constant->number); break;
    case CONSTANT_STRING: print_text(buffer, constant->string); break;
    case CONSTANT_DTYPE:
        if (constant->is_pointer) buffer_putc(buffer, '*');
        if (constant->dtype.code == DTYPE_OF_PARAMETER)
            buffer_printf(buffer, "element%d", constant->dtype.parameter);
        else
            buffer_puts(buffer, dtype_short_name(constant->dtype.code));
        break;
    case CONSTANT_FUNCTION:
        buffer_puts(buffer, constant->function ? "@function" : "@");
        if (!constant->function) buffer_puts(buffer, op_id(constant->op));
        break;
    case CONSTANT_TUPLE: constant_write_tuple(buffer, constant, print_constant); break;
    }
}

static void print_value(IrPrinter *printer, const Value *value) {
    const char *label = value ? map_get_pointer(&printer->labels, value) : NULL;
    if (!value)
        buffer_putc(&printer->buffer, '_');
    else if (value->constant)
        print_constant(&printer->buffer, value->constant);
    else if (label)
        buffer_puts(&printer->buffer, label);
    else
        buffer_printf(&printer->buffer, "%%<undefined %d>", value->id);
}

static void print_indent(IrPrinter *printer) {
    for (int i = 0; i < printer->depth; i++) buffer_puts(&printer->buffer, "  ");
}

static void print_results(IrPrinter *printer, const Op *op) {
    for (int i = 0; i < op->result_count; i++) {
        if (i) buffer_puts(&printer->buffer, ", ");
        buffer_puts(&printer->buffer, label_define(printer, op->results[i]));
    }
    if (op->result_count) buffer_puts(&printer->buffer, " = ");
}

static void print_types(IrPrinter *printer, const Op *op) {
    for (int i = 0; i < op->result_count; i++) {
        buffer_puts(&printer->buffer, i ? ", " : " : ");
        buffer_puts(&printer->buffer, type_print(printer->arena, op->results[i]->type));
    }
}

static void print_code(IrPrinter *printer, OpCode code) {
    for (const char *c = op_id(code); *c; c++)
        buffer_putc(&printer->buffer, (char)tolower((unsigned char)*c));
}

/// Operands by position up to the first omitted one, then by name.
static void print_operands(IrPrinter *printer, const Op *op) {
    int count;
    const OpParameter *parameters = op_parameters(op->code, &count);
    bool by_name = false;
    bool is_first = true;
    for (int i = 0; i < op->operand_count; i++) {
        if (!op->operands[i] && i < count) {
            by_name = true;
            continue;
        }
        buffer_puts(&printer->buffer, is_first ? " " : ", ");
        is_first = false;
        if (by_name) buffer_printf(&printer->buffer, "%.*s=", STR_ARGS(parameters[i].name));
        print_value(printer, op->operands[i]);
    }
    for (int i = 0; i < op->keyword_count; i++) {
        buffer_printf(&printer->buffer, "%s%s=", is_first ? " " : ", ", op->keywords[i].name);
        is_first = false;
        print_value(printer, op->keywords[i].value);
    }
    if (op->note) buffer_printf(&printer->buffer, "%s\"%s\"", is_first ? " " : ", ", op->note);
}

static void print_op(IrPrinter *printer, const Op *op);

static void print_region(IrPrinter *printer, const Region *region) {
    buffer_puts(&printer->buffer, " {");
    for (int i = 0; i < region->argument_count; i++) {
        buffer_puts(&printer->buffer, i ? ", " : " |");
        buffer_puts(&printer->buffer, label_define(printer, region->arguments[i]));
        buffer_printf(&printer->buffer, ": %s",
                      type_print(printer->arena, region->arguments[i]->type));
    }
    buffer_puts(&printer->buffer, region->argument_count ? "|\n" : "\n");
    printer->depth++;
    for (const Op *op = region->first; op; op = op->next) print_op(printer, op);
    printer->depth--;
    print_indent(printer);
    buffer_putc(&printer->buffer, '}');
}

static void print_op(IrPrinter *printer, const Op *op) {
    if (op->code == OP_CONSTANT && op->results[0]->constant) return;  // shown where it is used
    print_indent(printer);
    print_results(printer, op);
    print_code(printer, op->code);
    print_operands(printer, op);
    for (int i = 0; i < op->region_count; i++) print_region(printer, op->regions[i]);
    print_types(printer, op);
    buffer_putc(&printer->buffer, '\n');
}

const char *function_print(Arena *arena, const Function *function) {
    IrPrinter printer = {.arena = arena,
                         .buffer = buffer_new(arena),
                         .labels = map_new(arena),
                         .taken = map_new(arena)};
    buffer_printf(&printer.buffer, "function %s(", function->name);
    for (int i = 0; i < function->parameter_count; i++) {
        const Value *value = function->parameters[i].value;
        const char *label = label_define(&printer, value);
        buffer_printf(&printer.buffer, "%s%s: %s", i ? ", " : "", label,
                      type_print(arena, value->type));
        if (value->constant) {
            buffer_puts(&printer.buffer, " = ");
            print_constant(&printer.buffer, value->constant);
        }
    }
    buffer_puts(&printer.buffer, ") {\n");
    printer.depth = 1;
    for (const Op *op = function->body->first; op; op = op->next) print_op(&printer, op);
    buffer_puts(&printer.buffer, "}\n");
    return buffer_text(&printer.buffer);
}
