--TEST--
Worker mode: detect_leaks names state of shared streams, hashes, images, archives and intervals
--SKIPIF--
<?php
foreach (['curl', 'gd', 'soap', 'zip'] as $extension) {
    if (!extension_loaded($extension)) {
        echo "skip without $extension";
    }
}
--FILE--
<?php
class Service
{
    public $reader;
    public $buffer;
    public $temporary;
    public $log;
    public $options;
    public $notified;
    public $filtered;
    public array $streams = [];
    public HashContext $hash;
    public GdImage $image;
    public DateInterval $interval;
    public ?DateInterval $limit = null;
    public DatePeriod $period;
    public ZipArchive $archive;
    public ?CurlMultiHandle $multi = null;
    public CurlShareHandle $share;
    public SplTempFileObject $file;

    public function __construct()
    {
        file_put_contents(__DIR__ . '/lines', str_repeat("line\n", 100));
        $this->reader = fopen(__DIR__ . '/lines', 'r');
        $this->buffer = fopen('php://memory', 'w+');
        $this->temporary = fopen('php://temp', 'w+');
        $this->log = fopen(__DIR__ . '/log', 'w');
        $this->options = stream_context_create(['http' => ['method' => 'GET']]);
        $this->notified = stream_context_create();
        $this->filtered = fopen('php://memory', 'w+');
        $this->streams = ['config' => fopen('php://memory', 'w+')];
        $this->hash = hash_init('sha256');
        $this->image = imagecreatetruecolor(8, 8);
        $this->interval = new DateInterval('P1D');
        $this->period = new DatePeriod(new DateTime('2001-01-01 UTC'), new DateInterval('P1D'), 2);
        $this->archive = new ZipArchive();
        $this->archive->open(__DIR__ . '/archive.zip', ZipArchive::CREATE);
        $this->archive->addFromString('first', 'x');
        $this->share = curl_share_init();
        $this->file = new SplTempFileObject();
    }
}

$count = 0;
$service = new Service();
$next = fn () => ++$GLOBALS['count'];
$actions = [
    'reader' => fn () => fgets($service->reader),
    'buffer' => fn () => fwrite($service->buffer, 'x'),
    /* Always as long, and always at the same position. */
    'temporary' => function () use ($service, $next) {
        rewind($service->temporary);
        fwrite($service->temporary, (string) ($next() % 10));
    },
    'element' => fn () => fwrite($service->streams['config'], 'x'),
    'context' => fn () => stream_context_set_option($service->options, 'http', 'header', 'X-Id: ' . $next()),
    'params' => fn () => stream_context_set_params($service->notified, ['notification' => (fn ($id) => fn () => $id)($next())]),
    'filter' => fn () => stream_filter_append($service->filtered, 'string.rot13'),
    'hash' => fn () => hash_update($service->hash, 'x'),
    'image' => fn () => imagesetpixel($service->image, $next() % 8, 1, 0xffffff),
    'interval' => fn () => $service->interval->d++,
    'limit' => fn () => $service->limit = new DateInterval('P' . $next() . 'D'),
    'archive' => fn () => $service->archive->addFromString('name' . $next(), 'x'),
    'multi' => fn () => curl_multi_setopt($service->multi ??= curl_multi_init(), CURLMOPT_MAXCONNECTS, 10 + $next()),
    'share' => fn () => curl_share_setopt($service->share, CURLSHOPT_SHARE, [CURL_LOCK_DATA_COOKIE, CURL_LOCK_DATA_DNS][$next() % 2]),
    'file' => fn () => $service->file->fwrite('x'),
    'seed' => fn () => mt_srand(7),
    'soap' => fn () => use_soap_error_handler(true),
    /* Logs grow, and what is read is the same each time. */
    'ok' => function () use ($service) {
        fwrite($service->log, "a line\n");
        foreach ($service->period as $day) {
        }
        rewind($service->reader);
        $stream = fopen('php://memory', 'w+');
        fwrite($stream, uniqid());
        mt_srand();
        return hash_final(hash_init('md5'));
    },
];
while (frankenphp_handle_request(function () use ($actions) {
    $actions[$_GET['do']]();
})) {
}
--HOWDAH--
worker {ROOT}/test.php
option keep 1023
option detect_leaks_sample 1
leak-allow $GLOBALS['count']
show log
var REQUEST_URI /reader
var QUERY_STRING do=reader
run
run
run
wait-log "uri":"/reader"
var REQUEST_URI /buffer
var QUERY_STRING do=buffer
run
run
run
wait-log "uri":"/buffer"
var REQUEST_URI /temporary
var QUERY_STRING do=temporary
run
run
run
wait-log "uri":"/temporary"
var REQUEST_URI /element
var QUERY_STRING do=element
run
run
run
wait-log "uri":"/element"
var REQUEST_URI /context
var QUERY_STRING do=context
run
run
run
wait-log "uri":"/context"
var REQUEST_URI /params
var QUERY_STRING do=params
run
run
run
wait-log "uri":"/params"
var REQUEST_URI /filter
var QUERY_STRING do=filter
run
run
run
wait-log "uri":"/filter"
var REQUEST_URI /hash
var QUERY_STRING do=hash
run
run
run
wait-log "uri":"/hash"
var REQUEST_URI /image
var QUERY_STRING do=image
run
run
run
wait-log "uri":"/image"
var REQUEST_URI /interval
var QUERY_STRING do=interval
run
run
run
wait-log "uri":"/interval"
var REQUEST_URI /limit
var QUERY_STRING do=limit
run
run
run
wait-log "uri":"/limit"
var REQUEST_URI /archive
var QUERY_STRING do=archive
run
run
run
wait-log "uri":"/archive"
var REQUEST_URI /multi
var QUERY_STRING do=multi
run
run
run
run
wait-log "uri":"/multi"
var REQUEST_URI /share
var QUERY_STRING do=share
run
run
run
wait-log "uri":"/share"
var REQUEST_URI /file
var QUERY_STRING do=file
run
run
run
wait-log "uri":"/file"
var REQUEST_URI /ok
var QUERY_STRING do=ok
run
run
run
run
var REQUEST_URI /seed
var QUERY_STRING do=seed
run
wait-log "uri":"/seed"
var REQUEST_URI /soap
var QUERY_STRING do=soap
run
wait-log "uri":"/soap"
stop
--EXPECTF--
[log l 3] {"kind":"object storage","why":"counts","path":"$GLOBALS['service']->reader{ftell()}","member":"Service::$reader","value":"15","file":"{ROOT}/test.php","line":4,"method":"GET","uri":"/reader"}



