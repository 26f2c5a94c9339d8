<?php

// Answers if the server asks PHP for a file that is there: then the case fails.
http_response_code(404);
