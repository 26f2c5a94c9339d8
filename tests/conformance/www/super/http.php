<?php

$fields = array_filter($_SERVER, fn ($name) => str_starts_with($name, 'HTTP_X') || $name === 'HTTP_COOKIE' || $name === 'HTTP_AUTHORIZATION' || str_starts_with($name, 'HTTP_CONTENT'), ARRAY_FILTER_USE_KEY);
ksort($fields);
var_export($fields);
