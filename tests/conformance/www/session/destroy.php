<?php

ob_start();
session_start();
$_SESSION['a'] = 1;
session_destroy();
echo json_encode([session_id(), session_status(), $_SESSION]);
session_start();
echo json_encode($_SESSION);
