#include "kit/base/oom.h"

#include "kit/cmocka.h"

int oom_failed(const struct fis_error *e)
{
    return -(int)e->kind;
}

/* Under one refusal, of that allocation alone or (one = 0) of all that follow too. Whether
 * something was refused. */
static int oom_try(oom_scenario *scenario, void *arg, uint64_t n, int one)
{
    struct fis_error e;
    memset(&e, 0, sizeof e);
    if (one)
        fis_mem_refuse_one(n);
    else
        fis_mem_refuse_after(n);
    int r = scenario(arg, &e);
    int refused = one ? !fis_mem_refuses() : r != 0;
    fis_mem_refuse_after(UINT64_MAX);
    if (r == 0) /* what is asked for a smaller block instead, or again, may do without */
        return refused;
    assert_true(refused);
    assert_int_equal(r, -FIS_NOMEM);
    assert_int_equal(e.kind, FIS_NOMEM);
    assert_true(e.text[0] != 0);
    return 1;
}

uint64_t oom_run(oom_scenario *scenario, void *arg)
{
    uint64_t survived = 0;
    for (int one = 0; one < 2; one++) {
        uint64_t n = 0;
        for (; oom_try(scenario, arg, n, one); n++)
            assert_true(n < OOM_MOST);
        assert_true(n > 0);
        survived = n;
    }
    return survived;
}
