--TEST--
user_ini.filename can be another one
--INI--
user_ini.filename=my.ini
--FILE my.ini--
memory_limit=77M
--FILE .user.ini--
memory_limit=66M
--FILE--
<?php
echo ini_get('memory_limit');
--EXPECT--
77M
