// The values that a file gives a kernel's constexprs: one instance for each configuration of autotune at each launch.
#ifndef TAD_ANALYSIS_CHECKS_CHECK_INSTANCES_H
#define TAD_ANALYSIS_CHECKS_CHECK_INSTANCES_H

#include "analysis/checks/check.h"
#include "analysis/trial/leaves.h"
#include "analysis/trial/trial.h"

/// Of a configuration or a launch: 0 where it does not say so, -1 where it says no number.
typedef struct LaunchOptions {
    int warps, stages;
} LaunchOptions;

typedef struct TunedValues {
    Range range;
    int number;               // from 1, in its list
    const char *place;        // where they are said, if in no list: "with the kernel's defaults"
    const Constant **values;  // by parameter; NULL: it does not say
    bool *varies;             // by parameter: it says something that is no number
    LaunchOptions options;
} TunedValues;

typedef struct Instance {
    const TunedValues *configuration;  // or NULL
    const LaunchSite *launch;          // or NULL
    const Constant *const *values;     // by parameter; NULL: open
    const bool *varies;  // by parameter: open, and maybe another in each configuration
    LaunchOptions options;
} Instance;

typedef struct Instances {
    Instance *items;
    int count;
    bool is_complete;  // these are all that the file shows
    bool is_pruned;    // code that is not followed may leave configurations out
} Instances;

/// The instances of the kernel that is checked: of what is written as numbers. None where the file says nothing.
Instances instances_find(Check *check);
/// What a polynomial comes to with the numbers of an instance; false where some are open.
bool instance_number(Check *check, const Instance *instance, const Poly *poly, int64_t *number);

/// Where its numbers are said: "in configuration 2", "at the launch in f", "with the numbers of `# tad`".
const char *instance_place(const Check *check, const Instance *instance);
/// Adds that place to what was said, which may be NULL.
void instance_relate(Check *check, Diagnostic *said, const Instance *instance);
/// The static assertion that is false with its numbers, of the kernel as it is lowered with them; NULL where none is.
const Op *instance_failed_assertion(Check *check, const Instance *instance);

/// The kernel lowered with these numbers and these types (by parameter, NULL and TYPE_UNKNOWN where open; `types` may be NULL), and
/// what the lowering says. NULL where it takes too long, or
/// an assertion rules the instance out.
Function *instance_lower(Check *check, const Constant *const *values, const Type *types,
                         const Diagnostics **said);

/// Notes the parameters of the dims that the operation takes for equal, and that these numbers (by parameter, NULL where open) make
/// unequal. False where there are none.
bool instance_torn_by(Check *check, const Op *op, const Constant *const *values, bool *mentions);

/// One launch with numbers, and the kernel lowered with them.
typedef struct TriedLaunch {
    const HostLaunch *launch;
    ConcreteLaunch *concrete;
    const Function *function;
    const Diagnostics *said;  // by the lowering
    LaunchTrial *trial;       // once it has run
    HostSizes sizes;
} TriedLaunch;

/// A launch under one choice of sizes, and the kernel lowered with its constexprs. False where it is not understood.
bool launch_lower(Check *check, const LaunchSite *site, HostPolicy policy, TriedLaunch *tried);
void launch_relate(Check *check, Diagnostic *said, const TriedLaunch *tried);
/// Whether there is an error or a warning already that touches the range.
bool check_was_said(const Check *check, Range range);

/// A parameter that gets the buffer, or -1.
int tried_parameter(const TriedLaunch *tried, int buffer);
/// Whether the launch passes each of the sizes in some number, or counts programs by it: one that it does not speak of may have to be
/// what the kernel takes it for.
bool tried_speaks_of(const TriedLaunch *tried, const Leaves *sizes);
/// Whether the launcher looks at all sizes of the buffer's tensor, or passes them on: in the number of elements of a new one, maybe.
bool tried_knows_extent(const TriedLaunch *tried, int buffer, const Leaves *extent);
/// What the programs of a trial read that nobody has written, or read again and again in place of the rest; said where `tells`.
bool check_reads_of(Check *check, const TriedLaunch *tried, bool tells);

typedef void LaunchCheckFunction(Check *check, const LaunchSite *site);
/// What it takes is not taken from the other checks, and where it takes too long it says no more.
void launch_check_bounded(Check *check, const LaunchSite *site, LaunchCheckFunction *function);
/// What Triton refuses with the constexprs that the launch computes.
void check_launch_values(Check *check, const LaunchSite *site);

#endif
