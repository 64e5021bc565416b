#!/bin/bash
# The demo: fisd on the Adult census data, with labellers played by the withheld labels.
#
#   demo.sh [--bin DIR] [--dir DIR] [--cache DIR] [--seed N] [--rate N]
#
# Three pipelines run side by side on the same records and the same budget of labels, each a fisd
# with its embedded broker: the one of config/adult.yaml (fis+), one that spends the budget at
# random, and the loop that a team writes by itself: XGBoost alone, fitted again after each round to
# the labels that it was least certain of. At the end the versions are listed and compared on test
# rows that nobody has seen. The last line of the output is one JSON object. Logs and data stay in
# DIR/seed-N.
set -u -o pipefail

here=$(cd "$(dirname "$0")" && pwd)
bin=$here/../../build/release/bin
dir=$here/../../build/demo
cache=$here/../../build/cache
seed=1
rate=800
patience=300 # seconds for the ten rounds; a run takes a tenth of that on two cores

die() {
    echo "demo: $*" >&2
    exit 1
}

say() {
    echo "demo: $*"
}

while [ $# -gt 0 ]; do
    case $1 in
    --bin | --dir | --cache | --seed | --rate)
        [ $# -ge 2 ] || die "$1 needs a value"
        declare "${1#--}=$2"
        shift 2
        ;;
    *) die "found '$1', allowed --bin, --dir, --cache, --seed, --rate" ;;
    esac
done
[[ $seed =~ ^[0-9]{1,9}$ ]] || die "--seed: found '$seed', allowed a whole number"
bin=$(cd "$bin" 2>/dev/null && pwd) || die "$bin: no such directory (make builds it)"
for program in "$bin/fisd" "$bin/fisctl"; do
    [ -x "$program" ] || die "$program is not there (make builds it)"
done
command -v python3 >/dev/null || die "python3 is needed to prepare the data (make deps)"

started=$SECONDS
mkdir -p "$dir/seed-$seed" "$cache" || die "$dir cannot be written"
dir=$(cd "$dir/seed-$seed" && pwd)
run=$dir/run
mkdir -p "$run"

# Where the tools find the embedded brokers of this run, and of no other.
export FISD_RUN_DIR=$run
pids=()    # of all that is started here
daemons=() # of them, the fisd
interrupted=

