// The text of a launch in; how many programs it has along each axis, and what it passes for a block, as Python in front of it, out.
#ifndef TAD_AUTODIFF_SAVING_LAUNCH_SIZES_H
#define TAD_AUTODIFF_SAVING_LAUNCH_SIZES_H

#include "analysis/module/module.h"

typedef struct LaunchArguments {
    const LaunchSite *site;
    const Source *source;
    SyntaxNode *nodes;  // of the call's arguments; null ones for what `*sizes` passes
    int count;
    int positional;     // of these come by their place
    uint32_t last_end;  // behind the last one
    int axes;           // of the grid
    const char *grid[PROGRAM_AXES];
    bool is_computed;  // the grid is a function of what is passed
} LaunchArguments;

/// False where the text does not show all of it: `**arguments`, `*arguments` of an unknown number, a grid that is computed elsewhere, a tuned block in it.
bool launch_arguments_read(Arena *arena, const Module *module, const LaunchSite *site,
                           LaunchArguments *arguments);
/// What the launch passes for a parameter of its kernel, by number; a null node where it passes nothing.
SyntaxNode launch_passed_node(const LaunchArguments *arguments, int parameter);
/// A number of the kernel's text, a constexpr parameter or a number, as the launcher would write it; NULL: not known.
const char *launch_size_text(Arena *arena, const LaunchArguments *arguments, Str number);

#endif
