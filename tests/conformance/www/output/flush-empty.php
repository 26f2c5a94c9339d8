<?php

http_response_code(202);
flush();
echo headers_sent() ? 'sent' : 'not sent';