# Ends what was started here, in order: the tools, then the daemons, which drain.
clean_up() {
    local pid
    trap '' INT TERM
    for ((i = ${#pids[@]} - 1; i >= 0; i--)); do
        kill "${pids[i]}" 2>/dev/null
    done
    for pid in "${pids[@]}"; do
        wait "$pid" 2>/dev/null
    done
    pids=()
    # Last of all: the screen that one of them drew, or what it printed, would hide it.
    [ -z "$interrupted" ] || printf '\ndemo: interrupted\n' >&2
}
trap clean_up EXIT
trap 'interrupted=yes; exit 130' INT TERM

show_log() { # pipeline
    echo "demo: the end of $dir/$1.log:" >&2
    tail -n 12 "$dir/$1.log" >&2
}

# ---- data and configurations ------------------------------------------------------------------

python3 "$here/adult.py" --data "$dir" --seed "$seed" --regime scarce --cache "$cache" ||
    die "the data could not be prepared"

seeded() { # of a configuration, for this run
    sed -e "s/^selection:/&\n  seed: $seed/" -e "s/^training:/&\n  seed: $seed/" "$here/../adult.yaml"
}
seeded >"$dir/fis+.yaml"
# The same budget spent at random: plain training, and every version is published.
plainly() { # algorithm
    seeded | sed -e "s/^pipeline: .*/pipeline: adult-$1/" -e "s/algorithm: .*/algorithm: $1/" \
        -e 's/^training:/gate: {replace: always, epsilon: 1, min_cell: 1}\n&\n  publication: plain/'
}
plainly random >"$dir/random.yaml"
# XGBoost alone: the network above the trees stays untrained, and so adds nothing.
{
    plainly entropy | sed -e 's/^pipeline: .*/pipeline: adult-xgboost/' \
        -e 's/^training:/&\n  warm_up_epochs: 0\n  steps_per_round: 1\n  learning_rate: 1e-9\n  fresh_steps: 0/'
    echo 'model.base: {type: trees, trees: 120, patience: 0, growth: 0}'
} >"$dir/xgboost.yaml"

# ---- three pipelines --------------------------------------------------------------------------

start() { # pipeline
    local name=$1 until=$((SECONDS + 60)) before
    before=$(ls "$run")
    "$bin/fisd" --embedded -c "$dir/$name.yaml" >"$dir/$name.log" 2>&1 &
    local pid=$!
    pids+=("$pid")
    daemons+=("$pid")
    # Its broker can be found once it is there.
    until [ "$(ls "$run")" != "$before" ]; do
        kill -0 "$pid" 2>/dev/null || {
            show_log "$name"
            die "fisd ended at its start"
        }
        [ $SECONDS -lt $until ] || {
            show_log "$name"
            die "fisd has no broker after 60 s"
        }
        sleep 0.1
    done
    "$bin/fisctl" -c "$dir/$name.yaml" label --answers "$dir/answers.csv" \
        >"$dir/$name-label.log" 2>&1 &
    pids+=($!)
    "$bin/fisctl" -c "$dir/$name.yaml" replay "$dir/pool.csv" --rate "$rate" \
        >"$dir/$name-replay.log" 2>&1 &
    pids+=($!)
    [ "$name" != fis+ ] || replay=$!
}

# Waits for the end of a pipeline's rounds, and does not wait when a fisd has ended.
follow() { # pipeline, more arguments for watch
    local name=$1 watch ended status
    shift
    "$bin/fisctl" -c "$dir/$name.yaml" watch --until done --timeout $patience "$@" &
    watch=$!
    pids+=("$watch")
    wait -n -p ended "$watch" "${daemons[@]}"
    status=$?
    [ "$ended" = "$watch" ] && [ $status -eq 0 ] && return
    sleep 0.3 # Ctrl-C ends all of them: the shell is notified of its own before it blames another
    echo >&2
    [ "$ended" = "${daemons[1]}" ] && name=random
    [ "$ended" = "${daemons[2]}" ] && name=xgboost
    show_log "$name"
    tail -qn 1 "$dir/$name-replay.log" "$dir/$name-label.log" >&2
    [ "$ended" = "$watch" ] && die "the pipeline $name did not end its rounds"
    die "the fisd of $name has ended"
}

rm -f "$run"/*
start fis+
start random
start xgboost
say "three pipelines run: fis+ (shown here), random labels, and an XGBoost loop"
say "logs: $dir"
echo
follow fis+ --every "$([ -t 1 ] && echo 0.2 || echo 5)"
echo
say "fis+ is done; waiting for the others"
for name in random xgboost; do
    follow $name --every 5 --plain >"$dir/$name-watch.log"
done
wait "$replay" || {
    cat "$dir/fis+-replay.log" >&2
    die "the records could not be replayed"
}

# ---- what came of it --------------------------------------------------------------------------

echo
say "versions of fis+, on the validation rows"
"$bin/fisctl" -c "$dir/fis+.yaml" models list || die "the versions could not be listed"
"$bin/fisctl" -c "$dir/fis+.yaml" models list --json >"$dir/versions.jsonl" || exit 1

evaluate() { # pipeline, version
    "$bin/fisctl" -c "$dir/$1.yaml" models evaluate --version "$2" --test "$dir/test.csv" --json
}
evaluate fis+ 1 >"$dir/test-warm_up.json" || exit 1
evaluate fis+ served >"$dir/test-fis+.json" || exit 1
evaluate random served >"$dir/test-random.json" || exit 1
evaluate xgboost served >"$dir/test-xgboost.json" || exit 1

echo
say "on test rows that none has seen, with 95 % intervals"
say "(accuracy: more is better; the gaps EOd, DP, EOp: 0 is fair)"
python3 - "$dir" $((SECONDS - started)) <<'PY' || die "the results could not be put together"
import json, re, sys

folder, seconds = sys.argv[1], int(sys.argv[2])
names = ("warm_up", "random", "xgboost", "fis+")
labels = {"warm_up": "first model", "random": "random labels", "xgboost": "XGBoost loop",
          "fis+": "fis+"}
metrics = ("accuracy", "equalized_odds", "demographic_parity", "equal_opportunity")
titles = ("accuracy", "EOd", "DP", "EOp")
test = {n: json.load(open(f"{folder}/test-{n}.json")) for n in names}
versions = [json.loads(line) for line in open(f"{folder}/versions.jsonl")]
records = re.search(r"sent ([\d,]+) record", open(f"{folder}/fis+-replay.log").read())


def rate(x):
    return f"{x:.3f}".replace("0.", ".", 1)


def cell(result, metric):
    if result[metric] is None:
        return "n/e"
    low, high = result["intervals"][metric]
    return f"{rate(result[metric])} {rate(low)}–{rate(high)}"


print(f"{'':13}" + "".join(f"  {t:<14}" for t in titles).rstrip())
for n in names:
    print(f"{labels[n]:13}" + "".join(f"  {cell(test[n], m):<14}" for m in metrics).rstrip())
print()
served = sum(1 for v in versions if v["served"])
print(json.dumps({"demo": {
    "test": {n: {m: test[n][m] for m in metrics} for n in names},
    "versions": len(versions),
    "published": served,
    "rejected": len(versions) - served,
    "labels": max(v["lineage"]["labels_bought"] for v in versions),
    "records": int(records.group(1).replace(",", "")),
    "seconds": seconds,
}}, separators=(",", ":")))
PY
