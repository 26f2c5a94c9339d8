--TEST--
A wrong directive: one line and status 2
--FILE--
--HOWDAH--
arg -d
arg =x
run
--EXPECT--
zygote left with status 2
