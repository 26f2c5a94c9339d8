--TEST--
Coroutines: a request that is cancelled, or ends in a fatal error, within __debugInfo() leaves no marks on shared objects
--FILE--
<?php
final class Value
{
    public function __debugInfo(): array
    {
        usleep(5000);
        if ($_GET['how'] === 'fatal') {
            trigger_error('on purpose', E_USER_ERROR);
        }
        return ['debug' => 1];
    }
}

$tree = new stdClass();
$tree->list = [[new Value()]];
while (frankenphp_handle_request(static function () use ($tree): void {
    $dump = static function () use ($tree): string {
        ob_start();
        print_r($tree);
        return preg_replace('/\s+/', ' ', ob_get_clean());
    };
    if ($_GET['how'] === 'cut') {
        try {
            Howdah\timeout(0.001, static function () use ($dump): void {
                $dump();
                usleep(1);
                echo 'not cancelled ';
            });
        } catch (Howdah\TimeoutException) {
            echo 'cancelled ';
        }
    }
    if ($_GET['how'] === 'wait') {
        usleep(10000);
    }
    echo $dump();
})) {
}
--INI--
display_errors=0
--HOWDAH--
worker {ROOT}/test.php
option concurrency 4
var QUERY_STRING how=cut
run
var QUERY_STRING how=wait
push wait
var QUERY_STRING how=fatal
push fatal
await fatal
await wait
--EXPECTF--
cancelled stdClass Object ( [list] => Array ( [0] => Array ( [0] => Value Object ( [debug] => 1 ) ) ) ) 
fatal: 
wait: stdClass Object ( [list] => Array ( [0] => Array ( [0] => Value Object ( [debug] => 1 ) ) ) ) 
