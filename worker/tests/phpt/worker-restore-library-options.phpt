--TEST--
Worker mode: a request's global options of libldap and net-snmp are restored after it
--EXTENSIONS--
ldap
snmp
--FILE--
<?php
ldap_set_option(null, LDAP_OPT_TIMELIMIT, 77);
snmp_set_oid_output_format(SNMP_OID_OUTPUT_FULL);
while (frankenphp_handle_request(static function () {
    $link = ldap_connect('ldap://127.0.0.1:1');
    foreach ([LDAP_OPT_TIMELIMIT, LDAP_OPT_TIMEOUT, LDAP_OPT_X_TLS_CACERTFILE] as $option) {
        echo json_encode(ldap_get_option($link, $option, $value) ? $value : null), ' ';
    }
    $snmp = new SNMP(SNMP::VERSION_2C, '127.0.0.1:1', 'public', 1000, 0);
    echo json_encode([snmp_get_valueretrieval(), snmp_get_quick_print(), $snmp->enum_print, $snmp->oid_output_format]);
    ldap_set_option(null, LDAP_OPT_TIMELIMIT, 1);
    ldap_set_option(null, LDAP_OPT_TIMEOUT, 2);
    ldap_set_option(null, LDAP_OPT_X_TLS_CACERTFILE, '/nowhere');
    snmp_set_valueretrieval(SNMP_VALUE_PLAIN);
    snmp_set_quick_print(true);
    snmp_set_enum_print(true);
    snmp_set_oid_output_format(SNMP_OID_OUTPUT_NUMERIC);
})) {
}
--HOWDAH--
worker {ROOT}/test.php
run
run
--EXPECT--
77 null null [0,false,false,3]
77 null null [0,false,false,3]
