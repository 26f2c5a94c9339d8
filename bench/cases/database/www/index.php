<?php

// In worker mode the connection of the first request serves the later ones as well.
$shared ??= new stdClass();
if (!isset($shared->database)) {
    $service = require dirname(__DIR__).'/services.php';
    $database = new PDO(...$service['pdo']);
    // Requests that run at the same time connect at the same time.
    $shared->database ??= $database;
}
$database = $shared->database;
$one = $database->prepare('SELECT name, price FROM article WHERE id = ?');
$one->execute([417]);
$many = $database->prepare('SELECT id, name, price FROM article WHERE department = ? ORDER BY price, id LIMIT 20');
$many->execute([7]);
header('Content-Type: application/json');
echo json_encode([
    'article' => array_map(strval(...), $one->fetch(PDO::FETCH_ASSOC)),
    'department' => array_map(
        static fn (array $row): array => array_map(strval(...), $row),
        $many->fetchAll(PDO::FETCH_ASSOC),
    ),
], JSON_THROW_ON_ERROR);
