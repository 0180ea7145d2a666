// Numbers and strings as Python writes them.
#include "analysis/expressions/lower_literal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/build/build.h"
#include "analysis/expressions/lower_expression.h"
#include "analysis/frames/conditions.h"
#include "analysis/frames/lowering.h"
#include "analysis/syntax/syntax_nodes.h"

/// `text` without underscores, NUL-terminated.
static char *digits_of(Arena *arena, Str text) {
    char *digits = arena_strndup(arena, text.data, text.size);
    char *to = digits;
    for (const char *from = digits; *from; from++)
        if (*from != '_') *to++ = *from;
    *to = '\0';
    return digits;
}

Value *lower_integer(Lowering *lowering, SyntaxNode node) {
    const char *digits = digits_of(lowering->arena, lowering_text(lowering, node));
    int base = 10;
    if (digits[0] == '0' && digits[1]) {
        char kind = (char)(digits[1] | 0x20);
        base = kind == 'x' ? 16 : kind == 'b' ? 2 : kind == 'o' ? 8 : 10;
        if (base != 10) digits += 2;
    }
    errno = 0;
    char *end = NULL;
    unsigned long long number = strtoull(digits, &end, base);
    if (errno == ERANGE)
        return lowering_unknown(lowering, node,
                                "Integers of more than 64 bits are not understood.");
    if (!end || *end || end == digits)
        return lowering_unknown(lowering, node, "This number is not understood.");
    Constant constant = {
        .kind = CONSTANT_INT, .integer = (int64_t)number, .number = (double)number};
    return build_constant(&lowering->builder, constant);
}

Value *lower_float(Lowering *lowering, SyntaxNode node) {
    const char *digits = digits_of(lowering->arena, lowering_text(lowering, node));
    char *end = NULL;
    double number = strtod(digits, &end);
    if (!end || *end || end == digits)
        return lowering_unknown(lowering, node, "This number is not understood.");
    return build_float(&lowering->builder, number);
}

static char unescape(char c) {
    switch (c) {
    case 'n': return '\n';
    case 't': return '\t';
    case 'r': return '\r';
    case '0': return '\0';
    default: return c;
    }
}

/// Python reads the line ends of a file as \n, whatever they are.
static bool is_half_line_end(Str text, size_t i) {
    return text.data[i] == '\r' && i + 1 < text.size && text.data[i + 1] == '\n';
}

static void string_add_content(Buffer *buffer, Str text, bool is_raw) {
    for (size_t i = 0; i < text.size; i++) {
        if (is_half_line_end(text, i)) continue;
        char c = text.data[i];
        if (!is_raw && c == '\\' && i + 1 < text.size && is_half_line_end(text, i + 1)) i++;
        bool is_escape = !is_raw && c == '\\' && i + 1 < text.size;
        if (is_escape && text.data[i + 1] == '\n') {
            i++;
            continue;
        }
        if (is_escape && strchr("ntr0\\'\"", text.data[i + 1])) c = unescape(text.data[++i]);
        buffer_putc(buffer, c);
    }
}

/// False where the value is no constant whose text is known.
static bool string_add_constant(Buffer *buffer, const Value *value) {
    const Constant *constant = value ? value->constant : NULL;
    if (constant && constant->kind == CONSTANT_INT)
        buffer_printf(buffer, "%lld", (long long)constant->integer);
    else if (constant && constant->kind == CONSTANT_BOOL)
        buffer_puts(buffer, constant->integer ? "True" : "False");
    else if (constant && constant->kind == CONSTANT_STRING)
        buffer_add(buffer, constant->string.data, constant->string.size);
    else
        return false;
    return true;
}

/// The text of an interpolated constant; what is not known stays as it is written.
static void string_add_value(Lowering *lowering, Buffer *buffer, SyntaxNode node) {
    SyntaxNode expression = node_field(node, "expression");
    const Value *value = lower_value(lowering, expression);
    if (value_is_runtime(value) && lowering->frame->module && !lowering->global_depth) {
        Diagnostic *said =
            lowering_report(lowering, DIAGNOSTIC_UNSUPPORTED_PYTHON, node,
                            "A text can hold constexprs only, and this is known at run time.");
        // what a flag turns on may be there for Triton's interpreter, which prints it
        if (said && said->severity != SEVERITY_ERROR) said->severity = SEVERITY_HINT;
    }
    if (!string_add_constant(buffer, value))
        string_add_content(buffer, lowering_text(lowering, node), true);
}

static void string_add(Lowering *lowering, Buffer *buffer, SyntaxNode node) {
    SyntaxNode *parts;
    int count = node_children(lowering->arena, node, &parts);
    bool is_raw = false;
    for (int i = 0; i < count; i++) {
        switch (node_kind(parts[i])) {
        case SYNTAX_STRING: string_add(lowering, buffer, parts[i]); break;
        case SYNTAX_STRING_CONTENT:
            string_add_content(buffer, lowering_text(lowering, parts[i]), is_raw);
            break;
        case SYNTAX_INTERPOLATION: string_add_value(lowering, buffer, parts[i]); break;
        default: {  // where the string starts: its prefix
            Str start = lowering_text(lowering, parts[i]);
            for (size_t j = 0; j < start.size; j++)
                is_raw = is_raw || start.data[j] == 'r' || start.data[j] == 'R';
        }
        }
    }
}

