"""The measurement before other programs of this machine, and what others took of the processors."""

import atexit
import os

STOLEN = .01  # of the processors' time; what others on the host take is not what is measured
NICE = -15


def hurry(pid="self"):
    """A process and its session before other programs on this machine, which would be what is
    measured. Linux weighs sessions against each other first (autogroup): in a session of its own
    even an idle program gets a full share. The session's nice value from before."""
    path = f"/proc/{pid}/autogroup"
    try:
        with open(path, encoding="ascii") as f:
            before = f.read().split()[-1]
        with open(path, "w", encoding="ascii") as f:
            f.write(str(NICE))
        return before
    except (OSError, IndexError):
        return None


def calm(before):
    with open("/proc/self/autogroup", "w", encoding="ascii") as f:
        f.write(before)


def first_of_all():
    """This process, and all that it starts, until it ends; where it may."""
    try:
        os.nice(NICE)
    except PermissionError:
        pass
    before = hurry()
    if before is not None:
        atexit.register(calm, before)


def ticks():
    """Of this machine's processors so far: all, and those that its host gave to others."""
    with open("/proc/stat", encoding="ascii") as f:
        spent = [int(x) for x in f.readline().split()[1:9]]
    return sum(spent), spent[7]


def undisturbed(enough, most, run):
    """Rounds of run() from which the host took no processor: `enough` of `most` at most; all of
    them, when there is none. (Their results, how many rounds there were, the largest
    share that was taken.)"""
    rounds = []
    while len(rounds) < most and sum(share < STOLEN for share, _ in rounds) < enough:
        before = ticks()
        result = run()
        spent, taken = (y - x for x, y in zip(before, ticks()))
        rounds.append((taken / max(1, spent), result))
    good = [result for share, result in rounds if share < STOLEN]
    return good or [r for _, r in rounds], len(rounds), max(share for share, _ in rounds)
