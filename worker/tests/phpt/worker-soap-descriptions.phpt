--TEST--
Worker mode: a SOAP client or server of the boot has its description when ext/soap has removed it from memory
--EXTENSIONS--
soap
--INI--
soap.wsdl_cache_limit=2
--FILE--
<?php
function describe(string $name): string
{
    file_put_contents(__DIR__ . "/$name.wsdl", <<<XML
        <?xml version="1.0"?>
        <definitions xmlns="http://schemas.xmlsoap.org/wsdl/" xmlns:soap="http://schemas.xmlsoap.org/wsdl/soap/"
         xmlns:xsd="http://www.w3.org/2001/XMLSchema" xmlns:t="urn:t" targetNamespace="urn:t" name="T">
         <message name="In"><part name="n" type="xsd:int"/></message>
         <message name="Out"><part name="r" type="xsd:string"/></message>
         <portType name="P"><operation name="$name"><input message="t:In"/><output message="t:Out"/></operation></portType>
         <binding name="B" type="t:P"><soap:binding style="rpc" transport="http://schemas.xmlsoap.org/soap/http"/>
          <operation name="$name"><soap:operation soapAction="v"/><input><soap:body use="literal" namespace="urn:t"/></input>
          <output><soap:body use="literal" namespace="urn:t"/></output></operation></binding>
         <service name="S"><port name="Q" binding="t:B"><soap:address location="http://127.0.0.1:1/"/></port></service>
        </definitions>
        XML);
    return __DIR__ . "/$name.wsdl";
}

function called($n)
{
    return "called with $n";
}

$memory = ['cache_wsdl' => WSDL_CACHE_MEMORY];
$client = new SoapClient(describe('visit'), $memory);
$server = new SoapServer(describe('called'), $memory);
$server->addFunction('called');
$made = time();
while (frankenphp_handle_request(static function () use ($client, $server, $memory, $made) {
    while (time() === $made) {
        usleep(1000); // only those of an earlier second are removed
    }
    foreach (['a', 'b', 'c'] as $name) {
        echo implode(', ', (new SoapClient(describe($name), $memory))->__getFunctions()), "\n";
    }
    echo implode(', ', $client->__getFunctions()), "\n";
    ob_start();
    $server->handle('<e:Envelope xmlns:e="http://schemas.xmlsoap.org/soap/envelope/"><e:Body>'
        . '<t:called xmlns:t="urn:t"><n>1</n></t:called></e:Body></e:Envelope>');
    echo strip_tags(ob_get_clean());
})) {
}
--HOWDAH--
worker {ROOT}/test.php
push one
await one
push two
await two
stop
--EXPECT--
one: string a(int $n)
string b(int $n)
string c(int $n)
string visit(int $n)

called with 1

two: string a(int $n)
string b(int $n)
string c(int $n)
string visit(int $n)

called with 1
