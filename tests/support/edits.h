// Random edits of a text, as people and editors make them: from a stream of bytes, so that a seed or a fuzzer drives them.
#ifndef TAD_TESTS_SUPPORT_EDITS_H
#define TAD_TESTS_SUPPORT_EDITS_H

#include <string.h>

#include "base/text.h"

/// Where the choices come from: bytes, then zeros.
typedef struct Choices {
    const unsigned char *data;
    size_t size;
    size_t at;
} Choices;

static uint32_t choose(Choices *choices, uint32_t below) {
    uint32_t number = 0;
    for (int i = 0; i < 3; i++)
        number = number << 8 | (choices->at < choices->size ? choices->data[choices->at++] : 0);
    return below ? number % below : 0;
}

static const char *const edit_snippets[] = {
    "x",
    "_",
    "1",
    " ",
    "\n",
    "\t",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "\"",
    "'",
    "\"\"\"",
    "#",
    ":",
    ",",
    "@",
    "\\",
    "\\\n",
    "\r\n",
    "\r",
    "=",
    " = ",
    "tl.",
    "# c\n",
    "\xc3\xa9",
    "\xe2\x82\xac",
    "\xf0\x9f\x9a\x80",
    "\xff",
    "    pass\n",
    "import math\n",
    "from .other import *\n",
    "def f(a, b=1):\n    return a\n",
    "@triton.jit\n",
    "@triton.jit\ndef helper(a, N: tl.constexpr):\n    return tl.load(a + tl.arange(0, N))\n\n",
    "@triton.jit\ndef kernel(X, N):\n    i = tl.program_id(0)\n    tl.store(X + i, helper(X, 16) + WIDTH)\n\n",
    "WIDTH: tl.constexpr = 4\n",
    "WIDTH = 3\n",
    "kernel = triton.jit(kernel)\n",
    "other = helper\n",
    "def launch(x):\n    kernel[(1,)](x, 3)\n    helper(x)\n\n",
    "kernel[(2,)](x, 4, BLOCK=3)\n",
    "if True:\n",
    "else:\n",
    "    x = helper(x, 8)\n",
    "class A:\n",
    "async ",
    "lambda: ",
    "for i in range(3):\n",
};

/// The bytes between two line starts, both chosen.
static Str choose_lines(Choices *choices, Str text, uint32_t most) {
    size_t start = choose(choices, (uint32_t)text.size + 1);
    while (start > 0 && text.data[start - 1] != '\n') start--;
    size_t end = start;
    for (uint32_t lines = choose(choices, most) + 1; lines > 0 && end < text.size; lines--) {
        const char *newline = memchr(text.data + end, '\n', text.size - end);
        end = newline ? (size_t)(newline - text.data) + 1 : text.size;
    }
    return (Str){text.data + start, end - start};
}

static Str replace_bytes(Arena *arena, Str text, size_t start, size_t removed, Str inserted) {
    size_t size = text.size - removed + inserted.size;
    char *result = arena_alloc(arena, size + 1);
    memcpy(result, text.data, start);
    if (inserted.size) memcpy(result + start, inserted.data, inserted.size);
    memcpy(result + start + inserted.size, text.data + start + removed,
           text.size - start - removed);
    return (Str){result, size};
}

/// `text` after one edit; `other` is a text to paste from.
static Str edit_text(Arena *arena, Choices *choices, Str text, Str other) {
    uint32_t size = (uint32_t)text.size;
    uint32_t count = sizeof edit_snippets / sizeof *edit_snippets;
    switch (choose(choices, 8)) {
    case 0: {  // a key
        char key = (char)(32 + choose(choices, 95));
        return replace_bytes(arena, text, choose(choices, size + 1), 0,
                             (Str){arena_strndup(arena, &key, 1), 1});
    }
    case 1: {  // backspace
        uint32_t at = choose(choices, size + 1);
        uint32_t removed = choose(choices, 3) + 1;
        return replace_bytes(arena, text, at, removed < size - at ? removed : size - at, STR(""));
    }
    case 2:
    case 3:  // something with a meaning, anywhere
        return replace_bytes(arena, text, choose(choices, size + 1), 0,
                             str_from(edit_snippets[choose(choices, count)]));
    case 4: {  // the same, at the start of a line
        Str line = choose_lines(choices, text, 1);
        return replace_bytes(arena, text, (size_t)(line.data - text.data), 0,
                             str_from(edit_snippets[choose(choices, count)]));
    }
    case 5: {  // lines deleted, or replaced by a snippet
        Str lines = choose_lines(choices, text, 12);
        bool replaced = choose(choices, 2);
        return replace_bytes(arena, text, (size_t)(lines.data - text.data), lines.size,
                             replaced ? str_from(edit_snippets[choose(choices, count)]) : STR(""));
    }
    case 6: {  // lines pasted from here or from elsewhere
        Str pasted = choose_lines(choices, choose(choices, 2) ? text : other, 40);
        Str place = choose_lines(choices, text, 1);
        return replace_bytes(arena, text, (size_t)(place.data - text.data), 0, pasted);
    }
    default: {  // a word renamed where it stands first
        uint32_t at = choose(choices, size + 1);
        uint32_t end = at;
        while (end < size && ((text.data[end] | 32) >= 'a' && (text.data[end] | 32) <= 'z')) end++;
        return replace_bytes(arena, text, at, end - at,
                             str_from(edit_snippets[choose(choices, count)]));
    }
    }
}

#endif
