--TEST--
Worker mode: detect_leaks hides texts, names, keys and paths with secrets, and shows others
--FILE--
<?php
class Named
{
    public static string $dbPass = '';
    public static string $dbpass = '';
    public static string $db_pass = '';
    public static string $DBPass = '';
    public static string $pass2 = '';
    public static string $userPasswords = '';
    public static string $pwd = '';
    public static string $smtpPwd = '';
    public static string $PHP_AUTH_PW = '';
    public static string $dsn = '';
    public static string $apikey = '';
    public static string $apiKeys = '';
    public static string $APIKey = '';
    public static string $sess_id = '';
    public static string $cvv2 = '';
    public static string $otpCode = '';
    public static string $iban = '';
    public static string $customerSsn = '';
    public static string $mfa = '';
    public static string $HTTP_AUTHORIZATION = '';
    public static string $oauth2 = '';
    public static string $sessionId = '';
    public static string $salt = '';
    public static string $cardNumber = '';
    public static string $shopping = '';
    public static string $mapping = '';
    public static string $monkeys = '';
    public static string $discard = '';
    public static string $author = '';
    public static string $compass = '';
    public static string $bypass = '';
    public static string $passenger = '';
    public static string $keyboard = '';
    public static string $saltyBasalt = '';
    public static string $cardinal = '';
    public static string $spins = '';
    public static string $announcement = '';
    public static string $besides = '';
    public static string $privates = '';
}

class Vault
{
    public $context;

    public function stream_open(): bool
    {
        return true;
    }
}

