/* Is it a certificate, and is it its key? The library that will serve with them is asked. */
#include <stdio.h>
#include <string.h>

#include "http/http_impl.h"

/* The first line is the reason; those behind it say that it did not start. */
static void on_log(void *cls, const char *format, va_list ap)
{
    char *first = cls;
    if (!*first)
        vsnprintf(first, FIS_ERROR_TEXT / 2, format, ap);
}

static enum MHD_Result serve_nothing(void *cls, struct MHD_Connection *connection, const char *url,
                                     const char *method, const char *version,
                                     const char *upload_data, size_t *upload_data_size,
                                     void **request)
{
    (void)cls;
    (void)connection;
    (void)url;
    (void)method;
    (void)version;
    (void)upload_data;
    (void)upload_data_size;
    (void)request;
    return MHD_NO;
}

int http_tls_check(const char *cert, const char *key, struct fis_error *e)
{
    char reason[FIS_ERROR_TEXT / 2] = "";
    struct MHD_Daemon *d =
        MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_ERROR_LOG | MHD_USE_TLS | MHD_USE_NO_LISTEN_SOCKET,
                         0, NULL, NULL, serve_nothing, NULL, MHD_OPTION_EXTERNAL_LOGGER, on_log,
                         reason, MHD_OPTION_HTTPS_MEM_CERT, cert, MHD_OPTION_HTTPS_MEM_KEY, key,
                         MHD_OPTION_HTTPS_PRIORITIES, HTTP_TLS_PRIORITIES, MHD_OPTION_END);
    if (d) {
        MHD_stop_daemon(d);
        return 0;
    }
    reason[strcspn(reason, "\r\n")] = 0;
    return fis_fail(e, FIS_INPUT,
                    "found a certificate or key that cannot be used (%s), allowed both in PEM, the "
                    "key being the certificate's",
                    reason);
}
