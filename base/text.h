// Slices of text that somebody else owns, and a buffer that text is built in.
#ifndef TAD_BASE_TEXT_H
#define TAD_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/arena.h"
#include "base/list.h"

/// A view of `size` bytes; not NUL-terminated.
typedef struct Str {
    const char *data;
    size_t size;
} Str;

#define STR(literal) ((Str){(literal), sizeof(literal) - 1})
/// For printf's `%.*s`.
#define STR_ARGS(str) (int)(str).size, (str).data

Str str_from(const char *text);
bool str_equal(Str a, Str b);
static inline bool str_is(Str a, const char *text) {
    if (a.size == 0) return text[0] == 0;
    if (a.data[0] != text[0]) return false;  // most comparisons with a table's names end here
    size_t size = strlen(text);
    return a.size == size && memcmp(a.data, text, size) == 0;
}
bool str_starts(Str a, const char *prefix);
bool str_ends(Str a, const char *suffix);
bool str_contains(Str text, Str part);
/// Whether the part stands somewhere with no byte of a word on either side.
bool str_has_word(Str text, Str word);
/// A letter, digit or underscore of a Python name. Any byte of a character beyond ASCII counts.
bool byte_is_word(char c);
/// Words without a digit in front: the shape of a Python name.
bool str_is_name(Str text);
char *str_dup(Arena *arena, Str text);
Str str_trim(Str text);
/// Bytes of edits (insert, delete, replace) that turn `a` into `b`; for "did you mean".
int str_distance(Str a, Str b);

/// Texts that end in NUL, in order.
typedef LIST(const char *) Texts;

/// Growing NUL-terminated text in an arena.
typedef struct Buffer {
    Arena *arena;
    char *data;
    size_t size;
    size_t capacity;
} Buffer;

Buffer buffer_new(Arena *arena);
/// The same with room for `size` bytes.
Buffer buffer_sized(Arena *arena, size_t size);
void buffer_add(Buffer *buffer, const char *data, size_t size);
void buffer_puts(Buffer *buffer, const char *text);
void buffer_putc(Buffer *buffer, char c);
/// In decimal.
void buffer_put_int(Buffer *buffer, int64_t value);
/// The shortest decimal that reads back as the same number, always with a point or an exponent: 20.0, 1e-6, inf, nan.
void buffer_put_float(Buffer *buffer, double number);
void buffer_printf(Buffer *buffer, const char *format, ...) __attribute__((format(printf, 2, 3)));
/// NUL-terminated contents; valid until the next addition.
const char *buffer_text(Buffer *buffer);

/// U+FFFD, what stands for bytes that are no text.
#define UTF8_REPLACEMENT "\xEF\xBF\xBD"
/// NULL when `data` is valid UTF-8 without NUL bytes, else where it first is not.
const char *utf8_find_invalid(const char *data, size_t size);
/// The bytes of the character at the start, 1 to 4; 0 where it is not valid UTF-8 or is NUL. `size` is not 0.
size_t utf8_length(const char *data, size_t size);
/// Each byte that is not part of valid UTF-8, and each NUL, becomes U+FFFD. Valid text is returned as it is, not copied.
Str utf8_repaired(Arena *arena, Str text);

#endif
