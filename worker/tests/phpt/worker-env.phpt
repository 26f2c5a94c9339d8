--TEST--
Worker mode: the pool's variables are the environment of each request and of the programs that it starts
--INI--
variables_order=EGPCS
--FILE--
<?php
$see = static function (string $name): array {
    return [getenv($name), getenv($name, true), getenv()[$name] ?? null, $_SERVER[$name] ?? null, $_ENV[$name] ?? null];
};
$boot = $see('FOO');
while (frankenphp_handle_request(static function () use ($see, $boot) {
    echo json_encode([$boot === $see('FOO'), ...$see('FOO')]), "\n";
    echo json_encode($see('FRANKENPHP_WORKER')), "\n";
    echo json_encode([getenv('HOWDAH_WORKER'), getenv('BAR'), $_SERVER['REQUEST_URI'], getenv('REQUEST_URI')]), "\n";
    echo shell_exec('echo "child: $FOO, $FRANKENPHP_WORKER."');
    putenv('FOO=of a request');
    putenv('FRANKENPHP_WORKER=2');
    $_ENV['FOO'] = $_SERVER['FOO'] = 'of a request';
    echo json_encode([getenv('FOO'), getenv('FRANKENPHP_WORKER'), getenv()['FRANKENPHP_WORKER']]), "\n";
})) {
}
--HOWDAH--
worker {ROOT}/test.php
env FOO bar
env REQUEST_URI hidden
var REQUEST_URI /of-the-request
run
run
--EXPECT--
[true,"bar","bar","bar","bar","bar"]
["1",false,"1",null,null]
["1",false,"\/of-the-request","\/of-the-request"]
child: bar, .
["of a request","2","2"]

[true,"bar","bar","bar","bar","bar"]
["1",false,"1",null,null]
["1",false,"\/of-the-request","\/of-the-request"]
child: bar, .
["of a request","2","2"]
