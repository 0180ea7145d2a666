// Slices, the text buffer and UTF-8 validation.
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Str str_from(const char *text) { return (Str){text, text ? strlen(text) : 0}; }

bool str_equal(Str a, Str b) {
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

bool str_starts(Str a, const char *prefix) {
    size_t size = strlen(prefix);
    return a.size >= size && memcmp(a.data, prefix, size) == 0;
}

bool str_ends(Str a, const char *suffix) {
    size_t size = strlen(suffix);
    return a.size >= size && memcmp(a.data + a.size - size, suffix, size) == 0;
}

bool str_contains(Str text, Str part) {
    if (part.size == 0) return true;
    const char *at = text.data, *end = text.data + text.size;
    while (at < end && (at = memchr(at, part.data[0], (size_t)(end - at)))) {
        if ((size_t)(end - at) < part.size) return false;
        if (memcmp(at, part.data, part.size) == 0) return true;
        at++;
    }
    return false;
}

bool byte_is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (unsigned char)c >= 0x80;
}

bool str_has_word(Str text, Str word) {
    for (size_t i = 0; i + word.size <= text.size; i++) {
        if (memcmp(text.data + i, word.data, word.size) != 0) continue;
        bool starts = i == 0 || !byte_is_word(text.data[i - 1]);
        if (starts && (i + word.size == text.size || !byte_is_word(text.data[i + word.size])))
            return true;
    }
    return false;
}

bool str_is_name(Str text) {
    for (size_t i = 0; i < text.size; i++)
        if (!byte_is_word(text.data[i])) return false;
    return text.size > 0 && !(text.data[0] >= '0' && text.data[0] <= '9');
}

char *str_dup(Arena *arena, Str text) { return arena_strndup(arena, text.data, text.size); }

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

Str str_trim(Str text) {
    while (text.size && is_space(text.data[0])) {
        text.data++;
        text.size--;
    }
    while (text.size && is_space(text.data[text.size - 1])) text.size--;
    return text;
}

