<?php

// Not a worker script.

declare(strict_types=1);

echo 'a page';
