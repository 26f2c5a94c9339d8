<?php

declare(strict_types=1);

// A worker without a library. The code below defines the behavior of each path.

require __DIR__ . '/goridge.inc';

ini_set('display_errors', 'stderr');
$goridge = new Goridge();
$count = 0;
while (($request = $goridge->request()) !== null) {
    [$context, $body] = $request;
    $count++;
    $path = (string) parse_url($context['uri'], PHP_URL_PATH);
    parse_str($context['rawQuery'], $query);
    switch ($path) {
        case '/context':
            $goridge->respond(200, (string) json_encode(['context' => $context, 'body' => $body]));
            break;
        case '/echo':
            $goridge->respond(201, $body, ['Content-Type' => ['application/octet-stream'], 'X-Two' => ['a', 'b']]);
            break;
        case '/sum':
            $goridge->respond(200, strlen($body) . ' ' . md5($body));
            break;
        case '/pid':
            $goridge->respond(200, getmypid() . ' ' . $count);
            break;
        case '/large':
            $goridge->respond(200, str_repeat('0123456789abcdef', (int) $query['size'] / 16));
            break;
        case '/stream':
            $goridge->respond(200, "one\n", [], Goridge::STREAM);
            $goridge->part("two\n", Goridge::STREAM | Goridge::PING);
            [, $marks] = $goridge->frame();
            $goridge->part($marks === Goridge::PONG ? "pong\n" : "no pong\n", Goridge::STREAM);
            $goridge->part('end');
            break;
        case '/endless':
            // Until it is cancelled.
            $goridge->respond(200, "start\n", [], Goridge::STREAM);
            do {
                $goridge->part(str_repeat('x', 1000), Goridge::STREAM | Goridge::PING);
                [, $marks] = $goridge->frame();
            } while (!($marks & Goridge::STOP));
            fwrite(STDERR, "cancelled\n");
            $goridge->part('');
            break;
        case '/hints':
            $goridge->respond(103, '', ['Link' => ['</a.css>; rel=preload']], Goridge::STREAM);
            $goridge->respond(101, '', [], Goridge::STREAM);
            $goridge->respond(200, 'page');
            break;
        case '/trailer':
            $goridge->respond(200, 'checked', ['Trailer' => ['X-Sum'], 'X-Sum' => ['abc']]);
            break;
        case '/error':
            $goridge->write(Goridge::pack('something went wrong', [], Goridge::ERROR));
            break;
        case '/status':
            $goridge->respond((int) $query['status'], 'x');
            break;
        case '/upload':
            $files = $context['uploads'];
            array_walk_recursive($files, static function (mixed &$value, string|int $name): void {
                if ($name === 'tmpName' && $value !== '') {
                    $value = [file_get_contents($value), $value];
                }
            });
            $goridge->respond(200, (string) json_encode([$files, json_decode($body, true), $context['parsed']]));
            break;
        case '/log':
            fwrite(STDERR, "a line on stderr\n");
            $goridge->respond(200, 'logged');
            break;
        case '/body':
            // A frame without a context.
            $goridge->write(Goridge::pack((string) ($query['text'] ?? ''), [0]));
            break;
        case '/cookies':
            $cookies = ['a=1; Max-Age=60; Path=/; HttpOnly', 'b=x%3By; Expires=Wed, 09 Jun 2027 10:18:14 GMT; SameSite=Lax'];
            $goridge->respond(200, '', ['Set-Cookie' => $cookies]);
            break;
        case '/interim':
            foreach ([100, 102, 103] as $status) {
                $goridge->respond($status, '', ["X-$status" => ['interim']], Goridge::STREAM);
            }
            $goridge->respond(404, 'final', ['X-Final' => ['yes']]);
            break;
        case '/die':
            $goridge->respond(200, "one\n", [], Goridge::STREAM);
            posix_kill(getmypid(), 9);
            break;
        case '/fail':
            $goridge->respond(200, "one\n", [], Goridge::STREAM);
            $goridge->write(Goridge::pack('failed in its midst', [], Goridge::ERROR));
            break;
        case '/deaf':
            // Ignores the order to stop.
            $goridge->respond(200, (string) getmypid());
            $goridge->frame();
            fwrite(STDERR, "it was told to stop\n");
            while (true) {
                sleep(600);
            }
            // no break
        case '/stop':
            // Not handled: a different worker has to do it.
            $goridge->write(Goridge::pack('{"stop":true}', [13]));
            exit(0);
        case '/leave':
            // Asks for its replacement after a response.
            $goridge->respond(200, (string) getmypid());
            $goridge->write(Goridge::pack('{"stop":true}', [13]));
            break;
        case '/exit':
            exit((int) ($query['code'] ?? 0));
        case '/half':
            // A frame that declares more bytes than it has.
            $goridge->write(substr(Goridge::pack('{"status":200}' . str_repeat('x', 1000), [14]), 0, 100));
            exit(0);
        case '/noise':
            echo $query['text'] ?? "Warning: something\n";
            $goridge->respond(200, 'never seen');
            break;
        case '/checksum':
            $frame = Goridge::pack('{"status":200}', [14]);
            $frame[6] = chr(ord($frame[6]) ^ 1);
            $goridge->write($frame);
            break;
        case '/huge':
            // 4 GiB of context.
            $header = pack('CCV', 0x14, 0, 0xffffffff);
            $goridge->write($header . pack('VCCV', crc32($header), 0, 0, 0xfffffff0));
            break;
        case '/json':
            $goridge->write(Goridge::pack('{"status":', [10]));
            break;
        case '/hang':
            sleep(600);
            break;
        case '/memory':
            $kept[] = str_repeat('x', (int) $query['size']);
            $goridge->respond(200, (string) getmypid());
            break;
        case '/environment':
            $goridge->respond(200, (string) json_encode([getenv(), posix_geteuid(), posix_getegid(), posix_getgroups()]));
            break;
        case '/rpc':
            $rpc = stream_socket_client((string) getenv('RR_RPC'));
            fwrite($rpc, Goridge::pack('kv.Has{"a":1}', [7, 6], 0x08));
            $goridge->respond(200, substr((string) fread($rpc, 1000), 20));
            break;
        default:
            $goridge->respond(404, 'no such path');
    }
}
