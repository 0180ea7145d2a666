// Every place of a file that means one name. Private to features/.
#ifndef TAD_FEATURES_NAMES_PLACES_H
#define TAD_FEATURES_NAMES_PLACES_H

#include "features/features.h"
#include "features/names/locate.h"

typedef struct NamePlace {
    Range range;
    bool is_write;
    bool is_text;    // inside a string or a comment
    bool is_shared;  // in configurations that other kernels use, too
} NamePlace;

typedef struct NamePlaces {
    LIST(NamePlace) list;  // in order, without repetition
} NamePlaces;

/// All places that mean `name`; for parameters also keyword arguments, configurations, grids and `# tad:` comments.
NamePlaces places_of(FileNames *names, const Name *name);
/// Where they are; without the first that binds the name, which declares it, unless it is asked for.
Ranges places_ranges(Arena *arena, const NamePlaces *places, bool include_declaration);
/// The parameter `index` of a function, as the name at `range`.
Name parameter_name(FileNames *names, const FunctionDefinition *function, int index, Range range);
/// The parameter whose name the text (a string or a `# tad:` comment) at `offset` spells; NAME_NOTHING otherwise.
Name name_in_text(FileNames *names, uint32_t offset);

#endif
