#!/usr/bin/env bash
# Runs a command beside PostgreSQL, MariaDB, Redis, a cluster of three Redis and memcached of its own: on loopback, on
# free ports, with data in a folder that goes with them. Those that are installed are named in HOWDAH_TEST_PGSQL,
# _MYSQL, _REDIS, _REDIS_CLUSTER and _MEMCACHED; what needs another says that it was skipped.   tests/databases.sh COMMAND [ARGUMENT ...]
set -euo pipefail
[ $# -gt 0 ] || { echo "usage: tests/databases.sh COMMAND [ARGUMENT ...]" >&2; exit 2; }

folder=$(mktemp -d /tmp/howdah-databases-XXXXXX)
chmod 755 "$folder"
pids=()
end() {
	if [ ${#pids[@]} -gt 0 ]; then
		kill "${pids[@]}" 2>/dev/null || true
		wait "${pids[@]}" 2>/dev/null || true
	fi
	rm -rf "$folder"
}
trap end EXIT

free_port() {
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# wait_for NAME COMMAND ...: until it succeeds; five minutes are a bound for a hang, not a measure.
wait_for() {
	local name=$1 until=$((SECONDS + 300))
	shift
	until "$@" >/dev/null 2>&1; do
		if [ $SECONDS -ge $until ]; then
			echo "databases: $name does not answer:" >&2
			tail -n 20 "$folder/$name.log" >&2
			exit 1
		fi
		sleep 0.1
	done
}

# set_up NAME COMMAND ...: its output is shown if it fails.
set_up() {
	local name=$1
	shift
	if ! "$@" >>"$folder/$name.log" 2>&1; then
		echo "databases: $name cannot be set up:" >&2
		tail -n 20 "$folder/$name.log" >&2
		exit 1
	fi
}

# PostgreSQL does not run as root.
as_user() {
	if [ "$(id -u)" = 0 ]; then setpriv --reuid postgres --regid postgres --clear-groups "$@"; else "$@"; fi
}

pg=$(find /usr/lib/postgresql -path '*/bin/initdb' 2>/dev/null | sort -V | tail -n 1)
if [ -n "$pg" ]; then
	pg=${pg%/initdb}
	port=$(free_port)
	mkdir "$folder/pg"
	if [ "$(id -u)" = 0 ]; then chown postgres "$folder/pg"; fi
	set_up postgresql as_user "$pg/initdb" -D "$folder/pg/data" -U test -A trust --no-sync
	as_user "$pg/postgres" -D "$folder/pg/data" -p "$port" -h 127.0.0.1 -k "$folder/pg" -c fsync=off \
		-c max_connections=200 >>"$folder/postgresql.log" 2>&1 &
	pids+=($!)
	wait_for postgresql "$pg/psql" -h 127.0.0.1 -p "$port" -U test -d postgres -c 'CREATE DATABASE test'
	export HOWDAH_TEST_PGSQL="host=127.0.0.1 port=$port user=test dbname=test"
fi

if command -v mariadbd >/dev/null || [ -x /usr/sbin/mariadbd ]; then
	port=$(free_port)
	user=$(id -un)
	set_up mariadb mariadb-install-db --no-defaults --datadir="$folder/mariadb" --user="$user" --skip-test-db \
		--auth-root-authentication-method=normal
	PATH=$PATH:/usr/sbin mariadbd --no-defaults --datadir="$folder/mariadb" --user="$user" --port="$port" \
		--bind-address=127.0.0.1 --socket="$folder/mariadb.sock" --pid-file="$folder/mariadb.pid" \
		--innodb-flush-log-at-trx-commit=0 --innodb-buffer-pool-size=64M >>"$folder/mariadb.log" 2>&1 &
	pids+=($!)
	wait_for mariadb mariadb --no-defaults --socket="$folder/mariadb.sock" -u root -e "CREATE DATABASE test;
		CREATE USER test@'127.0.0.1' IDENTIFIED BY 'test'; CREATE USER test@localhost IDENTIFIED BY 'test';
		GRANT ALL ON *.* TO test@'127.0.0.1'; GRANT ALL ON *.* TO test@localhost"
	export HOWDAH_TEST_MYSQL="host=127.0.0.1 port=$port user=test password=test dbname=test"
fi

if command -v redis-server >/dev/null; then
	port=$(free_port)
	redis-server --bind 127.0.0.1 --port "$port" --save '' --dir "$folder" >"$folder/redis.log" 2>&1 &
	pids+=($!)
	wait_for redis redis-cli -h 127.0.0.1 -p "$port" ping
	export HOWDAH_TEST_REDIS="127.0.0.1:$port"

	cluster=()
	for node in 1 2 3; do
		port=$(free_port)
		mkdir "$folder/redis-$node"
		redis-server --bind 127.0.0.1 --port "$port" --cluster-enabled yes --cluster-port "$(free_port)" --save '' \
			--dir "$folder/redis-$node" >>"$folder/redis-cluster.log" 2>&1 &
		pids+=($!)
		wait_for redis-cluster redis-cli -h 127.0.0.1 -p "$port" ping
		cluster+=("127.0.0.1:$port")
	done
	set_up redis-cluster redis-cli --cluster create "${cluster[@]}" --cluster-yes
	for node in "${cluster[@]}"; do
		wait_for redis-cluster bash -c "redis-cli -h 127.0.0.1 -p ${node#*:} cluster info | grep -q cluster_state:ok"
	done
	export HOWDAH_TEST_REDIS_CLUSTER="${cluster[0]}"
fi

if command -v memcached >/dev/null; then
	port=$(free_port)
	memcached -l 127.0.0.1 -p "$port" -U 0 -u "$(id -un)" >"$folder/memcached.log" 2>&1 &
	pids+=($!)
	wait_for memcached bash -c "exec 3<>/dev/tcp/127.0.0.1/$port"
	export HOWDAH_TEST_MEMCACHED="127.0.0.1:$port"
fi

"$@"
