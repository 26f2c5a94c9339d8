#!/bin/sh
# The application of the case codeigniter with a controller whose pages are not there.
set -eu
sh ping/prepare.sh
cp Missing.php app/app/Controllers/
cat >>app/app/Config/Routes.php <<'PHP'

$routes->get('missing', 'Missing::index');
PHP
