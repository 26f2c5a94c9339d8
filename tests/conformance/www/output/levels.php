<?php

echo ob_get_level();
ob_start();
echo 'one';
ob_start();
echo 'two';
echo ob_get_level();
$two = ob_get_clean();
echo strtoupper($two);
ob_end_flush();
echo ob_get_level();
ob_start();
echo 'dropped';
ob_end_clean();
ob_start();
echo 'left open';
