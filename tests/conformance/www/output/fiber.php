<?php

$fiber = new Fiber(function (): string {
    echo 'in the fiber ';
    $got = Fiber::suspend('suspended ');
    echo $got;
    return 'ended';
});
echo $fiber->start();
$fiber->resume('resumed ');
echo $fiber->getReturn();
