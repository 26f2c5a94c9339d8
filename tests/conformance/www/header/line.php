<?php

header($_GET['line']);
echo http_response_code();
