<?php

declare(strict_types=1);

require_once __DIR__ . '/_executor.php';

return static function (): void {
    header('Link: </style.css>; rel=preload; as=style');
    headers_send(103);
    header_remove('Link');
    header('X-Final: yes');
    echo 'hello';
};
