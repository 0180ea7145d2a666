// What the places of a kernel's text came to, for those who ask after the lowering.
#ifndef TAD_ANALYSIS_FRAMES_SIGHTINGS_H
#define TAD_ANALYSIS_FRAMES_SIGHTINGS_H

#include "analysis/module/module.h"

typedef struct Lowering Lowering;

/// What the expression at bytes [start, end) of the kernel's own text came to: a name where it is read or assigned, a call,
/// an operator. Of a loop that is unrolled, in its last round. NULL where nothing was lowered. For editors.
Value *function_value_at(const Function *function, uint32_t start, uint32_t end);

/// Values of one place, each of another type.
typedef struct InlinedValue {
    Value *value;
    struct InlinedValue *next;
} InlinedValue;

/// What a name in a helper of the same file, or for the range of its body its result, came to where `function` inlines it; the
/// first few types. NULL where it does not. Bytes of the text of `helper`.
const InlinedValue *function_inlined_at(const Function *function, const FunctionDefinition *helper,
                                        uint32_t start, uint32_t end);

/// Remembers for function_value_at what `node` came to; where nodes of the kernel itself are lowered.
void lowering_sight(Lowering *lowering, SyntaxNode node, Value *value);
/// Remembers for function_inlined_at what a place of the helper that is being inlined came to.
void lowering_sight_inlined(Lowering *lowering, uint32_t start, uint32_t end, Value *value);

#endif
