// A Report in, text out, in the formats of formats.def.
#ifndef TAD_SERVER_REPORT_FORMATS_H
#define TAD_SERVER_REPORT_FORMATS_H

#include "base/json.h"
#include "server/report/report.h"

typedef enum Format {
#define FORMAT(id, name, writer, help) FORMAT_##id,
#include "server/report/formats.def"
#undef FORMAT
    FORMAT_COUNT
} Format;

typedef struct FormatOptions {
    bool color;
    bool quiet;  // no summary
} FormatOptions;

typedef void FormatWriter(Buffer *out, const Report *report, const FormatOptions *options);

#define FORMAT(id, name, writer, help) FormatWriter writer;
#include "server/report/formats.def"
#undef FORMAT

/// A JSON value as a text of its own.
void put_json(Buffer *out, const Json *value);
/// The report in one format.
void report_write(Buffer *out, const Report *report, Format format, const FormatOptions *options);

#endif
