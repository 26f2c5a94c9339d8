#!/usr/bin/env bash
# Packs the release build as an archive that runs from any folder, in target/dist: the stripped server, its link to each
# PHP that is installed with its headers, manual pages, completions, systemd units. Debug symbols are apart. It runs where
# glibc is at least this machine's and PHP is the same 8.x in the same place.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$PWD/target/dist
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
name=howdah-$version-$(uname -m)-linux-gnu
time=@$(git log -1 --format=%ct)

rm -rf "$out"
mkdir -p "$out/$name"/{bin,lib/howdah,share}
scripts/stage.sh "$out/stage"
stage=$out/stage root=$out/$name
objcopy --only-keep-debug "$stage/howdah" "$out/howdah.debug"
strip -o "$root/bin/howdah" "$stage/howdah"
objcopy --add-gnu-debuglink="$out/howdah.debug" "$root/bin/howdah"
for folder in "$stage"/php/*; do
	php=$root/lib/howdah/php$(basename "$folder")
	mkdir "$php"
	strip --strip-debug -o "$php/howdah-php" "$folder/howdah-php"
	strip --strip-debug -o "$php/howdah-php.so" "$folder/howdah-php.so"
done
cp -r "$stage"/{man,completions,systemd,welcome} "$root/share"
cp "$stage/etc/Caddyfile" "$root/share/Caddyfile.example"
cp "$stage"/{README.md,LICENSE-APACHE,LICENSE-MIT} CHANGELOG.md "$root"
pack() { tar --sort=name --mtime="$time" --owner=0 --group=0 --numeric-owner -C "$out" -cf - "$1" | xz -T0 >"$out/$2.tar.xz"; }
pack "$name" "$name"
pack howdah.debug "$name-debug"
rm -rf "$stage" "$root" "$out/howdah.debug"
(cd "$out" && sha256sum ./*.tar.xz >SHA256SUMS && cat SHA256SUMS)
