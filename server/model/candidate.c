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

static size_t line_start(Str text, size_t at) {
    while (at > 0 && text.data[at - 1] != '\n') at--;
    return at;
}

/// The line that the rule stands above: where the helper begins, or the comment over what it stands above.
static size_t place_of(Str text, const OpenHelper *helper) {
    if (!helper->above) return line_start(text, helper->definition->range.start);
    size_t start = line_start(text, helper->above->range.start);
    while (start > 0) {
        size_t before = line_start(text, start - 1);
        if (!str_starts(str_trim((Str){text.data + before, start - before}), "#")) break;
        start = before;
    }
    return start;
}

/// The next helper with a rule behind the one at hand, whose place is `place`, or -1.
static int next_helper(Str text, const OpenHelpers *helpers, int at_hand, long place) {
    int next = -1;
    long next_place = 0;
    for (LIST_EACH(int, i, *helpers)) {
        if (!helpers->items[i].rule) continue;
        long own = (long)place_of(text, &helpers->items[i]);
        if (own < place || (own == place && i <= at_hand)) continue;
        if (next >= 0 && own >= next_place) continue;
        next = i;
        next_place = own;
    }
    return next;
}

const char *candidate_insert(Arena *arena, Str text, const OpenHelpers *helpers, const char *mark) {
    Buffer out = buffer_sized(arena, text.size + LONGEST_RULE);
    const char *first = memchr(text.data, '\n', text.size);
    const char *end = first && first > text.data && first[-1] == '\r' ? "\r\n" : "\n";
    size_t at = 0;
    long place = -1;
    for (int i = -1; (i = next_helper(text, helpers, i, place)) >= 0;) {
        const OpenHelper *helper = &helpers->items[i];
        size_t head = (helper->above ? helper->above : helper->definition)->range.start;
        size_t line = line_start(text, head), start = place_of(text, helper);
        Str indent = {text.data + line, head - line};
        buffer_add(&out, text.data + at, start - at);
        if (mark) buffer_printf(&out, "%.*s%s%s", STR_ARGS(indent), mark, end);
        buffer_printf(&out, "%.*s%s%s", STR_ARGS(indent), helper->rule, end);
        if (helper->above) buffer_puts(&out, end);  // the comments below are about something else
        at = start;
        place = (long)start;
    }
    buffer_add(&out, text.data + at, text.size - at);
    return buffer_text(&out);
}

const char *helper_signature(Arena *arena, const char *name, const FunctionDefinition *definition) {
    Buffer out = buffer_new(arena);
    const char *comma = "";
    buffer_printf(&out, "%s(", name);
    for (int i = 0; i < definition->parameter_count; i++) {
        if (definition->parameters[i].is_constexpr) continue;
        buffer_printf(&out, "%s%.*s", comma, STR_ARGS(definition->parameters[i].name));
        comma = ", ";
    }
    buffer_putc(&out, ')');
    return buffer_text(&out);
}
