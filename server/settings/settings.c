// Looked up from the file's folder upwards, read once per pyproject.toml.
#include "server/settings/settings.h"

#include <fnmatch.h>
#include <string.h>

#include "analysis/cost/card.h"
#include "base/map.h"
#include "server/system/files.h"

struct SettingsCache {
    Arena *arena;
    Report *report;
    Map by_folder;  // -> Settings *
    Settings *nothing;
};

SettingsCache *settings_cache_new(Arena *arena, Report *report) {
    SettingsCache *cache = ARENA_NEW(arena, SettingsCache);
    *cache = (SettingsCache){arena, report, map_new(arena), ARENA_NEW(arena, Settings)};
    return cache;
}

static bool names_match(const Names *names, const DiagnosticRow *row) {
    for (int i = 0; i < names->count; i++)
        if (diagnostic_is_meant(row, str_from(names->items[i]))) return true;
    return false;
}

/// The name of `name=level`, and its level in `*level`: one after the severities is off, one less than 0 none.
static Str level_split(const char *item, int *level) {
    static const char *const names[] = {"error", "warning", "info", "hint", "off"};
    const char *equals = strchr(item, '=');
    *level = -1;
    if (!equals) return str_from(item);
    for (int i = 0; i < 5; i++)
        if (str_is(str_trim(str_from(equals + 1)), names[i])) *level = i;
    return str_trim((Str){item, (size_t)(equals - item)});
}

/// How well the item fits: 2 by name, 1 by family, 0 not.
static int level_fits(Str name, const DiagnosticRow *row) {
    return !diagnostic_is_meant(row, name) ? 0 : str_is(name, row->family) ? 1 : 2;
}

Severity settings_severity(const Settings *settings, const Options *options,
                           const DiagnosticRow *row, Severity usual, bool *is_off) {
    const Names *lists[] = {&options->severity, &settings->severity};
    *is_off = false;
    for (int k = 0; k < 2; k++) {
        int best = 0, chosen = -1;
        for (int i = 0; i < lists[k]->count; i++) {
            int level;
            int fit = level_fits(level_split(lists[k]->items[i], &level), row);
            if (level < 0 || !fit || fit < best) continue;
            best = fit;
            chosen = level;
        }
        if (chosen < 0) continue;
        *is_off = chosen > SEVERITY_HINT;
        return *is_off ? usual : (Severity)chosen;
    }
    return usual;
}

Error levels_refuse(Arena *arena, const char *where, const Names *levels) {
    for (int i = 0; i < levels->count; i++) {
        int level;
        const char *name = str_dup(arena, level_split(levels->items[i], &level));
        if (level < 0)
            return arena_printf(
                arena, "%s: `%s` has one of the levels error, warning, info, hint, off, as %s=hint",
                where, name, name);
        Error error = names_refuse(arena, where, &(Names){&name, 1});
        if (error) return error;
    }
    return NULL;
}

Error card_refuse(Arena *arena, const char *where, const char *name) {
    if (!name || card_find(str_from(name))) return NULL;
    return arena_printf(arena, "%s: there is no `%s`; there are %s", where, name,
                        card_names(arena));
}

Error names_refuse(Arena *arena, const char *where, const Names *names) {
    for (int i = 0; i < names->count; i++) {
        bool known = false;
        for (int k = 0; k < DIAGNOSTIC_COUNT && !known; k++)
            known = diagnostic_is_meant(&diagnostic_rows[k], str_from(names->items[i]));
        if (known) continue;
        const char *nearest = diagnostic_suggest(str_from(names->items[i]));
        return arena_printf(arena, "%s: there is no diagnostic `%s`%s%s%s", where, names->items[i],
                            nearest ? "; did you mean `" : "", nearest ? nearest : "",
                            nearest ? "`?" : "");
    }
    return NULL;
}

