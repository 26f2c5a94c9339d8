#!/bin/sh
# A page without a view, production mode, and CodeIgniter's own worker script.
set -eu
cd app
# Some servers run as another user, and CodeIgniter refuses to work without these folders.
chmod -R a+rwX writable
cat >>app/Config/Routes.php <<'PHP'

$routes->get('ping', static fn (): string => 'pong');
PHP
printf 'CI_ENVIRONMENT = production\napp.indexPage = ""\n' >.env
php spark worker:install --force
