--TEST--
cli: argv, streams, exit status, no HTTP functions
--FILE--
#!/usr/bin/env php
<?php
echo PHP_SAPI, ' ', implode(',', $argv), ' ', $argc, ' ', $_SERVER['argv'][1], ' ', $_SERVER['SCRIPT_NAME'], ' ', basename(getcwd()), "\n";
fwrite(STDOUT, fgets(STDIN));
var_dump(ini_get('max_execution_time'), ini_get('html_errors'), ini_get('display_errors'), function_exists('fastcgi_finish_request'));
exit(3);
--CLI--
-n -d error_reporting=-1 test.php a -d b
--STDIN--
line
--EXPECT--
cli test.php,a,-d,b 4 a test.php www
line
string(1) "0"
string(1) "0"
string(1) "1"
bool(false)
[exit 3]
