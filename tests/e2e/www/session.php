<?php
session_start();
switch ($_GET['do'] ?? 'count') {
    case 'count':
        $_SESSION['n'] = ($_SESSION['n'] ?? 0) + 1;
        break;
    case 'regenerate':
        session_regenerate_id(true);
        break;
    case 'destroy':
        session_destroy();
        $_SESSION = [];
        break;
}
echo $_SESSION['n'] ?? 'none';
