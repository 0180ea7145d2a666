// Crashes on purpose, for the tests of what survives them. Only in builds with TAD_FAULTS.
#ifndef TAD_SERVER_SYSTEM_FAULT_H
#define TAD_SERVER_SYSTEM_FAULT_H

#include "base/text.h"

#ifdef TAD_FAULTS
/// Crashes where the environment has TAD_FAULTS and the text a comment `# tad-fault: QUEUE KIND`.
void fault_provoke(const char *queue, Str text);
#else
static inline void fault_provoke(const char *queue, Str text) {
    (void)queue;
    (void)text;
}
#endif

#endif
