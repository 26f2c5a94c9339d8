<?php

ini_set('max_execution_time', 2);
set_time_limit(0);
echo ini_get('max_execution_time');
