<?php

for ($i = 0; $i < 60; ++$i) {
    header("X-Many-$i: " . str_repeat('v', $i));
}
echo 'ok';
