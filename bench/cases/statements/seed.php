<?php

// A shop: 250 departments, 5,000 articles, 500 customers with ten purchases of three articles each. The same in each
// run. What requests write has tables of its own, which no answer is made of.
$database = new PDO(...(require 'services.php')['pdo']);
$database->setAttribute(PDO::ATTR_ERRMODE, PDO::ERRMODE_EXCEPTION);
foreach ([
    'CREATE TABLE department (id INTEGER PRIMARY KEY, name VARCHAR(60) NOT NULL)',
    'CREATE TABLE article (id INTEGER PRIMARY KEY, department INTEGER NOT NULL, name VARCHAR(60) NOT NULL, '
        .'price INTEGER NOT NULL)',
    'CREATE TABLE customer (id INTEGER PRIMARY KEY, name VARCHAR(60) NOT NULL, city VARCHAR(60) NOT NULL)',
    'CREATE TABLE purchase (id INTEGER PRIMARY KEY, customer INTEGER NOT NULL, state VARCHAR(10) NOT NULL, '
        .'total INTEGER NOT NULL)',
    'CREATE TABLE line (purchase INTEGER NOT NULL, article INTEGER NOT NULL, quantity INTEGER NOT NULL, '
        .'PRIMARY KEY (purchase, article))',
    // Unlogged, since the disk is not what is measured. One grows with each request: it has no index but the key, and
    // nothing to vacuum. The other has room in each page for the next version of a row.
    'CREATE UNLOGGED TABLE visit (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, customer INTEGER NOT NULL, '
        .'article INTEGER NOT NULL, at TIMESTAMPTZ NOT NULL) WITH (autovacuum_enabled = off)',
    'CREATE UNLOGGED TABLE popularity (article INTEGER PRIMARY KEY, visits BIGINT NOT NULL) WITH (fillfactor = 50)',
    "INSERT INTO department SELECT id, 'Department ' || id FROM generate_series(1, 250) AS id",
    "INSERT INTO article SELECT id, id % 250 + 1, 'Article ' || id, id * 7919 % 99991 "
        .'FROM generate_series(1, 5000) AS id',
    "INSERT INTO customer SELECT id, 'Customer ' || id, 'City ' || id % 40 FROM generate_series(1, 500) AS id",
    "INSERT INTO purchase SELECT id, id % 500 + 1, (ARRAY['open', 'paid', 'sent'])[id % 3 + 1], id * 4241 % 49999 "
        .'FROM generate_series(1, 5000) AS id',
    'INSERT INTO line SELECT id, (id * 31 + n * 307) % 5000 + 1, (id + n) % 5 + 1 '
        .'FROM generate_series(1, 5000) AS id, generate_series(1, 3) AS n ORDER BY id, n',
    'INSERT INTO popularity SELECT id, 0 FROM generate_series(1, 5000) AS id',
    'CREATE INDEX article_department ON article (department, price, id)',
    'CREATE INDEX purchase_customer ON purchase (customer, id)',
    // Before the first request, so that all rounds have the same plans.
    'VACUUM ANALYZE',
] as $statement) {
    $database->exec($statement);
}