/// The text, where it is none that only a program that grows it has.
static Value *text_of_buffer(Lowering *lowering, Buffer *buffer) {
    if (buffer->size > TEXT_LIMIT) return lowering_opaque(lowering, "a very long text");
    Constant constant = {.kind = CONSTANT_STRING, .string = {buffer_text(buffer), buffer->size}};
    return build_constant(&lowering->builder, constant);
}

Value *lower_string(Lowering *lowering, SyntaxNode node) {
    Buffer buffer = buffer_new(lowering->arena);
    string_add(lowering, &buffer, node);
    return text_of_buffer(lowering, &buffer);
}

/// The argument that `{name}`, `{0}` or `{}` stands for, or NULL.
static const Value *format_argument(const Arguments *arguments, Str field, int *next) {
    if (field.size == 0 || (field.data[0] >= '0' && field.data[0] <= '9')) {
        long index = field.size ? strtol(field.data, NULL, 10) : (*next)++;
        return index < arguments->positional.count ? arguments->positional.items[index] : NULL;
    }
    for (LIST_EACH(int, i, arguments->keywords))
        if (str_is(field, arguments->keywords.items[i].name))
            return arguments->keywords.items[i].value;
    return NULL;
}

static Value *lower_format(Lowering *lowering, Str text, const Arguments *arguments) {
    Buffer buffer = buffer_new(lowering->arena);
    int next = 0;
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        bool is_doubled = i + 1 < text.size && text.data[i + 1] == c;
        if ((c == '{' || c == '}') && is_doubled) {
            buffer_putc(&buffer, c);
            i++;
            continue;
        }
        if (c != '{') {
            buffer_putc(&buffer, c);
            continue;
        }
        size_t end = i + 1;
        while (end < text.size && text.data[end] != '}') end++;
        Str field = {text.data + i + 1, end - i - 1};
        if (!string_add_constant(&buffer, format_argument(arguments, field, &next)))
            return lowering_opaque(lowering, "a text that is not known");
        if (buffer.size > TEXT_LIMIT) break;
        i = end;
    }
    return text_of_buffer(lowering, &buffer);
}

static Value *text_value(Lowering *lowering, Str text) {
    return build_constant(&lowering->builder, (Constant){.kind = CONSTANT_STRING, .string = text});
}

/// The parts between separators.
static Value *lower_split(Lowering *lowering, Str text, Str separator) {
    LIST(Value *) parts = {0};
    size_t start = 0;
    for (size_t i = 0; i + separator.size <= text.size; i++) {
        if (memcmp(text.data + i, separator.data, separator.size) != 0) continue;
        LIST_PUSH(lowering->arena, &parts,
                  text_value(lowering, (Str){text.data + start, i - start}));
        start = i + separator.size;
        i = start - 1;
    }
    LIST_PUSH(lowering->arena, &parts,
              text_value(lowering, (Str){text.data + start, text.size - start}));
    return build_tuple(&lowering->builder, parts.items, parts.count);
}

static Value *lower_join(Lowering *lowering, Str separator, const Value *items) {
    int count;
    if (!value_is_tuple(items, &count)) return NULL;
    Buffer buffer = buffer_new(lowering->arena);
    for (int i = 0; i < count; i++) {
        const Constant *item = items->op->operands[i]->constant;
        if (!item || item->kind != CONSTANT_STRING) return NULL;
        if (i) buffer_add(&buffer, separator.data, separator.size);
        buffer_add(&buffer, item->string.data, item->string.size);
        if (buffer.size > TEXT_LIMIT) return NULL;
    }
    return text_value(lowering, (Str){buffer_text(&buffer), buffer.size});
}

bool text_method_exists(Str name) {
    static const char *const names[] = {"format", "split", "join", "strip", "startswith"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (str_is(name, names[i])) return true;
    return false;
}

Value *lower_text_method(Lowering *lowering, Str text, Str name, const Arguments *arguments) {
    Value *given = arguments->positional.count ? arguments->positional.items[0] : NULL;
    const Constant *first = given ? given->constant : NULL;
    bool has_text = first && first->kind == CONSTANT_STRING && first->string.size;
    Value *value = NULL;
    if (str_is(name, "format")) return lower_format(lowering, text, arguments);
    if (str_is(name, "split") && has_text) value = lower_split(lowering, text, first->string);
    if (str_is(name, "join") && given) value = lower_join(lowering, text, given);
    if (str_is(name, "strip") && !given) value = text_value(lowering, str_trim(text));
    if (str_is(name, "startswith") && has_text)
        value = build_bool(&lowering->builder,
                           str_starts(text, str_dup(lowering->arena, first->string)));
    return value ? value : lowering_opaque(lowering, "a text that is not known");
}
