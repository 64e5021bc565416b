/* A version as a file: ONNX, model card. */
#include <stdlib.h>
#include <string.h>

#include "daemon/monitor/api.h"
#include "wire/model.h"
#include "wire/model_card.h"
#include "wire/onnx.h"

typedef int model_write_fn(const struct wire_model *m, struct wire_group_names groups,
                           struct byte_buffer *out, struct fis_error *e);

static int write_onnx(const struct wire_model *m, struct wire_group_names groups,
                      struct byte_buffer *out, struct fis_error *e)
{
    (void)groups;
    return wire_onnx_encode(m, out, e);
}

static const struct form {
    const char *ending, *type;
    model_write_fn *write;
} forms[] = {
    {".onnx", "application/octet-stream", write_onnx},
    {"/card", HTTP_JSON, wire_model_card_json},
    {"/card.md", "text/markdown; charset=utf-8", wire_model_card_text},
};
enum { FORMS = sizeof forms / sizeof *forms };

/* "7" or "served", and behind it how it is to be written. */
static const struct version_info *chosen(const struct version_log *l, const char *rest,
                                         const char **ending)
{
    static const char served[] = "served";
    char *end;
    if (!strncmp(rest, served, sizeof served - 1)) {
        *ending = rest + sizeof served - 1;
        return version_log_served(l);
    }
    unsigned long long n = *rest >= '0' && *rest <= '9' ? strtoull(rest, &end, 10) : 0;
    *ending = n ? end : "";
    return n ? version_log_find(l, n) : NULL;
}

static void send_as(const struct form *f, const struct version_info *v,
                    struct wire_group_names groups, struct http_reply *out)
{
    struct wire_model_owned m = {0};
    struct byte_buffer b = {0};
    struct fis_error e;
    int rc = wire_model_decode((struct wire_bytes){v->model.data, v->model.length}, &m, &e);
    if (!rc)
        rc = f->write(&m.model, groups, &b, &e);
    if (!rc) {
        out->type = f->type;
        http_write(out, b.data, b.length);
    } else {
        http_problem(out, rc == -FIS_INPUT ? 404 : 500, "%s", e.text);
    }
    byte_buffer_done(&b);
    wire_model_done(&m);
}

void api_model(void *ctx, const struct http_request *r, struct http_reply *out)
{
    const struct status *s = status_now(ctx);
    const char *ending;
    const struct version_info *v = chosen(s->versions, r->rest, &ending);
    int i = 0;
    while (i < FORMS && strcmp(forms[i].ending, ending))
        i++;
    if (i == FORMS)
        http_problem(
            out, 404,
            "allowed /api/v1/models/N.onnx, N/card and N/card.md; N: a version, or served");
    else if (!v || !v->model.length)
        http_problem(out, 404,
                     "this version is not among those that this process keeps; 'fisctl models' has "
                     "all of the topic");
    else
        send_as(&forms[i], v, (struct wire_group_names){s->groups, s->n_groups}, out);
}
