--TEST--
htmlspecialchars() has PHP's results, with and without characters to escape
--INI--
default_charset=UTF-8
--FILE--
<?php
// The characters that can be escaped, by an independent way: mbstring tells what is well formed.
function expected(string $text): string
{
    if (!mb_check_encoding($text, 'UTF-8')) {
        return '';
    }
    return strtr($text, ['&' => '&amp;', '<' => '&lt;', '>' => '&gt;', '"' => '&quot;', "'" => '&#039;']);
}

function check(string $text): void
{
    $ways = [
        htmlspecialchars($text, ENT_QUOTES),
        htmlspecialchars($text, ENT_QUOTES, 'UTF-8'),
        htmlspecialchars($text, ENT_QUOTES, 'utf-8', true),
        htmlspecialchars($text, ENT_QUOTES, null),
        htmlspecialchars($text, ENT_QUOTES, ''),
        htmlspecialchars(flags: ENT_QUOTES, double_encode: true, string: $text),
        call_user_func_array('htmlspecialchars', [$text, ENT_QUOTES]),
    ];
    foreach ($ways as $way => $got) {
        if ($got !== expected($text)) {
            echo "way $way, ", bin2hex($text), ': ', bin2hex($got), "\n";
        }
    }
}

foreach (range(0, 255) as $first) {
    check(chr($first));
    check('a' . chr($first) . 'b');
    foreach (range(0, 255) as $second) {
        check(chr($first) . chr($second));
    }
}
// What is too long a form, a surrogate, beyond the last code point, or cut off, and its neighbours.
foreach ([0xe0, 0xe1, 0xec, 0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5] as $first) {
    foreach ([0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0] as $second) {
        foreach (["\x7f", "\x80", "\xbf", "\xc0", ''] as $third) {
            foreach (["\x7f", "\x80", "\xbf", "\xc0", ''] as $fourth) {
                check(chr($first) . chr($second) . $third . $fourth);
                check('x' . chr($first) . chr($second) . $third . $fourth . '<');
            }
        }
    }
}
check('');
check(str_repeat('Grüße, 日本語, 🐘. ', 1000));
check(str_repeat('Grüße, 日本語, 🐘. ', 1000) . '"');

// What flags, character sets and the other arguments change.
echo json_encode([
    htmlspecialchars("a\x01b"),
    htmlspecialchars("a\x01b", ENT_QUOTES | ENT_DISALLOWED | ENT_HTML5),
    htmlspecialchars("it's \"so\"", ENT_NOQUOTES),
    htmlspecialchars("it's", ENT_QUOTES | ENT_HTML5),
    htmlspecialchars('&amp; &', double_encode: false),
    htmlspecialchars("\xff", ENT_SUBSTITUTE),
    bin2hex(htmlspecialchars("\xe4<", ENT_QUOTES, 'ISO-8859-1')),
    bin2hex(htmlspecialchars("\x95\x5c", ENT_QUOTES, 'Shift_JIS')),
    htmlspecialchars(12.5),
    htmlspecialchars(true),
]), "\n";
ini_set('default_charset', 'ISO-8859-1');
echo bin2hex(htmlspecialchars("\xe4")), ' ', bin2hex(htmlspecialchars("\xc3\xa4", ENT_QUOTES, 'UTF-8')), "\n";
ini_set('default_charset', 'UTF-8');
$text = 'as it is';
$same = htmlspecialchars($text);
$same .= '!';
echo "$text $same\n";
set_error_handler(fn ($level, $message) => print "$message\n");
echo htmlspecialchars('plain', ENT_QUOTES, 'nothing'), "\n";
echo htmlspecialchars(null), "|\n";
foreach ([[], [[]], ['a', 'b'], ['a', 0, 'UTF-8', true, 1]] as $arguments) {
    try {
        htmlspecialchars(...$arguments);
    } catch (Error $error) {
        echo $error->getMessage(), "\n";
    }
}
--EXPECT--
["a\u0001b","a\ufffdb","it's \"so\"","it&apos;s","&amp; &amp;","\ufffd","e4266c743b","955c","12.5","1"]
e4 c3a4
as it is as it is!
htmlspecialchars(): Charset "nothing" is not supported, assuming UTF-8
plain
htmlspecialchars(): Passing null to parameter #1 ($string) of type string is deprecated
|
htmlspecialchars() expects at least 1 argument, 0 given
htmlspecialchars(): Argument #1 ($string) must be of type string, array given
htmlspecialchars(): Argument #2 ($flags) must be of type int, string given
htmlspecialchars() expects at most 4 arguments, 5 given
