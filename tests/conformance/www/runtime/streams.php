<?php

$wrappers = stream_get_wrappers();
sort($wrappers);
echo json_encode(array_values(array_intersect(['data', 'file', 'glob', 'php', 'phar', 'http', 'https'], $wrappers)));
echo file_get_contents('data:,inline'), stream_get_contents(fopen('php://memory', 'r'));
$temp = fopen('php://temp', 'w+');
fwrite($temp, 'temp');
rewind($temp);
echo fgets($temp);