$hidden = (object) [];
$shown = (object) [];
$texts = [
    'pgsql:host=db;user=app;password=swordfish;dbname=shop',
    'host=db user=app password=swordfish dbname=shop',
    'Authorization: Basic dXNlcjpwYXNz',
    'scheme Basic dXNlcjpwYXNz',
    'Authorization: Bearer abc',
    'Bearer swordfish abc',
    'as bearer swordfish',
    'PHPSESSID=516fff84; path=/; HttpOnly',
    "SET PASSWORD='swordfish'",
    '{"user":"bob","password":"swordfish"}',
    '{\"api_key\": \"swordfish\"}',
    "['secret' => 'swordfish']",
    '<dbPass>swordfish</dbPass>',
    'user=bob&pw=swordfish',
    'token%3Dswordfish',
    'X-Api-Key: swordfish',
    'pin = 4711',
    "-----BEGIN RSA PRIVATE KEY-----\nMIIE",
    'card 4111 1111 1111 6450 of Bob',
    'card 3714-496353-98431',
    'card no. 4111111111116450.',
    'account DE89 3704 0044 0532 0130 00',
    'GB29NWBK60161331926819 of Bob',
    'Hello bob@example.com, welcome',
    'App\\Mail bob@example.com',
    'bob%40example.com was here',
    'charge with sk_live_abcdefghijkl',
    'AWS AKIAIOSFODNNEXAMPLE',
    'of ghp_abcdefghijklmnopqrst',
    'slack xoxb-abcdefghijkl',
    'hash $2y$10$abcdefghijklmnopqrstuv',
    'sent eyJhbGciOiJIUzI.eyJzdWIiOiIx.x as is',
    'proxy http://bob:swordfish@proxy:8080/ is down',
    'http://bob:sword/fish@proxy/',
    'git clone https://swordfish@example/x',
    'see http://shop/?id=swordfish for more',
    '/login?swordfish',
    '../cart?page=2',
    'order 9f8a7b6c5d4e3f2a1b0c is late',
    'user:pa55word:db',
    'mysql://app:swordfish@db/shop',
    4111111111119738,
    4111111111119738.0,
    'Bearer ' . str_repeat('abc', 200),
    serialize(['password' => 'swordfish']),
    'pin|i:4711;',
    "CREATE USER bob IDENTIFIED BY 'swordfish'",
];
$legible = [
    'author of the book: Bob',
    'passenger: 3',
    'Password: ',
    'SELECT id, name FROM users WHERE password = ?',
    'UPDATE shop SET price = 3 WHERE id = 12',
    'Basic information',
    'basic Authentication',
    'App\\Security\\Session::start',
    'App\\Migrations\\Version20260101120000',
    'App\\UserController@show',
    'closure in /srv/app/src/Token.php:12',
    '2026-11-30 21:58:27',
    '2026-11-30T21:58:27+01:00',
    '0.12345600 1732999999',
    'pi is 3.14159265358979',
    'de_DE.UTF-8',
    'sk_SK.UTF-8',
    '/var/www/shop/index.php',
    'C:\\www\\shop',
    'https://shop.example/cart/12',
    'What? No: never',
    serialize(['name' => 'bob']),
    'Undefined array key "name"',
    'phones: 030 123456, 030 654321',
    'UTF-8',
    'call $app->session->id',
    'Größe: 3 µm',
    'кэш',
    "bad \xff byte",
    "two\nlines\u{202e}",
    '1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13',
    123456789012,
    9223372036854775807,
    0.5,
    1.0E+25,
    (int) ((time() + 8640000) * 1000),
    str_repeat('x', 47) . 'ü',
];
foreach ($texts as $number => $ignored) {
    $hidden->{"n$number"} = '';
}
foreach ($legible as $number => $ignored) {
    $shown->{"n$number"} = '';
}
$lists = (object) ['кэш' => [], 'лог' => [], "bad\xff" => [], 'App\Cache' => []];
$bearers = ['App\Cache' => [], 'Bearer abcDEF123ghi456' => []];
$users = ['user:42' => [], 'user:pa55word:db' => []];
$people = ['bob' => [], 'кэш' => [], 'bob of bob@example.com' => []];
$streams = (object) ['open' => []];
$target = (object) ['of' => ''];
stream_wrapper_register('vault', 'Vault');
$calls = 0;
$actions = [
    'texts' => function () use ($hidden, $texts) {
        foreach ($texts as $number => $text) {
            $hidden->{"n$number"} = $GLOBALS['calls'] % 2 ? $text : 'x';
        }
    },
    'legible' => function () use ($shown, $legible) {
        foreach ($legible as $number => $text) {
            $shown->{"n$number"} = $GLOBALS['calls'] % 2 ? $text : 'x';
        }
    },
    'names' => function () {
        foreach (array_keys(get_class_vars('Named')) as $name) {
            Named::$$name = $GLOBALS['calls'] % 2 ? 'swordfish' : 'x';
        }
    },
    'keys' => function () use ($lists) {
        foreach ($lists as $name => $list) {
            $lists->$name[] = 1;
        }
        foreach (['bearers', 'users', 'people'] as $name) {
            foreach ($GLOBALS[$name] as $key => $list) {
                $GLOBALS[$name][$key][] = 1;
            }
        }
    },
    'stream' => fn () => $streams->open[] = fopen('vault://bob:swordfish@127.0.0.1:80/api/9f8a7b6c5d4e3f2a1b0c?api_key=k3y', 'r'),
    'target' => fn () => $target->of = $GLOBALS['calls'] % 2 ? $_SERVER['REQUEST_URI'] : 'x',
    'process' => function () {
        putenv('DB_PASS=swordfish');
        putenv('SHOP_URL=pgsql:host=db;password=swordfish');
        putenv('SHOP_OF=' . $_GET['name']);
        putenv('SHOP=open');
        ini_set('user_agent', 'Bearer swordfish abc');
    },
];
while (frankenphp_handle_request(function () use ($actions) {
    $GLOBALS['calls']++;
    $actions[$_GET['do']]();
})) {
}
--HOWDAH--
worker {ROOT}/test.php
option keep 1023
option detect_leaks_sample 1
leak-allow $GLOBALS['calls']
show log
var REQUEST_URI /texts
var QUERY_STRING do=texts
run
run
run
wait-log $GLOBALS['hidden']->n46"
run
var REQUEST_URI /legible
var QUERY_STRING do=legible
run
run
run
wait-log $GLOBALS['shown']->n36"
run
var REQUEST_URI /names
var QUERY_STRING do=names
run
run
run
wait-log $privates
run
var REQUEST_URI /keys/9f8a7b6c5d4e3f2a1b0c
var QUERY_STRING do=keys
run
run
run
wait-log $GLOBALS['people']['(hidden)']
run
var REQUEST_URI /target?pw=sw%2521rd%2520fish
var QUERY_STRING do=target
run
run
run
wait-log ->of
var REQUEST_URI /stream
var QUERY_STRING do=stream
run
run
run
wait-log "path":"Vault"
var REQUEST_URI /process
var QUERY_STRING do=process&name=alice4711
run
wait-log "path":"SHOP"
stop
--EXPECTF--
[log l 3] {"kind":"object property",%s"path":"$GLOBALS['hidden']->n0",%S"value":"(hidden)",%s"uri":"/texts"}
[log l 3] {"kind":"object property",%s"path":"$GLOBALS['hidden']->n1",%S"value":"(hidden)",%s"uri":"/texts"}
[log l 3] {"kind":"object property",%s"path":"$GLOBALS['hidden']->n2",%S"value":"(hidden)",%s"uri":"/texts"}
[log l 3] {"kind":"object property",%s"path":"$GLOBALS['hidden']->n3",%S"value":"(hidden)",%s"uri":"/texts"}
[log l 3] {"kind":"object property",%s"path":"$GLOBALS['hidden']->n4",%S"value":"(hidden)",%s"uri":"/texts"}
[log l 3] {"kind":"object property",%s"path":"$GLOBALS['hidden']->n5",%S"value":"(hidden)",%s"uri":"/texts"}
[log l 3] {"kind":"object property",%s"path":"$GLOBALS['hidden']->n6",%S"value":"(hidden)",%s"uri":"/texts"}
[log l 3] {"kind":"object property",%s"path":"$GLOBALS['hidden']->n7",%S"value":"(hidden)",%s"uri":"/texts"}
[log l 3] {"kind":"object property",%s"path":"$GLOBALS['hidden']->n8",%S"value":"(hidden)",%s"uri":"/texts"}
[log l 3] {"kind":"object property",%s"path":"$GLOBALS['hidden']->n9",%S"value":"(hidden)",%s"uri":"/texts"}
[log l 3] {"kind":"object property",%s"path":"$GLOBALS['hidden']->n10",%S"value":"(hidden)",%s"uri":"/texts"}
[log l 3] {"kind":"object property",%s"path":"$GLOBALS['hidden']->n11",%S"value":"(hidden)",%s"uri":"/texts"}
[log l 3] {"kind":"object property",%s"path":"$GLOBALS['hidden']->n12",%S"value":"(hidden)",%s"uri":"/texts"}
[log l 3] {"kind":"object property",%s"path":"$GLOBALS['hidden']->n13",%S"value":"(hidden)",%s"uri":"/texts"}
[log l 3] {"kind":"object property",%s"path":"$GLOBALS['hidden']->n14",%S"value":"(hidden)",%s"uri":"/texts"}
[log l 3] {"kind":"object property",%s"path":"$GLOBALS['hidden']->n15",%S"value":"(hidden)",%s"uri":"/texts"}
[log l 3] {"kind":"object property",%s"path":"$GLOBALS['hidden']->n16",%S"value":"(hidden)",%s"uri":"/texts"}
[log l 3] {"kind":"object property",%s"path":"$GLOBALS['hidden']->n17",%S"value":"(hidden)",%s"uri":"/texts"}
[log l 3] {"kind":"object property",%s"path":"$GLOBALS['hidden']->n18",%S"value":"(hidden)",%s"uri":"/texts"}
[log l 3] {"kind":"object property",%s"path":"$GLOBALS['hidden']->n19",%S"value":"(hidden)",%s"uri":"/texts"}
[log l 3] {"kind":"object property",%s"path":"$GLOBALS['hidden']->n20",%S"value":"(hidden)",%s"uri":"/texts"}
[log l 3] {"kind":"object property",%s"path":"$GLOBALS['hidden']->n21",%S"value":"(hidden)",%s"uri":"/texts"}
[log l 3] {"kind":"object property",%s"path":"$GLOBALS['hidden']->n22",%S"value":"(hidden)",%s"uri":"/texts"}
[log l 3] {"kind":"object property",%s"path":"$GLOBALS['hidden']->n23",%S"value":"(hidden)",%s"uri":"/texts"}
[log l 3] {"kind":"object property",%s"path":"$GLOBALS['hidden']->n24",%S"value":"(hidden)",%s"uri":"/texts"}
[log l 3] {"kind":"object property",%s"path":"$GLOBALS['hidden']->n25",%S"value":"(hidden)",%s"uri":"/texts"}
[log l 3] {"kind":"object property",%s"path":"$GLOBALS['hidden']->n26",%S"value":"(hidden)",%s"uri":"/texts"}
[log l 3] {"kind":"object property",%s"path":"$GLOBALS['hidden']->n27",%S"value":"(hidden)",%s"uri":"/texts"}
[log l 3] {"kind":"object property",%s"path":"$GLOBALS['hidden']->n28",%S"value":"(hidden)",%s"uri":"/texts"}
[log l 3] {"kind":"object property",%s"path":"$GLOBALS['hidden']->n29",%S"value":"(hidden)",%s"uri":"/texts"}
[log l 3] {"kind":"object property",%s"path":"$GLOBALS['hidden']->n30",%S"value":"(hidden)",%s"uri":"/texts"}
[log l 3] {"kind":"object property",%s"path":"$GLOBALS['hidden']->n31",%S"value":"(hidden)",%s"uri":"/texts"}
[log l 3] {"kind":"object property",%s"path":"$GLOBALS['hidden']->n32",%S"value":"(hidden)",%s"uri":"/texts"}
[log l 3] {"kind":"object property",%s"path":"$GLOBALS['hidden']->n33",%S"value":"(hidden)",%s"uri":"/texts"}
[log l 3] {"kind":"object property",%s"path":"$GLOBALS['hidden']->n34",%S"value":"(hidden)",%s"uri":"/texts"}
[log l 3] {"kind":"object property",%s"path":"$GLOBALS['hidden']->n35",%S"value":"(hidden)",%s"uri":"/texts"}
[log l 3] {"kind":"object property",%s"path":"$GLOBALS['hidden']->n36",%S"value":"(hidden)",%s"uri":"/texts"}
[log l 3] {"kind":"object property",%s"path":"$GLOBALS['hidden']->n37",%S"value":"(hidden)",%s"uri":"/texts"}
[log l 3] {"kind":"object property",%s"path":"$GLOBALS['hidden']->n38",%S"value":"(hidden)",%s"uri":"/texts"}
[log l 3] {"kind":"object property",%s"path":"$GLOBALS['hidden']->n39",%S"value":"(hidden)",%s"uri":"/texts"}
[log l 3] {"kind":"object property",%s"path":"$GLOBALS['hidden']->n40",%S"value":"(hidden)",%s"uri":"/texts"}
[log l 3] {"kind":"object property",%s"path":"$GLOBALS['hidden']->n41",%S"value":"(hidden)",%s"uri":"/texts"}
[log l 3] {"kind":"object property",%s"path":"$GLOBALS['hidden']->n42",%S"value":"(hidden)",%s"uri":"/texts"}
[log l 3] {"kind":"object property",%s"path":"$GLOBALS['hidden']->n43",%S"value":"(hidden)",%s"uri":"/texts"}
[log l 3] {"kind":"object property",%s"path":"$GLOBALS['hidden']->n44",%S"value":"(hidden)",%s"uri":"/texts"}
[log l 3] {"kind":"object property",%s"path":"$GLOBALS['hidden']->n45",%S"value":"(hidden)",%s"uri":"/texts"}
[log l 3] {"kind":"object property",%s"path":"$GLOBALS['hidden']->n46",%S"value":"(hidden)",%s"uri":"/texts"}




