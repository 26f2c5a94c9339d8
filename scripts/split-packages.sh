#!/usr/bin/env bash
# Splits the Composer packages in php/ into histories of their own, as Packagist needs them: one repository for each.
# Prints each package with the commit that is the head of its history, and changes nothing but git's objects.
#   scripts/split-packages.sh [PACKAGE...]
#   scripts/split-packages.sh --push git@github.com:howdah [--tag v1.2.0] [PACKAGE...]
# --push sends each head to the branch main of BASE/PACKAGE.git, and to a tag with --tag. The same history has the same
# commits each time, so a push is a fast-forward.
set -euo pipefail
cd "$(dirname "$0")/.."
die() { echo "split-packages: $*" >&2; exit 2; }

base='' tag=''
while [[ ${1:-} == --* ]]; do
	case $1 in
	--push) base=${2:?--push needs the base of the repositories} ;;
	--tag) tag=${2:?--tag needs a name} ;;
	*) die "unknown option $1" ;;
	esac
	shift 2
done
[ -z "$tag" ] || [ -n "$base" ] || die "--tag is for --push"
[ -x "$(git --exec-path)/git-subtree" ] || die "git has no subtree: install the package git-subtree"
[ "$(git rev-parse --is-shallow-repository)" = false ] || die "a shallow clone has no whole history: git fetch --unshallow"

packages=("$@")
if [ ${#packages[@]} -eq 0 ]; then
	for file in php/*/composer.json; do packages+=("$(basename "$(dirname "$file")")"); done
fi
for package in "${packages[@]}"; do
	[ -f "php/$package/composer.json" ] || die "php/$package is not a package"
	commit=$(git subtree split -q --prefix="php/$package" HEAD)
	printf '%s %s\n' "$package" "$commit"
	[ -n "$base" ] || continue
	refs=("$commit:refs/heads/main")
	[ -z "$tag" ] || refs+=("$commit:refs/tags/$tag")
	git push --quiet "$base/$package.git" "${refs[@]}"
done
