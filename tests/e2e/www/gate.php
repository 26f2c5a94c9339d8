<?php
require __DIR__ . '/push.inc';
// Sends one part, waits for the test, and sends another part.
$gate = $_GET['gate'];
if (!isset($_GET['silent'])) {
    echo 'first ';
    push();
}
file_put_contents("$gate.reached", 'x');
fgetc(fopen("$gate.open", 'r'));
echo 'last';
