--TEST--
headers_send(103) sends an interim response, the response follows
--FILE--
<?php
while (frankenphp_handle_request(static function () {
    header('Link: </style.css>; rel=preload');
    echo headers_send(103), ' ';
    header_remove('Link');
    try { headers_send(101); } catch (ValueError $e) { echo $e->getMessage(), ' '; }
    echo headers_send(), headers_send(103);
})) {}
--HOWDAH--
show headers frames
worker {ROOT}/test.php
run
stop
--EXPECT--
Status: 103
Link: </style.css>; rel=preload

Status: 200
Content-type: text/html; charset=UTF-8

1 headers_send(): Argument #1 ($status) must be a status between 100 and 999, and not 101 03|
