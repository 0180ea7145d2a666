// Strangers' text (paths, source lines, docstrings) on its way to a terminal, a build's log or an editor's Markdown.
#ifndef TAD_BASE_ESCAPE_H
#define TAD_BASE_ESCAPE_H

#include "base/text.h"

/// As it may be printed inside a line: what a terminal or a build server would obey is shown as an escape and not obeyed.
/// Control characters, line ends and marks of direction become `\n`, `\x1b`, `\u202e`; `::` at the start of a line and
/// `##[`, `##vso[` lose their first or second sign (`\x3a:`, `#\x23[`); bytes that are no UTF-8 become U+FFFD. Tabs stay.
const char *text_visible(Arena *arena, const char *text);
/// The same for several lines: line feeds, and carriage returns before them, stay.
const char *lines_visible(Arena *arena, const char *text);
/// The same for a report in JSON, with escapes of JSON: the values stay what they are.
const char *json_visible(Arena *arena, const char *json);
/// The next character of a line of source, visible as above (`shown`, NUL-terminated). Returns its bytes in `text`, 0 at the end.
enum { SHOWN_SIZE = 8 };
size_t char_visible(Str text, size_t at, char shown[SHOWN_SIZE]);
/// Whether a character is obeyed rather than shown: a control character but the tab, a line end, a mark of direction.
bool char_is_control(uint32_t character);

/// What stands between the backticks of Markdown's code, on one line: visible, and `\x60` for each backtick.
const char *code_visible(Arena *arena, Str text);
/// The lines of a fenced block of Markdown: visible, and none of them ends the block.
const char *fence_visible(Arena *arena, Str text);

#endif
