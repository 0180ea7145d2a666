// A file and values that a forward could store in; the file's text with a forward that stores them out.
#ifndef TAD_AUTODIFF_SAVING_SAVING_TEXT_H
#define TAD_AUTODIFF_SAVING_SAVING_TEXT_H

#include "autodiff/saving/candidates.h"

/// The text with the kernel's stores behind their statements, and with a new buffer for each in front of every launch, in the lines that
/// are there. `names[i]` becomes what the parameter of the i-th value is called; `*pieces` how a module has it. NULL where the text does not
/// show how a launch could pass such a buffer.
const char *saving_text(Arena *arena, const Snapshot *snapshot, const Kernel *kernel,
                        const RowValues *values, const char **names, SavedPieces *pieces);

#endif
