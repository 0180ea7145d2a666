// What functions and methods of PyTorch do to memory: the rows of torch.def.
#ifndef TAD_ANALYSIS_HOST_VALUES_TORCH_H
#define TAD_ANALYSIS_HOST_VALUES_TORCH_H

#include "analysis/syntax/syntax.h"

/// The columns are described at the top of torch.def.
typedef enum TorchUse { TORCH_FUNCTION, TORCH_METHOD, TORCH_BOTH, TORCH_MEMBER } TorchUse;

typedef enum TorchStorage {
    TORCH_UNKNOWN,
    TORCH_ASKS,
    TORCH_READS,
    TORCH_NEW,
    TORCH_VIEW,
    TORCH_MAY_VIEW,
    TORCH_IN_PLACE,
} TorchStorage;

typedef enum TorchContents {
    TORCH_NONE,
    TORCH_EMPTY,
    TORCH_ZEROS,
    TORCH_ONES,
    TORCH_FULL,
    TORCH_INDICES,
    TORCH_RANDOM,
    TORCH_COPIED,
    TORCH_COMPUTED,
} TorchContents;

typedef enum TorchShape { TORCH_KEEPS, TORCH_OTHER } TorchShape;

typedef struct TorchRow {
    const char *name;
    TorchUse use;
    TorchStorage storage;
    TorchContents contents;
    TorchShape shape;
    bool tells;
} TorchRow;

/// NULL: what it does is not known.
const TorchRow *torch_row(Str name);
/// Whether `x.member` looks at no more than sizes, types and the like of a tensor.
bool torch_asks_only(Str member);
/// Whether what has such a member is a tensor, where nothing else is known of it.
bool torch_tells_tensor(Str member);
/// The row of a call whose result is memory of its own that holds nothing of another tensor; NULL for all others, and for one
/// that is given its memory by `out=`.
const TorchRow *torch_allocation(const Source *source, SyntaxNode call);
/// The same for `x.clone()`, or NULL.
const TorchRow *torch_copy(const Source *source, SyntaxNode call);

#endif
