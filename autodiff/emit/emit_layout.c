// One statement in, its lines out: too long ones are broken where ruff breaks them, which is where Black does.
#include "autodiff/emit/emit_layout.h"

#include <string.h>

#include "analysis/ops/op.h"

enum { MAX_DEPTH = 24, LOOSEST = 100, CHOICE = -1, EACH = -2 };

/// How tightly the operator at `text` binds, and its length; 0 where there is none.
static int operator_at(const char *text, size_t *size) {
    if (strncmp(text, "for ", 4) == 0) {  // each `for` of a comprehension has a line
        *size = 3;
        return EACH;
    }
    static const char *const tests[] = {"is not", "is", "not in", "in"}, *const choices[] = {
                                                                             "if", "else"};
    int best = 0;
    *size = 0;
    for (int i = 0; i < OP_COUNT; i++) {
        const char *symbol = op_rows[i].symbol;
        size_t length = symbol ? strlen(symbol) : 0;
        if (length <= *size || strncmp(text, symbol, length) != 0 || text[length] != ' ') continue;
        *size = length;
        best = op_rows[i].precedence;
    }
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        size_t length = strlen(tests[i]);
        if (length <= *size || strncmp(text, tests[i], length) != 0 || text[length] != ' ')
            continue;
        *size = length;
        best = 4;
    }
    if (best) return best;
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        size_t length = strlen(choices[i]);
        if (strncmp(text, choices[i], length) != 0 || text[length] != ' ') continue;
        *size = length;
        best = CHOICE;
    }
    return best;
}

static bool opens(char c) { return c == '(' || c == '[' || c == '{'; }
static bool closes(char c) { return c == ')' || c == ']' || c == '}'; }

/// Past the string literal that begins at `i`, or `i` itself.
static size_t skip_string(const char *text, size_t i) {
    char quote = text[i];
    if (quote != '"' && quote != '\'') return i;
    for (i++; text[i] && text[i] != quote; i++)
        if (text[i] == '\\' && text[i + 1]) i++;
    return i;
}

/// Past the names that begin at `i` with a word of Python's that commas may follow: `for a, b in`, `lambda a, b:`; or `i` itself.
static size_t skip_names(const char *text, size_t i, size_t size) {
    bool is_each = strncmp(text + i, "for ", 4) == 0,
         is_lambda = strncmp(text + i, "lambda ", 7) == 0;
    if ((i && (byte_is_word(text[i - 1]) || text[i - 1] == '.')) || (!is_each && !is_lambda))
        return i;
    int depth = 0;
    for (size_t k = i; k < size; k++) {
        k = skip_string(text, k);
        if (k >= size) break;
        depth += opens(text[k]) - closes(text[k]);
        bool ends = is_each ? strncmp(text + k, " in ", 4) == 0 : text[k] == ':';
        if (ends && depth == 0) return k;
    }
    return i;
}

/// The loosest operators outside of brackets: how tightly they bind (LOOSEST when there are none) and how many there are.
static int outer_operators(const char *text, int *count) {
    int depth = 0, loosest = LOOSEST;
    *count = 0;
    for (size_t i = 0; text[i]; i++) {
        i = skip_string(text, i);
        if (!text[i]) break;
        if (opens(text[i])) depth++;
        if (closes(text[i])) depth--;
        if (depth || text[i] != ' ') continue;
        size_t size;
        int precedence = operator_at(text + i + 1, &size);
        if (!precedence) continue;
        if (precedence < loosest) {
            loosest = precedence;
            *count = 0;
        }
        *count += precedence == loosest;
        i += size;
    }
    return loosest;
}

/// Where the arguments of the last outermost bracket begin and end; false when the text does not end with a bracket.
static bool last_bracket(const char *text, size_t size, size_t *open, size_t *close) {
    if (size == 0 || !closes(text[size - 1])) return false;
    int depth = 0;
    *open = *close = 0;
    for (size_t i = 0; i < size; i++) {
        i = skip_string(text, i);
        if (i >= size) break;
        if (opens(text[i]) && depth++ == 0) *open = i;
        if (closes(text[i]) && --depth == 0) *close = i;
    }
    return *close == size - 1 && *close > *open + 1;
}

