<?php

header('X-Before: 1');
echo 'first ';
flush();
echo headers_sent($file, $line) ? 'sent at ' . basename($file) . ":$line " : 'not sent ';
@header('X-After: 1');
echo 'second';
