// Completion of members and of names in scope.
#ifndef TAD_FEATURES_COMPLETE_COMPLETE_NAMES_H
#define TAD_FEATURES_COMPLETE_COMPLETE_NAMES_H

#include "features/complete/complete.h"

/// `tl.`, `tl.math.`: what does not depend on the kernel around it. False where `object` is something
/// else, and in an annotation, where not all of it is wanted.
bool complete_language(Completer *completer, Range object);
/// `object.`: operations of a module, methods and attributes of a value.
void complete_members(Completer *completer, Range object);
/// Variables, parameters, globals and functions that the kernel sees, and keyword arguments of the call around.
void complete_names(Completer *completer);
/// The name under which the file knows triton.language: "tl".
const char *language_alias(FileNames *names);

#endif
