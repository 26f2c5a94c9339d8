<?php

declare(strict_types=1);

while (frankenphp_handle_request(static function (): void {
    echo 'hello';
})) {
}
