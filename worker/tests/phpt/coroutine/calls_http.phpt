--TEST--
Coroutines: requests over HTTP, by streams and by curl, let other requests run
--SKIPIF--
<?php
if (!extension_loaded('curl')) {
    echo 'skip curl is not loaded';
}
--FILE--
<?php
$server = stream_socket_server('tcp://127.0.0.1:0');
$url = 'http://' . stream_socket_get_name($server, false) . '/';
$serve = static function () use ($server) {
    $client = stream_socket_accept($server, 1000);
    while (trim($line = fgets($client)) !== '') {
        $request ??= trim($line);
    }
    usleep(1000);
    fwrite($client, "HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nanswer");
    fclose($client);
    return explode(' ', $request)[1];
};
$cases = [
    'stream' => [
        'a' => static fn () => file_get_contents($url . 'stream'),
        'b' => $serve,
    ],
    'curl' => [
        'a' => static function () use ($url) {
            $curl = curl_init($url . 'curl');
            curl_setopt_array($curl, [CURLOPT_RETURNTRANSFER => true, CURLOPT_HTTP_VERSION => CURL_HTTP_VERSION_1_0]);
            return [curl_exec($curl), curl_getinfo($curl, CURLINFO_RESPONSE_CODE)];
        },
        'b' => $serve,
    ],
    'multi' => [
        'a' => static function () use ($url) {
            $multi = curl_multi_init();
            $curl = curl_init($url . 'multi');
            curl_setopt_array($curl, [CURLOPT_RETURNTRANSFER => true, CURLOPT_HTTP_VERSION => CURL_HTTP_VERSION_1_0]);
            curl_multi_add_handle($multi, $curl);
            do {
                curl_multi_exec($multi, $active);
                curl_multi_select($multi, 1000);
            } while ($active);
            return curl_multi_getcontent($curl);
        },
        'b' => $serve,
    ],
    // It only ever looks.
    'looks' => [
        'a' => static function () use ($url) {
            $multi = curl_multi_init();
            $curl = curl_init($url . 'looks');
            curl_setopt_array($curl, [CURLOPT_RETURNTRANSFER => true, CURLOPT_HTTP_VERSION => CURL_HTTP_VERSION_1_0]);
            curl_multi_add_handle($multi, $curl);
            do {
                curl_multi_exec($multi, $active);
            } while ($active);
            return curl_multi_getcontent($curl);
        },
        'b' => $serve,
    ],
    'name' => [
        'a' => static fn () => curl_exec(curl_init(str_replace('127.0.0.1', 'localhost', $url) . 'name')),
        'b' => $serve,
    ],
];
while (frankenphp_handle_request(static function () use ($cases) {
    // In each case the first cannot end before the second has done its part.
    $result = $cases[$_GET['how']][$_GET['me']]();
    echo json_encode($result);
})) {}
--HOWDAH--
option concurrency 2
worker {ROOT}/test.php
var QUERY_STRING me=a&how=stream
push stream
var QUERY_STRING me=b&how=stream
push other
await stream
await other
var QUERY_STRING me=a&how=curl
push curl
var QUERY_STRING me=b&how=curl
push other
await curl
await other
var QUERY_STRING me=a&how=multi
push multi
var QUERY_STRING me=b&how=multi
push other
await multi
await other
var QUERY_STRING me=a&how=looks
push looks
var QUERY_STRING me=b&how=looks
push other
await looks
await other
var QUERY_STRING me=a&how=name
push name
var QUERY_STRING me=b&how=name
push other
await name
await other
stop
--EXPECT--
stream: "answer"
other: "\/stream"
curl: ["answer",200]
other: "\/curl"
multi: "answer"
other: "\/multi"
looks: "answer"
other: "\/looks"
name: answertrue
other: "\/name"
