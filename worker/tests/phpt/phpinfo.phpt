--TEST--
phpinfo() names the server and the module
--FILE--
<?php
ob_start();
phpinfo(INFO_GENERAL | INFO_MODULES);
$text = preg_replace('/\s+/', ' ', strip_tags(str_replace('</td>', ' ', ob_get_clean())));
var_dump(str_contains($text, 'Server API Howdah'), preg_match('/Howdah active Version \S+ Pool test Worker 0/', $text));
--EXPECT--
bool(true)
int(1)
