<?php

echo ini_get('max_execution_time');
set_time_limit(77);
echo ' ', ini_get('max_execution_time');
