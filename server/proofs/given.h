// Words about derivatives that are given by hand, which a backward rests on.
#ifndef TAD_SERVER_PROOFS_GIVEN_H
#define TAD_SERVER_PROOFS_GIVEN_H

#include "autodiff/backward.h"

/// Why a proof would say nothing: a derivative by hand that differences cannot check. NULL: there is none.
const char *given_obstacle(Arena *arena, const Backward *backward);
/// What a wrong gradient rests on: "the derivative of `f` that is given by hand in line 7". NULL: nothing by hand.
const char *given_words(Arena *arena, const Backward *backward);
/// The first rule that stands in the file of `source`, or NULL.
const GivenRule *given_here(const Backward *backward, const Source *source);

#endif
