<?php

// Lives longer than a request, and is the same for all that run at a time.
$shared = new stdClass();

return static function () use ($shared): void {
    require __DIR__.'/www/index.php';
};
