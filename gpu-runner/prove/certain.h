// Whether what a run finds is a fault of the launch in the file, or may be one of values that were made up for the run.
#ifndef TAD_GPU_RUNNER_PROVE_CERTAIN_H
#define TAD_GPU_RUNNER_PROVE_CERTAIN_H

#include "gpu-runner/configure/problem.h"

/// Whether the places of all accesses to a parameter's buffer, whether they happen, and with `is_sized` how large the buffer
/// is, follow from the sizes of one tensor of the launch: not from what memory holds, nor from numbers that a caller chooses,
/// nor from sizes of several tensors, which nobody says to fit. False for a configuration that is no launch.
bool places_are_launched(Arena *arena, const Problem *problem, const char *parameter,
                         bool is_sized);
/// Whether they follow from the program alone, whatever numbers and tensors the kernel is launched with.
bool places_are_the_programs(Arena *arena, const Problem *problem, const char *parameter);
/// Whether integers that were made up for tensors of the launch decided all places that a run touched outside of its tensors
/// (FINDING_OUT_OF_BOUNDS), or that several programs touched (FINDING_RACE): no caller passes just these.
bool places_are_made_up(Arena *arena, const Problem *problem, const Findings *findings,
                        FindingKind kind);
/// Whether all that a run touched outside of its tensors was touched without a mask: such a kernel counts on whole blocks.
bool counts_on_whole_blocks(const Function *forward, const Findings *findings);

#endif