static Error read_names(Arena *arena, const char *path, const Toml *value, const char *key,
                        Names *names) {
    LIST(const char *) list = {0};
    bool is_list = value->kind == TOML_ARRAY;
    for (int i = 0; is_list && i < value->count; i++) {
        if (value->items[i]->kind != TOML_STRING)
            is_list = false;
        else
            LIST_PUSH(arena, &list, str_dup(arena, value->items[i]->string));
    }
    if (!is_list)
        return arena_printf(arena, "%s:%d: `%s` is a list of strings, like %s = [\"...\"]", path,
                            range_line(value->range), key, key);
    *names = (Names){list.items, list.count};
    return NULL;
}

static Error read_kernels(Arena *arena, const char *path, const Toml *value, Settings *settings) {
    if (value->kind != TOML_TABLE)
        return arena_printf(arena, "%s:%d: `kernels` is a table with one table per kernel", path,
                            range_line(value->range));
    for (int i = 0; i < value->count; i++)
        if (value->items[i]->kind != TOML_TABLE)
            return arena_printf(arena,
                                "%s:%d: `kernels.%.*s` is a table, like [tool.tad.kernels.%.*s]",
                                path, range_line(value->items[i]->range), STR_ARGS(value->keys[i]),
                                STR_ARGS(value->keys[i]));
    settings->kernels = value;
    return NULL;
}

static Error read_severity(Arena *arena, const char *path, const Toml *value, Settings *settings) {
    const char *where = arena_printf(arena, "%s:%d", path, range_line(value->range));
    LIST(const char *) list = {0};
    bool is_table = value->kind == TOML_TABLE;
    for (int i = 0; is_table && i < value->count; i++) {
        is_table = value->items[i]->kind == TOML_STRING;
        if (is_table)
            LIST_PUSH(arena, &list,
                      arena_printf(arena, "%.*s=%.*s", STR_ARGS(value->keys[i]),
                                   STR_ARGS(value->items[i]->string)));
    }
    if (!is_table)
        return arena_printf(arena, "%s: `severity` is a table, like severity = {%s}", where,
                            "tf32-dot = \"off\"");
    settings->severity = (Names){list.items, list.count};
    return levels_refuse(arena, where, &settings->severity);
}

static Error read_card(Arena *arena, const char *path, const Toml *value, Settings *settings) {
    const Card *card = value->kind == TOML_STRING ? card_find(value->string) : NULL;
    if (!card)
        return arena_printf(arena, "%s:%d: `card` is one of %s", path, range_line(value->range),
                            card_names(arena));
    settings->card = card->name;
    return NULL;
}

static Error read_key(Arena *arena, const char *path, Str key, const Toml *value,
                      Settings *settings) {
    struct {
        const char *name;
        Names *names;
        bool of_diagnostics;
    } lists[] = {{"ignore", &settings->ignore, true},
                 {"select", &settings->select, true},
                 {"exclude", &settings->exclude, false}};
    if (str_is(key, "model"))
        return arena_printf(arena,
                            "%s:%d: a project says nothing of a model: your own "
                            "~/.config/tad-lsp/model.toml does",
                            path, range_line(value->range));
    if (str_is(key, "severity")) return read_severity(arena, path, value, settings);
    if (str_is(key, "card")) return read_card(arena, path, value, settings);
    if (str_is(key, "kernels")) return read_kernels(arena, path, value, settings);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        if (!str_is(key, lists[i].name)) continue;
        Error error = read_names(arena, path, value, lists[i].name, lists[i].names);
        if (error || !lists[i].of_diagnostics) return error;
        const char *where = arena_printf(arena, "%s:%d", path, range_line(value->range));
        return names_refuse(arena, where, lists[i].names);
    }
    return arena_printf(
        arena,
        "%s:%d: [tool.tad] has no key `%.*s`; it has ignore, select, severity, exclude, card, kernels",
        path, range_line(value->range), STR_ARGS(key));
}

