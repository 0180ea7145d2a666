// Which tensors of the host code may hold something when the launch comes: what is not followed (other launches, unknown
// functions, branches not taken, earlier iterations of a loop) may have written to them.
#ifndef TAD_ANALYSIS_HOST_VALUES_HOST_WRITES_H
#define TAD_ANALYSIS_HOST_VALUES_HOST_WRITES_H

#include "analysis/host_values/host.h"

// host_writes.c
/// What is not followed may write to the tensors in the value: a method, an unknown function, an earlier iteration of a loop.
void host_note_written(const HostValue *value);
void host_note_written_by(const HostCall *call);
/// The same for tensors whose names are in the text, without evaluating it.
void host_note_named(HostFrame *frame, SyntaxNode node);
/// The same for what a branch that is not taken binds to something else than new memory, and for what it calls.
void host_note_skipped(HostFrame *frame, SyntaxNode branch);
/// Whether the node is None or makes memory that holds nothing of another tensor: `torch.empty(...)`, `x.new_zeros(...)`.
bool host_call_allocates(const Source *source, SyntaxNode node);
/// Whether a Python function returns at several places.
bool host_has_several_results(const HostValue *function);

#endif
