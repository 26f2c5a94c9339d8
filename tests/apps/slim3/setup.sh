#!/usr/bin/env bash
# A small application on Debian's Slim 3.   setup.sh DIR
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
dir=${1:?usage: setup.sh DIR}
mkdir -p "$dir/data"
cp -a "$here/app/." "$here/../harness/Notes.php" "$dir/"
