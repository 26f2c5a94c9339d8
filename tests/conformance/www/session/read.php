<?php

session_start(['read_and_close' => true]);
echo session_status() === PHP_SESSION_NONE ? 'closed ' : 'open ', $_SESSION['n'] ?? 'nothing';
$_SESSION['n'] = 'lost';
