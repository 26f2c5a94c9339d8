<?php

echo defined('LEFT') ? 'left' : 'clean', ' ', function_exists('left') ? 'left' : 'clean', ' ', class_exists('Left', false) ? 'left' : 'clean';
define('LEFT', 1);
eval('function left() {} class Left {}');
