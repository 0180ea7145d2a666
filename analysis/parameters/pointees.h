// What parameters that are pointers point to.
#ifndef TAD_ANALYSIS_PARAMETERS_POINTEES_H
#define TAD_ANALYSIS_PARAMETERS_POINTEES_H

#include "analysis/parameters/roles.h"

typedef struct Pointees {
    const Roles *roles;
    unsigned short *loaded;  // by parameter: roles of what was loaded
    unsigned short *stored;  // ROLE_FLOAT, ROLE_INT, ROLE_WHOLE
    Function *function;
} Pointees;

/// Looks at all loads and stores. Sets `is_loaded` and `is_stored` of the function's parameters.
Pointees pointees_find(Arena *arena, Function *function, const Roles *roles);
/// What a parameter points to, by the roles of what is loaded from it and stored to it.
DTypeClass pointee_class(int loaded, int stored);
/// The parameter that an address comes from, the first of several; -1: it is not known.
int pointee_parameter(const Value *address);
/// Sets `is_optional` of parameters that the kernel compares with None.
void optionals_find(Function *function);

#endif
