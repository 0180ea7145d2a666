// Names that files share: the private side of the functions of that name in features.h.
#ifndef TAD_FEATURES_SHARED_H
#define TAD_FEATURES_SHARED_H

#include "features/features.h"
#include "features/names/arguments.h"
#include "features/names/places.h"

/// The function, as the file sees it; NULL where it does not mention it.
const FunctionDefinition *shared_function(FileNames *names, const SharedName *shared);
/// Its name, and those that imports of the file give it: `from helpers import scale as s`.
Views shared_spellings(FileNames *names, const SharedName *shared);

#endif
