<?php

// An article's page in a shop: ten statements, each of which is one round trip.
// In worker mode the connection of the first request serves the later ones as well, and so do its statements, which the
// database has parsed and planned once. In classic mode preparing would only be a round trip more for each.
$kept = isset($shared);
if (!isset($shared->database)) {
    $service = require dirname(__DIR__).'/services.php';
    $database = new stdClass();
    $database->connection = new PDO(...$service['pdo'], options: [PDO::ATTR_EMULATE_PREPARES => !$kept]);
    $database->statements = [];
    // Requests that run at the same time connect at the same time; what belongs together stays so.
    $shared ??= new stdClass();
    $shared->database ??= $database;
}
$database = $shared->database;
$rows = static function (string $statement, int ...$values) use ($database): array {
    $prepared = $database->statements[$statement] ??= $database->connection->prepare($statement);
    $prepared->execute($values);

    return $prepared->fetchAll(PDO::FETCH_ASSOC);
};
$page = [
    'customer' => $rows('SELECT name, city FROM customer WHERE id = ?', 97),
    'article' => $rows('SELECT name, department, price FROM article WHERE id = ?', 417),
    'department' => $rows('SELECT name FROM department WHERE id = ?', 168),
    'cheapest' => $rows('SELECT id, name, price FROM article WHERE department = ? ORDER BY price, id LIMIT 10', 168),
    'purchases' => $rows('SELECT id, state FROM purchase WHERE customer = ? ORDER BY id DESC LIMIT 10', 97),
    'last' => $rows('SELECT article, quantity FROM line WHERE purchase = ? ORDER BY article', 4596),
    'prices' => $rows('SELECT count(*) AS articles, min(price), max(price) FROM article WHERE department = ?', 168),
    'spent' => $rows('SELECT count(*) AS purchases, sum(total) AS total FROM purchase WHERE customer = ?', 97),
];
$rows('INSERT INTO visit (customer, article, at) VALUES (?, ?, now())', 97, 417);
// Any row, so that requests that come at the same time do not wait for one another's.
$rows('UPDATE popularity SET visits = visits + 1 WHERE article = ?', random_int(1, 5000));
header('Content-Type: application/json');
echo json_encode($page, JSON_THROW_ON_ERROR);
