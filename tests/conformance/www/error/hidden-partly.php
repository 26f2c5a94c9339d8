<?php

ini_set('display_errors', 0);
echo 'partly ';
undefined_function();
