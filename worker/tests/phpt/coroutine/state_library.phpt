--TEST--
Coroutines: settings of a request in the C library, in mysqli and for readdir() are private to it
--SKIPIF--
<?php
foreach (['gettext', 'mysqli', 'pcntl', 'simplexml'] as $extension) {
    if (!extension_loaded($extension)) {
        echo "skip $extension is not loaded";
        break;
    }
}
--FILE--
<?php
/** Returns when $count requests are here. The object is shared, as objects are. */
function meet(stdClass $place, int $count = 3): void
{
    $place->round ??= 0;
    $place->here = ($place->here ?? 0) + 1;
    $round = $place->round;
    if ($place->here === $count) {
        $place->here = 0;
        $place->round++;
    }
    while ($place->round === $round) {
        usleep(500);
    }
}

$place = new stdClass();
textdomain('boot');
while (frankenphp_handle_request(static function () use ($place) {
    $n = (int) $_GET['n'];
    switch ($_GET['do']) {
        case 'own':
            textdomain("mine$n");
            bindtextdomain('shared', ['/usr', '/tmp', '/etc'][$n - 1]);
            mysqli_report($n === 1 ? MYSQLI_REPORT_OFF : MYSQLI_REPORT_ALL);
            libxml_use_internal_errors(true);
            simplexml_load_string(['', '<a', '<a></b>', ''][$n]);
            $folder = __DIR__ . "/folder$n";
            mkdir($folder);
            touch("$folder/file$n");
            opendir($folder);
            meet($place);
            echo textdomain(null), ' ', bindtextdomain('shared', null), ' ', (new mysqli_driver())->report_mode, ' ';
            echo json_encode(array_column([libxml_get_last_error() ?: []], 'code')), ' ';
            while (($file = readdir()) !== false) {
                echo $file[0] === '.' ? '' : $file;
            }
            meet($place);
            rewinddir();
            closedir();
            meet($place);
            try {
                readdir();
            } catch (TypeError $error) {
                echo ' ', $error->getMessage();
            }
            break;
        case 'again':
        case 'others':
            $again = $_GET['do'] === 'again'; // alone, after the others have ended
            if ($n === 1 && !$again) {
                textdomain('mine');
                bindtextdomain('shared', '/usr');
                mysqli_report(MYSQLI_REPORT_OFF);
                @mysqli_connect('127.0.0.1', 'nobody', '', '', 1);
                pcntl_sigprocmask(SIG_BLOCK, [SIGUSR2]);
                opendir('/');
                @simplexml_load_string('<a');
            }
            $again || meet($place);
            if ($n > 1 || $again) {
                $before = bindtextdomain('shared', null);
                pcntl_sigprocmask(SIG_UNBLOCK, [SIGWINCH], $mask);
                echo textdomain(null), ' ', $before === '/usr' ? 'of the other' : 'unset', ' ';
                echo (new mysqli_driver())->report_mode, ' ', mysqli_connect_errno(), ' ', count($mask), ' ',
                    json_encode(libxml_get_last_error()), ' ';
                try {
                    echo readdir();
                } catch (TypeError $error) {
                    echo $error->getMessage();
                }
            }
            $again || meet($place);
            break;
    }
})) {
}
--HOWDAH--
worker {ROOT}/test.php
option concurrency 4
var QUERY_STRING do=own&n=1
push own1
var QUERY_STRING do=own&n=2
push own2
var QUERY_STRING do=own&n=3
push own3
await own1
await own2
await own3
var QUERY_STRING do=others&n=1
push others1
var QUERY_STRING do=others&n=2
push others2
var QUERY_STRING do=others&n=3
push others3
await others1
await others2
await others3
var QUERY_STRING do=again&n=1
push again1
await again1
--EXPECT--
own1: mine1 /usr 0 [73] file1 No resource supplied
own2: mine2 /tmp 255 [76] file2 No resource supplied
own3: mine3 /etc 255 [] file3 No resource supplied
others1: 
others2: boot unset 3 0 0 false No resource supplied
others3: boot unset 3 0 0 false No resource supplied
again1: boot unset 3 0 0 false No resource supplied
