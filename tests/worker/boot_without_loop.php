<?php

// No worker script at all.

declare(strict_types=1);

echo 'a page';
