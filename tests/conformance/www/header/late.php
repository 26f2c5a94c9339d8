<?php

echo "output\n";
flush();
header('X-Late: 1');
http_response_code(500);
setcookie('late', '1');
