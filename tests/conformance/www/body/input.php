<?php

$input = file_get_contents('php://input');
echo $_SERVER['REQUEST_METHOD'], ' ', strlen($input), ' ', md5($input), "\n";
echo strlen($input) < 200 ? bin2hex($input) : 'long', "\n";
echo file_get_contents('php://input') === $input ? 'again' : 'gone', "\n";
echo json_encode([$_POST, $_FILES]), "\n";
