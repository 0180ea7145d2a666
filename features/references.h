// Uses of a name, and the changes that renaming it takes.
#ifndef TAD_FEATURES_REFERENCES_H
#define TAD_FEATURES_REFERENCES_H

#include "features/shared.h"

/// What a request at `offset` is about: an identifier, or a parameter's name in a text.
Name name_asked(FileNames *names, uint32_t offset);
/// Why the name cannot become `text` in this file, a sentence or NULL.
const char *rename_refusal_of_name(FileNames *names, const Name *name, Str text);
const char *rename_refusal_of_global(FileNames *names, Str text);
const char *rename_refusal_of_places(FileNames *names, const Name *name, const NamePlaces *places);

#endif
