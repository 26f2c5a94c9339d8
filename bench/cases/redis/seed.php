<?php

$cache = new Redis();
$cache->connect((require 'services.php')['redis']);
for ($number = 1; $number <= 10; ++$number) {
    $cache->set("page:$number", str_repeat("cached $number ", 40));
}
$cache->set('PHPREDIS_SESSION:benchbenchbenchbenchbench', 'user|i:417;seen|i:0;');
