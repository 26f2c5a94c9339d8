<?php

ob_start(fn ($buffer) => strtoupper($buffer));
echo 'buffered';
fastcgi_finish_request();
echo 'not seen';
