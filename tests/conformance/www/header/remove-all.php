<?php

header('X-A: 1');
header('Content-Type: text/plain');
header_remove();
var_export(headers_list());
