--TEST--
Worker mode: exit() in a method of a SOAP server ends the request as in PHP-FPM, without a SOAP fault
--EXTENSIONS--
soap
--FILE--
<?php
final class Service
{
    public function leave(): void
    {
        try {
            exit('left');
        } finally {
            echo ', finally';
        }
    }
}

while (frankenphp_handle_request(static function () {
    $server = new SoapServer(null, ['uri' => 'urn:test']);
    $server->setClass(Service::class);
    $server->handle('<e:Envelope xmlns:e="http://schemas.xmlsoap.org/soap/envelope/"><e:Body>'
        . '<leave xmlns="urn:test"/></e:Body></e:Envelope>');
})) {
}
--HOWDAH--
worker {ROOT}/test.php
show log exit
run
run
stop
--EXPECT--
left, finally
left, finally
[worker exited with status 0]
