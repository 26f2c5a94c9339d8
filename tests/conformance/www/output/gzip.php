<?php

ob_start('ob_gzhandler');
echo str_repeat('compressible ', 200);
