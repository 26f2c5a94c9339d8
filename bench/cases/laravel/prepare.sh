#!/bin/sh
# The folders that Laravel wants to find, and a first request that compiles the view.
set -eu
mkdir -p app/storage/framework/views app/storage/logs app/vendor/composer app/bootstrap/cache
echo '[]' >app/vendor/composer/installed.json
echo '{}' >app/composer.json
REQUEST_METHOD=GET REQUEST_URI=/catalogue/garden php app/public/index.php >/dev/null
