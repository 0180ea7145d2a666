// Places as the Language Server Protocol has them: lines and characters in the agreed encoding, URIs; and their JSON.
#ifndef TAD_SERVER_TEXT_PROTOCOL_H
#define TAD_SERVER_TEXT_PROTOCOL_H

#include "analysis/syntax/source.h"
#include "base/json.h"

/// What a `character` counts (LSP 3.17, PositionEncodingKind). UTF-16 where nothing else was agreed.
typedef enum Encoding { ENCODING_UTF16, ENCODING_UTF8, ENCODING_UTF32 } Encoding;

const char *encoding_name(Encoding encoding);
/// The first of the client's `general.positionEncodings` that we would choose: UTF-8 before UTF-16.
Encoding encoding_choose(const Json *client_capabilities);

// ERROR_CODE(ID, number): JSON-RPC 2.0 and LSP 3.17.
#define ERROR_CODES(X)                                                                             \
    X(PARSE_ERROR, -32700)                                                                         \
    X(INVALID_REQUEST, -32600)                                                                     \
    X(METHOD_NOT_FOUND, -32601)                                                                    \
    X(INVALID_PARAMS, -32602)                                                                      \
    X(INTERNAL_ERROR, -32603)                                                                      \
    X(SERVER_NOT_INITIALIZED, -32002)                                                              \
    X(REQUEST_FAILED, -32803)                                                                      \
    X(CONTENT_MODIFIED, -32801)                                                                    \
    X(REQUEST_CANCELLED, -32800)
typedef enum ErrorCode {
#define CODE(id, number) ERROR_##id = (number),
    ERROR_CODES(CODE)
#undef CODE
} ErrorCode;

/// Lines end with "\n", "\r\n" or "\r". `Source` counts "\n" only, so its lines are not the editor's in a mixed file.
typedef struct Lines {
    uint32_t *starts;
    int count;
} Lines;

Lines lines_of(Arena *arena, Str text);
/// The lines of `text`, which was made from one with the lines `old` by putting `size` bytes in place of those from `start` to `end`.
Lines lines_edit(Arena *arena, const Lines *old, Str text, uint32_t start, uint32_t end,
                 uint32_t size);

typedef struct LinePosition {
    uint32_t line, character;
} LinePosition;

/// A byte offset; what lies outside is moved to the end of the line or of the text, the inside of a character to its start.
uint32_t lines_offset(const Lines *lines, Str text, Encoding encoding, LinePosition position);
LinePosition lines_position(const Lines *lines, Str text, Encoding encoding, uint32_t offset);

/// Reads {"line", "character"}. False where it is none.
bool position_read(const Json *json, LinePosition *position);
Json *position_json(Arena *arena, LinePosition position);
Json *span_json(Arena *arena, LinePosition start, LinePosition end);
/// The same at the end of `text`.
void span_write(Buffer *text, LinePosition start, LinePosition end);

/// "file:///a/b%20c.py" of an absolute path; a relative one is seen from the working folder.
const char *uri_of_path(Arena *arena, const char *path);
/// The path of a `file:` URI, "" of any other.
const char *path_of_uri(Arena *arena, const char *uri);

#endif
