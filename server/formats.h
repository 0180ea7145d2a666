// A Report in, text out, in the formats of formats.def.
#ifndef TAD_SERVER_FORMATS_H
#define TAD_SERVER_FORMATS_H

#include "base/json.h"
#include "server/options.h"
#include "server/report.h"

typedef struct FormatOptions {
    bool color;
    bool quiet;  // no summary
} FormatOptions;

typedef void FormatWriter(Buffer *out, const Report *report, const FormatOptions *options);

#define FORMAT(id, name, writer, help) FormatWriter writer;
#include "server/formats.def"
#undef FORMAT

/// The report in one format.
void report_write(Buffer *out, const Report *report, Format format, const FormatOptions *options);

#endif
