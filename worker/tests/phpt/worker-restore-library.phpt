--TEST--
Worker mode: settings of the C library, handlers of signals and the directory of readdir() are restored after a request
--SKIPIF--
<?php
foreach (['gettext', 'pcntl'] as $extension) {
    if (!extension_loaded($extension)) {
        echo "skip $extension is not loaded";
        break;
    }
}
--FILE--
<?php
textdomain('boot');
function state(): string
{
    pcntl_sigprocmask(SIG_UNBLOCK, [SIGWINCH], $mask);
    try {
        $entry = readdir();
    } catch (TypeError $error) {
        $entry = $error->getMessage();
    }
    $handler = pcntl_signal_get_handler(SIGUSR1) === SIG_DFL ? 'default' : 'handler';
    return implode(' ', [textdomain(null), bindtextdomain('one', null) === '/usr' ? 'bound' : 'unbound', count($mask), $handler, $entry]);
}

while (frankenphp_handle_request(static function () {
    echo state(), ', ';
    textdomain('mine');
    bindtextdomain('one', '/usr');
    pcntl_sigprocmask(SIG_BLOCK, [SIGUSR2]);
    pcntl_signal(SIGUSR1, static function () {
    });
    $folder = __DIR__ . '/folder' . $_GET['n'];
    mkdir($folder);
    opendir($folder);
    echo preg_replace('/\.+$/', 'entry', state()), "\n";
})) {
}
--HOWDAH--
worker {ROOT}/test.php
var QUERY_STRING n=1
run
var QUERY_STRING n=2
run
--EXPECTREGEX--
boot unbound 0 default No resource supplied, mine bound 1 handler entry\s+boot unbound 0 default No resource supplied, mine bound 1 handler entry
