<?php

declare(strict_types=1);

// A worker that fails before its first request in the way that its argument names.

require __DIR__ . '/goridge.inc';

$goridge = new Goridge();
switch ($argv[1]) {
    case 'exit':
        fwrite(STDERR, "no database\n");
        exit(7);
    case 'noise':
        echo "Deprecated: something is old\n";
        $goridge->request();
        break;
    case 'hang':
        sleep(600);
        break;
    case 'order':
        $goridge->frame();
        $goridge->respond(200, 'not a process id');
        sleep(600);
        break;
    case 'close':
        fclose(STDOUT);
        sleep(600);
        break;
}
