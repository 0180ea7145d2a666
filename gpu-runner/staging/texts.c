// A text hangs on the function, on what becomes of numbers, and on arguments: of those that a launch reads on their types alone.
#include "gpu-runner/staging/texts.h"

LoweredTexts *lowered_texts_new(Arena *arena) {
    LoweredTexts *texts = ARENA_NEW(arena, LoweredTexts);
    texts->known = map_new(arena);
    return texts;
}

static void add_number(Buffer *key, int64_t number) {
    buffer_add(key, (const char *)&number, sizeof number);
}

/// What the text has of an argument. False where that is more than a key says.
static bool add_argument(Buffer *key, const Tile *tile) {
    add_number(key, tile ? (int64_t)tile->kind : -1);
    if (!tile || tile->kind == TILE_NONE || tile->kind == TILE_UNDEFINED) return true;
    add_number(key, tile->dtype);
    if (tile->kind == TILE_CONSTANT) add_number(key, (int64_t)(uintptr_t)tile->constant);
    if (tile->kind == TILE_CONSTANT) return true;
    bool is_number = tile->kind == TILE_NUMBER && tile->rank == 0;
    if (!is_number && (tile->kind != TILE_POINTER || tile->rank)) return false;
    add_number(key, tile->is_weak);
    if (!tile->is_weak) return true;
    if (tile->number)
        buffer_add(key, (const char *)tile->number, sizeof *tile->number);
    else
        add_number(key, tile->integer[0]);
    return true;
}

static bool add_all(Buffer *key, const Function *function, Tile *const *arguments,
                    StagedNumbers options) {
    add_number(key, (int64_t)(uintptr_t)function);
    const bool flags[] = {options.is_dual, options.rounds, options.allow_tf32,
                          options.holds_extremes, options.adds_at_once};
    buffer_add(key, (const char *)flags, sizeof flags);
    for (int i = 0; i < function->parameter_count; i++)
        if (!add_argument(key, arguments[i])) return false;
    return true;
}

Error lower_known(LoweredTexts *texts, Arena *arena, const Function *function,
                  Tile *const *arguments, StagedNumbers options, Lowered *lowered) {
    Buffer key = buffer_new(texts ? texts->known.arena : arena);
    if (!texts || !add_all(&key, function, arguments, options))
        return lower_function(arena, function, arguments, options, lowered);
    Str name = {buffer_text(&key), key.size};
    const Lowered *known = map_get(&texts->known, name);
    if (known) {
        *lowered = *known;
        return NULL;
    }
    Arena *scratch = arena_new();  // lowering takes more than its text
    Lowered made;
    Error error = lower_function(scratch, function, arguments, options, &made);
    if (error) {
        error = arena_strdup(arena, error);
    } else {
        Lowered *kept = ARENA_NEW(texts->known.arena, Lowered);
        *kept = made;
        kept->text = arena_strdup(texts->known.arena, made.text);
        map_set(&texts->known, name, kept);
        *lowered = *kept;
    }
    arena_free(scratch);
    return error;
}
