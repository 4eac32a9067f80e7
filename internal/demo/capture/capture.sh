#!/usr/bin/env bash
# Makes ../orders.jsonl.zst anew: a real PostgreSQL under pgbench, captured by Debezium through Kafka Connect.
#   capture.sh OUTPUT.jsonl.zst [TRANSACTIONS]
# Needs Debian's postgresql and zstd, Java 17 and Maven. Servers listen on 127.0.0.1 and are stopped at the end.
set -euo pipefail
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
kafka=$here/../../../interop/engines/kafka/kafka
out=$(readlink -f "$1") transactions=${2:-12000}
work=$(mktemp -d); chmod 755 "$work"
children=()
cleanup() {
  for c in "${children[@]}"; do kill "$c" 2>/dev/null || true; done
  [ -e "$work/pg/postmaster.pid" ] && kill "$(head -1 "$work/pg/postmaster.pid")" 2>/dev/null || true
  sleep 1; rm -rf "$work"
}
trap cleanup EXIT
start() { # NAME COMMAND...: keeps its standard input open and waits for its first line of output
  local name=$1; shift
  mkfifo "$work/$name.in"; "$@" <"$work/$name.in" >"$work/$name.out" 2>"$work/$name.err" & children+=($!)
  exec {fd}>"$work/$name.in"
  for _ in $(seq 600); do [ -s "$work/$name.out" ] && return; sleep 0.2; done
  cat "$work/$name.err" >&2; exit 1
}
start kafka "$kafka" serve --dir "$work/kafka"
bootstrap=$(sed 's/.*"bootstrap":"\([^"]*\)".*/\1/' "$work/kafka.out")
bin=$(ls -d /usr/lib/postgresql/*/bin | tail -1)
port=$(python3 -c 'import socket; s=socket.socket(); s.bind(("127.0.0.1",0)); print(s.getsockname()[1])')
mkdir -p "$work/pg"; chown postgres "$work/pg"
su postgres -c "$bin/initdb -D $work/pg -A trust -U postgres >/dev/null && $bin/pg_ctl -s -w -D $work/pg -l $work/pg/log \
  -o '-p $port -h 127.0.0.1 -k $work/pg -c wal_level=logical -c max_wal_senders=4 -c max_replication_slots=4' start" </dev/null
sql() { psql -q -v ON_ERROR_STOP=1 -h 127.0.0.1 -p "$port" -U postgres "$@" >/dev/null; }
sql -f "$here/schema.sql"
cat >"$work/pg.properties" <<END
name=shop
connector.class=io.debezium.connector.postgresql.PostgresConnector
plugin.name=pgoutput
slot.name=shop
publication.name=shop
database.hostname=127.0.0.1
database.port=$port
database.user=postgres
database.password=postgres
database.dbname=postgres
topic.prefix=shop
table.include.list=public.orders
END
start connect "$kafka" connect "$bootstrap" "$work/pg.properties"
count() { "$kafka" dump "$bootstrap" shop.public.orders --idle 3 | wc -l; }
for _ in $(seq 60); do [ "$(count)" -ge 200 ] && break; sleep 1; done
"$bin/pgbench" -n -c 4 -t $((transactions / 4)) -f "$here/shop.pgbench" -h 127.0.0.1 -p "$port" -U postgres postgres >&2
last=0
while n=$(count); [ "$n" -ne "$last" ]; do last=$n; sleep 2; done
"$kafka" dump "$bootstrap" shop.public.orders --idle 3 >"$work/all.jsonl"
zstd -q -f -19 "$work/all.jsonl" -o "$out"
echo "$(wc -l <"$work/all.jsonl") messages in $out"
