--TEST--
A session over two requests
--INI--
session.save_path={ROOT}
session.use_strict_mode=0
--COOKIE--
PHPSESSID=abcdef
--FILE--
<?php
session_start();
echo $_SESSION['n'] = ($_SESSION['n'] ?? 0) + 1, ' ', session_id();
--HOWDAH--
run
run
--EXPECT--
1 abcdef
2 abcdef
