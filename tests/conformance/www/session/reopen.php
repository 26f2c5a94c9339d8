<?php

ob_start();
session_start();
$_SESSION['a'] = 1;
session_write_close();
$_SESSION['b'] = 'lost';
session_start();
echo json_encode($_SESSION);
$_SESSION['c'] = 3;
session_reset();
echo json_encode($_SESSION);
$_SESSION['d'] = 4;
session_abort();
session_start();
echo json_encode($_SESSION);
