<?php

ini_set('html_errors', 1);
echo $undefined;
hex2bin('abc');
