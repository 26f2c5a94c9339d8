<?php

if (isset($_GET['mime'])) {
    ini_set('default_mimetype', $_GET['mime']);
}
if (isset($_GET['charset'])) {
    ini_set('default_charset', $_GET['charset']);
}
if (isset($_GET['type'])) {
    header('Content-Type: ' . $_GET['type']);
}
echo 'body';
