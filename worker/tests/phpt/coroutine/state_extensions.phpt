--TEST--
Coroutines: state of a request in extensions is private to the request
--FILE--
<?php
/** Returns when $count requests are here. The object is shared, as objects are. */
function meet(int $count, stdClass $place): void
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

spl_autoload_register(function (string $class) {
    echo "[boot loads $class]";
});

class Wrapper
{
    public mixed $context;
    private bool $read = false;

    public function stream_open(string $path): bool
    {
        return true;
    }

    public function stream_read(int $size): string
    {
        [$this->read, $before] = [true, $this->read];
        return $before ? '' : static::class;
    }

    public function stream_eof(): bool
    {
        return $this->read;
    }

    public function stream_stat(): array
    {
        return [];
    }
}

class WrapperOfA extends Wrapper
{
}

class WrapperOfB extends Wrapper
{
}

class Filter extends php_user_filter
{
}

function change(string $me): void
{
    mb_internal_encoding($me === 'a' ? 'ISO-8859-1' : 'SJIS');
    mb_substitute_character(ord($me));
    spl_autoload_register(fn (string $class) => print("[$me loads $class]"), true, $me === 'a');
    preg_match($me === 'a' ? '/(?:\D+|<\d+>)*[!?]/' : '/a/', 'foobar foobar foobar');
    json_decode($me === 'a' ? '{' : '"\ud800"');
    if ($me === 'a') {
        stream_wrapper_unregister('glob');
    }
    stream_wrapper_register('mine', $me === 'a' ? WrapperOfA::class : WrapperOfB::class);
    stream_filter_register("filter.$me", Filter::class);
    stream_context_set_default(['http' => ['user_agent' => $me]]);
    libxml_use_internal_errors($me === 'a');
    if ($me === 'a') {
        simplexml_load_string('<broken');
    }
    assert_options(ASSERT_CALLBACK, "strlen_$me");
    posix_kill($me === 'a' ? 999999999 : getmypid(), 0);
}

function show(): string
{
    $text = json_last_error_msg() . '|' . preg_last_error_msg() . '|';
    class_exists('Missing');
    return $text . implode('|', [
        mb_internal_encoding(), mb_substitute_character(), count(spl_autoload_functions()),
        @file_get_contents('mine://x') ?: 'no wrapper', implode(',', array_filter(stream_get_filters(), fn ($name) => str_starts_with($name, 'filter.'))),
        stream_context_get_options(stream_context_get_default())['http']['user_agent'] ?? '-',
        var_export(libxml_use_internal_errors(), true), count(libxml_get_errors()), assert_options(ASSERT_CALLBACK), posix_get_last_error() ? 'posix error' : 'no posix error',
        in_array('glob', stream_get_wrappers()) ? 'glob' : 'no glob', filter_input(INPUT_GET, 'me'),
    ]);
}

$place = new stdClass();
while (frankenphp_handle_request(function () use ($place) {
    $me = $_GET['me'];
    if ($me !== 'plain') {
        change($me);
    }
    meet(3, $place);
    echo show(), "\n";
    meet(3, $place);
    $_GET['me'] = 'changed';
    echo show(), "\n";
})) {
}
--SKIPIF--
<?php
foreach (['mbstring', 'simplexml', 'posix', 'filter'] as $extension) {
    if (!extension_loaded($extension)) {
        die("skip needs $extension");
    }
}
if (PHP_VERSION_ID >= 80300) {
    die('skip assert_options() is deprecated');
}
--HOWDAH--
worker {ROOT}/test.php
option concurrency 3
var QUERY_STRING me=plain
push plain
var QUERY_STRING me=a
push a
var QUERY_STRING me=b
push b
await plain
await a
await b
push b2
var QUERY_STRING me=plain
push plain2
push plain3
await b2
await plain2
await plain3
--EXPECT--
plain: [boot loads Missing]No error|No error|UTF-8|63|1|no wrapper||-|false|0||no posix error|glob|plain
[boot loads Missing]No error|No error|UTF-8|63|1|no wrapper||-|false|0||no posix error|glob|plain

a: [a loads Missing][boot loads Missing]Syntax error|Backtrack limit exhausted|ISO-8859-1|97|2|WrapperOfA|filter.a|a|true|1|strlen_a|posix error|no glob|a
[a loads Missing][boot loads Missing]Syntax error|Backtrack limit exhausted|ISO-8859-1|97|2|WrapperOfA|filter.a|a|true|1|strlen_a|posix error|no glob|a

b: [boot loads Missing][b loads Missing]Single unpaired UTF-16 surrogate in unicode escape|No error|SJIS|98|2|WrapperOfB|filter.b|b|false|0|strlen_b|no posix error|glob|b
[boot loads Missing][b loads Missing]Single unpaired UTF-16 surrogate in unicode escape|No error|SJIS|98|2|WrapperOfB|filter.b|b|false|0|strlen_b|no posix error|glob|b

b2: [boot loads Missing][b loads Missing]Single unpaired UTF-16 surrogate in unicode escape|No error|SJIS|98|2|WrapperOfB|filter.b|b|false|0|strlen_b|no posix error|glob|b
[boot loads Missing][b loads Missing]Single unpaired UTF-16 surrogate in unicode escape|No error|SJIS|98|2|WrapperOfB|filter.b|b|false|0|strlen_b|no posix error|glob|b

plain2: [boot loads Missing]No error|No error|UTF-8|63|1|no wrapper||-|false|0||no posix error|glob|plain
[boot loads Missing]No error|No error|UTF-8|63|1|no wrapper||-|false|0||no posix error|glob|plain

plain3: [boot loads Missing]No error|No error|UTF-8|63|1|no wrapper||-|false|0||no posix error|glob|plain
[boot loads Missing]No error|No error|UTF-8|63|1|no wrapper||-|false|0||no posix error|glob|plain
