<?php

// 1,000 articles. The same in each run.
$database = new PDO(...(require 'services.php')['pdo']);
$database->exec('CREATE TABLE article (id INTEGER PRIMARY KEY, price INTEGER NOT NULL)');
$database->exec('INSERT INTO article SELECT id, id * 7919 % 99991 FROM generate_series(1, 1000) AS id');
