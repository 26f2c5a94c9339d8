<?php

header('WWW-Authenticate: Basic realm="conformance"');
echo http_response_code();