[log l 7] {"kind":"object property",%s"path":"$GLOBALS['shown']->n0",%S"value":"\"author of the book: Bob\"",%s"uri":"/legible"}
[log l 7] {"kind":"object property",%s"path":"$GLOBALS['shown']->n1",%S"value":"\"passenger: 3\"",%s"uri":"/legible"}
[log l 7] {"kind":"object property",%s"path":"$GLOBALS['shown']->n2",%S"value":"\"Password: \"",%s"uri":"/legible"}
[log l 7] {"kind":"object property",%s"path":"$GLOBALS['shown']->n3",%S"value":"\"SELECT id, name FROM users WHERE password = ?\"",%s"uri":"/legible"}
[log l 7] {"kind":"object property",%s"path":"$GLOBALS['shown']->n4",%S"value":"\"UPDATE shop SET price = 3 WHERE id = 12\"",%s"uri":"/legible"}
[log l 7] {"kind":"object property",%s"path":"$GLOBALS['shown']->n5",%S"value":"\"Basic information\"",%s"uri":"/legible"}
[log l 7] {"kind":"object property",%s"path":"$GLOBALS['shown']->n6",%S"value":"\"basic Authentication\"",%s"uri":"/legible"}
[log l 7] {"kind":"object property",%s"path":"$GLOBALS['shown']->n7",%S"value":"\"App\\Security\\Session::start\"",%s"uri":"/legible"}
[log l 7] {"kind":"object property",%s"path":"$GLOBALS['shown']->n8",%S"value":"\"App\\Migrations\\Version20260101120000\"",%s"uri":"/legible"}
[log l 7] {"kind":"object property",%s"path":"$GLOBALS['shown']->n9",%S"value":"\"App\\UserController@show\"",%s"uri":"/legible"}
[log l 7] {"kind":"object property",%s"path":"$GLOBALS['shown']->n10",%S"value":"\"closure in /srv/app/src/Token.php:12\"",%s"uri":"/legible"}
[log l 7] {"kind":"object property",%s"path":"$GLOBALS['shown']->n11",%S"value":"\"2026-11-30 21:58:27\"",%s"uri":"/legible"}
[log l 7] {"kind":"object property",%s"path":"$GLOBALS['shown']->n12",%S"value":"\"2026-11-30T21:58:27+01:00\"",%s"uri":"/legible"}
[log l 7] {"kind":"object property",%s"path":"$GLOBALS['shown']->n13",%S"value":"\"0.12345600 1732999999\"",%s"uri":"/legible"}
[log l 7] {"kind":"object property",%s"path":"$GLOBALS['shown']->n14",%S"value":"\"pi is 3.14159265358979\"",%s"uri":"/legible"}
[log l 7] {"kind":"object property",%s"path":"$GLOBALS['shown']->n15",%S"value":"\"de_DE.UTF-8\"",%s"uri":"/legible"}
[log l 7] {"kind":"object property",%s"path":"$GLOBALS['shown']->n16",%S"value":"\"sk_SK.UTF-8\"",%s"uri":"/legible"}
[log l 7] {"kind":"object property",%s"path":"$GLOBALS['shown']->n17",%S"value":"\"/var/www/shop/index.php\"",%s"uri":"/legible"}
[log l 7] {"kind":"object property",%s"path":"$GLOBALS['shown']->n18",%S"value":"\"C:\\www\\shop\"",%s"uri":"/legible"}
[log l 7] {"kind":"object property",%s"path":"$GLOBALS['shown']->n19",%S"value":"\"https://shop.example/cart/12\"",%s"uri":"/legible"}
[log l 7] {"kind":"object property",%s"path":"$GLOBALS['shown']->n20",%S"value":"\"What? No: never\"",%s"uri":"/legible"}
[log l 7] {"kind":"object property",%s"path":"$GLOBALS['shown']->n21",%S"value":"\"a:1:{s:4:\"name\";s:3:\"bob\";}\"",%s"uri":"/legible"}
[log l 7] {"kind":"object property",%s"path":"$GLOBALS['shown']->n22",%S"value":"\"Undefined array key \"name\"\"",%s"uri":"/legible"}
[log l 7] {"kind":"object property",%s"path":"$GLOBALS['shown']->n23",%S"value":"\"phones: 030 123456, 030 654321\"",%s"uri":"/legible"}
[log l 7] {"kind":"object property",%s"path":"$GLOBALS['shown']->n24",%S"value":"\"UTF-8\"",%s"uri":"/legible"}
[log l 7] {"kind":"object property",%s"path":"$GLOBALS['shown']->n25",%S"value":"\"call $app->session->id\"",%s"uri":"/legible"}
[log l 7] {"kind":"object property",%s"path":"$GLOBALS['shown']->n26",%S"value":"\"Größe: 3 µm\"",%s"uri":"/legible"}
[log l 7] {"kind":"object property",%s"path":"$GLOBALS['shown']->n27",%S"value":"\"кэш\"",%s"uri":"/legible"}
[log l 7] {"kind":"object property",%s"path":"$GLOBALS['shown']->n28",%S"value":"\"bad ? byte\"",%s"uri":"/legible"}
[log l 7] {"kind":"object property",%s"path":"$GLOBALS['shown']->n29",%S"value":"\"two?lines???\"",%s"uri":"/legible"}
[log l 7] {"kind":"object property",%s"path":"$GLOBALS['shown']->n30",%S"value":"\"1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13\"",%s"uri":"/legible"}
[log l 7] {"kind":"object property",%s"path":"$GLOBALS['shown']->n31",%S"value":"123456789012",%s"uri":"/legible"}
[log l 7] {"kind":"object property",%s"path":"$GLOBALS['shown']->n32",%S"value":"9223372036854775807",%s"uri":"/legible"}
[log l 7] {"kind":"object property",%s"path":"$GLOBALS['shown']->n33",%S"value":"0.5",%s"uri":"/legible"}
[log l 7] {"kind":"object property",%s"path":"$GLOBALS['shown']->n34",%S"value":"1.0000000000000001e+25",%s"uri":"/legible"}
[log l 7] {"kind":"object property",%s"path":"$GLOBALS['shown']->n35",%S"value":"%d",%s"uri":"/legible"}
[log l 7] {"kind":"object property",%s"path":"$GLOBALS['shown']->n36",%S"value":"\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...\" (49 bytes)",%s"uri":"/legible"}




