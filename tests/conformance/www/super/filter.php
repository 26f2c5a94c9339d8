<?php

var_export([
    filter_input(INPUT_GET, 'n', FILTER_VALIDATE_INT),
    filter_input(INPUT_GET, 'text', FILTER_SANITIZE_SPECIAL_CHARS),
    filter_input(INPUT_GET, 'missing'),
    filter_input(INPUT_POST, 'n', FILTER_VALIDATE_INT),
    filter_input(INPUT_COOKIE, 'c'),
    filter_input(INPUT_GET, 'list', FILTER_DEFAULT, FILTER_REQUIRE_ARRAY),
    filter_has_var(INPUT_GET, 'n'),
    filter_has_var(INPUT_POST, 'other'),
    filter_input(INPUT_SERVER, 'REQUEST_METHOD'),
    filter_input_array(INPUT_POST),
]);
// filter_input reads the received values, not those that the script wrote.
$_GET['n'] = 'changed';
var_export(filter_input(INPUT_GET, 'n'));
