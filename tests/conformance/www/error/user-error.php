<?php

echo 'before ';
@trigger_error('silent', E_USER_WARNING);
trigger_error('raised', E_USER_ERROR);
echo 'never';
