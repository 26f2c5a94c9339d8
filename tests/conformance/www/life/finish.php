<?php

header('X-Before: 1');
echo 'seen';
var_export(fastcgi_finish_request());
echo 'not seen';
header('X-After: 1');
var_export(fastcgi_finish_request());
