<?php
// Ends the response and then continues to work.
$gate = $_GET['gate'];
echo 'sent';
echo fastcgi_finish_request() ? '' : ' and refused';
echo ' never seen';
file_put_contents("$gate.reached", 'x');
fgetc(fopen("$gate.open", 'r'));
file_put_contents("$gate.reached", 'y');
