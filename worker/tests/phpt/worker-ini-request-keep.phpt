--TEST--
Worker mode with `keep ini`: settings of PHP_VALUE and PHP_ADMIN_VALUE are never kept
--FILE--
<?php
ini_set('precision', '10');
ini_set('session.name', 'BOOT');
$names = ['memory_limit', 'precision', 'session.name', 'session.gc_maxlifetime', 'mbstring.substitute_character',
    'upload_max_filesize'];
$own = ['memory_limit' => '512M', 'session.name' => 'OWN'];
while (frankenphp_handle_request(function () use ($names, $own): void {
    foreach ($names as $name) {
        echo "$name: ", ini_get($name), ' ', ini_get_all(null)[$name]['access'], ' ';
        echo ini_set($name, $own[$name] ?? '99') === false ? 'refused' : ini_get($name), "\n";
    }
    echo $_SERVER['PHP_VALUE'] ?? 'none', ' ', mb_substitute_character(), "\n";
})) {
}
--HOWDAH--
worker {ROOT}/test.php
option keep 1
final upload_max_filesize 3M
var PHP_VALUE memory_limit=99M%0aprecision=5%0asession.gc_maxlifetime=50
var PHP_ADMIN_VALUE session.name=ADMIN%0ambstring.substitute_character=88
run
var PHP_VALUE
var PHP_ADMIN_VALUE
run
var PHP_ADMIN_VALUE precision=6
run
var PHP_ADMIN_VALUE
run
--EXPECT--
memory_limit: 99M 7 512M
precision: 5 7 99
session.name: ADMIN 4 refused
session.gc_maxlifetime: 50 7 99
mbstring.substitute_character: 88 4 refused
upload_max_filesize: 3M 4 refused
memory_limit=99M
precision=5
session.gc_maxlifetime=50 88

memory_limit: 128M 7 512M
precision: 10 7 99
session.name: BOOT 7 OWN
session.gc_maxlifetime: 1440 7 99
mbstring.substitute_character:  7 99
upload_max_filesize: 3M 4 refused
none 99

memory_limit: 512M 7 512M
precision: 6 4 refused
session.name: OWN 7 OWN
session.gc_maxlifetime: 99 7 99
mbstring.substitute_character: 99 7 99
upload_max_filesize: 3M 4 refused
none 99

memory_limit: 512M 7 512M
precision: 99 7 99
session.name: OWN 7 OWN
session.gc_maxlifetime: 99 7 99
mbstring.substitute_character: 99 7 99
upload_max_filesize: 3M 4 refused
none 99
