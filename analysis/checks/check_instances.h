// The values that a file gives a kernel's constexprs: one instance for each configuration of autotune at each launch.
#ifndef TAD_ANALYSIS_CHECKS_CHECK_INSTANCES_H
#define TAD_ANALYSIS_CHECKS_CHECK_INSTANCES_H

#include "analysis/checks/check.h"

typedef struct TunedValues {
    Range range;
    int number;               // from 1, in its list
    const Constant **values;  // by parameter; NULL: it does not say
    bool *varies;             // by parameter: it says something that is no number
} TunedValues;

typedef struct Instance {
    const TunedValues *configuration;  // or NULL
    const LaunchSite *launch;          // or NULL
    const Constant *const *values;     // by parameter; NULL: open
    const bool *varies;  // by parameter: open, and maybe another in each configuration
} Instance;

typedef struct Instances {
    Instance *items;
    int count;
    bool is_complete;  // these are all that the file shows
    bool is_pruned;    // code that is not followed may leave configurations out
} Instances;

/// The instances of the kernel that is checked: of what is written as numbers. None where the file says nothing.
Instances instances_find(Check *check);

/// The kernel lowered with these numbers (by parameter, NULL where open), and what the lowering says. NULL where it takes too long, or
/// an assertion rules the instance out.
Function *instance_lower(Check *check, const Constant *const *values, const Diagnostics **said);

#endif
