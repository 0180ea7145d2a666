// Text before the cursor in; what is open there, and what is called, out.
#include "features/names/scan.h"

#include "analysis/syntax/syntax_nodes.h"
#include "features/names/targets.h"

#include <string.h>

static bool byte_is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/// Where the line of `offset` starts.
static uint32_t line_start(const Source *source, uint32_t offset) {
    while (offset > 0 && source->text.data[offset - 1] != '\n') offset--;
    return offset;
}

/// The last line above (or at) the cursor that starts a statement at the left margin; its decorators included.
static uint32_t statement_start(const Source *source, uint32_t offset) {
    const char *text = source->text.data;
    uint32_t start = line_start(source, offset);
    for (;;) {
        char c = start < source->text.size ? text[start] : '\n';
        bool is_statement = byte_is_word(c) || c == '@';
        bool continues =
            strncmp(text + start, "else", 4) == 0 || strncmp(text + start, "elif", 4) == 0;
        if ((is_statement && !continues) || start == 0) break;
        start = line_start(source, start - 1);
    }
    // `def` below `@decorator`
    while (start > 0) {
        uint32_t above = line_start(source, start - 1);
        bool is_definition = text[start] == '@' || strncmp(text + start, "def ", 4) == 0;
        if (!is_definition || text[above] != '@') break;
        start = above;
    }
    return start;
}

typedef struct Lexer {
    const char *text;
    uint32_t at;
    uint32_t end;
    Scan *scan;
} Lexer;

/// Skips the string at hand; false where it does not end before the lexer's end.
static bool lex_string(Lexer *lexer) {
    char quote = lexer->text[lexer->at];
    bool is_triple = lexer->at + 2 < lexer->end && lexer->text[lexer->at + 1] == quote &&
                     lexer->text[lexer->at + 2] == quote;
    lexer->at += is_triple ? 3 : 1;
    for (; lexer->at < lexer->end; lexer->at++) {
        char c = lexer->text[lexer->at];
        if (c == '\\') {
            lexer->at++;
            continue;
        }
        if (!is_triple && (c == quote || c == '\n')) {
            lexer->at++;
            return true;
        }
        if (is_triple && lexer->at + 2 < lexer->end && c == quote &&
            lexer->text[lexer->at + 1] == quote && lexer->text[lexer->at + 2] == quote) {
            lexer->at += 3;
            return true;
        }
    }
    return false;
}

static void lex_open(Lexer *lexer, char c) {
    if (lexer->scan->depth == BRACKETS_MOST_NESTED) return;
    lexer->scan->open[lexer->scan->depth++] = (OpenBracket){lexer->at, c, 0, lexer->at + 1};
}

static void lex_byte(Lexer *lexer, char c) {
    Scan *scan = lexer->scan;
    OpenBracket *top = scan->depth ? &scan->open[scan->depth - 1] : NULL;
    switch (c) {
    case '(':
    case '[':
    case '{': lex_open(lexer, c); break;
    case ')':
    case ']':
    case '}':
        if (scan->depth) scan->depth--;
        break;
    case ',':
        if (top) {
            top->commas++;
            top->item_start = lexer->at + 1;
        }
        break;
    default: break;
    }
    lexer->at++;
}

static void lex(Lexer *lexer) {
    Scan *scan = lexer->scan;
    while (lexer->at < lexer->end) {
        char c = lexer->text[lexer->at];
        if (c == '#') {
            uint32_t start = lexer->at;
            while (lexer->at < lexer->end && lexer->text[lexer->at] != '\n') lexer->at++;
            if (lexer->at < lexer->end) continue;
            scan->in_comment = true;
            scan->text_start = start;
        } else if (c == '"' || c == '\'') {
            uint32_t start = lexer->at;
            if (lex_string(lexer)) continue;
            scan->in_string = true;
            scan->text_start = start;
        } else {
            lex_byte(lexer, c);
        }
    }
}

Scan scan_to(FileNames *names, uint32_t offset) {
    const Source *source = names->source;
    Scan scan = {.offset = offset, .start = statement_start(source, offset)};
    Lexer lexer = {source->text.data, scan.start, offset, &scan};
    lex(&lexer);
    return scan;
}

