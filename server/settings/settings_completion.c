// The text is read backwards from the cursor: the word, the key that it is a value of, the section.
#include "server/settings/settings_completion.h"

#include <string.h>

#include "analysis/cost/card.h"
#include "analysis/diagnostics/diagnostic.h"

typedef struct WordPlace {
    Arena *arena;
    Str text;
    uint32_t offset;
    SettingsWords words;
    bool is_quoted;  // the cursor is within a string
} WordPlace;

bool uri_is_settings(const char *uri) { return uri && str_ends(str_from(uri), ".toml"); }

static bool is_word(char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') || letter == '-' ||
           letter == '_' || letter == '.';
}

static uint32_t line_start(Str text, uint32_t offset) {
    while (offset && text.data[offset - 1] != '\n') offset--;
    return offset;
}

static Str line_at(Str text, uint32_t start) {
    uint32_t end = start;
    while (end < text.size && text.data[end] != '\n') end++;
    return str_trim((Str){text.data + start, end - start});
}

/// The nearest header above, "tool.tad"; empty where there is none.
static Str section_above(Str text, uint32_t start) {
    while (start) {
        start = line_start(text, start - 1);
        Str line = line_at(text, start);
        if (line.size < 2 || line.data[0] != '[' || !memchr(line.data, ']', line.size)) continue;
        // an item of a list that stands on a line of its own has quotes
        if (memchr(line.data, '"', line.size)) continue;
        size_t end = (size_t)((const char *)memchr(line.data, ']', line.size) - line.data);
        return str_trim((Str){line.data + 1, end - 1});
    }
    return (Str){"", 0};
}

/// The key whose list the cursor is in, which may begin on an earlier line; empty where it is in none.
static Str list_key(Str text, uint32_t offset) {
    for (uint32_t at = offset; at; at--) {
        char letter = text.data[at - 1];
        if (letter == ']') break;
        if (letter != '[') continue;
        Str before = str_trim(
            (Str){text.data + line_start(text, at - 1), at - 1 - line_start(text, at - 1)});
        if (!before.size || before.data[before.size - 1] != '=') break;
        return str_trim((Str){before.data, before.size - 1});
    }
    return (Str){"", 0};
}

static void add(WordPlace *place, const char *label, const char *detail, const char *insert,
                bool is_key) {
    LIST_PUSH(
        place->arena, &place->words.list,
        ((SettingsWord){.label = label, .detail = detail, .insert = insert, .is_key = is_key}));
}

static void add_text(WordPlace *place, const char *name, const char *detail) {
    const char *quoted = place->is_quoted ? name : arena_printf(place->arena, "\"%s\"", name);
    add(place, name, detail, quoted, false);
}

/// Names of diagnostics, and once each of their families.
static void add_names(WordPlace *place, bool as_keys) {
    for (int i = 0; i < DIAGNOSTIC_COUNT; i++) {
        const DiagnosticRow *row = &diagnostic_rows[i];
        bool is_first = true;
        for (int k = 0; k < i && is_first; k++)
            is_first = strcmp(diagnostic_rows[k].family, row->family) != 0;
        const char *all = arena_printf(place->arena, "all of the family %s", row->family);
        if (as_keys) {
            add(place, row->name, row->title, arena_printf(place->arena, "%s = ", row->name), true);
            if (is_first)
                add(place, row->family, all, arena_printf(place->arena, "%s = ", row->family),
                    true);
        } else {
            add_text(place, row->name, row->title);
            if (is_first) add_text(place, row->family, all);
        }
    }
}

static void add_cards(WordPlace *place) {
    char *names = arena_strdup(place->arena, card_names(place->arena));
    for (char *name = names, *end; *name; name = end) {
        end = name + strcspn(name, ",");
        if (*end) {
            *end++ = '\0';
            while (*end == ' ') end++;
        }
        add_text(place, name, "whose peaks say what bounds a kernel");
    }
}

static void add_levels(WordPlace *place) {
    add_text(place, "error", "fails a check");
    add_text(place, "warning", "fails a check");
    add_text(place, "info", "");
    add_text(place, "hint", "the faintest");
    add_text(place, "off", "not told");
}

static void add_keys(WordPlace *place) {
    add(place, "ignore", "diagnostics, or families, that are not told", "ignore = []", true);
    add(place, "select", "the only diagnostics, or families, that are told", "select = []", true);
    add(place, "exclude", "files and folders that are not checked", "exclude = []", true);
    add(place, "card", "the GPU whose peaks say what bounds a kernel", "card = ", true);
}

static void add_sections(WordPlace *place) {
    add(place, "tool.tad", "settings of tad-lsp", "tool.tad", true);
    add(place, "tool.tad.severity", "a level for each diagnostic or family", "tool.tad.severity",
        true);
    add(place, "tool.tad.kernels.", "what a kernel is run with, by its name", "tool.tad.kernels.",
        true);
}

/// Whether an odd number of quotes stands in the line before the cursor.
static bool is_in_quotes(Str line) {
    bool inside = false;
    for (size_t i = 0; i < line.size; i++) inside ^= line.data[i] == '"' || line.data[i] == '\'';
    return inside;
}

SettingsWords settings_words(Arena *arena, Str text, uint32_t offset) {
    WordPlace place = {.arena = arena, .text = text, .offset = offset};
    if (offset > text.size) return place.words;
    uint32_t start = line_start(text, offset), word = offset;
    while (word > start && is_word(text.data[word - 1])) word--;
    place.words.start = word;
    place.words.end = offset;
    Str before = {text.data + start, word - start}, line = str_trim(before);
    place.is_quoted = is_in_quotes(before);
    if (memchr(before.data, '#', before.size) && !place.is_quoted) return place.words;
    Str section = section_above(text, start), list = list_key(text, word);
    bool is_ours = str_is(section, "tool.tad");
    if (str_is(line, "[") && !list.size) {
        add_sections(&place);
    } else if (is_ours && list.size) {
        if (str_is(list, "ignore") || str_is(list, "select")) add_names(&place, false);
    } else if (is_ours && !line.size) {
        add_keys(&place);
    } else if (is_ours && str_starts(line, "card") && memchr(line.data, '=', line.size)) {
        add_cards(&place);
    } else if (str_is(section, "tool.tad.severity")) {
        bool is_value = line.size && memchr(line.data, '=', line.size);
        if (is_value)
            add_levels(&place);
        else if (!line.size)
            add_names(&place, true);
    }
    return place.words;
}
