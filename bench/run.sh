#!/bin/bash
# Our work and the limits of this machine by turns, as ratios. Usage:
#
#   bench/run.sh [flags] [WORK...]    all works by default, about half an hour
#
#   --turns N     runs of each side (5)
#   --divide N    all counts by N, for quick checks (1)
#   --dir FOLDER  for tables, on the disk to be measured
#   --json FILE   results and all runs as JSON
#
# `go run ./bench/ratios list` tells what is measured and what is wanted.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
echo 'building the limits and our side' >&2
(cd bench/limits && go test -c -o "$bin/limits.test" .)
go build -o "$bin/" ./bench/ratios
"$bin/ratios" --limits "$bin/limits.test" "$@"
