#include "cli/schemas.h"

#include "binding/binding.h"

static bool is_over(void *cli)
{
    return cli_stopping(cli);
}

int cli_schemas_open(struct cli_schemas *s, struct cli *c, struct fis_error *e)
{
    const struct registry_options o = binding_registry(&c->cfg, is_over, c);
    *s = (struct cli_schemas){.cache = schema_cache_new()};
    int rc = s->cache ? registry_open(&s->registry, &o, e)
                      : fis_fail(e, FIS_NOMEM, "no memory for schemas");
    if (rc)
        cli_schemas_close(s);
    return rc;
}

void cli_schemas_close(struct cli_schemas *s)
{
    registry_close(s->registry);
    schema_cache_free(s->cache);
    *s = (struct cli_schemas){0};
}

int cli_schemas_find(struct cli_schemas *s, struct wire_bytes value,
                     const struct wire_format **format, struct fis_error *e)
{
    *format = NULL;
    return value.data ? schema_cache_format(s->cache, s->registry, value, (uint64_t)cli_now_ms(),
                                            format, e)
                      : 0;
}
