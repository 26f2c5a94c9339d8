<?php

return [
    'default' => 'errors',
    'channels' => ['errors' => ['driver' => 'errorlog']],
    'deprecations' => 'null',
];
