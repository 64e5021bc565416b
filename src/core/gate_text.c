/* What a judgement says, for people. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/gate_impl.h"

struct gate_shown gate_shown(double value)
{
    struct gate_shown s = {"not estimable"};
    if (isfinite(value))
        snprintf(s.text, sizeof s.text, "%.4f", value);
    return s;
}

void gate_conclude(struct fis_gate_judgement *j, enum fis_verdict verdict,
                   enum fis_gate_reason reason, const char *format, ...)
{
    char numbers[FIS_ERROR_TEXT - 64];
    va_list ap;
    va_start(ap, format);
    vsnprintf(numbers, sizeof numbers, format, ap);
    va_end(ap);
    j->verdict = verdict;
    j->reason = reason;
    snprintf(j->text, sizeof j->text, "%s: %s: %s",
             verdict == FIS_PUBLISH ? "published" : "rejected", fis_gate_reason_name(reason),
             numbers);
    if (j->undetectable)
        snprintf(
            j->text + strlen(j->text), sizeof j->text - strlen(j->text),
            "; the anchor's gap is below %.4f, the smallest that these rows can tell from none",
            j->detectable);
}
