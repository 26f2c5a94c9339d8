--TEST--
Worker mode: seeds stay when the pool keeps them
--FILE--
<?php
while (frankenphp_handle_request(function () {
    echo mt_rand(), "\n";
    mt_srand(7);
})) {
}
--HOWDAH--
worker {ROOT}/test.php
option keep 512
run
run
run
--EXPECTF--
%d

163870807

163870807
