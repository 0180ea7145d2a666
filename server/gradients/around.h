// What is edited around the kernels of a written backward, as a check in the editor tells it.
#ifndef TAD_SERVER_GRADIENTS_AROUND_H
#define TAD_SERVER_GRADIENTS_AROUND_H

#include "server/edits/edited.h"
#include "server/gradients/written.h"

/// The edits that pass the gradients of one kernel.
typedef struct EditsAround {
    Json *findings;  // as a worker's answer has them; NULL: there are none
    int line;        // of the first that no comment silences; 0: there is none
} EditsAround;

/// All of the request's module. On the slow queue.
FunctionEdits around_edits(Request *request, const Snapshot *snapshot, const Original *original);
/// Those of the kernel, copied to `arena`.
EditsAround around_kernel(Arena *arena, const FunctionEdits *edits, const Kernel *kernel);
/// Takes them into the result of a proof: they are told beside its findings, and where the kernels are proved, that is not all.
void around_take(Arena *arena, const EditsAround *around, GradientStatus *status);

#endif
