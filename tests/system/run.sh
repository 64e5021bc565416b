#!/bin/bash
# Runs system tests against one real Kafka broker, which is started for them and ended after them.
#
#   tests/system/run.sh [TEST …]     without names: all, and the stream layer's own, if built
#
# FISD, FISCTL: the programs (default build/release/bin); V=1: every test's own output; JOBS: how
# many at a time (default 4: they wait more than they work); FISD_TEST_KAFKA: the host:port of a
# broker that runs already.
# What the tests leave is removed when all went well, else kept in build/system.* (in a folder of
# FISD_TEST_DIR, where that is set).
set -u -o pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
export FISD=${FISD:-$root/build/release/bin/fisd}
export FISCTL=${FISCTL:-$root/build/release/bin/fisctl}
for program in "$FISD" "$FISCTL"; do
    [ -x "$program" ] || {
        echo "run.sh: $program is missing; 'make' builds it" >&2
        exit 1
    }
done
for tool in prove kcat python3 java chromium chromedriver; do
    command -v $tool >/dev/null || {
        echo "run.sh: $tool is missing; 'make deps-test' installs it" >&2
        exit 1
    }
done

if [ $# -eq 0 ]; then
    shopt -s nullglob
    for test in "$here"/test_*; do
        [ -x "$test" ] && set -- "$@" "$test"
    done
    for test in "$(dirname "$FISD")"/../tests/stream/*kafka*; do
        [ -x "$test" ] && set -- "$@" "$test"
    done
fi
[ $# -gt 0 ] || {
    echo "run.sh: no test was found" >&2
    exit 1
}

mkdir -p "$root/build"
export FISD_TEST_DIR
FISD_TEST_DIR=$(mktemp -d "${FISD_TEST_DIR:-$root/build}/system.XXXXXX") || exit 1
status=1
leave() {
    [ ! -e "$FISD_TEST_DIR/kafka" ] || "$here/kafka.sh" stop "$FISD_TEST_DIR/kafka" 2>/dev/null
    if [ $status -eq 0 ]; then
        rm -rf "$FISD_TEST_DIR"
    else
        echo "run.sh: logs are kept in $FISD_TEST_DIR" >&2
    fi
}
trap leave EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Records of any size up to 16 MB reach the topic: what is too long is fisd's to refuse.
if [ -z "${FISD_TEST_KAFKA:-}" ]; then
    FISD_TEST_KAFKA=$("$here/kafka.sh" start "$FISD_TEST_DIR/kafka" message.max.bytes=16777216) ||
        exit 1
fi
export FISD_TEST_KAFKA
export CMOCKA_MESSAGE_OUTPUT=TAP PYTHONDONTWRITEBYTECODE=1
verbose=
[ "${V:-0}" = 1 ] && verbose=-v

# A test that fails beside others and passes alone is a failure: nothing is run again.
prove --norc $verbose --timer -j "${JOBS:-4}" --exec "$here/keep_output.sh" "$@"
status=$?
if [ $status -ne 0 ]; then
    echo "What failed (whole outputs: *.out in the folder of the logs):"
    for out in "$FISD_TEST_DIR"/*.out; do
        # Its first lines, and the last of each log.
        awk -v name="$(basename "$out" .out)" '
            function say(line) { print name ":   " substr(line, 1, 160) }
            function say_tail(  i) { for (i = 4; i > 0; i--) if (tail[i] != "") say(tail[i]); delete tail }
            /^(not )?ok / { say_tail(); shown = /^not/ ? 6 : 0; log_at = 0; if (shown) print name ": " $0; bad = shown; next }
            bad && /^# --- / { say_tail(); say($0); log_at = 1; next }
            bad && log_at && /^# / { for (i = 4; i > 1; i--) tail[i] = tail[i - 1]; tail[1] = $0; next }
            shown-- > 0 { say($0) }
            END { say_tail() }' "$out"
    done
fi
exit $status
