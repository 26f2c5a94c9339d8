<?php

$before = http_response_code();
$set = http_response_code((int) $_GET['code']);
echo json_encode([$before, $set, http_response_code()]);
