<?php

declare(strict_types=1);

return ['default' => 'sqlite', 'connections' => [], 'migrations' => 'migrations'];
