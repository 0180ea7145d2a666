// Byte offsets to lines and characters and back, by counting within one line.
#include "server/text/protocol.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/budget.h"
#include "server/system/files.h"

static const char *const encoding_names[] = {
    [ENCODING_UTF16] = "utf-16", [ENCODING_UTF8] = "utf-8", [ENCODING_UTF32] = "utf-32"};

const char *encoding_name(Encoding encoding) { return encoding_names[encoding]; }

Encoding encoding_choose(const Json *client_capabilities) {
    static const Encoding preferred[] = {ENCODING_UTF8, ENCODING_UTF16, ENCODING_UTF32};
    const Json *offered = json_get(json_get(client_capabilities, "general"), "positionEncodings");
    for (size_t k = 0; offered && k < sizeof preferred / sizeof *preferred; k++)
        for (int i = 0; i < offered->count; i++)
            if (offered->kind == JSON_ARRAY && offered->items[i]->kind == JSON_STRING &&
                str_is(offered->items[i]->string, encoding_names[preferred[k]]))
                return preferred[k];
    return ENCODING_UTF16;
}

/// Where the next line begins, or 0 after the last one. Looks for one kind of byte as long as there is no other.
static size_t line_after(Str text, size_t at, bool has_returns) {
    const char *end = text.data + text.size;
    if (!has_returns) {
        const char *feed = at < text.size ? memchr(text.data + at, '\n', text.size - at) : NULL;
        return feed ? (size_t)(feed - text.data) + 1 : 0;
    }
    for (const char *c = text.data + at; c < end; c++) {
        if (*c == '\n') return (size_t)(c - text.data) + 1;
        if (*c == '\r') return (size_t)(c - text.data) + (c + 1 < end && c[1] == '\n' ? 2 : 1);
    }
    return 0;
}

Lines lines_of(Arena *arena, Str text) {
    bool has_returns = text.size && memchr(text.data, '\r', text.size);
    int count = 1;
    for (size_t at = 0; (at = line_after(text, at, has_returns));) count++;
    Lines lines = {ARENA_ARRAY(arena, uint32_t, count), count};
    int line = 1;
    for (size_t at = 0; (at = line_after(text, at, has_returns));)
        lines.starts[line++] = (uint32_t)at;
    return lines;
}

