--TEST--
Coroutines: state of a SOAP call is private to the request, or the coroutine, that makes it
--SKIPIF--
<?php
if (!extension_loaded('soap')) {
    echo 'skip soap is not loaded';
}
--FILE--
<?php
use function Howdah\all;

file_put_contents(__DIR__ . '/server.php', <<<'PHP'
    <?php
    /* Keeps calls until somebody asks for /answer?N when there are N; /asked?N tells when there are N. */
    $s = stream_socket_server('tcp://127.0.0.1:0');
    fwrite(STDOUT, stream_socket_get_name($s, false) . "\n");
    fclose(STDOUT);
    $reply = static function ($c, string $body) {
        $length = strlen($body);
        fwrite($c, "HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nContent-Length: $length\r\nConnection: close\r\n\r\n$body");
        fclose($c);
    };
    $envelope = 'http://schemas.xmlsoap.org/soap/envelope/';
    $thing = "<e:Envelope xmlns:e=\"$envelope\" xmlns:t=\"urn:things\"><e:Body><t:askResponse>"
        . '<return><n>7</n></return></t:askResponse></e:Body></e:Envelope>';
    $calls = $watchers = [];
    while ($c = @stream_socket_accept($s, 60)) {
        $path = explode(' ', fgets($c))[1];
        $length = 0;
        while (($line = trim(fgets($c))) !== '') {
            sscanf(strtolower($line), 'content-length: %d', $length);
        }
        if ($length > 0) {
            stream_get_contents($c, $length);
            $calls[] = $c;
        } else {
            $watchers[] = [$c, ...explode('?', $path)];
        }
        foreach ($watchers as $i => [$watcher, $what, $count]) {
            if (count($calls) < (int) $count) {
                continue;
            }
            if ($what === '/answer') {
                foreach ($calls as $call) {
                    $reply($call, $thing);
                }
                $calls = [];
            }
            $reply($watcher, 'yes');
            unset($watchers[$i]);
        }
    }
    PHP);

final class OfOne
{
    public int $n;
}
final class OfOther
{
    public int $n;
}

$address = $server = null;
howdah_after_fork(static function () use (&$address, &$server) {
    $server = proc_open([trim(shell_exec('command -v php')), '-n', __DIR__ . '/server.php'], [1 => ['pipe', 'w']], $pipes);
    $address = 'http://' . trim(fgets($pipes[1]));
});
while (frankenphp_handle_request(static function () use (&$address) {
    $tell = static fn (string $what): string => file_get_contents("$address/$what");
    $call = static function (string $class) use (&$address): string {
        $client = new SoapClient(__DIR__ . '/things.wsdl', [
            'location' => $address,
            'cache_wsdl' => WSDL_CACHE_NONE,
            'classmap' => ['Thing' => $class],
            'soap_version' => SOAP_1_2,
            'keep_alive' => false,
        ]);
        return get_class($client->ask());
    };
    $namespace = static fn (): string => (new SoapFault('Client', 'none'))->faultcodens;
    switch ($_GET['do']) {
        case 'call':
            echo $call($_GET['class']);
            break;
        case 'tell':
            echo $tell($_GET['what']);
            break;
        case 'throw':
            throw new DomainException('of no call');
        case 'warn':
            echo $_GET['nothing'], $namespace();
            break;
        case 'children':
            echo implode(' ', all([
                static fn () => $call(OfOne::class),
                static fn () => $call(OfOther::class),
                static function () use ($tell, $namespace) {
                    $tell('asked?2');
                    $fault = $namespace();
                    $tell('answer?2');
                    return $fault;
                },
            ]));
    }
})) {
}
proc_terminate($server);
--FILE things.wsdl--
<?xml version="1.0"?>
<definitions name="Things" targetNamespace="urn:things" xmlns="http://schemas.xmlsoap.org/wsdl/"
    xmlns:soap="http://schemas.xmlsoap.org/wsdl/soap/" xmlns:t="urn:things" xmlns:xsd="http://www.w3.org/2001/XMLSchema">
  <types>
    <xsd:schema targetNamespace="urn:things">
      <xsd:complexType name="Thing">
        <xsd:sequence><xsd:element name="n" type="xsd:int"/></xsd:sequence>
      </xsd:complexType>
    </xsd:schema>
  </types>
  <message name="askRequest"/>
  <message name="askResponse"><part name="return" type="t:Thing"/></message>
  <portType name="Things">
    <operation name="ask"><input message="t:askRequest"/><output message="t:askResponse"/></operation>
  </portType>
  <binding name="Things" type="t:Things">
    <soap:binding style="rpc" transport="http://schemas.xmlsoap.org/soap/http"/>
    <operation name="ask">
      <soap:operation soapAction=""/>
      <input><soap:body use="literal" namespace="urn:things"/></input>
      <output><soap:body use="literal" namespace="urn:things"/></output>
    </operation>
  </binding>
  <service name="Things"><port name="Things" binding="t:Things"><soap:address location="http://127.0.0.1/"/></port></service>
</definitions>
--HOWDAH--
show exit
option concurrency 4
worker {ROOT}/test.php
var QUERY_STRING do=call&class=OfOne
push one
var QUERY_STRING do=call&class=OfOther
push other
var QUERY_STRING do=tell&what=asked?2
run
var QUERY_STRING do=throw
run
var QUERY_STRING do=tell&what=answer?2
run
await one
await other
var QUERY_STRING do=warn
run
var QUERY_STRING do=throw
run
var QUERY_STRING do=children
run
stop
--EXPECTF--
yes

Fatal error: Uncaught DomainException: of no call in {ROOT}/test.php:%d
Stack trace:
#0 [internal function]: {closure%S}()
#1 {main}
  thrown in {ROOT}/test.php on line %d

yes
one: OfOne
other: OfOther

Warning: Undefined array key "nothing" in {ROOT}/test.php on line %d
http://schemas.xmlsoap.org/soap/envelope/

Fatal error: Uncaught DomainException: of no call in {ROOT}/test.php:%d
Stack trace:
#0 [internal function]: {closure%S}()
#1 {main}
  thrown in {ROOT}/test.php on line %d

OfOne OfOther http://schemas.xmlsoap.org/soap/envelope/
[worker exited with status 0]