int str_distance(Str a, Str b) {
    enum { LONGEST = 63 };  // of a name that may be misspelt; longer ones are as far away as can be
    if (a.size > LONGEST || b.size > LONGEST) return LONGEST;
    int rows[3][LONGEST + 1];  // of the last letters of `a`
    for (size_t j = 0; j <= b.size; j++) rows[0][j] = (int)j;
    for (size_t i = 1; i <= a.size; i++) {
        int *row = rows[i % 3];
        const int *above = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        row[0] = (int)i;
        for (size_t j = 1; j <= b.size; j++) {
            int best = above[j - 1] + (a.data[i - 1] != b.data[j - 1]);
            if (above[j] + 1 < best) best = above[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            bool is_swapped =
                i > 1 && j > 1 && a.data[i - 1] == b.data[j - 2] && a.data[i - 2] == b.data[j - 1];
            if (is_swapped && before[j - 2] + 1 < best) best = before[j - 2] + 1;
            row[j] = best;
        }
    }
    return rows[a.size % 3][b.size];
}

Buffer buffer_new(Arena *arena) { return (Buffer){.arena = arena}; }

Buffer buffer_sized(Arena *arena, size_t size) {
    return (Buffer){.arena = arena, .data = arena_alloc(arena, size + 1), .capacity = size + 1};
}

void buffer_add(Buffer *buffer, const char *data, size_t size) {
    if (buffer->size + size + 1 > buffer->capacity) {
        size_t capacity = buffer->capacity ? buffer->capacity * 2 : 256;
        while (capacity < buffer->size + size + 1) capacity *= 2;
        buffer->data = arena_grow(buffer->arena, buffer->data, buffer->size, capacity);
        buffer->capacity = capacity;
    }
    if (size) memcpy(buffer->data + buffer->size, data, size);
    buffer->size += size;
    buffer->data[buffer->size] = 0;
}

void buffer_puts(Buffer *buffer, const char *text) { buffer_add(buffer, text, strlen(text)); }

void buffer_putc(Buffer *buffer, char c) { buffer_add(buffer, &c, 1); }

void buffer_put_int(Buffer *buffer, int64_t value) {
    char digits[24];
    char *end = digits + sizeof digits;
    char *at = end;
    uint64_t left = value < 0 ? 0u - (uint64_t)value : (uint64_t)value;
    do {
        *--at = (char)('0' + left % 10);
        left /= 10;
    } while (left);
    if (value < 0) *--at = '-';
    buffer_add(buffer, at, (size_t)(end - at));
}

enum {
    FIXED_LEAST = -4,  // powers of ten that are written without an exponent, as Python's repr does
    FIXED_MOST = 15,
};

void buffer_put_float(Buffer *buffer, double number) {
    char text[40];
    if (!isfinite(number)) {
        buffer_puts(buffer, isnan(number) ? "nan" : number < 0 ? "-inf" : "inf");
        return;
    }
    int decimals = 0;
    do snprintf(text, sizeof text, "%.*e", decimals, number);
    while (strtod(text, NULL) != number && decimals++ < 16);
    char *mantissa_end = strchr(text, 'e');
    long exponent = strtol(mantissa_end + 1, NULL, 10);
    if (exponent >= FIXED_LEAST && exponent <= FIXED_MOST) {
        buffer_printf(buffer, "%.*f", decimals > exponent ? decimals - (int)exponent : 1, number);
        return;
    }
    *mantissa_end = 0;
    buffer_printf(buffer, "%se%ld", text, exponent);
}

void buffer_printf(Buffer *buffer, const char *format, ...) {
    char small[256];
    va_list arguments;
    va_start(arguments, format);
    va_list again;
    va_copy(again, arguments);
    int size = vsnprintf(small, sizeof small, format, arguments);
    if (size >= 0 && (size_t)size < sizeof small) {
        buffer_add(buffer, small, (size_t)size);
    } else if (size > 0) {
        char *text = arena_vprintf(buffer->arena, format, again);
        buffer_add(buffer, text, (size_t)size);
    }
    va_end(again);
    va_end(arguments);
}

const char *buffer_text(Buffer *buffer) {
    if (!buffer->data) buffer_add(buffer, "", 0);
    return buffer->data;
}

// RFC 3629, section 4.
size_t utf8_length(const char *data, size_t size) {
    const unsigned char *p = (const unsigned char *)data;
    if (p[0] < 0x80) return p[0] ? 1 : 0;
    size_t length = p[0] >= 0xF0 ? 4 : p[0] >= 0xE0 ? 3 : 2;
    if (p[0] < 0xC2 || p[0] > 0xF4 || size < length) return 0;
    for (size_t i = 1; i < length; i++)
        if ((p[i] & 0xC0) != 0x80) return 0;
    if ((p[0] == 0xE0 && p[1] < 0xA0) || (p[0] == 0xED && p[1] > 0x9F)) return 0;
    if ((p[0] == 0xF0 && p[1] < 0x90) || (p[0] == 0xF4 && p[1] > 0x8F)) return 0;
    return length;
}

const char *utf8_find_invalid(const char *data, size_t size) {
    for (size_t i = 0; i < size;) {
        size_t length = utf8_length(data + i, size - i);
        if (length == 0) return data + i;
        i += length;
    }
    return NULL;
}

Str utf8_repaired(Arena *arena, Str text) {
    const char *end = text.data + text.size;
    const char *wrong = utf8_find_invalid(text.data, text.size);
    if (!wrong) return text;
    Buffer out = buffer_sized(arena, text.size + 2);
    const char *at = text.data;
    for (; wrong; wrong = utf8_find_invalid(at, (size_t)(end - at))) {
        buffer_add(&out, at, (size_t)(wrong - at));
        buffer_puts(&out, UTF8_REPLACEMENT);
        at = wrong + 1;
    }
    buffer_add(&out, at, (size_t)(end - at));
    return (Str){out.data, out.size};
}
