// Names that files share: the private side of the functions of that name in features.h.
#ifndef TAD_FEATURES_SHARED_H
#define TAD_FEATURES_SHARED_H

#include "features/arguments.h"
#include "features/features.h"
#include "features/places.h"

/// What a request at `offset` is about: an identifier, or a parameter's name in a text.
Name name_asked(Names *names, uint32_t offset);
/// The function, as the file sees it; NULL where it does not mention it.
const FunctionDefinition *shared_function(Names *names, const SharedName *shared);
/// Its name, and those that imports of the file give it: `from helpers import scale as s`.
Texts shared_spellings(Names *names, const SharedName *shared);
/// Why the name cannot become `text` in this file, a sentence or NULL.
const char *rename_refusal_of_name(Names *names, const Name *name, Str text);
const char *rename_refusal_of_global(Names *names, Str text);
const char *rename_refusal_of_places(Names *names, const Name *name, const NamePlaces *places);

#endif
