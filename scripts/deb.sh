#!/usr/bin/env bash
# Packs the release build as Debian packages, in target/deb: howdah, and howdah-php8.x for each PHP that is installed with
# its headers. Their time is that of the last commit, so that two builds of the same files are the same packages.
#   VERSION=0.1.0+test SOURCE_DATE_EPOCH=…    another version and another time
set -euo pipefail
cd "$(dirname "$0")/.."
out=$PWD/target/deb
tree=$out/howdah
version=${VERSION:-$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)}
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH

rm -rf "$out"
mkdir -p "$tree/debian/source"
scripts/stage.sh "$tree/stage"
cp packaging/debian/{rules,copyright,howdah.*} "$tree/debian"
cp packaging/debian/source-format "$tree/debian/source/format"
cat >"$tree/debian/changelog" <<END
howdah ($version) unstable; urgency=medium

  * See /usr/share/doc/howdah/NEWS.md.

 -- The Howdah contributors <maintainers@howdah.invalid>  $(date -R -u -d "@$SOURCE_DATE_EPOCH")
END
cp CHANGELOG.md "$tree/NEWS.md"
echo NEWS.md >>"$tree/debian/howdah.docs"

# The oldest PHP comes first: it is the distribution's own where there are several.
depends=
stanzas=$(mktemp)
trap 'rm -f "$stanzas"' EXIT
for folder in "$tree"/stage/php/*; do
	php=$(basename "$folder")
	depends+="howdah-php$php (= \${binary:Version}) | "
	sed -e "s/@VERSION@/$php/g" -e "s/@API@/$(cat "$folder/api")/" \
		-e "s/@UPSTREAM@/$(cat "$folder/release")/g" packaging/debian/php.control.in >>"$stanzas"
	echo "stage/php/$php/howdah-php* usr/lib/howdah/php$php" >"$tree/debian/howdah-php$php.install"
done
sed "s/@PHP_DEPENDS@/${depends}howdah-php/" packaging/debian/control.in | cat - "$stanzas" >"$tree/debian/control"

# The unit of a package: its paths, and a separate user.
sed -e 's|/usr/local/bin/howdah|/usr/bin/howdah|' -e 's|HOWDAH_USER=www-data|HOWDAH_USER=howdah|' \
	-e 's|^Group=www-data|Group=howdah|' \
	packaging/systemd/howdah.service >"$tree/debian/howdah.service"
# The default site has port 80; a socket without a site is an error.
sed -e '/^# HTTP/d' -e '/=443$/d' packaging/systemd/howdah.socket >"$tree/debian/howdah.socket"

cd "$tree"
dpkg-buildpackage --build=binary --no-sign --no-check-builddeps >"$out/log" 2>&1 || { tail -n 40 "$out/log" >&2; exit 1; }
cd "$out"
rm -rf "$tree"
ls -1 ./*.deb
