// What may be written into `[tool.tad]` of a pyproject.toml: its keys, names of diagnostics and their families, levels, cards.
#ifndef TAD_SERVER_SETTINGS_SETTINGS_COMPLETION_H
#define TAD_SERVER_SETTINGS_SETTINGS_COMPLETION_H

#include "base/arena.h"
#include "base/list.h"
#include "base/text.h"

typedef struct SettingsWord {
    const char *label;
    const char *detail;  // one line
    const char *insert;  // in place of what is written
    bool is_key;
} SettingsWord;

typedef struct SettingsWords {
    uint32_t start, end;  // bytes of the text that a word replaces
    LIST(SettingsWord) list;
} SettingsWords;

/// Whether a document is a TOML file, by its address: a pyproject.toml, or one that holds nothing of ours.
bool uri_is_settings(const char *uri);
/// What fits at the offset, read line by line: the text may be broken. Empty outside of `[tool.tad]`.
SettingsWords settings_words(Arena *arena, Str text, uint32_t offset);

#endif
