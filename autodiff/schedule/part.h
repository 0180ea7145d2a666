// One kernel of a backward that has several.
#ifndef TAD_AUTODIFF_SCHEDULE_PART_H
#define TAD_AUTODIFF_SCHEDULE_PART_H

#include "autodiff/state/differentiation.h"

/// Makes of the whole backward the part that `state->parts.part` asks for. Fails where there is no such part.
void part_settle(Differentiation *state);

#endif
