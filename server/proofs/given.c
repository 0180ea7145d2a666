// Words about derivatives that are given by hand.
#include "server/proofs/given.h"

#include <string.h>

/// "line 6", and of which file where that is not the kernel's.
static const char *place_of(Arena *arena, const Backward *backward, const GivenRule *rule) {
    const Source *source = rule->range.source;
    int line = range_line(rule->range);
    const char *slash = strrchr(source->path, '/');
    bool is_here = source == backward->kernel->definition->module->source;
    return is_here ? arena_printf(arena, "line %d", line)
                   : arena_printf(arena, "line %d of %s", line, slash ? slash + 1 : source->path);
}

static void put_rule(Buffer *text, const Backward *backward, const GivenUse *use, bool is_first) {
    buffer_printf(text, "%s`%.*s` that is given by hand in %s",
                  is_first ? "the derivative of " : " and that of ", STR_ARGS(use->rule->name),
                  place_of(text->arena, backward, use->rule));
}

const char *given_obstacle(Arena *arena, const Backward *backward) {
    for (int i = 0; i < backward->given_count; i++) {
        const GivenUse *use = &backward->given[i];
        if (use->is_checked) continue;
        return arena_printf(arena,
                            "the derivative of `%.*s` is given by hand in %s, not checked: "
                            "differences of bits, PTX and rounded numbers are not what is meant",
                            STR_ARGS(use->rule->name), place_of(arena, backward, use->rule));
    }
    return NULL;
}

const char *given_words(Arena *arena, const Backward *backward) {
    if (backward->given_count == 0) return NULL;
    Buffer text = buffer_new(arena);
    for (int i = 0; i < backward->given_count; i++)
        put_rule(&text, backward, &backward->given[i], i == 0);
    return buffer_text(&text);
}

const GivenRule *given_here(const Backward *backward, const Source *source) {
    for (int i = 0; i < backward->given_count; i++)
        if (backward->given[i].rule->range.source == source) return backward->given[i].rule;
    return NULL;
}
