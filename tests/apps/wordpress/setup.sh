#!/usr/bin/env bash
# WordPress from Debian's package, on MariaDB.
#   APP_URL=http://127.0.0.1:PORT APP_DB_SOCKET=/path/to/mariadb.sock setup.sh DIR
# Account: asha / howdah-secret-1
set -euo pipefail
dir=${1:?usage: setup.sh DIR}
: "${APP_URL:?is the address that the blog will be served at}" "${APP_DB_SOCKET:?is the socket of a MariaDB without a root password}"
[ -e "$dir/ready" ] && exit 0
mkdir -p "$dir"
cp -aL /usr/share/wordpress "$dir/public"
rm -f "$dir/public/.htaccess"
# The package shares themes among blogs.
cp -aLn /var/lib/wordpress/wp-content/. "$dir/public/wp-content/" 2>/dev/null || true
mkdir -p "$dir/public/wp-content/uploads" "$dir/public/wp-content/mu-plugins"
# Mail would wait for a server that is not there.
echo "<?php add_filter('pre_wp_mail', '__return_true');" >"$dir/public/wp-content/mu-plugins/no-mail.php"
cat >"$dir/public/wp-config.php" <<PHP
<?php
define('DB_NAME', 'wordpress');
define('DB_USER', 'root');
define('DB_PASSWORD', '');
define('DB_HOST', 'localhost:$APP_DB_SOCKET');
define('DB_CHARSET', 'utf8mb4');
define('WP_HOME', '$APP_URL');
define('WP_SITEURL', '$APP_URL');
define('WP_HTTP_BLOCK_EXTERNAL', true);
define('DISABLE_WP_CRON', true);
define('AUTOMATIC_UPDATER_DISABLED', true);
define('FS_METHOD', 'direct');
define('WP_DEFAULT_THEME', 'twentytwentythree');
foreach (['AUTH_KEY', 'SECURE_AUTH_KEY', 'LOGGED_IN_KEY', 'NONCE_KEY', 'AUTH_SALT', 'SECURE_AUTH_SALT', 'LOGGED_IN_SALT', 'NONCE_SALT'] as \$name) {
    define(\$name, 'a fixed text for the tests, ' . \$name);
}
\$table_prefix = 'wp_';
if (!defined('ABSPATH')) define('ABSPATH', __DIR__ . '/');
require_once ABSPATH . 'wp-settings.php';
PHP
mariadb --no-defaults --socket="$APP_DB_SOCKET" --user=root -e 'DROP DATABASE IF EXISTS wordpress; CREATE DATABASE wordpress CHARACTER SET utf8mb4'
cat >"$dir/install.php" <<'PHP'
<?php
$_SERVER += ['HTTP_HOST' => parse_url(getenv('APP_URL'), PHP_URL_HOST) . ':' . parse_url(getenv('APP_URL'), PHP_URL_PORT), 'SERVER_PROTOCOL' => 'HTTP/1.1', 'REQUEST_METHOD' => 'GET', 'REQUEST_URI' => '/'];
define('WP_INSTALLING', true);
require __DIR__ . '/public/wp-load.php';
require_once ABSPATH . 'wp-admin/includes/upgrade.php';
wp_install('Elephant blog', 'asha', 'asha@example.org', true, '', 'howdah-secret-1');
update_option('permalink_structure', '/%postname%/');
update_option('timezone_string', 'UTC');
for ($i = 1; $i <= 14; $i++) {
    wp_insert_post(['post_title' => "Stage $i of the road", 'post_content' => str_repeat("<p>Salt, tea and one elephant, day $i.</p>\n", 12),
        'post_status' => 'publish', 'post_author' => 1, 'post_date' => sprintf('2026-03-%02d 08:00:00', $i)]);
}
flush_rewrite_rules(false);
PHP
php "$dir/install.php"
touch "$dir/ready"
