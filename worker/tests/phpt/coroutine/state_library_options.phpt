--TEST--
Coroutines: a request's global options of libldap and net-snmp are private to it
--EXTENSIONS--
ldap
snmp
--FILE--
<?php
final class Options
{
    /** @return list<mixed> of a new handle, which begins with the library's */
    public static function now(): array
    {
        $link = ldap_connect('ldap://127.0.0.1:1');
        $values = [];
        foreach ([LDAP_OPT_SIZELIMIT, LDAP_OPT_REFERRALS, LDAP_OPT_NETWORK_TIMEOUT, LDAP_OPT_X_TLS_REQUIRE_CERT] as $option) {
            $values[] = ldap_get_option($link, $option, $value) ? $value : null;
        }
        $snmp = new SNMP(SNMP::VERSION_2C, '127.0.0.1:1', 'public', 1000, 0);
        return [...$values, $snmp->valueretrieval, $snmp->quick_print, $snmp->enum_print, $snmp->oid_output_format];
    }

    public static function set(int $n): void
    {
        ldap_set_option(null, LDAP_OPT_SIZELIMIT, $n);
        ldap_set_option(null, LDAP_OPT_REFERRALS, $n % 2 === 0);
        ldap_set_option(null, LDAP_OPT_NETWORK_TIMEOUT, $n);
        ldap_set_option(null, LDAP_OPT_X_TLS_REQUIRE_CERT, $n % 2 ? LDAP_OPT_X_TLS_NEVER : LDAP_OPT_X_TLS_TRY);
        snmp_set_valueretrieval($n % 2 ? SNMP_VALUE_PLAIN : SNMP_VALUE_OBJECT);
        snmp_set_quick_print($n % 2 === 1);
        snmp_set_enum_print($n % 2 === 1);
        snmp_set_oid_output_format($n % 2 ? SNMP_OID_OUTPUT_NUMERIC : SNMP_OID_OUTPUT_FULL);
    }
}

ldap_set_option(null, LDAP_OPT_SIZELIMIT, 77);
snmp_set_quick_print(true);
$boot = Options::now();
$here = 0;
while (frankenphp_handle_request(static function () use ($boot, &$here) {
    $meet = static function (int $count) use (&$here) {
        for ($here++; $here < $count;) {
            usleep(1000);
        }
    };
    $n = (int) $_GET['n'];
    $changed = static fn () => json_encode(array_diff_assoc(Options::now(), $boot));
    echo $changed(), "\n";
    $meet(3);
    if ($n > 0) {
        Options::set($n);
    }
    $meet(6);
    echo $changed(), "\n";
    $meet(9);
    if ($n === 2) {
        ldap_set_option(null, LDAP_OPT_SIZELIMIT, 22);
        snmp_set_quick_print(true);
    }
    $meet(12);
    echo $changed(), "\n";
})) {
}
--HOWDAH--
option concurrency 4
worker {ROOT}/test.php
var QUERY_STRING n=0
push none
var QUERY_STRING n=1
push one
var QUERY_STRING n=2
push two
await none
await one
await two
--EXPECT--
none: []
[]
[]

one: []
{"0":1,"1":0,"2":1,"3":0,"4":1,"6":true,"7":4}
{"0":1,"1":0,"2":1,"3":0,"4":1,"6":true,"7":4}

two: []
{"0":2,"2":2,"3":4,"4":2,"5":false,"7":3}
{"0":22,"2":2,"3":4,"4":2,"7":3}
