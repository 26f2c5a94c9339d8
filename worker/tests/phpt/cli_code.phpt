--TEST--
cli: -r, an uncaught exception gives 255
--FILE--
--CLI--
-n -d log_errors=0 -r 'echo $argv[1], "\n"; throw new Exception("x");' -- -a
--EXPECTF--
-a
%wFatal error: Uncaught Exception: x in Command line code:1
Stack trace:
#0 {main}
  thrown in Command line code on line 1
[exit 255]
