// Which helper functions an emitted module needs: those that are called in it, and in one another.
#ifndef TAD_AUTODIFF_MODULE_HELPERS_H
#define TAD_AUTODIFF_MODULE_HELPERS_H

#include "base/text.h"

/// What a module has under a helper's name already.
typedef enum HelperPlace {
    HELPER_ABSENT,
    HELPER_PRESENT,  // the helper itself
    HELPER_TAKEN,    // something of the user's: the helper gets another name
} HelperPlace;
typedef HelperPlace FindHelper(const void *context, const char *name, const char *text);
/// Whether a helper function has this name.
bool helper_is_named(Str name);
/// Emitted code that calls helpers, with the names that they get in this module.
const char *helpers_named(Arena *arena, const char *text, FindHelper *find, const void *context);
/// The Python functions of helpers.def that `text`, named so, calls, and that these call, without those that are there;
/// functions are two empty lines apart, and the whole is empty where nothing is needed.
const char *helpers_text(Arena *arena, const char *text, FindHelper *find, const void *context);

#endif
