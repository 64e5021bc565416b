/* The contract of the API, config/openapi.yaml, built in. */
#include "daemon/monitor/api.h"
#include "openapi.h"

void api_openapi(void *ctx, const struct http_request *r, struct http_reply *out)
{
    (void)ctx;
    (void)r;
    out->type = "application/yaml";
    out->fixed = openapi_yaml;
    out->fixed_length = sizeof openapi_yaml - 1;
    out->cacheable = true;
}
