--TEST--
Coroutines: errors that a library leaves in OpenSSL's queue belong to their request
--EXTENSIONS--
ffi
openssl
--INI--
ffi.enable=1
--FILE--
<?php
$library = FFI::cdef(
    'void ERR_new(void); void ERR_set_error(int library, int reason, const char *format, ...);'
        . 'unsigned long ERR_peek_last_error(void);'
        . 'unsigned long ERR_peek_error_data(const char **data, int *flags);',
    'libcrypto.so.3',
);
$fail = static function (int $number, string $text) use ($library): void {
    $library->ERR_new();
    $library->ERR_set_error(128, $number, '%s', $text);
};
$text = static function () use ($library): string {
    $text = $library->new('const char *[1]');
    $flags = $library->new('int[1]');
    $library->ERR_peek_error_data(FFI::addr($text[0]), FFI::addr($flags[0]));
    return is_string($text[0]) ? $text[0] : FFI::string($text[0]);
};
$fail(1, 'boot');
while (frankenphp_handle_request(static function () use ($library, $fail, $text) {
    $n = (int) $_GET['n'];
    printf('%x ', $library->ERR_peek_last_error());
    $fail($n, "text of $n");
    $fail(100 + $n, "more of $n");
    usleep(2000);
    echo $text(), ':';
    while (($error = openssl_error_string()) !== false) {
        echo ' ', $error;
    }
    $fail($n, 'left');
    usleep(2000);
})) {
}
--HOWDAH--
option concurrency 3
worker {ROOT}/test.php
var QUERY_STRING n=2
push one
var QUERY_STRING n=3
push two
await one
await two
var QUERY_STRING n=4
push three
await three
stop
--EXPECT--
one: 0 text of 2: error:40000002:lib(128)::reason(2) error:40000066:lib(128)::reason(102)
two: 0 text of 3: error:40000003:lib(128)::reason(3) error:40000067:lib(128)::reason(103)
three: 0 text of 4: error:40000004:lib(128)::reason(4) error:40000068:lib(128)::reason(104)
