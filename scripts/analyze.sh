#!/usr/bin/env bash
# Runs clang's analyzer and cppcheck over the PHP process, and fails at a finding without a judgement in
# worker/tests/findings.txt, and at a judgement without a finding. About five minutes on two cores.
set -euo pipefail
cd "$(dirname "$0")/../worker"
judged=tests/findings.txt
for program in clang cppcheck; do
	command -v "$program" >/dev/null || {
		echo "analyze: $program is missing (Debian: apt-get install clang cppcheck)" >&2
		exit 2
	}
done
php=$(make -s print-php-include)
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

strings=()
for name in VERSION PHP PHP_CLI PHP_PACKAGE; do strings+=("-DHOWDAH_$name=\"analysis\""); done
folders=("$php" "$php/main" "$php/TSRM" "$php/Zend" "$php/ext")
find src -name '*.c' | sort >"$out/units"

xargs -a "$out/units" -P "$(nproc)" -I{} clang --analyze -Xclang -analyzer-output=text -std=c11 -D_GNU_SOURCE= \
	"${strings[@]}" -Iinclude -Isrc "${folders[@]/#/-isystem}" {} >"$out/clang" 2>&1
cppcheck --quiet -j "$(nproc)" --std=c11 --enable=warning,performance,portability --file-list="$out/units" \
	--suppress=missingInclude --suppress=missingIncludeSystem --include=tests/cppcheck.h \
	-D_GNU_SOURCE -D__x86_64__ -DPHP_VERSION_ID=80200 "${strings[@]}" -Iinclude -Isrc \
	--template='{file}:{line}:{column}: warning: {message} [{id}]' >"$out/cppcheck" 2>&1

# A finding is named by its file and check: lines move.
grep -h ': warning: ' "$out/clang" "$out/cppcheck" | sort -u >"$out/found" || true
sed -nE 's/^([^:]+):.*\[([A-Za-z.]+)\]$/\1 \2/p' "$out/found" | sort -u >"$out/names"
sed -nE 's/^([^ #]+ [A-Za-z.]+): .+/\1/p' "$judged" | sort -u >"$out/judged"
status=0
while read -r file check; do
	grep "^$file:.*\[$check\]" "$out/found" >&2
	status=1
done < <(comm -23 "$out/names" "$out/judged")
while read -r name; do
	echo "analyze: $judged: $name is not found any more: take it out" >&2
	status=1
done < <(comm -13 "$out/names" "$out/judged")
echo "analyze: $(wc -l <"$out/units") files, $(wc -l <"$out/names") kinds of findings, $(wc -l <"$out/judged") of them judged"
exit $status
