#!/bin/sh
# The application of the case codeigniter with a controller and settings for the databases of this run.
set -eu
sh ping/prepare.sh
cp services.php database/
(cd database && php seed.php)
cp Stores.php app/app/Controllers/
cat >>app/app/Config/Routes.php <<'PHP'

$routes->get('stores', 'Stores::index');
PHP
php settings.php >>app/.env