// --- Callees

uint32_t skip_spaces_back(const Source *source, uint32_t end) {
    while (end > 0 && (source->text.data[end - 1] == ' ' || source->text.data[end - 1] == '\t'))
        end--;
    return end;
}

Range dotted_before(const Source *source, uint32_t end) {
    end = skip_spaces_back(source, end);
    uint32_t start = end;
    while (start > 0 &&
           (byte_is_word(source->text.data[start - 1]) || source->text.data[start - 1] == '.'))
        start--;
    return (Range){source, start, end};
}

/// Where the bracket that closes right before `end` opens; `end` itself where none does.
static uint32_t bracket_before(const Source *source, uint32_t end) {
    const char *text = source->text.data;
    if (end == 0 || (text[end - 1] != ']' && text[end - 1] != ')')) return end;
    int depth = 0;
    uint32_t limit = end > 4000 ? end - 4000 : 0;
    for (uint32_t i = end; i > limit; i--) {
        char c = text[i - 1];
        if (c == ']' || c == ')' || c == '}') depth++;
        if (c == '[' || c == '(' || c == '{') depth--;
        if (depth == 0) return i - 1;
    }
    return end;
}

ScopeEntry entry_of_dotted(FileNames *names, Str dotted) {
    ScopeEntry entry = {.kind = SCOPE_MISSING};
    bool is_first = true;
    while (dotted.size) {
        size_t size = 0;
        while (size < dotted.size && dotted.data[size] != '.') size++;
        Str part = {dotted.data, size};
        if (!part.size) return (ScopeEntry){.kind = SCOPE_MISSING};
        entry = is_first ? module_resolve(names->arena, names->snapshot->module, part)
                         : scope_attribute(names->arena, entry, part);
        is_first = false;
        size_t taken = size < dotted.size ? size + 1 : size;
        dotted = (Str){dotted.data + taken, dotted.size - taken};
    }
    return entry;
}

const Value *variable_before(FileNames *names, const Kernel *kernel, Str name, uint32_t offset) {
    SyntaxNode function = node_of_kernel(names, kernel);
    if (node_is_null(function) || !kernel->function) return NULL;
    const Value *value = NULL;
    for (int i = 0; i < kernel->function->parameter_count; i++)
        if (str_is(name, kernel->function->parameters[i].name))
            value = kernel->function->parameters[i].value;
    Targets targets = targets_of(names, function);
    for (LIST_EACH(int, i, targets.list)) {
        SyntaxNode node = targets.list.items[i].node;
        if (range_of(names, node).end >= offset) break;
        if (!str_equal(text_of(names, node), name) ||
            !target_is_before(names, &targets.list.items[i], offset))
            continue;
        const Value *assigned = value_of_node(names, kernel, node);
        if (assigned) value = assigned;
    }
    return value;
}

static bool is_variable(FileNames *names, const Kernel *kernel, Str name) {
    SyntaxNode function = node_of_kernel(names, kernel);
    return !node_is_null(function) && map_get(names_bound(names, function), name) != NULL;
}

static Callee callee_method(FileNames *names, const Kernel *kernel, Str receiver, Str name,
                            uint32_t offset) {
    Callee callee = {.kind = CALLEE_METHOD, .op = OP_COUNT};
    const Value *value = receiver.size ? variable_before(names, kernel, receiver, offset) : NULL;
    if (value && value->type.kind == TYPE_DESCRIPTOR)
        callee.op =
            op_find_method(str_from(arena_printf(names->arena, "descriptor.%.*s", STR_ARGS(name))));
    if (callee.op == OP_COUNT) callee.op = op_find_method(name);
    if (callee.op == OP_COUNT) callee.kind = CALLEE_NONE;
    return callee;
}

static Callee callee_of_entry(ScopeEntry entry, bool is_launch) {
    Callee callee = {.kind = CALLEE_NONE, .op = OP_COUNT};
    Str language;
    if (entry.kind == SCOPE_FUNCTION && entry.function->is_jit) {
        callee.kind = is_launch ? CALLEE_LAUNCH : CALLEE_FUNCTION;
        callee.function = entry.function;
    } else if (entry.kind == SCOPE_EXTERNAL && scope_language_name(entry.dotted, &language)) {
        callee.op = scope_find_operation(language);
        if (callee.op != OP_COUNT) callee.kind = CALLEE_OPERATION;
    } else if (entry.kind == SCOPE_EXTERNAL && str_starts(entry.dotted, "triton.")) {
        callee.kind = CALLEE_DECORATOR;
        callee.dotted = entry.dotted;
    }
    return callee;
}

