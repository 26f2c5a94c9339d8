<?php

// Superglobals are plain arrays of the script.
$_GET['added'] = 1;
$_SERVER['added'] = 2;
unset($_GET['q']);
echo json_encode([$_GET, $_SERVER['added'], $_REQUEST]);
