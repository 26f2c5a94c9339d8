<?php

echo strlen($_SERVER['QUERY_STRING']), ' ', strlen($_GET['long'] ?? ''), ' ', md5($_GET['long'] ?? '');
