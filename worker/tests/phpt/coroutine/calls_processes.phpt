--TEST--
Coroutines: programs, and pipes to them, let other requests run
--FILE--
<?php
foreach (['shell', 'exec', 'end', 'close', 'mail', 'popen', 'fopen'] as $name) {
    exec("mkfifo $name");
}
// The programs live until the other request has opened a pipe and written to it.
$open = static function (string $name): bool {
    $pipe = fopen($name, 'w');
    return fwrite($pipe, "line of $name\n") > 0 && fclose($pipe);
};
$cases = [
    'shell' => [
        'a' => static fn () => shell_exec('cat shell'),
        'b' => static fn () => $open('shell'),
    ],
    'exec' => [
        'a' => static function () {
            exec('cat exec; exit 3', $lines, $status);
            return [$lines, $status];
        },
        'b' => static fn () => $open('exec'),
    ],
    // Nothing to read any more, and the program goes on.
    'end' => [
        'a' => static function () {
            exec('exec >/dev/null; cat end; exit 4', $lines, $status);
            return $status;
        },
        'b' => static fn () => $open('end'),
    ],
    'close' => [
        'a' => static function () {
            $process = proc_open('read line <close; echo $line; read line; exit 5', [['pipe', 'r'], ['pipe', 'w']], $pipes);
            $line = fgets($pipes[1]);
            fwrite($pipes[0], "on\n");
            return [$line, proc_close($process)];
        },
        'b' => static fn () => $open('close'),
    ],
    'mail' => [
        'a' => static fn () => mail('to@example.test', 'subject', str_repeat("0123456789abcde\n", 1 << 14)),
        'b' => static fn () => $open('mail'),
    ],
    'popen' => [
        'a' => static function () {
            $pipe = popen('read line <popen; wc -c >popen.size', 'w');
            $written = fwrite($pipe, str_repeat('x', 1 << 18));
            $status = pclose($pipe);
            return [$written, $status, (int) file_get_contents('popen.size')];
        },
        'b' => static fn () => $open('popen'),
    ],
    'fopen' => [
        'a' => static fn () => fgets(fopen('fopen', 'r')),
        'b' => static fn () => $open('fopen'),
    ],
];
while (frankenphp_handle_request(static function () use ($cases) {
    // In each case the first cannot end before the second has done its part.
    $result = $cases[$_GET['how']][$_GET['me']]();
    echo json_encode($result);
})) {}
--HOWDAH--
option concurrency 2
arg -d
arg sendmail_path=read%20line%20<mail;%20wc%20-c%20>mail.size;%20true
worker {ROOT}/test.php
var QUERY_STRING me=a&how=shell
push shell
var QUERY_STRING me=b&how=shell
push other
await shell
await other
var QUERY_STRING me=a&how=exec
push exec
var QUERY_STRING me=b&how=exec
push other
await exec
await other
var QUERY_STRING me=a&how=end
push end
var QUERY_STRING me=b&how=end
push other
await end
await other
var QUERY_STRING me=a&how=close
push close
var QUERY_STRING me=b&how=close
push other
await close
await other
var QUERY_STRING me=a&how=mail
push mail
var QUERY_STRING me=b&how=mail
push other
await mail
await other
var QUERY_STRING me=a&how=popen
push popen
var QUERY_STRING me=b&how=popen
push other
await popen
await other
var QUERY_STRING me=a&how=fopen
push fopen
var QUERY_STRING me=b&how=fopen
push other
await fopen
await other
stop
--EXPECT--
shell: "line of shell\n"
other: true
exec: [["line of exec"],3]
other: true
end: 4
other: true
close: ["line of close\n",5]
other: true
mail: true
other: true
popen: [262144,0,262144]
other: true
fopen: "line of fopen\n"
other: true
