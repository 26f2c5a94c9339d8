<?php

// 1,000 articles in 50 departments. The same in each run.
$database = new PDO(...(require 'services.php')['pdo']);
$database->exec('CREATE TABLE article (id INTEGER PRIMARY KEY, department INTEGER NOT NULL, '
    .'name VARCHAR(60) NOT NULL, price INTEGER NOT NULL)');
$database->exec('CREATE INDEX article_department ON article (department, price)');
$random = new Random\Randomizer(new Random\Engine\Mt19937(6));
$database->beginTransaction();
$insert = $database->prepare('INSERT INTO article VALUES (?, ?, ?, ?)');
for ($id = 1; $id <= 1000; ++$id) {
    $insert->execute([$id, $id % 50, "Article $id ".bin2hex($random->getBytes(8)), $random->getInt(1, 99_999)]);
}
$database->commit();
