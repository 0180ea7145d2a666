// Loops, addresses and memory of values in sentences.
#ifndef TAD_FEATURES_DESCRIBE_DESCRIBE_MEMORY_H
#define TAD_FEATURES_DESCRIBE_DESCRIBE_MEMORY_H

#include "features/describe/describe.h"

/// What the loop around does with the value, where it carries it.
void describe_carried(Buffer *out, FileNames *names, const Value *value);
/// Lanes of an integer tile, address of a pointer.
void describe_address(Buffer *out, Value *value);
/// What a load, store or atomic touches, and which programs and iterations touch the same.
void describe_access(Buffer *out, const Kernel *kernel, Op *op);
/// The accesses through a pointer parameter, or those whose address an integer parameter is part of; a few of them.
void describe_accesses(Buffer *out, FileNames *names, const Kernel *kernel, const Value *parameter);

#endif
