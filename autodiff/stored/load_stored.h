// Inside autodiff/: a load of what the forward stored, in the place of a value that equals it.
#ifndef TAD_AUTODIFF_STORED_LOAD_STORED_H
#define TAD_AUTODIFF_STORED_LOAD_STORED_H

#include "autodiff/stored/left_out.h"

enum { VALUES_MOST = 4 };  // of one kind, of one store: beyond, others are not looked at

typedef LIST(Value *) Values;

/// Adds a value that is not among them, as long as there are fewer than VALUES_MOST.
void values_add(Arena *arena, Values *values, Value *value);

/// A load in the place of a value.
typedef struct StoredLoad {
    Value *value, *address, *mask;
    double rest;  // what stands for the elements that the mask leaves out
    Builder builder;
} StoredLoad;

/// Plans a load of what `store`, of the forward, left, in the place of `value`: in its region, or in one that is a twin of it. Makes what the
/// address and the mask take, in front of the value. False where it cannot be told what stands for elements beyond the mask.
bool stored_load_plan(const Differentiation *state, const Op *store, const LeftOut *left,
                      Value *value, StoredLoad *load);
/// Makes it; the loaded value gets that name.
void stored_load_make(Differentiation *state, const StoredLoad *load, const char *name);

#endif
