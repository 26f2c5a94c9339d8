<?php

declare(strict_types=1);

// A worker that violates the protocol on purpose. The path selects how.

require __DIR__ . '/goridge.inc';

ini_set('display_errors', 'stderr');
$goridge = new Goridge();
// Not its own.
[$flags] = $goridge->frame();
$goridge->write(Goridge::pack('{"pid":1}', [], $flags & Goridge::CONTROL));
$head = '{"status":200}';
$response = static fn (string $body): string => Goridge::pack($head . $body, [strlen($head)]);
$isAsked = static function (): bool {
    $read = [STDIN];
    $none = null;
    return stream_select($read, $none, $none, 0) === 1;
};
while (($request = $goridge->request()) !== null) {
    [$context] = $request;
    switch ((string) parse_url($context['uri'], PHP_URL_PATH)) {
        case '/pid':
            $goridge->write($response((string) getmypid()));
            break;
        case '/silent':
            // Sends nothing until it is cancelled.
            $goridge->respond(200, "start\n", [], Goridge::STREAM);
            [, $marks] = $goridge->frame();
            fwrite(STDERR, $marks === Goridge::STOP ? "cancelled\n" : "something else\n");
            $goridge->part('');
            break;
        case '/empty':
            // Frames without content, until it is cancelled.
            $goridge->respond(200, "start\n", [], Goridge::STREAM);
            while (!$isAsked()) {
                $goridge->write(str_repeat(Goridge::pack('', [0], 0, Goridge::STREAM), 1000));
            }
            [, $marks] = $goridge->frame();
            fwrite(STDERR, $marks === Goridge::STOP ? "cancelled\n" : "something else\n");
            $goridge->part('');
            break;
        case '/pings':
            // Requests pongs that it does not read, before any response.
            while (true) {
                $goridge->write(str_repeat(Goridge::pack('', [0], 0, Goridge::PING), 1000));
            }
            // no break
        case '/stops':
            // Flags without a meaning here.
            $goridge->write(str_repeat(Goridge::pack('', [0], 0, Goridge::STOP), 10) . $response('after stops'));
            break;
        case '/order':
            $goridge->write(Goridge::pack('{"stop":true}', [], Goridge::CONTROL));
            break;
        case '/twice':
            $goridge->write($response('one') . $response('of nobody'));
            break;
        case '/stop-twice':
            $goridge->write($response('one') . Goridge::pack('{"stop":true}', [13]) . $response('of nobody'));
            break;
        case '/later':
            $goridge->write($response('one'));
            $goridge->write($response('of nobody'));
            fwrite(STDERR, "sent twice\n");
            break;
        case '/after':
            $goridge->write($response('one') . 'Warning: said too late');
            break;
        case '/length':
            // Declares 4 GiB and sends little of it.
            $header = pack('CCV', 1 << 4 | 4, 0, 0xffffffff);
            $goridge->write($header . pack('VCCV', crc32($header), 0, 0, strlen($head)) . $head . 'little');
            exit(0);
        case '/close':
            fclose(STDOUT);
            sleep(600);
            break;
        case '/descriptors':
            $found = [];
            foreach (range(0, 1023) as $descriptor) {
                $target = @readlink("/proc/self/fd/{$descriptor}");
                if ($target !== false) {
                    $found[$descriptor] = $target;
                    if (str_ends_with($target, '/private')) {
                        file_put_contents("/proc/self/fd/{$descriptor}", 'written');
                    }
                }
            }
            $goridge->write($response((string) json_encode((object) $found)));
            break;
    }
}