/// How many lines start before `offset`.
static int lines_before(const Lines *lines, uint32_t offset) {
    int low = 0, high = lines->count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (lines->starts[middle] < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

Lines lines_edit(Arena *arena, const Lines *old, Str text, uint32_t start, uint32_t end,
                 uint32_t size) {
    // Whether a line starts at a place is up to the bytes on both sides of it.
    int before = start ? lines_before(old, start) : 1, behind = lines_before(old, end + 1);
    Str own = {text.data, start + size};
    if (own.size < text.size) own.size++;
    bool has_returns = own.size && memchr(own.data, '\r', own.size);
    int capacity = before + (int)size + 3 + old->count - behind;
    Lines lines = {ARENA_ARRAY(arena, uint32_t, capacity), before};
    memcpy(lines.starts, old->starts, sizeof *old->starts * (size_t)before);
    for (size_t at = lines.starts[before - 1];
         (at = line_after(own, at, has_returns)) && at <= start + size;)
        if (at >= start) lines.starts[lines.count++] = (uint32_t)at;
    for (int i = behind; i < old->count; i++)
        lines.starts[lines.count++] = old->starts[i] - end + start + size;
    return lines;
}

/// Where the line's text ends, its line end left out.
static uint32_t line_end(const Lines *lines, Str text, int line) {
    uint32_t start = lines->starts[line];
    uint32_t end = line + 1 < lines->count ? lines->starts[line + 1] : (uint32_t)text.size;
    if (line + 1 == lines->count) return end;
    if (end > start && text.data[end - 1] == '\n') end--;
    if (end > start && text.data[end - 1] == '\r') end--;
    return end;
}

/// Bytes of the character at `at`, and how many units it counts. Invalid bytes count one each.
static uint32_t character_size(Str text, uint32_t at, uint32_t end, Encoding encoding,
                               uint32_t *units) {
    unsigned char first = (unsigned char)text.data[at];
    uint32_t size = first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    if (size > end - at) size = end - at;
    *units = encoding == ENCODING_UTF8 ? size : encoding == ENCODING_UTF16 && first >= 0xF0 ? 2 : 1;
    return size;
}

uint32_t lines_offset(const Lines *lines, Str text, Encoding encoding, LinePosition position) {
    if (position.line >= (uint32_t)lines->count) return (uint32_t)text.size;
    uint32_t at = lines->starts[position.line], end = line_end(lines, text, (int)position.line);
    uint32_t left = position.character;
    while (at < end && left > 0) {
        uint32_t units;
        uint32_t size = character_size(text, at, end, encoding, &units);
        if (units > left) break;
        left -= units;
        at += size;
    }
    return at;
}

/// Whether the next eight bytes are a character each.
static bool is_ascii_word(const char *at) {
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return (word & UINT64_C(0x8080808080808080)) == 0;
}

LinePosition lines_position(const Lines *lines, Str text, Encoding encoding, uint32_t offset) {
    enum { BYTES_PER_STEP = 256 };
    if (offset > text.size) offset = (uint32_t)text.size;
    int low = 0, high = lines->count - 1;
    while (low < high) {
        int middle = low + (high - low + 1) / 2;
        if (lines->starts[middle] <= offset)
            low = middle;
        else
            high = middle - 1;
    }
    LinePosition position = {(uint32_t)low, 0};
    uint32_t at = lines->starts[low], end = line_end(lines, text, low);
    if (offset < end) end = offset;
    budget_take((end - at) / BYTES_PER_STEP);  // a line may be as long as the file
    while (at < end) {
        uint32_t units;
        for (; end - at >= sizeof(uint64_t) && is_ascii_word(text.data + at);
             at += sizeof(uint64_t))
            position.character += sizeof(uint64_t);
        if (at == end) break;
        at += character_size(text, at, end, encoding, &units);
        position.character += units;
    }
    return position;
}

bool position_read(const Json *json, LinePosition *position) {
    double line = json_get_number(json, "line", -1);
    double character = json_get_number(json, "character", -1);
    if (!(line >= 0) || !(character >= 0)) return false;
    position->line = line > INT_MAX ? INT_MAX : (uint32_t)line;
    position->character = character > INT_MAX ? INT_MAX : (uint32_t)character;
    return true;
}

Json *position_json(Arena *arena, LinePosition position) {
    Json *json = json_object(arena);
    json_set_number(json, "line", position.line);
    json_set_number(json, "character", position.character);
    return json;
}

Json *span_json(Arena *arena, LinePosition start, LinePosition end) {
    Json *json = json_object(arena);
    json_set(json, "start", position_json(arena, start));
    json_set(json, "end", position_json(arena, end));
    return json;
}

static void position_write(Buffer *text, LinePosition position) {
    buffer_puts(text, "{\"line\":");
    buffer_put_int(text, position.line);
    buffer_puts(text, ",\"character\":");
    buffer_put_int(text, position.character);
    buffer_puts(text, "}");
}

void span_write(Buffer *text, LinePosition start, LinePosition end) {
    buffer_puts(text, "{\"start\":");
    position_write(text, start);
    buffer_puts(text, ",\"end\":");
    position_write(text, end);
    buffer_puts(text, "}");
}

const char *uri_of_path(Arena *arena, const char *path) {
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
    const char *absolute = *path == '/' ? path : path_real(arena, path);
    Buffer uri = buffer_new(arena);
    buffer_puts(&uri, "file://");
    for (const char *at = absolute; *at; at++) {
        if (strchr(plain, *at))
            buffer_putc(&uri, *at);
        else
            buffer_printf(&uri, "%%%02X", (unsigned)(unsigned char)*at);
    }
    return buffer_text(&uri);
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/// After scheme and host (RFC 8089: `file:/path` is the same); NULL for what is no file of this machine.
static const char *uri_local_part(const char *uri) {
    static const char scheme[] = "file:", own[] = "localhost";
    enum { SCHEME_SIZE = sizeof scheme - 1, OWN_SIZE = sizeof own - 1 };
    if (strncasecmp(uri, scheme, SCHEME_SIZE) != 0) return NULL;
    const char *at = uri + SCHEME_SIZE;
    if (strncmp(at, "//", 2) == 0) {
        const char *host = at + 2;
        size_t size = strcspn(host, "/");
        if (size && (size != OWN_SIZE || strncasecmp(host, own, OWN_SIZE) != 0)) return NULL;
        at = host + size;
    }
    return *at == '/' ? at : NULL;
}

const char *path_of_uri(Arena *arena, const char *uri) {
    const char *at = uri_local_part(uri);
    Buffer path = buffer_new(arena);
    for (; at && *at; at++) {
        int high = *at == '%' ? hex_digit(at[1]) : -1;
        int low = high >= 0 ? hex_digit(at[2]) : -1;
        if (low >= 0 && (high || low)) {
            buffer_putc(&path, (char)(high * 16 + low));
            at += 2;
        } else {
            buffer_putc(&path, *at);
        }
    }
    return buffer_text(&path);
}
