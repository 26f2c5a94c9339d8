<?php

// The files handler locks the session. The lock is released with the request.
session_id('lock0id');
session_start();
$_SESSION['n'] = ($_SESSION['n'] ?? 0) + 1;
echo $_SESSION['n'] > 0 ? 'got it' : '';
exit;
