<?php

echo var_export(getenv('LEFT_BEHIND'), true), ' ';
putenv('LEFT_BEHIND=1');
echo getenv('LEFT_BEHIND'), ' ', json_encode($_ENV['LEFT_BEHIND'] ?? null);
