<?php
switch ($argv[1] ?? '') {
    case 'args':
        echo json_encode([$argc, array_slice($argv, 2)]);
        break;
    case 'exit':
        exit((int) $argv[2]);
    case 'stdin':
        echo strtoupper(stream_get_contents(STDIN));
        break;
    case 'stderr':
        fwrite(STDERR, 'to stderr');
        break;
    case 'sapi':
        echo PHP_SAPI, ' ', ini_get('max_execution_time'), ' ', ini_get('html_errors');
        break;
    case 'throw':
        throw new RuntimeException('the reason');
}
