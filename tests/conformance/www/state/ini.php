<?php

echo ini_get('precision'), ' ', ini_get('display_errors');
ini_set('precision', 5);
ini_set('display_errors', 0);
echo ' ', ini_get('precision');
