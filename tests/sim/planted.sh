#!/bin/bash
# Runs the simulation once for each planted fault, and fails unless every one of them is found.
# usage: planted.sh SIM SEEDS
sim=$1 seeds=$2 missed=0
for fault in $("$sim" --plants); do
    # One process, so that "after how many seeds" means something.
    out=$("$sim" --plant "$fault" --seeds "$seeds" --workers 1 2>&1)
    if [ $? -eq 1 ]; then
        line=$(grep -m1 '^seed ' <<<"$out")
        # A machine that stops by its own assertion says so before.
        [ -n "$line" ] || line=$(grep -m1 -i 'assert' <<<"$out")
        printf '  %-20s found by %s\n' "$fault" "$line"
    else
        printf '  %-20s NOT FOUND in %s seeds\n' "$fault" "$seeds"
        missed=$((missed + 1))
    fi
done
[ $missed -eq 0 ] || { echo "$missed planted faults were not found"; exit 1; }
