--TEST--
Coroutines: requests that load one WSDL at once, to be kept in memory, each have a description
--EXTENSIONS--
soap
--FILE--
<?php
file_put_contents(__DIR__ . '/server.php', <<<'PHP'
    <?php
    /* Answers each request with a description, later for the first connections. */
    $s = stream_socket_server('tcp://127.0.0.1:0');
    fwrite(STDOUT, stream_socket_get_name($s, false) . "\n");
    fclose(STDOUT);
    $wsdl = file_get_contents(__DIR__ . '/test.wsdl');
    $head = "HTTP/1.0 200 OK\r\nContent-Type: text/xml\r\nContent-Length: " . strlen($wsdl) . "\r\n\r\n";
    $clients = [];
    while ($c = @stream_socket_accept($s, 60)) {
        $clients[] = $c;
        if (count($clients) < 2) {
            continue;
        }
        foreach ($clients as $c) {
            while (trim(fgets($c)) !== '');
            fwrite($c, $head . $wsdl);
            fclose($c);
        }
        $clients = [];
    }
    PHP);
file_put_contents(__DIR__ . '/test.wsdl', <<<'XML'
    <?xml version="1.0"?>
    <definitions xmlns="http://schemas.xmlsoap.org/wsdl/" xmlns:soap="http://schemas.xmlsoap.org/wsdl/soap/"
     xmlns:xsd="http://www.w3.org/2001/XMLSchema" xmlns:t="urn:t" targetNamespace="urn:t" name="T">
     <message name="In"><part name="n" type="xsd:int"/></message>
     <message name="Out"><part name="r" type="xsd:string"/></message>
     <portType name="P"><operation name="visit"><input message="t:In"/><output message="t:Out"/></operation></portType>
     <binding name="B" type="t:P"><soap:binding style="rpc" transport="http://schemas.xmlsoap.org/soap/http"/>
      <operation name="visit"><soap:operation soapAction="v"/><input><soap:body use="literal" namespace="urn:t"/></input>
      <output><soap:body use="literal" namespace="urn:t"/></output></operation></binding>
     <service name="S"><port name="Q" binding="t:B"><soap:address location="http://127.0.0.1:1/"/></port></service>
    </definitions>
    XML);
$server = proc_open([PHP_BINDIR . '/php', __DIR__ . '/server.php'], [1 => ['pipe', 'w']], $pipes);
$wsdl = 'http://' . trim(fgets($pipes[1])) . '/';
$place = new stdClass();
$place->made = 0;
while (frankenphp_handle_request(static function () use ($wsdl, $place) {
    $client = new SoapClient($wsdl, ['cache_wsdl' => WSDL_CACHE_MEMORY]);
    $place->made++;
    while ($place->made < 2) {
        usleep(500);
    }
    echo implode(', ', $client->__getFunctions());
})) {
}
proc_terminate($server);
--HOWDAH--
option concurrency 2
worker {ROOT}/test.php
push one
push two
await one
await two
stop
--EXPECT--
one: string visit(int $n)
two: string visit(int $n)
