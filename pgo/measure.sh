#!/usr/bin/env bash
# Measures pgo/howdah.profdata again: builds Howdah with counters in it, has it serve what front threads are busy with, and
# keeps what was counted. `make build` optimises by it (profile-guided optimisation). Run it when the compiler in
# rust-toolchain.toml changes, or much of the request's path: functions that changed since are built without it, and
# fits.sh reports when too many have.
#   pgo/measure.sh            ten minutes, most of it the build
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$HOME/.cargo/bin:$PATH"

channel=$(sed -n 's/^channel = "\(.*\)"/\1/p' rust-toolchain.toml)
rustup component add --toolchain "$channel" llvm-tools 2>/dev/null
tools=$(rustc +"$channel" --print target-libdir)/../bin
out=$PWD/target/pgo
counted=$out/counted
rm -rf "$counted"

# Of whole crates and not of the linked whole, which takes the time of a second release build: counters are put in before
# code moves between crates. Build scripts have counters too; theirs are not wanted.
LLVM_PROFILE_FILE=$out/builds.profraw RUSTC_WRAPPER=$PWD/pgo/rustc \
	RUSTFLAGS="-Cprofile-generate=$counted -Clinker-plugin-lto=off -Clto=off" \
	cargo build --release --locked -p howdah --target-dir "$out"
make -s -j"$(nproc)" -C worker OUT="$out/release"

dir=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "$dir"' EXIT
export SITE=$dir/site
mkdir "$SITE"
cp pgo/index.php "$SITE/"
head -c 1024 /dev/urandom >"$SITE/icon.png"
head -c 15000 /dev/urandom | base64 >"$SITE/random.js"
head -c 4194304 /dev/urandom >"$SITE/large.bin"
for n in $(seq 400); do echo "<li class=\"item\">item $n of a list that compresses well</li>"; done >"$SITE/list.html"
touch -d '1 hour ago' "$SITE"/*
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost \
	-addext subjectAltName=DNS:localhost -keyout "$dir/key.pem" -out "$dir/cert.pem" 2>/dev/null
read -r PLAIN LOGGED TLS PROXY < <(python3 -c '
import socket
sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(4)]
print(*(socket.getsockname()[1] for socket in sockets))')
export PLAIN LOGGED TLS PROXY
plain=http://127.0.0.1:$PLAIN logged=http://127.0.0.1:$LOGGED tls=https://localhost:$TLS

# Started by root it would serve as a user that can neither enter these folders nor write the counts.
[ "$(id -u)" != 0 ] || export HOWDAH_USER=root
"$out/release/howdah" run --config pgo/Caddyfile 2>"$dir/server.log" &
server=$!
curl -s -o /dev/null --retry 50 --retry-connrefused --retry-delay 1 "$plain/" || { cat "$dir/server.log" >&2; exit 1; }

# Fails unless the load generator got answers.
load() {
	local said
	said=$("$@" 2>&1) || { printf '%s\n%s\n' "$*" "$said" >&2; exit 1; }
	grep -qE '^ +[1-9][0-9]* requests in|[1-9][0-9]* succeeded' <<<"$said" || {
		printf '%s\n%s\n' "$*" "$said" >&2
		exit 1
	}
}
http1() { load wrk -t1 -d1s "$@"; }
http2() { load h2load -t1 -c8 -m8 -D1 "$@"; }
browser=(-H "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
	-H "Accept: text/html,application/xhtml+xml,*/*;q=0.8" -H "Accept-Language: en-US,en;q=0.5"
	-H "Cookie: PHPSESSID=0123456789abcdef; theme=dark")

for path in / /index.php/path/info?a=1 /icon.png /random.js /list.html /missing.png /api/x /old; do
	http1 -c4 "$plain$path"
	http1 -c64 "$plain$path"
	http1 -c16 "${browser[@]}" "$logged$path"
	http1 -c16 "${browser[@]}" "$tls$path"
	http2 "$tls$path"
done
for path in / /?lines=800 /list.html; do
	for coding in gzip br zstd "gzip, deflate, br, zstd"; do
		http1 -c8 -H "Accept-Encoding: $coding" "$plain$path"
	done
	http2 -H "accept-encoding: gzip, deflate, br, zstd" "$tls$path"
done
for path in /?lines=800 /large.bin; do
	http1 -c8 "$plain$path"
	http2 "$tls$path"
done
http1 -c16 "http://127.0.0.1:$PROXY/"
cat >"$dir/post.lua" <<'L'
wrk.method = "POST"
wrk.body = string.rep("field=value&", 100)
wrk.headers["Content-Type"] = "application/x-www-form-urlencoded"
L
http1 -c16 -s "$dir/post.lua" "$plain/"
for _ in $(seq 100); do
	curl -sk -o /dev/null "$tls/"
	curl -s -o /dev/null -F "file=@$SITE/random.js" "$plain/"
done

# The counts are written when the server exits.
kill "$server"
wait "$server" || { cat "$dir/server.log" >&2; exit 1; }
server=
"$tools/llvm-profdata" merge --sparse -o pgo/howdah.profdata "$counted"
# The symbols of the busiest functions, by which fits.sh checks whether a release was optimised by them. What is before a
# semicolon is where a function without a name of its own is.
"$tools/llvm-profdata" show --topn=300 pgo/howdah.profdata |
	sed -n 's/^  \(.*;\)\{0,1\}\(.*\), max count = [0-9]*$/\2/p' | LC_ALL=C sort -u >pgo/busiest.txt
ls -l pgo/howdah.profdata
