<?php

// A session that is read and written; the client sends its id.
$service = require __DIR__.'/services.php';
ini_set('session.save_handler', 'redis');
ini_set('session.save_path', "unix://{$service['redis']}");
session_start();
++$_SESSION['seen'];
$session = $_SESSION;
session_write_close();

return $session;
