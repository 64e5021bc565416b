/* The two clocks, in a file of their own: what needs the time need not bring the loop along. */
#include <time.h>

#include "daemon/runtime/runtime.h"

struct trainer_time runtime_now(const struct runtime *rt)
{
    struct timespec ts;
    (void)rt;
    clock_gettime(CLOCK_REALTIME, &ts);
    return (struct trainer_time){
        .mono_ms = uv_hrtime() / 1000000,
        .wall_ms = (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000,
    };
}
