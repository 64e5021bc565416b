#!/bin/bash
# Runs one test and keeps its output beside the logs, so that run.sh can print what failed.
set -o pipefail
"$@" | tee "$FISD_TEST_DIR/$(basename "$1").out"
