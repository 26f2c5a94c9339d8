<?php

echo setlocale(LC_ALL, 0), ' ', date_default_timezone_get(), ' ', mb_internal_encoding();
setlocale(LC_ALL, 'C.UTF-8');
date_default_timezone_set('Asia/Tokyo');
mb_internal_encoding('ISO-8859-1');
