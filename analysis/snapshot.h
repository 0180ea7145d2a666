// The pipeline, readable from top to bottom: source text in, immutable snapshot out. No I/O, no JSON. Of a long text the
// kernels are analysed by several threads; nobody can tell but by the time.
#ifndef TAD_ANALYSIS_SNAPSHOT_H
#define TAD_ANALYSIS_SNAPSHOT_H

#include <stdatomic.h>

#include "analysis/lowering/kernel.h"
#include "base/memo.h"
#include "base/parallel.h"

typedef struct SnapshotView SnapshotView;

typedef struct SnapshotOptions {
    const Resolver *resolver;  // may be NULL; outlives the snapshot
    uint64_t imports_version;  // another number when the resolver's answers may differ from before
    bool skip_checks;          // parse and lower only
    bool
        skip_trials;  // launches are not tried with numbers; what was found so in an earlier text stays while it holds
    const char *card;  // that launches have to fit, as Card.name has it; NULL: any
} SnapshotOptions;

/// What a forward stores for its backward alone: nobody else reads it, so it has no upstream gradient.
typedef struct SavedValue {
    const char *kernel, *parameter;
    const char *value;  // as the kernel's text computes it
    const char *
        lanes;  // as the kernel spells them: one for each lane of a block; "": one for each program
    const char *columns;  // of a tile with as many rows as `lanes`; "": it has one axis
    bool is_choice;       // true or false, in one byte; else a float32
} SavedValue;

typedef LIST(SavedValue) SavedValues;

/// A piece of such a text, without a line of its own, and how a person would write it: `to` begins where `from` does, and each further line
/// is indented as that one is.
typedef struct SavedPiece {
    const char *from, *to;
} SavedPiece;

typedef LIST(SavedPiece) SavedPieces;

struct Snapshot {
    Arena *arena;
    atomic_int count;  // of holders
    const Source *source;
    Module *module;
    LIST(Kernel) kernels;     // every jit function, in order
    Diagnostics diagnostics;  // ranges in `source`
    Str other_build;          // of Triton, that the file imports (module_other_build); or empty
    SavedValues
        saved;  // of all kernels, in this arena; set by who writes such a text (autodiff/saving)
    SavedPieces saved_pieces;  // the same, and in the same lines:
    Str unsaved;               // the text without it
    SnapshotOptions options;
    bool lacks_trials;          // a launch of the file was not tried with numbers
    Memo *derivations;          // of its kernels, once each: autodiff/kept.h
    struct SnapshotBase *base;  // private to the pipeline
    LIST(SnapshotView) views;   // the same: earlier texts that work was taken over from
};

/// Stack that a thread needs to build snapshots of any text. Nesting is bounded; the rest is room for sanitizers.
enum { SNAPSHOT_STACK_BYTES = PARALLEL_STACK_BYTES };

/// Copies path and text. The caller holds one count. Where the thread's result is not wanted any longer (base/budget.h), it ends as a BUG
/// does, with BUG_UNWANTED.
Snapshot *snapshot_build(const char *path, Str text, const SnapshotOptions *options);
/// The snapshot of an edited text, equal to snapshot_build of it in all that can be observed. What the edit cannot have
/// changed is shared with `previous`, which stays as it is. `text` is the whole new text.
Snapshot *snapshot_update(const Snapshot *previous, Str text, const SnapshotOptions *options);
/// Counted; from any thread. A snapshot and everything reached from it lives until its last release. NULL is allowed.
Snapshot *snapshot_retain(const Snapshot *snapshot);
void snapshot_release(const Snapshot *snapshot);

const Kernel *snapshot_find_kernel(const Snapshot *snapshot, Str name);
/// The jit function whose definition (decorators included) holds the byte `offset` of the snapshot's text, or NULL.
const Kernel *snapshot_kernel_at(const Snapshot *snapshot, uint32_t offset);
/// Where a range of a kernel's IR lies now. The IR of a kernel that an edit left alone is shared with the snapshots before,
/// and its ranges are those of the text that it was made from: use this on every range of an op, value or call before
/// showing it. Definitions, diagnostics and launches are always of the present text. Ranges of other files, and of this
/// snapshot's own text, are returned as they are.
Range snapshot_range(const Snapshot *snapshot, Range range);
/// What an expression of the snapshot's text came to in the kernel's own text (`function_value_at`), or NULL.
Value *snapshot_value_at(const Snapshot *snapshot, const Kernel *kernel, Range range);
/// snapshot_range of all ranges of a function that was copied from one of the snapshot's kernels.
void snapshot_relocate(const Snapshot *snapshot, Function *copy);

/// The function of the snapshot's own file whose definition holds the range; NULL where none does.
const FunctionDefinition *snapshot_function_around(const Snapshot *snapshot, Range range);

#endif
