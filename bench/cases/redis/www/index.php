<?php

// Ten values of a cache and a session that is read and written; the client sends the session's id.
$service = require dirname(__DIR__).'/services.php';
if (!isset($GLOBALS['cache'])) {
    $GLOBALS['cache'] = new Redis();
    $GLOBALS['cache']->connect($service['redis']);
}
ini_set('session.save_handler', 'redis');
ini_set('session.save_path', "unix://{$service['redis']}");
session_start();
$_SESSION['seen'] = ($_SESSION['seen'] ?? 0) + 1;
$values = $GLOBALS['cache']->mGet(array_map(static fn (int $i): string => "page:$i", range(1, 10)));
session_write_close();
header('Content-Type: application/json');
echo json_encode(['values' => $values, 'session' => $_SESSION['seen'] > 0], JSON_THROW_ON_ERROR);
