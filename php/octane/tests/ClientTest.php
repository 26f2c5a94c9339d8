<?php

declare(strict_types=1);

namespace Howdah\Octane\Tests;

use Howdah\Octane\Client;
use Laravel\Octane\OctaneResponse;
use Laravel\Octane\RequestContext;
use PHPUnit\Framework\TestCase;
use Symfony\Component\HttpFoundation\Response;
use Symfony\Component\HttpFoundation\StreamedResponse;

final class ClientTest extends TestCase
{
    public function testAResponseIsSent(): void
    {
        $this->expectOutputString('page');
        (new Client())->respond(new RequestContext(), new OctaneResponse(new Response('page')));
    }

    public function testPrintedTextComesBeforeTheResponse(): void
    {
        $this->expectOutputString('printed, page');
        (new Client())->respond(new RequestContext(), new OctaneResponse(new Response('page'), 'printed, '));
    }

    public function testAStreamIsSentAsItIs(): void
    {
        $this->expectOutputString('streamed');
        $response = new StreamedResponse(static function (): void {
            echo 'streamed';
        });
        (new Client())->respond(new RequestContext(), new OctaneResponse($response, 'printed'));
    }
}
