<?php

echo $undefined;
$list = [1];
echo $list[5];
echo "5 apples" + 1;
echo hex2bin('abc');
htmlspecialchars(null);
echo 'goes on';
