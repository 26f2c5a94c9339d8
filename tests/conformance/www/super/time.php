<?php

$now = microtime(true);
$time = $_SERVER['REQUEST_TIME'];
$float = $_SERVER['REQUEST_TIME_FLOAT'];
var_export([is_int($time), is_float($float), (int) $float === $time, $float <= $now, $now - $float < 10]);
