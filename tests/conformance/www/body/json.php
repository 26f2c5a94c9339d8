<?php

header('Content-Type: application/json');
echo json_encode(['got' => json_decode(file_get_contents('php://input'), true), 'post' => $_POST], JSON_UNESCAPED_UNICODE);
