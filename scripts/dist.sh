#!/usr/bin/env bash
# Packs the release build as an archive that runs from any folder, in target/dist: the stripped server, its link to each
# PHP that is installed with its headers, manual pages, completions, systemd units. Debug symbols are apart. It runs where
# glibc is at least this machine's and PHP is the same 8.x in the same place. Builds of the same files are the same.
#   ARCH=aarch64                              for another processor (scripts/cross.sh), which is not run here
#   VERSION=0.1.0+test SOURCE_DATE_EPOCH=…    another version and another time
set -euo pipefail
cd "$(dirname "$0")/.."
out=$PWD/target/dist
version=${VERSION:-$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)}
arch=${ARCH:-$(uname -m)}
name=howdah-$version-$arch-linux-gnu
time=@${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
tools=""
configs=()
if [ "$arch" != "$(uname -m)" ]; then
	found=$(scripts/cross.sh "$arch")
	mapfile -t configs <<<"$found"
	export TARGET=$arch-unknown-linux-gnu
	tools=$arch-linux-gnu-
fi

rm -rf "$out"
mkdir -p "$out/$name"/{bin,lib/howdah,share}
scripts/stage.sh "$out/stage" "${configs[@]}"
stage=$out/stage root=$out/$name
"${tools}objcopy" --only-keep-debug "$stage/howdah" "$out/howdah.debug"
"${tools}strip" -o "$root/bin/howdah" "$stage/howdah"
"${tools}objcopy" --add-gnu-debuglink="$out/howdah.debug" "$root/bin/howdah"
for folder in "$stage"/php/*; do
	php=$root/lib/howdah/php$(basename "$folder")
	mkdir "$php"
	"${tools}strip" --strip-debug -o "$php/howdah-php" "$folder/howdah-php"
	"${tools}strip" --strip-debug -o "$php/howdah-php.so" "$folder/howdah-php.so"
done
cp -r "$stage"/{man,completions,systemd,welcome} "$root/share"
cp "$stage/etc/Caddyfile" "$root/share/Caddyfile.example"
cp "$stage"/{README.md,LICENSE-APACHE,LICENSE-MIT,sbom.cdx.json} CHANGELOG.md "$root"
# Neither the mask of who builds nor the number of processors shows.
pack() {
	tar --sort=name --mtime="$time" --owner=0 --group=0 --numeric-owner --mode=u+rwX,go+rX,go-w -C "$out" -cf - "$1" |
		xz --threads=2 >"$out/$2.tar.xz"
}
pack "$name" "$name"
pack howdah.debug "$name-debug"
rm -rf "$stage" "$root" "$out/howdah.debug"
(cd "$out" && sha256sum ./*.tar.xz >SHA256SUMS && cat SHA256SUMS)
