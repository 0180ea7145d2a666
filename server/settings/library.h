// Texts of our own that stand for modules of packages that kernels import and that need not be found to know what they do.
#ifndef TAD_SERVER_SETTINGS_LIBRARY_H
#define TAD_SERVER_SETTINGS_LIBRARY_H

#include "base/text.h"

/// The module's text in Triton, `dotted` being its absolute name; empty where there is none.
Str library_text(Arena *arena, Str dotted);

#endif
