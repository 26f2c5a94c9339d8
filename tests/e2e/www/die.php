<?php
require __DIR__ . '/push.inc';
// Ends in the requested way.
if (isset($_GET['before'])) {
    echo $_GET['before'];
    if (isset($_GET['flush'])) {
        push();
    }
}
if (isset($_GET['shutdown'])) {
    register_shutdown_function(function (): void {
        echo ' shutdown';
    });
}
switch ($_GET['how']) {
    case 'exit':
        exit;
    case 'exit-text':
        exit('bye');
    case 'exit-code':
        exit(3);
    case 'exception':
        throw new RuntimeException('the reason of the exception');
    case 'undefined':
        the_undefined_function();
    case 'parse':
        require __DIR__ . '/broken/parse.inc';
        break;
    case 'type':
        (function (int $x): void {
        })('x');
        break;
    case 'memory':
        ini_set('memory_limit', '16M');
        str_repeat('x', 64 << 20);
        break;
    case 'user':
        trigger_error('the reason of the user', E_USER_ERROR);
        break;
    case 'segfault':
        posix_kill(getmypid(), 11);
        sleep(60);
        break;
    case 'kill':
        posix_kill(getmypid(), 9);
        sleep(60);
        break;
    case 'address-space':
        // The allocator itself fails: PHP exits with an exit code.
        ini_set('memory_limit', '-1');
        posix_setrlimit(POSIX_RLIMIT_AS, 64 << 20, 64 << 20);
        for ($all = [];;) {
            $all[] = str_repeat('x', 8 << 20);
        }
        // this line is never reached
    case 'stack':
        $deep = function () use (&$deep): void {
            array_map($deep, [1]);
        };
        ini_set('memory_limit', '-1');
        $deep();
        break;
    case 'time':
        set_time_limit(1);
        while (true) {
            md5('x');
        }
}
echo ' after';
