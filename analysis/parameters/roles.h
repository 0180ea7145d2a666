// What the uses of a value say that it is: a pointer, an integer, a float, a type.
#ifndef TAD_ANALYSIS_PARAMETERS_ROLES_H
#define TAD_ANALYSIS_PARAMETERS_ROLES_H

#include "analysis/ir/ir.h"

enum {
    ROLE_POINTER = 1,
    ROLE_INT = 2,
    ROLE_FLOAT = 4,
    ROLE_DTYPE = 8,
    ROLE_STRING = 16,
    ROLE_SIZE = 32,        // an integer in a shape or a loop bound
    ROLE_DESCRIPTOR = 64,  // a tensor descriptor made by the host
    ROLE_REMAINDER =
        128,  // an operand of `%`: an integer, unless something else says that it is a float
    ROLE_WHOLE =
        256,  // compared with an integer: an integer, unless arithmetic says that it is a float
    ROLE_REAL = 512,  // met a float in arithmetic, was not only cast to one
    ROLE_CUT = 1024,  // cast to an integer: is one where the passes find nothing else
    ROLE_KEPT =
        2048,  // stored among floats, or a factor of a matrix product: is one where the passes find nothing else
    ROLES_OF_NUMBERS = ROLE_INT | ROLE_FLOAT | ROLE_WHOLE | ROLE_REAL | ROLE_CUT | ROLE_KEPT,
};

typedef struct Roles {
    Function *function;
    unsigned short *roles;  // by value id
    int *ranks;             // of descriptors, by value id
    bool changed;
} Roles;

/// The roles of all values of a function, from all of its operations.
Roles roles_find(Arena *arena, Function *function);
int role_of(const Roles *roles, const Value *value);
bool value_is_of_floats(const Value *value);
bool value_is_of_integers(const Value *value);
/// Certainly no pointer.
bool value_is_numeric(const Value *value);

#endif
