#!/usr/bin/env bash
# DokuWiki from Debian's package, with its own configuration and data.   setup.sh DIR
# Account: admin / wiki-secret
set -euo pipefail
dir=${1:?usage: setup.sh DIR}
[ -e "$dir/ready" ] && exit 0
mkdir -p "$dir/sessions"
cp -a /usr/share/dokuwiki "$dir/public"
# The package keeps templates and plugins elsewhere.
rm -f "$dir/public/lib/tpl" "$dir/public/lib/plugins"
cp -aL /var/lib/dokuwiki/lib/tpl /var/lib/dokuwiki/lib/plugins "$dir/public/lib/"
rm -f "$dir/public/.htaccess" "$dir/public/install.php"
cp -a /etc/dokuwiki "$dir/conf"
# Links to the accounts of the machine, which may have none; this wiki gets its own below.
rm -f "$dir/conf/acl.auth.php" "$dir/conf/users.auth.php"
cp -a /var/lib/dokuwiki/data "$dir/data"
cat >"$dir/public/inc/preload.php" <<PHP
<?php
session_save_path('$dir/sessions');
if (!defined('DOKU_MAIN_CONF')) define('DOKU_MAIN_CONF', '$dir/conf/');
if (!defined('DOKU_CONF')) define('DOKU_CONF', '$dir/conf/');
PHP
cat >"$dir/conf/local.php" <<PHP
<?php
\$conf['title'] = 'Elephant wiki';
\$conf['lang'] = 'en';
\$conf['license'] = '0';
\$conf['useacl'] = 1;
\$conf['superuser'] = '@admin';
\$conf['savedir'] = '$dir/data';
\$conf['updatecheck'] = 0;
\$conf['send404'] = 1;
\$conf['disableactions'] = 'register';
PHP
printf '*\t@ALL\t1\n*\t@user\t8\n' >"$dir/conf/acl.auth.php"
hash=$(php -r 'echo password_hash("wiki-secret", PASSWORD_BCRYPT);')
printf 'admin:%s:Ada Admin:ada@example.org:admin,user\n' "$hash" >"$dir/conf/users.auth.php"
printf '====== Elephant wiki ======\n\nWelcome, [[caravan|riders]].\n' >"$dir/data/pages/start.txt"
touch "$dir/ready"
