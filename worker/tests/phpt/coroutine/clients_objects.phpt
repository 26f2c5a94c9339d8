--TEST--
Coroutines: a finfo or SoapServer of the boot is used by one request at a time
--EXTENSIONS--
fileinfo
soap
--FILE--
<?php
class SlowStream
{
    public $context;
    private string $data = '';

    public function stream_open(string $path): bool
    {
        $this->data = str_repeat($path === 'slow://1' ? "<?php echo 1;\n" : '%PDF-1.4 ', 200);
        return true;
    }

    public function stream_read(int $size): string
    {
        usleep(1000);
        $data = substr($this->data, 0, $size);
        $this->data = substr($this->data, $size);
        return $data;
    }

    public function stream_eof(): bool
    {
        return $this->data === '';
    }

    public function stream_stat(): array
    {
        return ['mode' => 0100644, 'size' => strlen($this->data)];
    }

    public function stream_seek(): bool
    {
        return false;
    }

    public function stream_cast(): bool
    {
        return false;
    }

    public function stream_set_option(): bool
    {
        return false;
    }

    public function url_stat(): array
    {
        return $this->stream_stat();
    }
}

class Service
{
    public function visit($n)
    {
        usleep(1000);
        $GLOBALS['server']->addSoapHeader(new SoapHeader('urn:h', 'Who', "visitor $n"));
        usleep(1000);
        return "hello $n";
    }
}

stream_wrapper_register('slow', SlowStream::class);
$info = new finfo(FILEINFO_MIME_TYPE);
$server = new SoapServer(null, ['uri' => 'urn:x']);
$server->setClass(Service::class);
while (frankenphp_handle_request(static function () use ($info, $server) {
    $n = $_GET['n'];
    $types = $texts = [];
    for ($i = 0; $i < 5; $i++) {
        $types[$info->file("slow://$n")] = true;
        $types[finfo_file($info, "slow://$n")] = true;
        ob_start();
        $server->handle(
            '<e:Envelope xmlns:e="http://schemas.xmlsoap.org/soap/envelope/"><e:Body>'
            . "<visit xmlns=\"urn:x\"><n>$n</n></visit></e:Body></e:Envelope>",
        );
        $texts[trim(preg_replace('/\s+/', ' ', strip_tags(str_replace('>', '> ', ob_get_clean()))))] = true;
    }
    header_remove();
    echo implode(', ', array_keys($types)), ', ', implode(', ', array_keys($texts));
})) {
}
--HOWDAH--
option concurrency 2
worker {ROOT}/test.php
var QUERY_STRING n=1
push one
var QUERY_STRING n=2
push two
await one
await two
stop
--EXPECT--
one: text/x-php, visitor 1 hello 1
two: application/pdf, visitor 2 hello 2
