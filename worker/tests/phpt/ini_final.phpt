--TEST--
A pool's settings: those of php_ini are as if in php.ini, those of php_admin_ini are final
--FILE php.ini--
date.timezone=UTC
[HOST=localhost]
memory_limit=99M
precision=7
[PATH={ROOT}]
upload_max_filesize=9M
post_max_size=9M
--FILE .user.ini--
memory_limit=77M
max_input_time=77
session.gc_maxlifetime=77
--FILE--
<?php
foreach (['memory_limit', 'precision', 'max_execution_time', 'upload_max_filesize', 'post_max_size', 'max_input_time',
    'session.gc_maxlifetime', 'error_reporting', 'include_path', 'display_errors'] as $name) {
    $before = ini_get($name);
    $set = ini_set($name, '999');
    $after = ini_get($name);
    ini_restore($name);
    echo "$name: $before ", $set === false ? 'refused' : 'set', " $after ", ini_get($name), ' ',
        ini_get_all(null)[$name]['access'], "\n";
}
var_dump(set_time_limit(3), ini_get('max_execution_time'), set_include_path('/'));
--HOWDAH--
arg -c
arg {ROOT}/php.ini
ini precision 5
ini max_input_time 8
ini include_path .:/srv
final memory_limit 64M
final max_execution_time 20
final upload_max_filesize 3M
final session.gc_maxlifetime 100
final error_reporting (E_WARNING | E_NOTICE) & ~E_NOTICE
final include_path .:/final
final display_errors on
run
run
--EXPECT--
memory_limit: 64M refused 64M 64M 4
precision: 7 refused 7 7 4
max_execution_time: 20 refused 20 20 4
upload_max_filesize: 3M refused 3M 3M 4
post_max_size: 9M refused 9M 9M 4
max_input_time: 77 refused 77 77 6
session.gc_maxlifetime: 100 refused 100 100 4
error_reporting: 2 refused 2 2 4
include_path: .:/final refused .:/final .:/final 4
display_errors: 1 refused 1 1 4
bool(false)
string(2) "20"
bool(false)

memory_limit: 64M refused 64M 64M 4
precision: 7 refused 7 7 4
max_execution_time: 20 refused 20 20 4
upload_max_filesize: 3M refused 3M 3M 4
post_max_size: 9M refused 9M 9M 4
max_input_time: 77 refused 77 77 6
session.gc_maxlifetime: 100 refused 100 100 4
error_reporting: 2 refused 2 2 4
include_path: .:/final refused .:/final .:/final 4
display_errors: 1 refused 1 1 4
bool(false)
string(2) "20"
bool(false)
