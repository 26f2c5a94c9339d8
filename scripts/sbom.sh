#!/usr/bin/env bash
# Writes which crates the server is made of, with versions, licences and checksums: target/sbom.cdx.json, a CycloneDX
# document, which packages and archives contain. It depends on Cargo.lock and the time of the commit alone.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/target/bin:$HOME/.cargo/bin:$PATH"
version=0.5.9

if [[ $(cargo-cyclonedx cyclonedx --version 2>/dev/null) != *" $version" ]]; then
	echo "sbom: installing cargo-cyclonedx $version" >&2
	"${CARGO:-cargo}" install --locked --quiet --root target --version "$version" cargo-cyclonedx
fi
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
mkdir -p target
# It writes beside the manifest of each crate in the workspace; only that of the server is of use.
cargo-cyclonedx cyclonedx --manifest-path crates/howdah/Cargo.toml --format json --spec-version 1.5 \
	--target x86_64-unknown-linux-gnu --override-filename howdah-sbom.cdx
# Crates of the workspace are named by their folders.
sed "s|file://$PWD|file:///howdah|g" crates/howdah/howdah-sbom.cdx.json >target/sbom.cdx.json
find crates tests bench -name howdah-sbom.cdx.json -delete