/// The callee whose argument list opens at `bracket`. `kernel` is the jit function around, or NULL.
static Callee callee_before(FileNames *names, const Kernel *kernel, uint32_t bracket) {
    const Source *source = names->source;
    uint32_t end = skip_spaces_back(source, bracket);
    uint32_t inner = bracket_before(source, end);
    bool is_launch = inner < end && source->text.data[inner] == '[';
    if (inner < end && !is_launch) return (Callee){.kind = CALLEE_NONE, .op = OP_COUNT};
    Range range = dotted_before(source, inner);
    Str text = source_slice(range);
    Callee callee = {.kind = CALLEE_NONE, .op = OP_COUNT};
    if (!text.size) return callee;
    Str last = text_last_component(text);
    size_t first_size = 0;
    while (first_size < text.size && text.data[first_size] != '.') first_size++;
    Str first = {text.data, first_size};
    bool is_member = last.size < text.size;
    // `f(x).sum(`: the receiver is an expression.
    if (is_member && !first.size)
        callee = kernel ? callee_method(names, kernel, first, last, bracket) : callee;
    else if (kernel && is_member && is_variable(names, kernel, first))
        callee = callee_method(names, kernel,
                               first_size + 1 + last.size == text.size ? first : (Str){"", 0}, last,
                               bracket);
    else if (!is_member && kernel && is_variable(names, kernel, first))
        return callee;
    else
        callee = callee_of_entry(entry_of_dotted(names, text), is_launch);
    callee.start = range.start;
    return callee;
}

Callee callee_around(FileNames *names, const Kernel *kernel, const Scan *scan, OpenBracket *open) {
    for (int i = scan->depth - 1; i >= 0; i--) {
        if (scan->open[i].bracket != '(') continue;
        Callee callee = callee_before(names, kernel, scan->open[i].offset);
        if (callee.kind == CALLEE_NONE) {
            // A call of something else hides the outer ones; brackets alone do not.
            uint32_t end = skip_spaces_back(names->source, scan->open[i].offset);
            char before = end ? names->source->text.data[end - 1] : ' ';
            if (byte_is_word(before) || before == ')' || before == ']') break;
            continue;
        }
        *open = scan->open[i];
        return callee;
    }
    return (Callee){.kind = CALLEE_NONE, .op = OP_COUNT};
}

Str keyword_of(const Source *source, uint32_t start, uint32_t end) {
    const char *text = source->text.data;
    while (start < end && byte_is_space(text[start])) start++;
    uint32_t name_end = start;
    while (name_end < end && byte_is_word(text[name_end])) name_end++;
    uint32_t equals = name_end;
    while (equals < end && byte_is_space(text[equals])) equals++;
    bool is_keyword = name_end > start && equals < end && text[equals] == '=' &&
                      (equals + 1 >= end || text[equals + 1] != '=');
    if (!is_keyword) return (Str){"", 0};
    return (Str){text + start, name_end - start};
}

Map keywords_given(FileNames *names, uint32_t start) {
    const Source *source = names->source;
    Map given = map_new(names->arena);
    int depth = 0;
    uint32_t item = start;
    uint32_t limit = start + 4000;
    for (uint32_t i = start; i < source->text.size && i < limit; i++) {
        char c = source->text.data[i];
        if (c == '(' || c == '[' || c == '{') depth++;
        bool closes = c == ')' || c == ']' || c == '}';
        if ((c == ',' && depth == 0) || (closes && depth == 0)) {
            Str keyword = keyword_of(source, item, i);
            if (keyword.size) map_set(&given, keyword, names);
            item = i + 1;
        }
        if (closes && depth-- == 0) break;
    }
    return given;
}

// --- Kernels around the cursor

