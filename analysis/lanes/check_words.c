// What joins masks: the words of Python, and signs that bind tighter than their author thinks.
#include <string.h>

#include "analysis/checks/check.h"

/// Whether the text has a sign of `signs`, or the word, outside of all brackets.
static bool has_outside(Str text, const char *signs, const char *word) {
    int depth = 0;
    size_t length = strlen(word);
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        if (c == '"' || c == '\'' || c == '#') return false;  // not taken apart
        depth += (c == '(' || c == '[' || c == '{') - (c == ')' || c == ']' || c == '}');
        if (depth) continue;
        if (strchr(signs, c)) return true;
        bool begins = length && i > 0 && text.data[i - 1] == ' ' && i + length < text.size;
        if (begins && strncmp(text.data + i, word, length) == 0 && text.data[i + length] == ' ')
            return true;
    }
    return false;
}

/// Whether a mask is made of masks, and is no condition of a branch: of others something else is said.
static bool joins_masks(const Check *check, const Op *op) {
    if (!type_is_tile(op->results[0]->type)) return false;
    for (int i = 0; i < op->operand_count; i++)
        if (!op->operands[i] || op->operands[i]->type.element.code != DTYPE_INT1) return false;
    const Uses *uses = check_uses(check, op->results[0]);
    for (LIST_EACH(int, i, uses->list))
        if (uses->list.items[i]->code == OP_IF || op_is_loop(uses->list.items[i]->code))
            return false;
    return true;
}

/// Whether the kernel was told already: it takes one habit to write all of them.
static bool was_told(const Check *check) {
    for (LIST_EACH(int, i, check->diagnostics->list))
        if (check->diagnostics->list.items[i].id == DIAGNOSTIC_LOGICAL_WORD) return true;
    return false;
}

void check_words(Check *check, Op *op) {
    if ((op->code != OP_LOGICAL_AND && op->code != OP_LOGICAL_OR) || op->call || !op->range.source)
        return;
    const char *word = op->code == OP_LOGICAL_AND ? "and" : "or";
    Str text = source_slice(op->range);
    if (has_outside(text, "", word)) {
        if (joins_masks(check, op) && !was_told(check))
            check_report(check, DIAGNOSTIC_LOGICAL_WORD, op,
                         "Triton will not always take `%s` of tiles: write `%s`, with brackets "
                         "around comparisons",
                         word, op->code == OP_LOGICAL_AND ? "&" : "|");
        return;
    }
    if (has_outside(text, "<>", "") && has_outside(text, "&|", ""))
        check_report(check, DIAGNOSTIC_MISSING_BRACKETS, op,
                     "`&` and `|` bind tighter than comparisons: put each comparison in brackets");
}
