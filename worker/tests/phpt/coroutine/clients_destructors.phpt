--TEST--
Coroutines: a destructor of an unknown extension waits for its current users, and never throws
--SKIPIF--
<?php
if (!file_exists(ini_get('extension_dir') . '/solr.so')) {
    echo 'skip no solr';
}
--INI--
extension=solr.so
howdah.pool_wait=1
--FILE--
<?php
final class Client extends SolrClient
{
    public function __destruct()
    {
        $this->setResponseWriter('json'); // a method of the extension
        parent::__destruct();
        $GLOBALS['ended'][] = 'ended';
    }
}

final class Cycle extends SolrQuery
{
    public ?self $itself = null;
}

// Answers late, so that one request is within the extension.
$server = stream_socket_server('tcp://127.0.0.1:0');
$port = (int) substr(strrchr(stream_socket_get_name($server, false), ':'), 1);

while (frankenphp_handle_request(function () use ($server, $port): void {
    $ended = [];
    $GLOBALS['ended'] = &$ended;
    $options = ['hostname' => '127.0.0.1', 'port' => $port, 'path' => 'solr', 'timeout' => 5];
    try {
        switch ($_GET['do']) {
            case 'query':
                $ask = new SolrQuery('a');
                try {
                    @(new SolrClient($options))->query($ask);
                } catch (SolrClientException $error) {
                    echo 'queried ';
                }
                break;
            case 'serve':
                $peer = stream_socket_accept($server);
                usleep(20000); // the others have come to their destructors
                fwrite($peer, "HTTP/1.1 500 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
                fclose($peer);
                echo 'served ';
                break;
            case 'end':
                $client = new Client($options);
                $query = new SolrQuery('b');
                $cycle = new Cycle('c');
                $cycle->itself = $cycle;
                touch(__DIR__ . '/made');
                while (!file_exists(__DIR__ . '/go')) {
                    usleep(500);
                }
                unset($cycle);
                gc_collect_cycles();
                unset($query);
                unset($client);
                echo implode($ended), ' ';
                break;
            case 'go':
                while (!file_exists(__DIR__ . '/made')) {
                    usleep(500);
                }
                usleep(5000); // the query is on its way
                touch(__DIR__ . '/go');
                break;
        }
        echo 'done';
    } catch (Throwable $error) {
        echo get_class($error), ': ', $error->getMessage();
    }
})) {
}
--HOWDAH--
worker {ROOT}/test.php
option concurrency 8
var QUERY_STRING do=end
push end1
push end2
var QUERY_STRING do=query
push query
var QUERY_STRING do=go
push go
var QUERY_STRING do=serve
push serve
await end1
await end2
await query
await go
await serve
--EXPECT--
end1: ended done
end2: ended done
query: queried done
go: done
serve: served done
