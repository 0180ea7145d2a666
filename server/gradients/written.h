// A file with kernels and the module with their backward that tad-lsp wrote beside it: each knows the other by its name and its text.
#ifndef TAD_SERVER_GRADIENTS_WRITTEN_H
#define TAD_SERVER_GRADIENTS_WRITTEN_H

#include "autodiff/saving/saving.h"
#include "server/gradients/gradients.h"

/// The other file of the two, as the editor has it or as it is on disk; in the request's arena.
typedef struct Neighbour {
    const char *uri, *path;
    const char *name;  // without its folder; NULL: there is none
    Str text;
    int version;
} Neighbour;

/// The file that the request's module was derived from, as its first line says. On any queue.
Neighbour written_origin(Request *request);
/// The file that a module was derived from, analysed: its launches are those that hold for the module's kernels.
typedef struct Original {
    const char *name;    // of the file, as the module says; NULL: the text is no module of ours
    Snapshot *snapshot;  // NULL: it is not there
    ImportResolver *resolver;
} Original;
/// On the slow queue. To be closed with original_close.
Original original_open(Request *request);
void original_close(Original *original);
/// The same kernel there, its text unchanged; or NULL.
const Kernel *original_kernel(const Original *original, const Kernel *kernel);
/// The text that `Generate backward` derives the kernel from: the original's, or one where the forward stores more if the settings want
/// that; saving_kernel is the kernel there. To be closed with saving_close, before the original.
Saving written_saving(Request *request, const Original *original, const Snapshot *snapshot,
                      const Kernel *kernel);
/// The module beside the request's file that holds the kernel's backward. On any queue.
Neighbour written_backward(Request *request, const Kernel *kernel);

/// What a queue finds in a neighbour's own text for a result that holds there as well; hash 0 where it does not.
typedef struct Twin {
    const char *uri;
    uint64_t hash;
    int version, line;
} Twin;
/// The kernel in the module beside the file, if that holds it and the emitted kernels of `backward` as they are.
Twin written_twin(Request *request, const Snapshot *snapshot, const Kernel *kernel,
                  const Backward *backward);

#endif
