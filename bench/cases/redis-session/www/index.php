<?php

$session = require dirname(__DIR__).'/session.php';
header('Content-Type: application/json');
echo json_encode(['user' => $session['user'], 'session' => $session['seen'] > 0], JSON_THROW_ON_ERROR);
