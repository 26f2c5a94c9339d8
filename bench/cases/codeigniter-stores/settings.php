<?php

// Prints the lines of .env that name the databases.
['pdo' => [$dsn], 'redis' => $redis] = require 'services.php';
preg_match('/^pgsql:host=(?<host>[^;]+);dbname=(?<name>[^;]+);user=(?<user>.+)$/', $dsn, $database);
echo <<<ENV
    database.default.DBDriver = Postgre
    database.default.charset = utf8
    database.default.hostname = {$database['host']}
    database.default.username = {$database['user']}
    database.default.password = ''
    database.default.database = {$database['name']}
    cache.handler = redis
    cache.redis.host = $redis
    cache.redis.port = 0
    session.driver = 'CodeIgniter\\Session\\Handlers\\RedisHandler'
    session.savePath = '$redis'

    ENV;
