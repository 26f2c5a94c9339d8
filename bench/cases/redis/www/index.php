<?php

$values = require dirname(__DIR__).'/cache.php';
$session = require dirname(__DIR__).'/session.php';
header('Content-Type: application/json');
echo json_encode(['values' => $values, 'session' => $session['seen'] > 0], JSON_THROW_ON_ERROR);
