#!/usr/bin/env bash
# The demo of this repository.   setup.sh DIR
set -euo pipefail
demo=$(cd "$(dirname "$0")/../../../examples/demo" && pwd)
dir=${1:?usage: setup.sh DIR}
mkdir -p "$dir"
cp -a "$demo/public" "$demo/src" "$demo/templates" "$dir/"
printf 'DEMO_DATA_DIR=%s/data\n' "$dir" >"$dir/environment"
