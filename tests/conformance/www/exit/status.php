<?php

http_response_code(404);
header('X-A: 1');
exit('not here');
