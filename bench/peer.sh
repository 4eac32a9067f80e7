#!/bin/bash
# Our work and Paimon Java's by turns. Usage:
#
#   bench/peer.sh [flags] WORK...     works: go run ./bench/work list; "all" for all of them
#
#   --turns N     measured runs of each side (5)
#   --warmup N    runs before them (1)
#   --divide N    all counts of rows divided by N, for quick checks (1)
#   --fsync=false sync nothing on our side; the peer never does
#   --json FILE   results and all runs as JSON
#
# Needs a JDK of 17 or newer and Maven: the peer builds itself on first use. The
# peer prints a line of JSON a run on its own: bench/peer/bench-paimon --help.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || { sed -n '2,/^set/{/^set/!s/^# \{0,1\}//p}' "$0" >&2; exit 2; }
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
go build -o "$bin/" ./bench/work ./bench/compare
bench/peer/bench-paimon list >/dev/null # builds it
"$bin/compare" --ours "$bin/work" --peer bench/peer/bench-paimon "$@"
