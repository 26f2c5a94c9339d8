<?php

declare(strict_types=1);

// FrankenPHP's loop as its documentation has it, around the handler of a case.
$handler = require dirname(__DIR__).'/handler.php';
ignore_user_abort(true);
while (frankenphp_handle_request($handler)) {
    gc_collect_cycles();
}
