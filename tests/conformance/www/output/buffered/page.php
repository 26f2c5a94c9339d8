<?php

// With output_buffering the header can still be changed after output.
echo ini_get('output_buffering'), ' ', ob_get_level(), ' ';
http_response_code(201);
header('X-Late: yes');
echo headers_sent() ? 'sent' : 'not sent';
