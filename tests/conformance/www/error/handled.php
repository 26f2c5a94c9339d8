<?php

set_error_handler(fn (...$error) => print "handled: $error[1]\n");
echo $undefined;
$list = [];
echo $list['missing'];
echo 'goes on';
