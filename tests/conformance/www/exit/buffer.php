<?php

ob_start();
echo 'outer ';
ob_start(fn ($buffer) => strtoupper($buffer));
echo 'inner ';
exit('all is flushed');