[log l 11] {"kind":"static property",%s"path":"Named::$dbPass",%S"value":"(hidden)",%s"uri":"/names"}
[log l 11] {"kind":"static property",%s"path":"Named::$dbpass",%S"value":"(hidden)",%s"uri":"/names"}
[log l 11] {"kind":"static property",%s"path":"Named::$db_pass",%S"value":"(hidden)",%s"uri":"/names"}
[log l 11] {"kind":"static property",%s"path":"Named::$DBPass",%S"value":"(hidden)",%s"uri":"/names"}
[log l 11] {"kind":"static property",%s"path":"Named::$pass2",%S"value":"(hidden)",%s"uri":"/names"}
[log l 11] {"kind":"static property",%s"path":"Named::$userPasswords",%S"value":"(hidden)",%s"uri":"/names"}
[log l 11] {"kind":"static property",%s"path":"Named::$pwd",%S"value":"(hidden)",%s"uri":"/names"}
[log l 11] {"kind":"static property",%s"path":"Named::$smtpPwd",%S"value":"(hidden)",%s"uri":"/names"}
[log l 11] {"kind":"static property",%s"path":"Named::$PHP_AUTH_PW",%S"value":"(hidden)",%s"uri":"/names"}
[log l 11] {"kind":"static property",%s"path":"Named::$dsn",%S"value":"(hidden)",%s"uri":"/names"}
[log l 11] {"kind":"static property",%s"path":"Named::$apikey",%S"value":"(hidden)",%s"uri":"/names"}
[log l 11] {"kind":"static property",%s"path":"Named::$apiKeys",%S"value":"(hidden)",%s"uri":"/names"}
[log l 11] {"kind":"static property",%s"path":"Named::$APIKey",%S"value":"(hidden)",%s"uri":"/names"}
[log l 11] {"kind":"static property",%s"path":"Named::$sess_id",%S"value":"(hidden)",%s"uri":"/names"}
[log l 11] {"kind":"static property",%s"path":"Named::$cvv2",%S"value":"(hidden)",%s"uri":"/names"}
[log l 11] {"kind":"static property",%s"path":"Named::$otpCode",%S"value":"(hidden)",%s"uri":"/names"}
[log l 11] {"kind":"static property",%s"path":"Named::$iban",%S"value":"(hidden)",%s"uri":"/names"}
[log l 11] {"kind":"static property",%s"path":"Named::$customerSsn",%S"value":"(hidden)",%s"uri":"/names"}
[log l 11] {"kind":"static property",%s"path":"Named::$mfa",%S"value":"(hidden)",%s"uri":"/names"}
[log l 11] {"kind":"static property",%s"path":"Named::$HTTP_AUTHORIZATION",%S"value":"(hidden)",%s"uri":"/names"}
[log l 11] {"kind":"static property",%s"path":"Named::$oauth2",%S"value":"(hidden)",%s"uri":"/names"}
[log l 11] {"kind":"static property",%s"path":"Named::$sessionId",%S"value":"(hidden)",%s"uri":"/names"}
[log l 11] {"kind":"static property",%s"path":"Named::$salt",%S"value":"(hidden)",%s"uri":"/names"}
[log l 11] {"kind":"static property",%s"path":"Named::$cardNumber",%S"value":"(hidden)",%s"uri":"/names"}
[log l 11] {"kind":"static property",%s"path":"Named::$shopping",%S"value":"\"swordfish\"",%s"uri":"/names"}
[log l 11] {"kind":"static property",%s"path":"Named::$mapping",%S"value":"\"swordfish\"",%s"uri":"/names"}
[log l 11] {"kind":"static property",%s"path":"Named::$monkeys",%S"value":"\"swordfish\"",%s"uri":"/names"}
[log l 11] {"kind":"static property",%s"path":"Named::$discard",%S"value":"\"swordfish\"",%s"uri":"/names"}
[log l 11] {"kind":"static property",%s"path":"Named::$author",%S"value":"\"swordfish\"",%s"uri":"/names"}
[log l 11] {"kind":"static property",%s"path":"Named::$compass",%S"value":"\"swordfish\"",%s"uri":"/names"}
[log l 11] {"kind":"static property",%s"path":"Named::$bypass",%S"value":"\"swordfish\"",%s"uri":"/names"}
[log l 11] {"kind":"static property",%s"path":"Named::$passenger",%S"value":"\"swordfish\"",%s"uri":"/names"}
[log l 11] {"kind":"static property",%s"path":"Named::$keyboard",%S"value":"\"swordfish\"",%s"uri":"/names"}
[log l 11] {"kind":"static property",%s"path":"Named::$saltyBasalt",%S"value":"\"swordfish\"",%s"uri":"/names"}
[log l 11] {"kind":"static property",%s"path":"Named::$cardinal",%S"value":"\"swordfish\"",%s"uri":"/names"}
[log l 11] {"kind":"static property",%s"path":"Named::$spins",%S"value":"\"swordfish\"",%s"uri":"/names"}
[log l 11] {"kind":"static property",%s"path":"Named::$announcement",%S"value":"\"swordfish\"",%s"uri":"/names"}
[log l 11] {"kind":"static property",%s"path":"Named::$besides",%S"value":"\"swordfish\"",%s"uri":"/names"}
[log l 11] {"kind":"static property",%s"path":"Named::$privates",%S"value":"\"swordfish\"",%s"uri":"/names"}




