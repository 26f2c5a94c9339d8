<?php

header('X-A: 1');
header('X-A: 2');
header('x-a: 3', false);
header('X-B: 1');
header('X-B: 2', false);
header('X-C: gone');
header_remove('x-c');
header('X-D: with code', true, 206);
header('X-E:no space');
header('X-F:');
header('X-G:   spaces   ');
header('X_Under: score');
var_export(headers_list());
