// The strides of one tensor that launches pass, and what a backward kernel addresses with them.
#ifndef TAD_AUTODIFF_LAYOUTS_TENSOR_STRIDES_H
#define TAD_AUTODIFF_LAYOUTS_TENSOR_STRIDES_H

#include "analysis/host/launch.h"
#include "analysis/lowering/lower.h"
#include "autodiff/plan/launch_plan.h"

enum { NO_ARGUMENT = -1 };

/// How far launches may go along axes, `(axis, length)` in Python over the forward's arguments and `grid.0`: where nothing shows that
/// the tensor is as long, the Function asks.
typedef struct AskedReads {
    Texts list;
    bool is_asking;
    bool
        has_more_axes;  // one more than the launches show, without a stride: the Function asks for that, too
} AskedReads;

typedef struct TensorStrides {
    Arena *arena;
    const Kernel *kernel;
    const Function *backward;  // its parameters in the order of the arguments
    const BackwardLaunch *launch;
    int tensor;  // parameter of the forward; -1: there is none
    const Value
        *addressed[2];   // parameters of the backward that are laid out like the tensor; or NULL
    Value *part_stride;  // of sums in parts, each laid out like the tensor; or NULL
    bool bounds_all;     // the outermost index has to stay within its axis, too
    AskedReads *asked;   // NULL: nothing may be left to the Function
    // out:
    int rank;                    // of the tensor
    int strides[TYPE_MAX_RANK];  // arguments of the backward, by axis; or NO_ARGUMENT
    // while it is found:
    HostLaunches launches;
    Map moved;      // values that depend on these
    bool is_other;  // something else does
} TensorStrides;

/// Whether all launches of the file pass strides of the tensor with which the kernel addresses nothing but what is laid out like it,
/// by an index along each axis that stays within the tensor. Of a dense tensor the outermost one need not: what is within the
/// tensor and within all other axes is within the outermost, too.
bool tensor_strides_find(TensorStrides *layout);

#endif
