<?php

session_start();
$_SESSION['n'] = ($_SESSION['n'] ?? 0) + 1;
echo $_SESSION['n'], ' ', session_status() === PHP_SESSION_ACTIVE ? 'active' : 'none', ' ', session_name();
