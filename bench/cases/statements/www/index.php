<?php

// In worker mode the connection of the first request serves the later ones as well.
$shared ??= new stdClass();
if (!isset($shared->database)) {
    $service = require dirname(__DIR__).'/services.php';
    // One round trip for each statement.
    $shared->database = new PDO(...$service['pdo'], options: [PDO::ATTR_EMULATE_PREPARES => true]);
}
$prices = [];
for ($n = 1; $n <= 10; ++$n) {
    $one = $shared->database->prepare('SELECT price FROM article WHERE id = ?');
    $one->execute([$n * 97]);
    $prices[] = (int) $one->fetchColumn();
}
header('Content-Type: application/json');
echo json_encode($prices, JSON_THROW_ON_ERROR);