static uint32_t indentation_at(const Source *source, uint32_t start) {
    uint32_t end = start;
    while (end < source->text.size &&
           (source->text.data[end] == ' ' || source->text.data[end] == '\t'))
        end++;
    return end - start;
}

static bool lines_are_blank(const Source *source, uint32_t from, uint32_t to) {
    for (uint32_t i = from; i < to; i++)
        if (!byte_is_space(source->text.data[i])) return false;
    return true;
}

const Kernel *kernel_at(FileNames *names, uint32_t offset) {
    if (offset > names->source->text.size) return NULL;
    const Kernel *kernel = kernel_around(names, node_at(names->root, offset, offset));
    if (kernel) return kernel;
    // Behind the last statement of a function, as deep as its body.
    uint32_t start = line_start(names->source, offset);
    for (LIST_EACH(int, i, names->snapshot->kernels)) {
        kernel = &names->snapshot->kernels.items[i];
        Range range = snapshot_range(names->snapshot, kernel->definition->range);
        if (range.start >= offset || range.end > offset) continue;
        uint32_t margin = indentation_at(names->source, line_start(names->source, range.start));
        uint32_t column = indentation_at(names->source, start);
        if (start + column > offset) column = offset - start;
        bool is_below = start <= range.end || lines_are_blank(names->source, range.end, start);
        if (is_below && (start <= range.end || column > margin)) return kernel;
    }
    return NULL;
}

// --- Repair

static char closer_of(char bracket) { return bracket == '(' ? ')' : bracket == '[' ? ']' : '}'; }

static uint32_t line_end(const Source *source, uint32_t offset) {
    while (offset < source->text.size && source->text.data[offset] != '\n') offset++;
    return offset;
}

/// Where the top-level statement that starts at `start` ends: before the next line at the margin.
static uint32_t statement_end(const Source *source, uint32_t start, uint32_t offset) {
    uint32_t at = line_end(source, offset);
    (void)start;
    while (at < source->text.size) {
        uint32_t next = at + 1;
        char c = next < source->text.size ? source->text.data[next] : '\n';
        if (byte_is_word(c) || c == '@') return next;
        at = line_end(source, next);
        if (next >= source->text.size) break;
    }
    return (uint32_t)source->text.size;
}

const char *text_repaired(FileNames *names, const Scan *scan) {
    const Source *source = names->source;
    const char *text = source->text.data;
    uint32_t offset = scan->offset;
    // Are the brackets that are open here closed further down?
    Scan rest = {.offset = offset};
    Lexer lexer = {text, scan->start, statement_end(source, scan->start, offset), &rest};
    lex(&lexer);
    bool needs_closing = rest.depth > 0;
    uint32_t before = skip_spaces_back(source, offset);
    char last = before > scan->start ? text[before - 1] : '\n';
    bool needs_name = last == '.' || strchr("=+-*/%&|^<>~@", last) != NULL;
    bool in_word = offset < source->text.size && byte_is_word(text[offset]);
    if (!needs_closing && !needs_name) return NULL;
    uint32_t end = line_end(source, offset);
    // A comment at the end of the line stays behind what is closed.
    Buffer out = buffer_new(names->arena);
    buffer_add(&out, text, offset);
    if (needs_name && !in_word) buffer_puts(&out, "_");
    const char *hash = memchr(text + offset, '#', end - offset);
    uint32_t code_end = hash ? (uint32_t)(hash - text) : end;
    buffer_add(&out, text + offset, code_end - offset);
    if (needs_closing) {
        Scan line = {.offset = code_end};
        Lexer to_end = {text, scan->start, code_end, &line};
        lex(&to_end);
        for (int i = line.depth; i > 0; i--) buffer_putc(&out, closer_of(line.open[i - 1].bracket));
        // `if f(x` without its colon
        uint32_t first =
            line_start(source, offset) + indentation_at(source, line_start(source, offset));
        static const char *const blocks[] = {"if ", "for ", "while ", "elif ", "with "};
        for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
            if (strncmp(text + first, blocks[i], strlen(blocks[i])) == 0 && line.depth)
                buffer_puts(&out, ": pass");
    }
    buffer_add(&out, text + code_end, source->text.size - code_end);
    return buffer_text(&out);
}
