// What the proved configurations of a kernel have shown, what was wanted and could not be had; in words and as JSON.
#ifndef TAD_GPU_RUNNER_VERDICT_COVERED_H
#define TAD_GPU_RUNNER_VERDICT_COVERED_H

#include "base/json.h"
#include "gpu-runner/configure/facts.h"
#include "gpu-runner/configure/plan.h"
#include "gpu-runner/interp/coverage.h"
#include "gpu-runner/prove/check.h"

typedef struct Covered Covered;

/// Nothing yet, of a kernel with open constexprs and what its body says about its parameters.
Covered *covered_new(Arena *arena, const Function *symbolic, const ParameterFacts *facts);
/// Blocks that a launch of the file has different have to differ in some configuration; `configuration` is of that launch.
void covered_want_written(Covered *covered, const PlanConfiguration *configuration);
/// Whether the configuration, in which the forward came by `places`, has a case that none before it had.
bool covered_adds(const Covered *covered, const PlanConfiguration *configuration,
                  const Coverage *places);
void covered_take(Covered *covered, const PlanConfiguration *configuration, const Coverage *places);
/// Of a proved configuration: so many of the stored elements are not finite, and what their gradient is was not compared.
/// The words are about the configuration with the largest share.
void covered_note_infinite(Covered *covered, int64_t infinite, int64_t stored, const char *names);
/// What is proved assumes that masked-off loads without `other` read 0.
void covered_note_filled(Covered *covered);
/// With which constexprs rules by hand were tried alone.
void covered_note_rules(Covered *covered, const char *words);
/// Whether all that is wanted was had.
bool covered_is_full(const Covered *covered);
/// Whether only single programs were had along some axis, and whether the configuration has several along one of these.
bool covered_is_narrow(const Covered *covered);
bool covered_widens(const Covered *covered, const PlanConfiguration *configuration);
/// A configuration that was discarded for this reason, with what its check came to; both live as long as `covered`.
void covered_lose(Covered *covered, const PlanConfiguration *configuration, const char *reason,
                  const CheckResult *result);
/// Why what was proved is no proof of the kernel: along an axis only single programs are, since the configurations with more
/// of them failed. NULL: it is one.
const char *covered_lost_words(const Covered *covered);
/// Where that is for the programs of a launcher, which read what others store: what reads; else NULL.
const MemoryFinding *covered_lost_crossing(const Covered *covered);
/// "3 x 2 x 6 programs, last block 11 of 32, ...; not had: ... (`because`)".
const char *covered_words(const Covered *covered, const char *because);
/// {programs, last_block, loops, branches, flags, strides, missing, not_finite}
Json *covered_json(const Covered *covered);
/// The same words of one configuration alone.
const char *configuration_words(Arena *arena, const PlanConfiguration *configuration,
                                const Function *symbolic, const ParameterFacts *facts,
                                const Coverage *places);

#endif
