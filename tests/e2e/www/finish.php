<?php
// Ends the response, then goes on working.
$gate = $_GET['gate'];
echo 'sent';
echo fastcgi_finish_request() ? '' : ' and refused';
echo ' never seen';
file_put_contents("$gate.reached", 'x');
fgetc(fopen("$gate.open", 'r'));
file_put_contents("$gate.reached", 'y');
