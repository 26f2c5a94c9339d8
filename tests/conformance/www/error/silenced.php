<?php

echo @$undefined;
@include __DIR__ . '/no-such-file.php';
error_reporting(0);
echo $also_undefined;
echo json_encode(error_get_last()['message']);
