// Lines are looked at from the last to the first: what a model says at the end is what it means.
#include "server/model/candidate.h"

#include "base/escape.h"

enum { LONGEST_RULE = 4000 };

/// What Markdown and prose leave at the end of a line.
static Str without_marks(Str line) {
    for (bool goes_on = true; goes_on && line.size;) {
        goes_on = strchr("` \t\r;", line.data[line.size - 1]) != NULL;
        line.size -= goes_on;
        if (str_ends(line, "**")) line.size -= 2, goes_on = true;
    }
    return line;
}

/// Where `backward of NAME(` begins in the line, or -1.
static long rule_start(Arena *arena, Str line, const char *helper) {
    const char *head = arena_printf(arena, "backward of %s(", helper);
    size_t size = strlen(head);
    for (size_t i = 0; i + size <= line.size; i++)
        if (memcmp(line.data + i, head, size) == 0) return (long)i;
    return -1;
}

static const char *refuse_rule(Str rule) {
    if (rule.size > LONGEST_RULE) return "its rule is longer than a line may be";
    if (memchr(rule.data, '#', rule.size)) return "its rule has a second comment in it";
    if (utf8_find_invalid(rule.data, rule.size)) return "its rule is no UTF-8 text";
    for (size_t i = 0; i < rule.size; i++)
        if ((unsigned char)rule.data[i] < ' ' || (unsigned char)rule.data[i] > '~')
            return "its rule has characters that no expression has";
    return NULL;
}

const char *candidate_find(Arena *arena, Str answer, const char *helper, const char **why) {
    *why = "there is no such line in it";
    for (size_t end = answer.size; end > 0;) {
        size_t start = end;
        while (start > 0 && answer.data[start - 1] != '\n') start--;
        Str line = without_marks((Str){answer.data + start, end - start});
        long at = rule_start(arena, line, helper);
        if (at >= 0) {
            Str rule = {line.data + at, line.size - (size_t)at};
            *why = refuse_rule(rule);
            return *why ? NULL : arena_printf(arena, "# tad: %.*s", STR_ARGS(rule));
        }
        end = start > 0 ? start - 1 : 0;
    }
    return NULL;
}

static bool is_later(const OpenHelper *a, const OpenHelper *b) {
    return a->definition->range.start > b->definition->range.start;
}

/// The next helper with a rule at or behind `at`, or NULL.
static const OpenHelper *next_helper(const OpenHelpers *helpers, size_t at) {
    const OpenHelper *next = NULL;
    for (LIST_EACH(int, i, *helpers)) {
        const OpenHelper *helper = &helpers->items[i];
        if (!helper->rule || helper->definition->range.start < at) continue;
        if (!next || is_later(next, helper)) next = helper;
    }
    return next;
}

const char *candidate_insert(Arena *arena, Str text, const OpenHelpers *helpers, const char *mark) {
    Buffer out = buffer_sized(arena, text.size + LONGEST_RULE);
    const char *first = memchr(text.data, '\n', text.size);
    const char *end = first && first > text.data && first[-1] == '\r' ? "\r\n" : "\n";
    size_t at = 0;
    for (const OpenHelper *helper; (helper = next_helper(helpers, at));) {
        size_t place = helper->definition->range.start, start = place;
        while (start > at && text.data[start - 1] != '\n') start--;
        Str indent = {text.data + start, place - start};
        buffer_add(&out, text.data + at, start - at);
        if (mark) buffer_printf(&out, "%.*s%s%s", STR_ARGS(indent), mark, end);
        buffer_printf(&out, "%.*s%s%s", STR_ARGS(indent), helper->rule, end);
        buffer_add(&out, text.data + start, place + 1 - start);
        at = place + 1;
    }
    buffer_add(&out, text.data + at, text.size - at);
    return buffer_text(&out);
}

const char *helper_signature(Arena *arena, const FunctionDefinition *definition) {
    Buffer out = buffer_new(arena);
    const char *comma = "";
    buffer_printf(&out, "%.*s(", STR_ARGS(definition->name));
    for (int i = 0; i < definition->parameter_count; i++) {
        if (definition->parameters[i].is_constexpr) continue;
        buffer_printf(&out, "%s%.*s", comma, STR_ARGS(definition->parameters[i].name));
        comma = ", ";
    }
    buffer_putc(&out, ')');
    return buffer_text(&out);
}
