<?php

$file = $_FILES['file'];
$target = dirname($file['tmp_name']) . '/moved';
echo is_uploaded_file($file['tmp_name']) ? 'uploaded ' : 'not uploaded ';
echo is_uploaded_file(__FILE__) ? 'wrong ' : 'this script is none ';
echo move_uploaded_file(__FILE__, $target) ? 'wrong ' : 'refused ';
echo move_uploaded_file($file['tmp_name'], $target) ? 'moved ' : 'not moved ';
echo file_get_contents($target), ' ';
echo is_uploaded_file($file['tmp_name']) ? 'still there' : 'gone';
unlink($target);
