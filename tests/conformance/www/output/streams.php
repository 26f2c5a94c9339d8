<?php

file_put_contents('php://output', 'one ');
$out = fopen('php://output', 'w');
fwrite($out, 'two ');
fprintf($out, '%03d ', 3);
print 'four ';
printf('%s ', 'five');
vprintf('%2$s %1$s ', ['seven', 'six']);
echo 'eight', ' ', 'nine', ' ';
var_dump(ob_get_level());
fclose($out);
echo 'ten';
