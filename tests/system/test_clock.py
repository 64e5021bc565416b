#!/usr/bin/env python3
"""O29: the wall clock jumps by hours, back and forth, and the pipeline uses the monotonic one:
nothing expires in a burst, nothing is asked for again, rounds keep their pace. The system's clock is
left alone: libfaketime stands between fisd and it."""

import glob
import json
import os
import subprocess
import sys
import time

from fisd_test import Pipeline, fields, main, people, record_json, same, t_config, test, wait

ROWS = list(people(3000, 3))
HOURS = 3


# librdkafka reckons how long to wait by timespec_get, and waits by cnd_timedwait. libfaketime has
# the former lie and does not know the latter, which no real clock would do: both tell the truth.
# And jemalloc asks for the time as it begins, while libfaketime, which would answer, waits for
# memory: here memory is glibc's.
HONEST = b"""
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int timespec_get(struct timespec *t, int base);
int timespec_get(struct timespec *t, int base)
{
    return syscall(SYS_clock_gettime, CLOCK_REALTIME, t) ? 0 : base;
}

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *p);
void *malloc(size_t size) { return __libc_malloc(size); }
void *calloc(size_t n, size_t size) { return __libc_calloc(n, size); }
void *realloc(void *p, size_t size) { return __libc_realloc(p, size); }
void *memalign(size_t alignment, size_t size) { return __libc_memalign(alignment, size); }
void *aligned_alloc(size_t alignment, size_t size) { return __libc_memalign(alignment, size); }
void free(void *p) { __libc_free(p); }
int posix_memalign(void **p, size_t alignment, size_t size)
{
    *p = __libc_memalign(alignment, size);
    return *p ? 0 : ENOMEM;
}
/* jemalloc has C++'s operators too, which would mix with these. */
#define NEW(name, ...) void *name(size_t n __VA_ARGS__) { return __libc_malloc(n); }
#define ALIGNED(name, ...) \\
    void *name(size_t n, size_t a __VA_ARGS__) { return __libc_memalign(a, n); }
#define DELETE(name, ...) void name(void *p __VA_ARGS__) { __libc_free(p); }
NEW(_Znwm) NEW(_Znam)
NEW(_ZnwmRKSt9nothrow_t, , const void *t) NEW(_ZnamRKSt9nothrow_t, , const void *t)
ALIGNED(_ZnwmSt11align_val_t) ALIGNED(_ZnamSt11align_val_t)
ALIGNED(_ZnwmSt11align_val_tRKSt9nothrow_t, , const void *t)
DELETE(_ZdlPv) DELETE(_ZdaPv) DELETE(_ZdlPvm, , size_t n) DELETE(_ZdaPvm, , size_t n)
DELETE(_ZdlPvSt11align_val_t, , size_t a) DELETE(_ZdaPvSt11align_val_t, , size_t a)
DELETE(_ZdlPvmSt11align_val_t, , size_t n, size_t a)
"""


def library():
    found = glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
    assert found, "libfaketime is missing (apt-get install libfaketime)"
    return found[0]


class Clock:
    """A file that says how wrong the wall clock is."""

    def __init__(self, p):
        self.path = os.path.join(p.dir, "clock.txt")
        honest = os.path.join(p.dir, "honest.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", honest, p.write("honest.c", HONEST)],
                       check=True)
        self.set("+0")
        self.env = {"LD_PRELOAD": f"{honest}:{library()}", "FAKETIME_TIMESTAMP_FILE": self.path,
                    "FAKETIME_NO_CACHE": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1",
                    "DONT_FAKE_MONOTONIC": "1"}

    def set(self, offset):
        with open(self.path + ".new", "w") as f:
            f.write(offset + "\n")
        os.replace(self.path + ".new", self.path)


def state(p):
    return dict(fields([m.value for m in p.consume("ledger") if m.key == b"\0"][-1]))


def requests(p):
    bodies = [(m.key, json.loads(m.value)) for m in p.consume("label-requests")]
    asked = [k for k, b in bodies if not b.get("cancelled")]
    same(len(asked), len(set(asked)), "an id was asked for twice")
    return asked, [k for k, b in bodies if b.get("cancelled")]


def feed(p, first, n, **more):
    p.produce("records", [(None, record_json({**r, **more})) for r in ROWS[first:first + n]])


def answer(p, ids):
    p.produce("labels", [(i, b'{"label": "yes"}') for i in ids])


def config(deadline):
    return t_config(labels={"deadline": deadline, "replace": True},
                    selection={"labels_per_round": 20, "window_time": "3s", "budget": 200,
                               "window_records": 100000},
                    training={"warm_up_epochs": 5, "steps_per_round": 60},
                    kafka={"session.timeout.ms": 45000, "group.instance.id": "one"},
                    runtime={"commit_interval": "50ms"})


def unless_librdkafka_gives_up(scenario):
    """librdkafka 2.0.2 waits by the wall clock: a jump in the very moment of a commit may end the
    process in an assertion of its own. A supervisor would start it again; what the scenario is
    about is then over, so it begins again, for that reason only."""
    for _ in range(3):
        p = Pipeline(config(scenario.deadline))
        try:
            with p:  # which stops it, and that is a moment too
                scenario(p, Clock(p))
            return
        except AssertionError:
            if "rdkafka_txnmgr.c" not in p.log():
                raise
            print("# librdkafka gave up", flush=True)
    raise AssertionError("librdkafka gave up three times")


