#!/usr/bin/env bash
# phpMyAdmin from Debian's package, on MariaDB.   APP_DB_SOCKET=/path/to/mariadb.sock setup.sh DIR
# Account: asha / howdah-secret-1
set -euo pipefail
dir=${1:?usage: setup.sh DIR}
: "${APP_DB_SOCKET:?is the socket of a MariaDB without a root password}"
[ -e "$dir/ready" ] && exit 0
mkdir -p "$dir/tmp" "$dir/sessions"
cp -aL /usr/share/phpmyadmin "$dir/public"
sed -i -e "s#'/var/lib/phpmyadmin/tmp/'#'$dir/tmp/'#" -e "s#'/etc/phpmyadmin/config.inc.php'#'$dir/config.inc.php'#" \
	"$dir/public/libraries/vendor_config.php"
cat >"$dir/config.inc.php" <<PHP
<?php
\$cfg['blowfish_secret'] = 'thirty-two bytes for the tests..';
\$cfg['Servers'][1]['auth_type'] = 'cookie';
\$cfg['Servers'][1]['host'] = 'localhost';
\$cfg['Servers'][1]['socket'] = '$APP_DB_SOCKET';
\$cfg['VersionCheck'] = false;
\$cfg['SendErrorReports'] = 'never';
\$cfg['SessionSavePath'] = '$dir/sessions';
\$cfg['TempDir'] = '$dir/tmp/';
PHP
mariadb --no-defaults --socket="$APP_DB_SOCKET" --user=root <<'SQL'
DROP DATABASE IF EXISTS caravan;
CREATE DATABASE caravan CHARACTER SET utf8mb4;
CREATE TABLE caravan.riders (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(80), seat INT);
INSERT INTO caravan.riders (name, seat) VALUES ('Mira', 1), ('Harun', 2), ('Leela', 3);
CREATE OR REPLACE USER 'asha'@'localhost' IDENTIFIED BY 'howdah-secret-1';
GRANT ALL PRIVILEGES ON caravan.* TO 'asha'@'localhost';
SQL
touch "$dir/ready"
