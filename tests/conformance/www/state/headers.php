<?php

$count = count(headers_list());
header("X-Left: $count");
http_response_code(202);
echo $count;
