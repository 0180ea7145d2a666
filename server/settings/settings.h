// `[tool.tad]` of the nearest pyproject.toml that has one, and the choice of diagnostics that it makes.
#ifndef TAD_SERVER_SETTINGS_SETTINGS_H
#define TAD_SERVER_SETTINGS_SETTINGS_H

#include "analysis/syntax/toml.h"
#include "base/json.h"
#include "server/report/report.h"
#include "server/settings/options.h"

typedef struct Settings {
    const char *path;  // of the pyproject.toml, NULL when there is none
    Names ignore, select, exclude;
    Names severity;       // `name=level` each
    const char *card;     // that bounds are told for; NULL: any
    const Toml *kernels;  // a table per kernel name: its launch specification; or NULL
} Settings;

typedef struct SettingsCache SettingsCache;

SettingsCache *settings_cache_new(Arena *arena, Report *report);
/// Never NULL. A broken file is a problem of the report, once, and counts as empty.
const Settings *settings_for(SettingsCache *cache, const char *file);

/// Whether `file` matches a pattern of `exclude` (relative to the pyproject.toml's folder).
bool settings_exclude(const Settings *settings, Arena *arena, const char *file);
/// Whether a diagnostic is wanted by the command line and the settings together.
bool settings_want(const Settings *settings, const Options *options, const DiagnosticRow *row);
/// The severity that the command line, else the settings give the row, a name before a family; else `usual`. `*is_off`: it is not told.
Severity settings_severity(const Settings *settings, const Options *options,
                           const DiagnosticRow *row, Severity usual, bool *is_off);
/// The launch specification of `kernel`, or NULL.
Json *settings_launch(const Settings *settings, Arena *arena, const char *kernel);

/// NULL when each name is that of a diagnostic or of a family; else a sentence with the nearest name. `where` opens it.
Error names_refuse(Arena *arena, const char *where, const Names *names);
/// NULL when `name` is NULL or a card; else a sentence with those that there are. `where` opens it.
Error card_refuse(Arena *arena, const char *where, const char *name);
/// The same for names with a level each, as `unmasked-load=error`.
Error levels_refuse(Arena *arena, const char *where, const Names *levels);

#endif
