<?php

$cache = new Redis();
$cache->connect((require 'services.php')['redis']);
for ($number = 1; $number <= 10; ++$number) {
    $cache->set("page:$number", str_repeat("cached $number ", 40));
}