[log l 15] {"kind":"object property",%s"path":"$GLOBALS['lists']->кэш",%S"value":"array(3)",%s"uri":"/keys/(hidden)"}
[log l 15] {"kind":"object property",%s"path":"$GLOBALS['lists']->лог",%S"value":"array(3)",%s"uri":"/keys/(hidden)"}
[log l 15] {"kind":"object property",%s"path":"$GLOBALS['lists']->bad?",%S"value":"array(3)",%s"uri":"/keys/(hidden)"}
[log l 15] {"kind":"object property",%s"path":"$GLOBALS['lists']->App\\Cache",%S"value":"array(3)",%s"uri":"/keys/(hidden)"}
[log l 15] {"kind":"global variable",%s"path":"$GLOBALS['bearers']['App\\Cache']",%S"value":"array(3)",%s"uri":"/keys/(hidden)"}
[log l 15] {"kind":"global variable",%s"path":"$GLOBALS['bearers']['(hidden)']",%S"value":"array(3)",%s"uri":"/keys/(hidden)"}
[log l 15] {"kind":"global variable",%s"path":"$GLOBALS['users']['user:42']",%S"value":"array(3)",%s"uri":"/keys/(hidden)"}
[log l 15] {"kind":"global variable",%s"path":"$GLOBALS['users']['(hidden)']",%S"value":"array(3)",%s"uri":"/keys/(hidden)"}
[log l 15] {"kind":"global variable",%s"path":"$GLOBALS['people']['bob']",%S"value":"array(3)",%s"uri":"/keys/(hidden)"}
[log l 15] {"kind":"global variable",%s"path":"$GLOBALS['people']['кэш']",%S"value":"array(3)",%s"uri":"/keys/(hidden)"}
[log l 15] {"kind":"global variable",%s"path":"$GLOBALS['people']['(hidden)']",%S"value":"array(3)",%s"uri":"/keys/(hidden)"}




[log l 19] {"kind":"object property",%s"path":"$GLOBALS['target']->of",%S"value":"(hidden)",%s"uri":"/target"}



[log l 22] {"kind":"object property",%s"path":"$GLOBALS['streams']->open",%S"value":"array(3)",%s"uri":"/stream"}
[log l 22] {"kind":"stream",%s"path":"open streams",%S"value":"vault://127.0.0.1:80/api/(hidden)",%s"uri":"/stream"}
[log l 22] {"kind":"objects",%s"path":"Vault",%S"value":"3 objects",%s"uri":"/stream"}

[log l 23] {"kind":"ini setting",%s"path":"user_agent",%S"value":"(hidden)",%s"uri":"/process"}
[log l 23] {"kind":"environment variable",%s"path":"DB_PASS",%S"value":"(hidden)",%s"uri":"/process"}
[log l 23] {"kind":"environment variable",%s"path":"SHOP_URL",%S"value":"(hidden)",%s"uri":"/process"}
[log l 23] {"kind":"environment variable",%s"path":"SHOP_OF",%S"value":"(hidden)",%s"uri":"/process"}
[log l 23] {"kind":"environment variable",%s"path":"SHOP",%S"value":"open",%s"uri":"/process"}
