<?php

header('Cache-Control: max-age=60');
header('ETag: "abc"');
header('Last-Modified: Mon, 01 Jan 2024 00:00:00 GMT');
header('Vary: Accept');
header('Vary: Cookie', false);
echo 'ok';
