#!/usr/bin/env bash
# Builds the server again, from a clone of the last commit in another folder, and compares it with target/release/howdah
# (PROFILE=quick: target/quick/howdah). scripts/packages.sh does the same with howdah-php, packages and archives.
set -euo pipefail
cd "$(dirname "$0")/.."
profile=${PROFILE:-release}

[ -z "$(git status --porcelain)" ] || { echo "reproducible: commit or stash changes first" >&2; exit 2; }
scripts/release.sh
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
clone=$scratch/a/longer/path/to/howdah
git clone --quiet --shared . "$clone"
git -C "$clone" checkout --quiet --detach "$(git rev-parse HEAD)"
"$clone/scripts/release.sh"
sha256sum "target/$profile/howdah" "$clone/target/$profile/howdah"
cmp "target/$profile/howdah" "$clone/target/$profile/howdah" || { echo "reproducible: the two builds differ" >&2; exit 1; }