static void read_section(SettingsCache *cache, const char *path, const Toml *section,
                         Settings *settings) {
    for (int i = 0; i < section->count; i++) {
        Error error = read_key(cache->arena, path, section->keys[i], section->items[i], settings);
        if (error) report_problem(cache->report, "%s", error);
    }
}

/// The settings in the file `path`, or NULL when it has no [tool.tad] and the search goes on above.
static Settings *settings_read(SettingsCache *cache, const char *path) {
    Str text;
    Error error = file_read(cache->arena, path, &text);
    if (error) {
        report_problem(cache->report, "%s", error);
        return cache->nothing;
    }
    const Toml *root = toml_parse(cache->arena, source_new(cache->arena, path, text), &error);
    if (error) {
        report_problem(cache->report, "%s: %s", path, error);
        return cache->nothing;
    }
    const Toml *section = toml_get(toml_get(root, "tool"), "tad");
    if (!section) return NULL;
    Settings *settings = ARENA_NEW(cache->arena, Settings);
    settings->path = path;
    if (section->kind == TOML_TABLE)
        read_section(cache, path, section, settings);
    else
        report_problem(cache->report, "%s:%d: `tad` is a table: [tool.tad]", path,
                       range_line(section->range));
    return settings;
}

static Settings *settings_of_folder(SettingsCache *cache, const char *folder) {
    Settings *known = map_get(&cache->by_folder, str_from(folder));
    if (known) return known;
    const char *path = path_join(cache->arena, folder, "pyproject.toml");
    Settings *found = file_exists(path) ? settings_read(cache, path) : NULL;
    if (!found && strcmp(folder, "/") != 0)
        found = settings_of_folder(cache, path_folder(cache->arena, folder));
    if (!found) found = cache->nothing;
    map_set(&cache->by_folder, str_from(folder), found);
    return found;
}

const Settings *settings_for(SettingsCache *cache, const char *file) {
    const char *real = path_real(cache->arena, file);
    if (*real != '/') return cache->nothing;
    return settings_of_folder(cache, path_folder(cache->arena, real));
}

bool settings_exclude(const Settings *settings, Arena *arena, const char *file) {
    if (settings->exclude.count == 0) return false;
    const char *real = path_real(arena, file);
    size_t folder = strlen(path_folder(arena, settings->path));
    const char *relative = strlen(real) > folder ? real + folder + (real[folder] == '/') : real;
    for (int i = 0; i < settings->exclude.count; i++) {
        const char *pattern = settings->exclude.items[i];
        if (fnmatch(pattern, relative, 0) == 0) return true;
        // A folder's name excludes what is below it.
        if (fnmatch(arena_printf(arena, "%s/*", pattern), relative, 0) == 0) return true;
    }
    return false;
}

bool settings_want(const Settings *settings, const Options *options, const DiagnosticRow *row) {
    const Names *select = options->select.count ? &options->select : &settings->select;
    if (select->count && !names_match(select, row)) return false;
    return !names_match(&options->ignore, row) && !names_match(&settings->ignore, row);
}

static Json *toml_json(Arena *arena, const Toml *value) {
    switch (value->kind) {
    case TOML_STRING: return json_str(arena, value->string);
    case TOML_INTEGER:
    case TOML_FLOAT: return json_number(arena, value->number);
    case TOML_BOOL: return json_bool(arena, value->integer != 0);
    case TOML_ARRAY:
    case TOML_TABLE: break;
    }
    Json *json = value->kind == TOML_ARRAY ? json_array(arena) : json_object(arena);
    for (int i = 0; i < value->count; i++) {
        Json *item = toml_json(arena, value->items[i]);
        if (value->kind == TOML_ARRAY)
            json_push(json, item);
        else
            json_set(json, str_dup(arena, value->keys[i]), item);
    }
    return json;
}

Json *settings_launch(const Settings *settings, Arena *arena, const char *kernel) {
    const Toml *table = toml_get(settings->kernels, kernel);
    return table ? toml_json(arena, table) : NULL;
}
