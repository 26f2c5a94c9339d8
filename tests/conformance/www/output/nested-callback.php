<?php

ob_start(function (string $buffer) {
    ob_start();
    return $buffer;
});
echo 'text';
ob_end_flush();
