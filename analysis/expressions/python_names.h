// Names that Python itself has.
#ifndef TAD_ANALYSIS_EXPRESSIONS_PYTHON_NAMES_H
#define TAD_ANALYSIS_EXPRESSIONS_PYTHON_NAMES_H

#include "base/text.h"

bool python_builtin_exists(Str name);
/// One that a kernel cannot name, with what to write there (or NULL).
bool python_builtin_is_missing(Str name, const char **instead);

#endif
