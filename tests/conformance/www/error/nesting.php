<?php

function down(int $n): int
{
    return $n === 0 ? 0 : 1 + down($n - 1);
}
echo down(20000);
