#!/usr/bin/env bash
# MediaWiki from Debian's package, on SQLite.   APP_URL=http://127.0.0.1:PORT setup.sh DIR
# Account: Admin / wiki-secret-1
set -euo pipefail
dir=${1:?usage: setup.sh DIR}
: "${APP_URL:?is the address that the wiki will be served at}"
[ -e "$dir/ready" ] && exit 0
mkdir -p "$dir/public" "$dir/data" "$dir/cache"
# The maintenance scripts and the tests are not served; what is not written to need not be copied.
for part in /usr/share/mediawiki/*; do
	case ${part##*/} in
	LocalSettings.php | config | images | mw-config | tests) ;;
	includes | index.php | load.php | api.php | rest.php | thumb.php | opensearch_desc.php | autoload.php | composer.json) cp -aL "$part" "$dir/public/" ;;
	*) ln -sfn "$(readlink -f "$part")" "$dir/public/${part##*/}" ;;
	esac
done
mkdir -p "$dir/public/images"
MW_INSTALL_PATH="$dir/public" php /usr/share/mediawiki/maintenance/install.php --quiet \
	--dbtype sqlite --dbpath "$dir/data" --dbname wiki --server "$APP_URL" --scriptpath "" \
	--confpath "$dir/public" --lang en --pass wiki-secret-1 --skins Vector "Elephant wiki" Admin
cat >>"$dir/public/LocalSettings.php" <<PHP
\$wgEnableUploads = true;
\$wgArticlePath = "/index.php/\$1";
\$wgCacheDirectory = "$dir/cache";
\$wgMainCacheType = CACHE_NONE;
\$wgJobRunRate = 0;
\$wgForceDeferredUpdatesPreSend = true;
\$wgPingback = false;
\$wgUseInstantCommons = false;
\$wgShowExceptionDetails = true;
PHP
touch "$dir/ready"
