<?php

ini_set('display_errors', 0);
echo 'partly ';
flush();
undefined_function();
