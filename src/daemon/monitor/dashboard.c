#include "daemon/monitor/dashboard.h"

#include <string.h>

/* Made of src/daemon/monitor/dashboard/ and Chart.js by the Makefile: struct dashboard_file and the
 * table dashboard_files. */
#include "dashboard_files.h"

static const char *type_of(const char *name)
{
    const char *end = strrchr(name, '.');
    if (end && strcmp(end, ".js") == 0)
        return "text/javascript; charset=utf-8";
    if (end && strcmp(end, ".css") == 0)
        return "text/css; charset=utf-8";
    return "text/html; charset=utf-8";
}

void dashboard_serve(void *ctx, const struct http_request *r, struct http_reply *out)
{
    const char *name = strcmp(r->path, "/") == 0        ? "index.html"
                       : strcmp(r->path, "/label") == 0 ? "label.html"
                                                        : r->rest;
    (void)ctx;
    for (size_t i = 0; i < sizeof dashboard_files / sizeof *dashboard_files; i++) {
        const struct dashboard_file *f = &dashboard_files[i];
        if (strcmp(f->name, name) != 0)
            continue;
        out->type = type_of(name);
        out->fixed = f->bytes;
        out->fixed_length = f->length;
        out->cacheable = false; /* after an upgrade, page and scripts are of one version */
        return;
    }
    http_problem(out, 404, "the dashboard has no file of this name");
}