def with_deadline(text):
    def mark(scenario):
        scenario.deadline = text
        return scenario
    return mark


def never_before(p, seconds, began, count, what):
    """So many are withdrawn, or none of 0, and if any is, then not before the deadline: `began` is
    before they were asked for, so this holds however slow the machine is."""
    wait(lambda: len(requests(p)[1]) >= count, f"withdrawn {what}", alive=p.alive)
    gone, took = requests(p)[1], time.monotonic() - began
    assert not gone or took > seconds - 1, f"withdrawn {what}, after {took:.1f} s: {gone}"
    print(f"# {what}, after {took:.1f} s: {len(gone)} withdrawn", flush=True)


@test("the lie works: the wall clock is wrong, the monotonic one is not")
def _():
    with Pipeline(config("10m"), topics=False) as p:
        clock = Clock(p)
        clock.set(f"-{HOURS}h")
        out = subprocess.run([sys.executable, "-c", "import time; print(time.time(), "
                              "time.monotonic())"], env={**os.environ, **clock.env},
                             stdout=subprocess.PIPE, text=True, check=True).stdout.split()
        wall, mono = float(out[0]) - time.time(), float(out[1]) - time.monotonic()
        assert abs(wall + HOURS * 3600) < 60, f"wall clock off by {wall:.0f} s"
        assert abs(mono) < 60, f"monotonic clock off by {mono:.0f} s"


@with_deadline("10m")
def back_and_on(p, clock):
    p.start(env=clock.env)
    feed(p, 0, 300)
    wait(lambda: len(requests(p)[0]) == 20, "a round's requests", alive=p.alive)
    before, at = state(p)[9], time.monotonic()
    for number, offset in enumerate((f"-{HOURS}h", f"+{HOURS}h", "+0"), 1):
        clock.set(offset)
        wait(lambda: p.log().count(" clock_jump ") >= number, "the jump is noticed", alive=p.alive)
        feed(p, 300 * number, 300)
        answer(p, requests(p)[0][-20:])
        wait(lambda: len(requests(p)[0]) == 20 * (number + 1), f"round {number + 1}", alive=p.alive)
        same(requests(p)[1], [], "withdrawn")
    passed = state(p)[9] - before
    real = 1000 * (time.monotonic() - at)
    assert 0 < passed <= real + 2000, f"its clock went {passed} ms in {real:.0f} ms"
    same([x for x in p.log().splitlines() if "took_ms=-" in x], [], "negative durations")


@test("back three hours, on three, and true again: rounds go on, nothing expires")
def _():
    unless_librdkafka_gives_up(back_and_on)


@with_deadline("12s")
def kept_by_the_monotonic_clock(p, clock):
    p.start(env=clock.env)
    began = time.monotonic()
    feed(p, 0, 300)
    p.wait_log(r" asked labels=20 ")
    clock.set(f"+{HOURS}h")
    wait(lambda: " clock_jump " in p.log(), "the jump is noticed", alive=p.alive)
    never_before(p, 12, began, 0, "at once")
    clock.set(f"-{HOURS}h")
    never_before(p, 12, began, 20, "in time")


@test("a deadline is kept by the monotonic clock, whatever the wall clock says")
def _():
    unless_librdkafka_gives_up(kept_by_the_monotonic_clock)


@with_deadline("15s")
def restarted_under_a_clock_set_back(p, clock):
    p.start(env=clock.env)
    began = time.monotonic()
    feed(p, 0, 300)
    wait(lambda: len(requests(p)[0]) == 20, "a round's requests", alive=p.alive)
    p.kill()
    clock.set(f"-{HOURS}h")
    before = state(p)[9]
    p.start(ready=r" restored ", env=clock.env)
    never_before(p, 15, began, 0, "by the restart")
    never_before(p, 15, began, 20, "in time")
    assert state(p)[9] >= before, "its clock went back"


@test("a restart under a clock that is set back: no deadline is missed for ever, none comes early")
def _():
    unless_librdkafka_gives_up(restarted_under_a_clock_set_back)


@test("time that passes while nobody is there counts: what is due by then expires at the start")
def _():
    with Pipeline(config("10m")) as p:
        clock = Clock(p)
        p.start(env=clock.env)
        feed(p, 0, 300)
        wait(lambda: len(requests(p)[0]) == 20, "a round's requests", alive=p.alive)
        same(p.stop(), 0, "exit status")
        clock.set(f"+{HOURS}h")
        p.start(ready=r" restored ", env=clock.env)
        wait(lambda: len(requests(p)[1]) == 20, "withdrawn", alive=p.alive)
        wait(lambda: len(requests(p)[0]) == 40, "others in their place", alive=p.alive)


@test("event times of long ago and of days to come drive nothing")
def _():
    with Pipeline({**config("10m"), "records": {"passthrough": ["event_time"]}}) as p:
        p.start()
        for first, when in ((0, 0), (100, -1), (200, 4291747200000)):
            feed(p, first, 100, event_time=when)
        wait(lambda: len(requests(p)[0]) == 20, "a round's requests", alive=p.alive)
        same(requests(p)[1], [], "withdrawn")
        same(len(p.consume("dead-letter")), 300 if not p.candidates() else 0, "dead letters")


if __name__ == "__main__":
    main()
