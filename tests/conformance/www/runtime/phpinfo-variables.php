<?php

ob_start();
phpinfo(INFO_VARIABLES);
echo str_contains(ob_get_clean(), 'marker-in-the-query') ? 'found' : 'lost';
