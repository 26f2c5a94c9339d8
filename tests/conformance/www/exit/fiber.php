<?php

$fiber = new Fiber(function () {
    echo 'fiber ';
    exit('leaves');
});
$fiber->start();
echo 'never';
