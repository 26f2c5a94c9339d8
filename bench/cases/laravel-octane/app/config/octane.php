<?php

declare(strict_types=1);

// What is not here is as laravel/octane has it. The application has no cache.
return ['cache' => []];
