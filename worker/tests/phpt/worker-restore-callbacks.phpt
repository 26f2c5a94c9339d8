--TEST--
Worker mode: header callback, tick functions and the callback of assert() are of the request
--SKIPIF--
<?php
if (PHP_VERSION_ID >= 80300) {
    echo 'skip assert_options() is deprecated';
}
--INI--
assert.active=1
assert.exception=0
assert.warning=0
zend.assertions=1
--FILE--
<?php
assert_options(ASSERT_CALLBACK, function () { echo "boot's assertion\n"; });
function ticks(): void
{
    declare(ticks=1) {
        $i = 1;
    }
}
while (frankenphp_handle_request(function () {
    $name = $_GET['name'];
    ticks();
    @assert(false);
    register_tick_function(function () use ($name) { echo "tick of $name\n"; });
    assert_options(ASSERT_CALLBACK, function () use ($name) { echo "assertion of $name\n"; });
    header_register_callback(function () use ($name) { header("X-Callback: $name", false); });
    ticks();
    @assert(false);
})) {
}
--HOWDAH--
worker {ROOT}/test.php
show headers
var QUERY_STRING name=a
run
var QUERY_STRING name=b
run
--EXPECT--
Status: 200
Content-type: text/html; charset=UTF-8
X-Callback: a

boot's assertion
tick of a
assertion of a

--
Status: 200
Content-type: text/html; charset=UTF-8
X-Callback: b

boot's assertion
tick of b
assertion of b
