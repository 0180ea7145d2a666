// "Generate backward": derived here and now, into a module of its own beside the file or below the kernel; and the
// comment that says what the gradient check runs a kernel with.
#ifndef TAD_CODEACTIONS_GENERATE_BACKWARD_H
#define TAD_CODEACTIONS_GENERATE_BACKWARD_H

#include "codeactions/fix.h"

/// Why no file can be written beside the source; NULL where one can.
const char *file_refusal(const Source *source);
/// Why nothing can be written below the kernel; NULL where it can.
const char *below_refusal(const Kernel *kernel);

#endif
