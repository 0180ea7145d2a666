// Words about derivatives that are given by hand.
#include "server/proofs/given.h"

static void put_rule(Buffer *text, const GivenUse *use, bool is_first) {
    buffer_printf(text, "%s`%.*s` that is given by hand in line %d",
                  is_first ? "the derivative of " : " and that of ", STR_ARGS(use->rule->name),
                  range_line(use->rule->range));
}

const char *given_obstacle(Arena *arena, const Backward *backward) {
    for (int i = 0; i < backward->given_count; i++) {
        const GivenUse *use = &backward->given[i];
        if (use->is_checked) continue;
        return arena_printf(arena,
                            "the derivative of `%.*s` is given by hand in line %d, not checked: "
                            "differences of bits, PTX and rounded numbers are not what is meant",
                            STR_ARGS(use->rule->name), range_line(use->rule->range));
    }
    return NULL;
}

const char *given_words(Arena *arena, const Backward *backward) {
    if (backward->given_count == 0) return NULL;
    Buffer text = buffer_new(arena);
    for (int i = 0; i < backward->given_count; i++) put_rule(&text, &backward->given[i], i == 0);
    return buffer_text(&text);
}

const GivenRule *given_here(const Backward *backward, const Source *source) {
    for (int i = 0; i < backward->given_count; i++)
        if (backward->given[i].rule->range.source == source) return backward->given[i].rule;
    return NULL;
}
