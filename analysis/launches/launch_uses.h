// What a launcher does with the numbers that it reads off a tensor: whether all of it is known to end in launches.
#ifndef TAD_ANALYSIS_LAUNCHES_LAUNCH_USES_H
#define TAD_ANALYSIS_LAUNCHES_LAUNCH_USES_H

#include "analysis/launches/launch_tensors.h"

/// The tensor of which this is the whole or an item.
Str tensor_whole(Str tensor);
/// Whether every number that the launcher reads off a tensor gets to launches as that tensor, or decides what is done and no
/// more: else the tensor's gradient would lack a part.
bool tensor_is_followed(TensorReader *reader, Str tensor);

#endif
