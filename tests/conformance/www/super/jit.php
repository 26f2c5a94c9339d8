<?php

// $_SERVER and $_REQUEST are created at their first use, wherever that is.
$name = '_SERVER';
function method(): string
{
    return $_SERVER['REQUEST_METHOD'];
}
echo isset($GLOBALS['_GET']) ? 'get ' : 'no get ';
echo method(), ' ', $GLOBALS['_SERVER']['QUERY_STRING'] ?? 'none', ' ', (include __DIR__ . '/jit-include.php'), "\n";
echo $$name['REQUEST_METHOD'] ?? 'variable variables do not see it', "\n";
