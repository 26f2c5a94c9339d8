--TEST--
Worker mode: each $_SERVER starts with the environment, whatever a request did to its own
--FILE--
<?php
putenv('OF_THE_BOOT=of the boot');
putenv('EMPTY=');
putenv('7=seven');
putenv('REQUEST_URI=hidden');
while (frankenphp_handle_request(function () {
    $names = ['OF_THE_BOOT', 'EMPTY', 7, 'REQUEST_URI', 'PUT'];
    echo json_encode(array_map(fn ($name) => $_SERVER[$name] ?? null, $names)), "\n";
    echo json_encode([$_SERVER['PATH'] === getenv('PATH'), array_keys(array_diff_key(getenv(), $_SERVER))]), "\n";
    $kept = $_SERVER;
    $_SERVER['OF_THE_BOOT'][0] = 'X';
    $_SERVER['EMPTY'] .= 'no more';
    unset($_SERVER[7], $_SERVER['PATH']);
    for ($i = 0; $i < 200; $i++) {
        $_SERVER["FILL_$i"] = "$i";
    }
    putenv('PUT=by a request');
    echo json_encode([$kept['OF_THE_BOOT'], $kept['EMPTY'], $kept[7], $_SERVER['OF_THE_BOOT']]), "\n";
})) {
}
--HOWDAH--
worker {ROOT}/test.php
var REQUEST_URI /of-the-request
run
run
--EXPECT--
["of the boot","","seven","\/of-the-request",null]
[true,["FRANKENPHP_WORKER","HOWDAH_WORKER"]]
["of the boot","","seven","Xf the boot"]

["of the boot","","seven","\/of-the-request",null]
[true,["FRANKENPHP_WORKER","HOWDAH_WORKER"]]
["of the boot","","seven","Xf the boot"]
