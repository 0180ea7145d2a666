// Cells of notebooks, which an editor opens as Python documents of their own: what of them is Python.
#ifndef TAD_SERVER_TEXT_NOTEBOOK_H
#define TAD_SERVER_TEXT_NOTEBOOK_H

#include "base/text.h"

/// Whether the document is a cell (`vscode-notebook-cell:/folder/name.ipynb#cell`).
bool uri_is_cell(const char *uri);
/// The path by which the analysis knows a cell: SOURCE_CELL in the folder of its notebook, so that imports are found there.
const char *cell_path(Arena *arena, const char *uri);
/// A copy of a cell's text in which lines that IPython takes (`%time`, `!pip install`, `name?`) are `0`, and bodies of other
/// languages (`%%bash`) blank. Every other byte is where it was.
Str cell_python(Arena *arena, Str text);

#endif
