<?php

declare(strict_types=1);

// No handler.php: an exit ends the loops of the other servers, and the bare one too.
$handler = static function (): void {
    http_response_code(404);
    echo "There is no such page.\n";
    if (isset($_GET['exit'])) {
        exit;
    }
};
ignore_user_abort(true);
while (frankenphp_handle_request($handler)) {
    gc_collect_cycles();
}
