<?php

header('HTTP/1.1 200 OK', true, 503);
echo http_response_code();
