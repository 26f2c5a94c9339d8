<?php

ob_start();
echo 'buffered ';
ob_start(fn ($buffer) => strtoupper($buffer));
echo 'inner ';
undefined_function();