[log l 6] {"kind":"object storage","why":"grows","path":"$GLOBALS['service']->buffer{stream_get_contents()}","member":"Service::$buffer","value":"3 bytes","count_before":2,"count":3,"file":"{ROOT}/test.php","line":5,"method":"GET","uri":"/buffer"}



[log l 9] {"kind":"object storage","why":"changes","path":"$GLOBALS['service']->temporary{stream_get_contents()}","member":"Service::$temporary","value":"1 byte","file":"{ROOT}/test.php","line":6,"method":"GET","uri":"/temporary"}



[log l 12] {"kind":"object storage","why":"grows","path":"$GLOBALS['service']->streams['config']{stream_get_contents()}","member":"Service::$streams","value":"3 bytes","count_before":2,"count":3,"file":"{ROOT}/test.php","line":11,"method":"GET","uri":"/element"}



[log l 15] {"kind":"object storage","why":"changes","path":"$GLOBALS['service']->options{stream_context_get_options()}['http']","member":"Service::$options","value":"array(2)","file":"{ROOT}/test.php","line":8,"method":"GET","uri":"/context"}



[log l 18] {"kind":"object storage","why":"changes","path":"$GLOBALS['service']->notified{stream_context_set_params()}","member":"Service::$notified","value":"object(Closure)","file":"{ROOT}/test.php","line":9,"method":"GET","uri":"/params"}



[log l 21] {"kind":"object storage","why":"counts","path":"$GLOBALS['service']->filtered{stream_filter_append()}","member":"Service::$filtered","value":"3","file":"{ROOT}/test.php","line":10,"method":"GET","uri":"/filter"}



[log l 24] {"kind":"object storage","why":"changes","path":"$GLOBALS['service']->hash{hash_final()}","member":"Service::$hash","value":"64 bytes","file":"{ROOT}/test.php","line":12,"method":"GET","uri":"/hash"}



[log l 27] {"kind":"object storage","why":"changes","path":"$GLOBALS['service']->image{imagebmp()}","member":"Service::$image","value":"%d bytes","file":"{ROOT}/test.php","line":13,"method":"GET","uri":"/image"}



[log l 30] {"kind":"object storage","why":"changes","path":"$GLOBALS['service']->interval{date}","member":"Service::$interval","value":"P4D","file":"{ROOT}/test.php","line":14,"method":"GET","uri":"/interval"}



[log l 33] {"kind":"object property","why":"changes","path":"$GLOBALS['service']->limit","member":"Service::$limit","value":"object(DateInterval)","file":"{ROOT}/test.php","line":15,"method":"GET","uri":"/limit"}



[log l 36] {"kind":"object storage","why":"counts","path":"$GLOBALS['service']->archive{count()}","member":"Service::$archive","value":"4","file":"{ROOT}/test.php","line":17,"method":"GET","uri":"/archive"}




[log l 40] {"kind":"object storage","why":"counts","path":"$GLOBALS['service']->multi{curl_multi_setopt(CURLMOPT_MAXCONNECTS)}","member":"Service::$multi","value":"32","file":"{ROOT}/test.php","line":18,"method":"GET","uri":"/multi"}



[log l 43] {"kind":"object storage","why":"changes","path":"$GLOBALS['service']->share{curl_share_setopt(CURLSHOPT_SHARE)}","member":"Service::$share","value":"3","file":"{ROOT}/test.php","line":19,"method":"GET","uri":"/share"}



[log l 46] {"kind":"object storage","why":"counts","path":"$GLOBALS['service']->file{ftell()}","member":"Service::$file","value":"3","file":"{ROOT}/test.php","line":20,"method":"GET","uri":"/file"}





[log l 51] {"kind":"random sequence","why":"left behind","path":"mt_srand()","value":"","count_before":0,"count":1,"method":"GET","uri":"/seed"}

[log l 52] {"kind":"error handler","why":"left behind","path":"use_soap_error_handler()","value":"true","method":"GET","uri":"/soap"}
