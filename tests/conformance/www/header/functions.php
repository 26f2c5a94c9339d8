<?php

header('X-Own: 1');
header('X-Own: 2', false);
$lower = fn (array $fields) => array_change_key_case($fields);
$request = $lower(getallheaders());
ksort($request);
var_export([$request, $lower(apache_request_headers()) == $lower(getallheaders())]);
