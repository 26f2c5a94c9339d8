--TEST--
PHP_VALUE and PHP_ADMIN_VALUE: for this request, before it begins; the latter and php_admin_ini are final
--POST--
a=1&b=2
--FILE .user.ini--
user_agent=user
precision=8
--FILE--
<?php
foreach (['memory_limit', 'precision', 'user_agent', 'max_input_time', 'open_basedir', 'serialize_precision',
    'arg_separator.output', 'enable_post_data_reading'] as $name) {
    $before = ini_get($name);
    $set = ini_set($name, $name === 'memory_limit' ? '512M' : '9');
    echo "$name: $before ", $set === false ? 'refused' : 'set', ' ', ini_get_all(null)[$name]['access'], "\n";
}
echo count($_POST), ' ', @file_get_contents('/etc/hostname') === false ? 'closed' : 'open', "\n";
--HOWDAH--
ini serialize_precision 12
final arg_separator.output &amp;
show log
var PHP_VALUE memory_limit=99M%0a; a comment%0a%0auser_agent="of ; the request"%0aarg_separator.output=%22;%22%0aenable_post_data_reading=off
var PHP_ADMIN_VALUE open_basedir={ROOT}%0amax_input_time = 8%0aprecision=6
run
var PHP_VALUE
var PHP_ADMIN_VALUE
run
var PHP_VALUE extension=gd%0adisable_functions=phpinfo%0ano.such=1%0asession.name=99%0aprecision=4
run
var PHP_VALUE precision=4%0a[section]%0amemory_limit=(1
run
--EXPECT--
memory_limit: 99M set 7
precision: 6 refused 4
user_agent: user set 7
max_input_time: 8 refused 4
open_basedir: {ROOT} refused 4
serialize_precision: 12 set 7
arg_separator.output: &amp; refused 4
enable_post_data_reading:  refused 6
0 closed

[log w 1] PHP_VALUE: 'arg_separator.output' is unchanged: php_admin_ini sets it
memory_limit: 128M set 7
precision: 8 set 7
user_agent: user set 7
max_input_time: 60 refused 6
open_basedir:  set 7
serialize_precision: 12 set 7
arg_separator.output: &amp; refused 4
enable_post_data_reading: 1 refused 6
2 closed

memory_limit: 128M set 7
precision: 8 set 7
user_agent: user set 7
max_input_time: 60 refused 6
open_basedir:  set 7
serialize_precision: 12 set 7
arg_separator.output: &amp; refused 4
enable_post_data_reading: 1 refused 6
2 closed

[log e 3] PHP_VALUE: extension cannot be set for one request; set it for a pool, by php_admin_ini
[log e 3] PHP_VALUE: disable_functions cannot be set for one request; set it for a pool, by php_admin_ini
[log e 3] PHP_VALUE: unable to set 'no.such': PHP has no such setting
[log e 3] PHP_VALUE: unable to set 'session.name': PHP rejects the value "99"
memory_limit: 128M set 7
precision: 8 set 7
user_agent: user set 7
max_input_time: 60 refused 6
open_basedir:  set 7
serialize_precision: 12 set 7
arg_separator.output: &amp; refused 4
enable_post_data_reading: 1 refused 6
2 closed

[log e 4] PHP_VALUE is not lines of NAME=VALUE as php.ini has them; what follows the error is not set
