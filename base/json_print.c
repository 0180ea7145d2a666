// JSON values out as text, in one pass into one buffer.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"

typedef struct JsonPrinter {
    Buffer text;
    bool pretty;  // objects with a member a line
    int depth;    // of objects and arrays
} JsonPrinter;

static void value_print(JsonPrinter *printer, const Json *value);

/// Fifteen digits where they tell the number, else seventeen, which always do.
static void number_print(Buffer *text, double number) {
    enum { LARGEST_INTEGER = 1000000000 };
    if (!isfinite(number)) {
        buffer_puts(text, "null");
        return;
    }
    if (fabs(number) < LARGEST_INTEGER && number == (int)number) {
        buffer_put_int(text, (int)number);
        return;
    }
    char digits[32];
    snprintf(digits, sizeof digits, "%1.15g", number);
    if (strtod(digits, NULL) != number) snprintf(digits, sizeof digits, "%1.17g", number);
    buffer_puts(text, digits);
}

/// The letter after the backslash, or 0 where the character stands for itself or needs its number.
static char escape_letter(char c) {
    switch (c) {
    case '"':
    case '\\': return c;
    case '\b': return 'b';
    case '\f': return 'f';
    case '\n': return 'n';
    case '\r': return 'r';
    case '\t': return 't';
    default: return 0;
    }
}

void json_add_string(Buffer *text, Str string) {
    buffer_putc(text, '"');
    size_t plain = 0;  // where the characters that stand for themselves began
    for (size_t i = 0; i < string.size; i++) {
        char c = string.data[i];
        char letter = escape_letter(c);
        if (!letter && (unsigned char)c >= ' ') continue;
        buffer_add(text, string.data + plain, i - plain);
        plain = i + 1;
        if (letter) {
            buffer_putc(text, '\\');
            buffer_putc(text, letter);
        } else {
            buffer_printf(text, "\\u%04x", (unsigned)(unsigned char)c);
        }
    }
    buffer_add(text, string.data + plain, string.size - plain);
    buffer_putc(text, '"');
}

static void indent_print(JsonPrinter *printer, int depth) {
    for (int i = 0; i < depth; i++) buffer_putc(&printer->text, '\t');
}

static void array_print(JsonPrinter *printer, const Json *array) {
    buffer_putc(&printer->text, '[');
    for (int i = 0; i < array->count; i++) {
        if (i) buffer_puts(&printer->text, printer->pretty ? ", " : ",");
        value_print(printer, array->items[i]);
    }
    buffer_putc(&printer->text, ']');
}

static void object_print(JsonPrinter *printer, const Json *object) {
    Buffer *text = &printer->text;
    buffer_puts(text, printer->pretty ? "{\n" : "{");
    for (int i = 0; i < object->count; i++) {
        if (printer->pretty) indent_print(printer, printer->depth);
        json_add_string(text, object->keys[i]);
        buffer_puts(text, printer->pretty ? ":\t" : ":");
        value_print(printer, object->items[i]);
        if (i + 1 < object->count) buffer_putc(text, ',');
        if (printer->pretty) buffer_putc(text, '\n');
    }
    if (printer->pretty) indent_print(printer, printer->depth - 1);
    buffer_putc(text, '}');
}

static void value_print(JsonPrinter *printer, const Json *value) {
    printer->depth++;
    switch (value->kind) {
    case JSON_NULL: buffer_puts(&printer->text, "null"); break;
    case JSON_BOOL: buffer_puts(&printer->text, value->number != 0 ? "true" : "false"); break;
    case JSON_NUMBER: number_print(&printer->text, value->number); break;
    case JSON_STRING: json_add_string(&printer->text, value->string); break;
    case JSON_ARRAY: array_print(printer, value); break;
    case JSON_OBJECT: object_print(printer, value); break;
    case JSON_TEXT: buffer_add(&printer->text, value->string.data, value->string.size); break;
    }
    printer->depth--;
}

void json_add(Buffer *text, const Json *value, bool pretty) {
    JsonPrinter printer = {.text = *text, .pretty = pretty};
    value_print(&printer, value);
    *text = printer.text;
}

const char *json_print(Arena *arena, const Json *value, bool pretty) {
    Buffer text = buffer_new(arena);
    json_add(&text, value, pretty);
    return buffer_text(&text);
}
