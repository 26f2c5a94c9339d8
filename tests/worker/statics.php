<?php

// State that only a new process resets: static and global variables, classes, constants, included files.

declare(strict_types=1);

require_once __DIR__ . '/Cart.inc';
require_once __DIR__ . '/_executor.php';

return static function (): void {
    static $calls = 0;
    Cart::$items[] = 'of a request';
    $GLOBALS['left'] = ($GLOBALS['left'] ?? 0) + 1;
    $known = defined('LEFT');
    $known || define('LEFT', true);
    echo json_encode(['calls' => ++$calls, 'items' => count(Cart::$items), 'left' => $GLOBALS['left'], 'known' => $known]);
};
