<?php

ob_start(function (string $buffer, int $phase): string {
    return '[' . $phase . ':' . strtoupper($buffer) . ']';
});
echo 'a';
ob_flush();
echo 'b';
ob_clean();
echo 'c';
ob_end_flush();
ob_start(fn ($buffer) => "<$buffer>");
echo 'open at the end';