typedef struct Layout {
    Buffer *out;
    int depth;
} Layout;

static void layout_in_brackets(Layout *layout, int indent, const char *head, const char *text,
                               const char *tail);

static void add_line(Layout *layout, int indent, const char *head, const char *text, size_t size,
                     const char *tail) {
    buffer_printf(layout->out, "%*s%s%.*s%s\n", indent, "", head, (int)size, text, tail);
}

static bool fits(int indent, const char *head, size_t size, const char *tail) {
    return (size_t)indent + strlen(head) + size + strlen(tail) <= LINE_LIMIT;
}

/// One argument a line.
static void layout_arguments(Layout *layout, int indent, const char *text, size_t size) {
    Arena *arena = layout->out->arena;
    int depth = 0;
    size_t from = 0;
    for (size_t i = 0; i <= size; i++) {
        if (i < size) i = skip_names(text, skip_string(text, i), size);
        char c = i < size ? text[i] : ',';
        depth += opens(c) - closes(c);
        if (c != ',' || depth) continue;
        while (from < i && text[from] == ' ') from++;
        const char *argument = arena_strndup(arena, text + from, i - from);
        int count;
        bool is_lone_generator =
            from == 0 && i == size && outer_operators(argument, &count) == EACH;
        if (from < i)  // Python takes no comma behind a comprehension
            layout_in_brackets(layout, indent, "", argument, is_lone_generator ? "" : ",");
        from = i + 1;
    }
}

static bool has_comma(const char *text, size_t size) {
    int depth = 0;
    for (size_t i = 0; i < size; i++) {
        i = skip_names(text, skip_string(text, i), size);
        if (i >= size) break;
        depth += opens(text[i]) - closes(text[i]);
        if (text[i] == ',' && depth == 0) return true;
    }
    return false;
}

/// `head(` arguments `)tail`: the arguments on a line of their own, or each on one.
static void break_bracket(Layout *layout, int indent, const char *head, const char *text,
                          size_t open, size_t close, const char *tail) {
    const char *inner = text + open + 1;
    size_t size = close - open - 1;
    add_line(layout, indent, head, text, open + 1, "");
    bool is_subscript = text[open] == '[' && open > 0;
    // A tuple or a list has an item a line as soon as it is broken, a call's arguments may share one.
    const char *before = open ? text : head;
    size_t end = open ? open : strlen(head);
    bool is_free = text[open] == '(' && (end == 0 || strchr(" -~", before[end - 1]));
    bool is_tuple = is_free && has_comma(inner, size);
    bool is_list = text[open] == '[' && !is_subscript;
    if (is_free && !is_tuple)  // parentheses around an expression: a comma would make it a tuple
        layout_in_brackets(layout, indent + INDENT, "",
                           arena_strndup(layout->out->arena, inner, size), "");
    else if ((fits(indent + INDENT, "", size, "") && !is_tuple && !is_list) || is_subscript)
        add_line(layout, indent + INDENT, "", inner, size, "");
    else
        layout_arguments(layout, indent + INDENT, inner, size);
    buffer_printf(layout->out, "%*s%s%s\n", indent, "", text + close, tail);
}

/// The last bracket, or that of the call before it where `load(...).to(type)` is too long up to its last.
static bool choose_bracket(const char *head, const char *text, int indent, size_t *open,
                           size_t *close) {
    if (!last_bracket(text, strlen(text), open, close)) return false;
    if (fits(indent, head, *open + 1, "")) return true;
    size_t dot = *open, inner_open, inner_close;
    while (dot > 0 && text[dot] != '.') dot--;
    if (dot == 0 || !last_bracket(text, dot, &inner_open, &inner_close)) return true;
    *open = inner_open;
    *close = inner_close;
    return true;
}

