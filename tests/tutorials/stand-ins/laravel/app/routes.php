<?php

declare(strict_types=1);

require base_path('routes/web.php');
