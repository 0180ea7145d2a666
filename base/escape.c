// One list of what is obeyed, and one walk over the characters, for all that is printed.
#include "base/escape.h"

#include <stdio.h>

bool char_is_control(uint32_t c) {
    if (c == '\t') return false;
    if (c < 0x20 || (c >= 0x7F && c <= 0x9F)) return true;
    if (c == 0x061C || c == 0x200E || c == 0x200F) return true;  // marks of direction
    if (c >= 0x202A && c <= 0x202E) return true;                 // embeddings and overrides
    if (c >= 0x2066 && c <= 0x2069) return true;                 // isolates
    return c == 0x2028 || c == 0x2029 || c == 0xFEFF;            // line ends, byte order mark
}

static uint32_t character_of(const char *data, size_t size) {
    static const unsigned char masks[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    uint32_t character = (unsigned char)data[0] & masks[size];
    for (size_t i = 1; i < size; i++) character = character << 6 | ((unsigned char)data[i] & 0x3F);
    return character;
}

/// Whether the `#` at `at` is the second of `##[`, `##vso[` and their like, which build servers look for anywhere in a line.
static bool opens_command(Str text, size_t at) {
    if (at == 0 || text.data[at] != '#' || text.data[at - 1] != '#') return false;
    for (at++; at < text.size && text.data[at] >= 'a' && text.data[at] <= 'z'; at++) {
    }
    return at < text.size && text.data[at] == '[';
}

/// Whether the `:` at `at` is the first of `::`, with nothing but blanks before it in its line.
static bool starts_command(Str text, size_t at) {
    if (text.data[at] != ':' || at + 1 >= text.size || text.data[at + 1] != ':') return false;
    while (at > 0 && (text.data[at - 1] == ' ' || text.data[at - 1] == '\t')) at--;
    return at == 0 || text.data[at - 1] == '\n';
}

size_t char_visible(Str text, size_t at, char shown[SHOWN_SIZE]) {
    if (at >= text.size) return 0;
    const char *data = text.data + at;
    size_t size = utf8_length(data, text.size - at);
    uint32_t c = size ? character_of(data, size) : 0;
    if (size == 0) {
        memcpy(shown, UTF8_REPLACEMENT, sizeof UTF8_REPLACEMENT);
        return 1;
    }
    if (c == '\n' || c == '\r')
        snprintf(shown, SHOWN_SIZE, "\\%c", c == '\n' ? 'n' : 'r');
    else if (char_is_control(c) || opens_command(text, at) || starts_command(text, at))
        snprintf(shown, SHOWN_SIZE, c < 0x80 ? "\\x%02x" : "\\u%04x", (unsigned)c & 0xFFFF);
    else {
        memcpy(shown, data, size);
        shown[size] = 0;
    }
    return size;
}

static bool ends_line(Str text, size_t at) {
    if (text.data[at] == '\r') at++;
    return at < text.size && text.data[at] == '\n';
}

/// The end of the signs from `at` on that are shown as they are, whatever stands around them: nearly all there are.
static size_t plain_end(Str text, size_t at, bool keeps_lines) {
    for (; at < text.size; at++) {
        unsigned char c = (unsigned char)text.data[at];
        bool is_plain =
            (c >= ' ' && c < 0x7F && c != ':' && c != '#') || (keeps_lines && c == '\n');
        if (!is_plain) break;
    }
    return at;
}

static const char *visible(Arena *arena, Str text, bool keeps_lines) {
    Buffer out = buffer_sized(arena, text.size);
    char shown[SHOWN_SIZE];
    for (size_t at = 0, size;; at += size) {
        size_t end = plain_end(text, at, keeps_lines);
        buffer_add(&out, text.data + at, end - at);
        at = end;
        if (!(size = char_visible(text, at, shown))) break;
        if (keeps_lines && ends_line(text, at))
            buffer_putc(&out, text.data[at]);
        else
            buffer_puts(&out, shown);
    }
    return buffer_text(&out);
}

const char *text_visible(Arena *arena, const char *text) {
    return visible(arena, str_from(text), false);
}

const char *lines_visible(Arena *arena, const char *text) {
    return visible(arena, str_from(text), true);
}

const char *json_visible(Arena *arena, const char *json) {
    Str text = str_from(json);
    Buffer out = buffer_sized(arena, text.size);
    char shown[SHOWN_SIZE];
    for (size_t at = 0, size; (size = char_visible(text, at, shown)); at += size) {
        uint32_t c = character_of(text.data + at, size);
        // Outside of strings there is nothing but blanks and signs.
        if (shown[0] == '\\' && c != '\\' && c != '\n' && c != '\r')
            buffer_printf(&out, "\\u%04x", (unsigned)c);
        else
            buffer_puts(&out, c == '\n' || c == '\r' ? "\n" : shown);
    }
    return buffer_text(&out);
}

/// Where `run` stands, its first backtick becomes an escape.
static const char *without_ticks(Arena *arena, const char *text, const char *run) {
    Buffer out = buffer_new(arena);
    size_t size = strlen(run);
    while (*text) {
        bool is_run = strncmp(text, run, size) == 0;
        buffer_puts(&out, is_run ? "\\x60" : "");
        if (!is_run) buffer_putc(&out, *text);
        text++;
    }
    return buffer_text(&out);
}

const char *code_visible(Arena *arena, Str text) {
    return without_ticks(arena, visible(arena, text, false), "`");
}

const char *fence_visible(Arena *arena, Str text) {
    return without_ticks(arena, visible(arena, text, true), "```");
}