/// An operand a line, each with the operator before it.
static void break_operators(Layout *layout, int indent, const char *head, const char *text,
                            int loosest, const char *tail) {
    Arena *arena = layout->out->arena;
    int depth = 0;
    size_t from = 0;
    for (size_t i = 0; text[i]; i++) {
        i = skip_string(text, i);
        if (!text[i]) break;
        depth += opens(text[i]) - closes(text[i]);
        size_t size;
        if (depth || text[i] != ' ') continue;
        int precedence = operator_at(text + i + 1, &size);
        bool is_condition = from && loosest == EACH && precedence == CHOICE;  // of a comprehension
        if (precedence != loosest && !is_condition) continue;
        layout_in_brackets(layout, indent, head, arena_strndup(arena, text + from, i - from), "");
        head = arena_printf(arena, "%.*s ", (int)size, text + i + 1);
        from = i + 1 + size + 1;
        i += size;
    }
    layout_in_brackets(layout, indent, head, text + from, tail);
}

/// An expression that may go over several lines as it is, because a bracket around it is open.
static void layout_in_brackets(Layout *layout, int indent, const char *head, const char *text,
                               const char *tail) {
    int count;
    size_t open, close;
    if (fits(indent, head, strlen(text), tail) || layout->depth > MAX_DEPTH) {
        add_line(layout, indent, head, text, strlen(text), tail);
        return;
    }
    layout->depth++;
    const char *name_end = strchr(text, '=');
    bool is_each = strncmp(head, "for ", 4) == 0;  // what it goes through may be broken, `in` not
    bool is_keyword = name_end && name_end > text &&
                      strcspn(text, "([ =") == (size_t)(name_end - text) && name_end[1] != '=';
    if (is_keyword) {
        size_t size = (size_t)(name_end - text) + 1;
        layout_in_brackets(layout, indent,
                           arena_printf(layout->out->arena, "%s%.*s", head, (int)size, text),
                           text + size, tail);
    } else if (outer_operators(text, &count) != LOOSEST &&
               !(is_each && last_bracket(text, strlen(text), &open, &close))) {
        break_operators(layout, indent, head, text, outer_operators(text, &count), tail);
    } else if (choose_bracket(head, text, indent, &open, &close)) {
        break_bracket(layout, indent, head, text, open, close, tail);
    } else {
        add_line(layout, indent, head, text, strlen(text), tail);
    }
    layout->depth--;
}

/// The bracket that the text begins with, where nothing but an operand without brackets is behind it: `(a + b) * c`.
static bool first_bracket(const char *text, size_t *close) {
    int depth = 0;
    for (*close = 0; text[*close]; ++*close) {
        *close = skip_string(text, *close);
        if (!text[*close]) return false;
        depth += opens(text[*close]) - closes(text[*close]);
        if (depth == 0) break;
    }
    return *close > 0 && text[*close] && !strpbrk(text + *close + 1, "([{");
}

void layout_statement(Buffer *out, int indent, const char *head, const char *text,
                      const char *tail) {
    Layout layout = {.out = out};
    size_t open, close, size = strlen(text);
    int count;
    if (fits(indent, head, size, tail)) {
        add_line(&layout, indent, head, text, size, tail);
        return;
    }
    bool is_call = choose_bracket(head, text, indent, &open, &close);
    int loosest = outer_operators(text, &count);
    bool in_last = is_call && count == 1 && text[open] != '[' && fits(indent, head, open + 1, "");
    size_t first_close;
    bool in_first = count == 1 && first_bracket(text, &first_close) &&
                    fits(indent, "", size - first_close, tail);
    if (loosest == LOOSEST && !is_call) {
        add_line(&layout, indent, head, text, size, tail);
    } else if (in_first) {
        break_bracket(&layout, indent, head, text, 0, first_close, tail);
    } else if (loosest == LOOSEST || in_last) {
        break_bracket(&layout, indent, head, text, open, close, tail);
    } else {
        buffer_printf(out, "%*s%s(\n", indent, "", head);
        if (fits(indent + INDENT, "", size, ""))
            add_line(&layout, indent + INDENT, "", text, size, "");
        else
            break_operators(&layout, indent + INDENT, "", text, loosest, "");
        buffer_printf(out, "%*s)%s\n", indent, "", tail);
    }
}

void layout_argument(Buffer *out, int indent, const char *text, const char *tail) {
    Layout layout = {.out = out};
    layout_in_brackets(&layout, indent, "", text, tail);
}
