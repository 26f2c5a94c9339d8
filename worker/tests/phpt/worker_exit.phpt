--TEST--
Worker mode: exit() ends the request, not the worker; shutdown functions and destructors write into the response
--FILE--
<?php
class D { public function __construct(private string $name) {} public function __destruct() { echo "~$this->name "; } }
register_shutdown_function(static function () { error_log('boot shutdown'); });
$n = 0;
function deep(int $level): void { $d = new D("d$level"); $level ? deep($level - 1) : exit('bye '); }
while (frankenphp_handle_request(static function () use (&$n) {
    echo ++$n, ': ';
    register_shutdown_function(static function () { echo 'shutdown '; });
    switch ($n) {
        case 1: exit('text');
        case 2: exit(7);
        case 3: deep(3);
        case 4: (new Fiber(static function () { exit('in fiber '); }))->start();
        case 5: ob_start(static fn (string $b) => strtoupper($b)); echo 'buffered '; exit;
        case 6: register_shutdown_function(static function () { exit('again '); });
            register_shutdown_function(static function () { echo 'not reached'; }); return;
        case 7: array_map(static fn () => exit('in callback '), [1]);
        case 8: return new D('result');
        case 9: try { exit('in try '); } finally { echo 'finally '; }
    }
    echo "end";
})) {}
error_log("left after $n");
--INI--
log_errors=1
error_log=
--HOWDAH--
show log exit end
worker {ROOT}/test.php
run
run
run
run
run
run
run
run
run
run
stop
--EXPECT--
1: textshutdown 
[end exit=2 status=0]
2: shutdown 
[end exit=2 status=7]
3: bye ~d0 ~d1 ~d2 ~d3 shutdown 
[end exit=2 status=0]
4: in fiber shutdown 
[end exit=2 status=0]
5: BUFFERED SHUTDOWN 
[end exit=2 status=0]
6: shutdown again 
[end exit=2 status=0]
7: in callback shutdown 
[end exit=2 status=0]
8: ~result shutdown 
[end exit=0 status=0]
9: in try finally shutdown 
[end exit=2 status=0]
10: endshutdown 
[end exit=0 status=0]
[log n 0] left after 10
[log n 0] boot shutdown
[worker exited with status 0]
