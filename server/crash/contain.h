// Work on many files in a process of its own, so that a crash at one of them is told and the others are still worked on.
#ifndef TAD_SERVER_CRASH_CONTAIN_H
#define TAD_SERVER_CRASH_CONTAIN_H

#include "server/report/report.h"
#include "server/settings/options.h"

typedef struct Containment Containment;

/// Runs the command in a child process and returns its exit status. A child that a signal ends while it is at a file is
/// started anew, told which files to leave out. The command prints nothing before its last file is done.
int contain_run(const Options *options,
                int command(const Options *options, Containment *containment));
/// In the child: it is at this file from now on; NULL: at none.
void contain_enter(Containment *containment, const char *path);
/// In the child: false where it crashed at this file, which the report is told.
bool contain_may_enter(const Containment *containment, Report *report, const char *path);

#endif
