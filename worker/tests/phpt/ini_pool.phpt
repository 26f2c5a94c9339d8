--TEST--
A pool's settings: values with blanks, quotes and operators, constants, disabled functions, and open_basedir
--FILE--
<?php
echo ini_get('user_agent'), '|', ini_get('sendmail_path'), '|', ini_get('error_reporting'), '|',
    ini_get('display_errors'), '|', ini_get('open_basedir'), "\n";
var_dump(function_exists('phpinfo'), function_exists('passthru'), @file_get_contents('/etc/passwd'));
ini_set('user_agent', 'mine');
echo ini_get('user_agent'), "\n";
--HOWDAH--
ini user_agent a "b" (c); d
ini sendmail_path /usr/sbin/sendmail -t -i -f a=b@c
ini error_reporting E_WARNING ^ E_PARSE
ini display_errors off
final disable_functions phpinfo, passthru
final open_basedir {ROOT}
run
run
--EXPECT--
a "b" (c); d|/usr/sbin/sendmail -t -i -f a=b@c|6||{ROOT}
bool(false)
bool(false)
bool(false)
mine

a "b" (c); d|/usr/sbin/sendmail -t -i -f a=b@c|6||{ROOT}
bool(false)
bool(false)
bool(false)
mine
