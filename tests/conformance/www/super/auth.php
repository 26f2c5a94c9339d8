<?php

foreach (['PHP_AUTH_USER', 'PHP_AUTH_PW', 'PHP_AUTH_DIGEST', 'HTTP_AUTHORIZATION'] as $name) {
    echo $name, ' = ', var_export($_SERVER[$name] ?? null, true), "\n";
}
