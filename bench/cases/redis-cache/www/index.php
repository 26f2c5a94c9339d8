<?php

$values = require dirname(__DIR__).'/cache.php';
header('Content-Type: application/json');
echo json_encode(['values' => $values], JSON_THROW_ON_ERROR);
